// Times the page from the drop of a file to its overview, and its memory.
//
//   node bench.mjs DIST FILE...
//
// A .gz file is compared with `gzip -dc FILE > /dev/null` in the same minute. Memory is the peak of the tab's
// process (page and workers live in one), less what it had before the drop.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { drop, launch } from "./browser.mjs";
import { open } from "./page.mjs";
import { serve } from "./server.mjs";

const RUNS = 3;
const [dist, ...files] = process.argv.slice(2);

/** Resident bytes of the browser's renderers, the largest first. */
async function renderers(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  const resident = (pid) => {
    try {
      return 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
    } catch {
      return 0;
    }
  };
  return Math.max(...processInfo.filter((process) => process.type === "renderer").map((process) => resident(process.id)));
}

/** Runs in the page: notes when a file is dropped and when the overview is on the screen. */
function watchClock() {
  window.clock = {};
  addEventListener("drop", () => (window.clock.dropped = performance.now()), true);
  const look = () => {
    if (!window.clock.dropped || window.clock.found || !document.querySelector(".page.overview .card")) return;
    window.clock.found = true;
    requestAnimationFrame(() => setTimeout(() => (window.clock.painted = performance.now())));
  };
  new MutationObserver(look).observe(document, { subtree: true, childList: true });
}

async function once(site, file) {
  const browser = await launch();
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.addInitScript(watchClock);
  await open(page, site);
  const before = await renderers(browser);
  let peak = before;
  let done = false;
  const watch = (async () => {
    while (!done) {
      peak = Math.max(peak, await renderers(browser));
      await new Promise((next) => setTimeout(next, 100));
    }
  })();
  await drop(page, "#main", [file]);
  await page.waitForFunction(() => window.clock?.painted, null, { timeout: 170_000, polling: 100 });
  const seconds = await page.evaluate(() => (window.clock.painted - window.clock.dropped) / 1000);
  done = true;
  await watch;
  await browser.close();
  return { seconds, bytes: peak - before };
}

const site = await serve(resolve(dist), "/bench/");
console.log(`\nIn a tab, from drop to overview, best of ${RUNS}:`);
for (const file of files) {
  let gzip = null;
  let best = null;
  for (let run = 0; run < RUNS; run++) {
    if (file.endsWith(".gz")) {
      const start = performance.now();
      execFileSync("sh", ["-c", 'gzip -dc "$0" > /dev/null', file]);
      gzip = Math.min(gzip ?? Infinity, (performance.now() - start) / 1000);
    }
    const cost = await once(site, file);
    if (!best || cost.seconds < best.seconds) best = cost;
  }
  const ratio = gzip ? `, ${(best.seconds / gzip).toFixed(2)} of gzip -dc (${gzip.toFixed(3)} s)` : "";
  console.log(`${basename(file)}: ${best.seconds.toFixed(3)} s${ratio}, ${Math.round(best.bytes / 1e6)} MB`);
}
await site.stop();
