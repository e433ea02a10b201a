// Properties of the built page that do not depend on its content.

import assert from "node:assert/strict";
import { test } from "./harness.mjs";
import { kept } from "./page.mjs";

test("starts below a sub-path and requests only its own files", async ({ page, context, site }) => {
  const urls = [];
  context.on("request", (request) => urls.push(request.url()));
  await page.goto(site.url);
  await page.locator("main").waitFor();
  await kept(page);
  const foreign = urls.filter((url) => !url.startsWith(site.url) && !/^(data|blob):/.test(url));
  assert.deepEqual(foreign, []);
});

test("opens without a network after the first visit", async ({ page, site }) => {
  await page.goto(site.url);
  await kept(page);
  await site.stop();
  await page.reload();
  await page.locator("main").waitFor();
});

test("shows the licences of what it contains, without a network too", async ({ page, context, site }) => {
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 844 });
    await page.goto(site.url);
    await kept(page);
    await site.stop();
    const link = page.locator(".footer a", { hasText: "Licences" });
    const { x, width: wide } = await link.boundingBox();
    assert.ok(x >= 0 && x + wide <= width, `the link is on the screen at ${width}`);
    const [licences] = await Promise.all([context.waitForEvent("page"), link.click()]);
    await licences.waitForLoadState();
    assert.match(await licences.locator("body").innerText(), /Apache License.*MIT License/s);
    assert.equal(await page.locator(".requests").innerText(), "0 requests since load");
  }
});

test("can be installed", async ({ page, site }) => {
  await page.goto(site.url);
  const session = await page.context().newCDPSession(page);
  const { errors } = await session.send("Page.getAppManifest");
  assert.deepEqual(errors, []);
  const manifest = await page.evaluate(async () => (await fetch("manifest.webmanifest")).json());
  for (const icon of manifest.icons) {
    const status = await page.evaluate(async (src) => (await fetch(src)).status, icon.src);
    assert.equal(status, 200, icon.src);
  }
});

test("allows no connection to another host", async ({ page, site, expected }) => {
  expected.push(/Content Security Policy/i);
  await page.goto(site.url);
  const outcome = await page.evaluate(() => fetch("http://127.0.0.1:9/").then(() => "sent", () => "refused"));
  assert.equal(outcome, "refused");
  const inline = await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.ran = true";
    document.head.append(script);
    return window.ran === true;
  });
  assert.equal(inline, false);
});
