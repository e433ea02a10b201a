// Times the page in a browser that Playwright does not drive, from the drop of a file to its overview.
//
//   node bench-browsers.mjs DIST firefox|webkit FILE...
//
// Needs the same environment as main-ways.mjs.

import { basename, resolve } from "node:path";
import { serve } from "./server.mjs";
import { drop, opened, shown } from "./tab.mjs";

const RUNS = 3;
/** A browser is busy right after it starts: without a GPU, WebKit paints on all cores for seconds. */
const SETTLE_MS = 6000;
const [dist, browser, ...files] = process.argv.slice(2);

/** Runs in the page: sets `window.took` to the time from the drop to the overview, in seconds. */
function watchClock() {
  window.took = undefined;
  addEventListener("drop", () => {
    const dropped = performance.now();
    const watch = new MutationObserver(() => {
      if (!document.querySelector(".page.overview .card")) return;
      watch.disconnect();
      requestAnimationFrame(() => setTimeout(() => (window.took = (performance.now() - dropped) / 1000)));
    });
    watch.observe(document.body, { childList: true, subtree: true });
  }, { once: true, capture: true });
}

for (const file of files) {
  const times = [];
  for (let run = 0; run < RUNS; run += 1) {
    const site = await serve(resolve(dist), "/some/sub-path/");
    const tab = await opened(browser, site);
    await new Promise((done) => setTimeout(done, SETTLE_MS));
    await tab.run(watchClock);
    await drop(tab, [resolve(file)]);
    await shown(tab, ".page.overview .card");
    await tab.until("the overview is painted", () => window.took !== undefined);
    times.push(await tab.run(() => window.took));
    await tab.close();
    await site.stop();
  }
  times.sort((a, b) => a - b);
  console.log(`${browser}: ${basename(file)}: ${times.map((time) => `${time.toFixed(2)} s`).join(", ")}`);
}
