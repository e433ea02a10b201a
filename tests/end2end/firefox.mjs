// Firefox without a window, controlled by WebDriver BiDi.

import { createRequire } from "node:module";

// `cargo xtask` keeps puppeteer-core outside the checkout, like playwright-core in browser.mjs.
const puppeteer = createRequire(import.meta.url)("puppeteer-core");

/**
 * Returns a tab of a new browser:
 *   goto    opens a URL
 *   run     runs a function in the page with these arguments, and returns its (awaited) result
 *   choose  sets the files (absolute paths) of a file input
 *   close   ends the browser
 */
export async function launch() {
  const browser = await puppeteer.launch({
    browser: "firefox",
    executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
    headless: true,
    // The size of the window, because an older Firefox (140) has no override of the screen's orientation, which `setViewport` sends.
    defaultViewport: null,
    args: ["--width=1280", "--height=800"],
    protocolTimeout: 120_000,
  });
  const [page = await browser.newPage()] = await browser.pages();
  return {
    name: "Firefox",
    goto: (url) => page.goto(url),
    run: (what, ...args) => page.evaluate(what, ...args),
    async choose(selector, paths) {
      const input = await page.$(selector);
      await input.uploadFile(...paths);
    },
    close: () => browser.close(),
  };
}
