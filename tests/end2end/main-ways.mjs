// The main features of the page in the browsers that Playwright does not drive, once in each:
//
//   node main-ways.mjs DIST firefox|webkit
//
// `cargo xtask test browsers` names the browser and sets CROSSPROF_CLI, NODE_PATH (puppeteer-core) and FIREFOX, or WEBKIT_DRIVER and XVFB.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { analyze, number, VIEWS } from "./page.mjs";
import { serve } from "./server.mjs";
import { drop, opened, shown, visit } from "./tab.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const [dist, browser] = process.argv.slice(2);
const cli = process.env.CROSSPROF_CLI ?? join(here, "../../target/release/crossprof");
const [gpu, tpu] = ["gpu", "tpu"].map((name) => join(here, `../../www/assets/examples/${name}-training.trace.json.gz`));

/** Runs in the page: captures the content of the next download link that is clicked, and saves no file. */
function nextDownload() {
  const { createObjectURL } = URL;
  const { click } = HTMLAnchorElement.prototype;
  let blob;
  URL.createObjectURL = (given) => createObjectURL.call(URL, (blob = given));
  window.saved = new Promise((resolve) => {
    HTMLAnchorElement.prototype.click = function () {
      Object.assign(URL, { createObjectURL });
      HTMLAnchorElement.prototype.click = click;
      resolve(blob.text().then((text) => ({ name: this.download, text })));
    };
  });
}

/** Runs in the page: returns the number of colours on a canvas of the timeline. */
function colours(selector) {
  const shown = document.querySelector(selector);
  const copy = new OffscreenCanvas(shown.width, shown.height).getContext("2d");
  copy.drawImage(shown, 0, 0);
  return new Set(new Uint32Array(copy.getImageData(0, 0, shown.width, shown.height).data.buffer)).size;
}

const ways = {
  async "a dropped file has the command line's figures"(tab) {
    await drop(tab, [gpu]);
    await shown(tab, ".page.overview .card .figure");
    const { step_timing, compute_utilization } = JSON.parse(analyze(cli, gpu));
    const exact = (card) => document.querySelector(`[data-card="${card}"] .figure`).dataset.exact;
    assert.equal(number(await tab.run(exact, "step-time")), step_timing.avg_step_time_us);
    assert.equal(number(await tab.run(exact, "device-busy")), compute_utilization.compute_util_percent);
  },
  async "every view has its content"(tab) {
    for (const name of VIEWS) await visit(tab, name);
  },
  async "the table of ops is the command line's, and is filtered"(tab) {
    await visit(tab, "ops");
    const rows = () => [...document.querySelectorAll(".page.ops .table-box tbody tr:not(.pad)")].map((row) => row.cells[0].innerText.trim());
    const ops = JSON.parse(execFileSync(cli, ["table", "ops", "--format", "json", gpu], { maxBuffer: 1 << 28 }));
    const all = await tab.run(rows);
    assert.deepEqual(all.slice(0, 5), ops.slice(0, 5).map((op) => op.hlo_op_name));
    await tab.run(() => {
      const filter = document.querySelector(".page.ops .table-filter");
      filter.value = "no such op";
      filter.dispatchEvent(new InputEvent("input", { bubbles: true }));
    });
    await tab.until("no row is left", () => !document.querySelector(".page.ops .table-box tbody tr:not(.pad)"));
  },
  async "the timeline is drawn"(tab) {
    await visit(tab, "timeline");
    await tab.until("the picture is there", () => [".timeline-events", ".timeline-names"].every((canvas) => document.querySelector(canvas)?.style.width));
    for (const canvas of [".timeline-events", ".timeline-names"]) assert.ok((await tab.run(colours, canvas)) > 5, canvas);
  },
  async "the profile that is downloaded is the command line's"(tab) {
    await visit(tab, "export");
    await tab.run(nextDownload);
    const saved = await tab.run(() => {
      document.querySelector("#download-json").click();
      return window.saved;
    });
    assert.match(saved.name, /\.json$/);
    assert.equal(saved.text.trim(), analyze(cli, gpu).trim());
  },
  async "two runs are compared"(tab) {
    await drop(tab, [tpu]);
    await tab.until("both runs are in the rail", () => document.querySelectorAll(".run-link").length === 2);
    await tab.run(() => { location.hash = "#/compare"; });
    await shown(tab, ".page.compare .fold");
    assert.match(await tab.run(() => document.querySelector(".page.compare .blocks").innerText), /cannot tell whether .* do the same work/);
  },
};

const site = await serve(resolve(dist), "/some/sub-path/");

/** Tests all features in a new tab. Each test continues where the previous test ended. Returns the number of failures. */
async function tryAll() {
  const tab = await opened(browser, site);
  let failed = 0;
  for (const [name, way] of Object.entries(ways)) {
    const start = Date.now();
    try {
      await way(tab);
      console.log(`ok      ${tab.name}: ${name} (${Date.now() - start} ms)`);
    } catch (error) {
      failed += 1;
      const text = await tab.run(() => `${location.hash}\n${document.body.innerText.slice(0, 500)}`).catch(String);
      console.log(`FAILED  ${tab.name}: ${name} (${Date.now() - start} ms)\n${error?.stack ?? error}\nthe page: ${text}`);
    }
  }
  await tab.close();
  return failed;
}

let failed = await tryAll();
if (failed) {
  // As in run.mjs: a test that fails twice is a failure, and a test that fails once is reported with the page that it showed.
  console.log(`FLAKY   ${browser}: ${failed} failed, once more`);
  failed = await tryAll();
}
await site.stop();
process.exitCode = failed ? 1 : 0;
