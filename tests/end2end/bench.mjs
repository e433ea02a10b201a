// Times the page from the drop of a file to its overview, and its memory.
//
//   node bench.mjs DIST FILE...
//
// A .gz file is compared with `gzip -dc FILE > /dev/null` within the same minute. Memory is the peak of the tab's process (the
// page and its workers share one) minus its memory before the drop.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { drop, launch, memory, renderers } from "./browser.mjs";
import { open } from "./page.mjs";
import { serve } from "./server.mjs";

const RUNS = 3;
/** A browser is busy right after it starts. */
const SETTLE_MS = 2000;
const MAX_MS = 170_000;
const [dist, ...files] = process.argv.slice(2);

/** Runs in the page: records when a file is dropped and when the overview is visible. */
function watchClock() {
  let dropped = null;
  let tell;
  window.painted = new Promise((resolve) => (tell = resolve));
  addEventListener("drop", () => (dropped = performance.now()), true);
  const watch = new MutationObserver(() => {
    if (dropped === null || !document.querySelector(".page.overview .card")) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => tell((performance.now() - dropped) / 1000)));
  });
  watch.observe(document, { subtree: true, childList: true });
}

/** Sends the browser no requests between the drop and the overview, because there may be no spare core for them. */
async function once(site, file) {
  const browser = await launch();
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.addInitScript(watchClock);
  await open(page, site);
  await new Promise((next) => setTimeout(next, SETTLE_MS));
  const before = new Map();
  for (const pid of await renderers(browser)) {
    before.set(pid, memory(pid, "VmRSS"));
    writeFileSync(`/proc/${pid}/clear_refs`, "5"); // Resets VmHWM.
  }
  const painted = page.evaluate(() => window.painted);
  await drop(page, "#main", [file]);
  const seconds = await Promise.race([painted, new Promise((_, fail) => setTimeout(fail, MAX_MS, file).unref())]);
  const held = [...before].map(([pid, bytes]) => memory(pid, "VmHWM") - bytes);
  await browser.close();
  return { seconds, bytes: Math.max(...held) };
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
