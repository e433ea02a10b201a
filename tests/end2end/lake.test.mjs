// Trends of a lake: the page shows the numbers of the document that `crossprof lake export` writes.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { drop } from "./browser.mjs";
import { test, until } from "./harness.mjs";
import { fits, open, scratch, settled } from "./page.mjs";

const TRENDS = join(import.meta.dirname, "../data/lake/trend.json.gz");
const [, , dist = "dist"] = process.argv;
const read = () => JSON.parse(gunzipSync(readFileSync(TRENDS)));

/** Drops trends and waits until they are visible. */
async function loaded(page, path) {
  await drop(page, "#main", [path]);
  await page.locator(".page.overview .grid-box").first().waitFor({ timeout: 60_000 });
  await settled(page);
}

/** Returns a time in milliseconds with three significant digits, as the page shows it. */
const ms = (ps) => `${(ps / 1e9).toPrecision(3)} ms`;

test("a dropped lake export shows each workload, the slower one first, and each capture with its path", async ({ page, site }) => {
  const trends = read();
  await open(page, site);
  await loaded(page, TRENDS);
  assert.equal(await page.locator(".view-link[href^='#/'] span").filter({ hasText: "Ops" }).count(), 0, "there is only one view");
  const rows = page.locator(".grid-box").first().locator("tbody tr");
  assert.equal(await rows.count(), trends.workloads.length);
  const slow = trends.workloads.findIndex((it) => it.batch_size === 16);
  const captures = trends.captures.filter((it) => it.workload === slow);
  const first = await rows.first().innerText();
  assert.ok(first.includes("batch 16") && first.includes(ms(captures.at(-1).typical_step_ps)), first);
  assert.match(first, /▼ \+3\.0\s%/);
  assert.equal(await page.locator(".chart-box").count(), 3, "a chart for each workload with several captures");
  // A click on a workload shows it alone, and the URL keeps the choice.
  await rows.first().locator("button").click();
  await until("one workload is shown", async () => (await page.locator(".chart-box").count()) === 1);
  const table = page.locator(".grid-box tbody tr");
  assert.equal(await table.count(), captures.length);
  for (const [at, capture] of captures.toReversed().entries()) {
    const text = await table.nth(at).innerText();
    assert.ok(text.includes(ms(capture.typical_step_ps)) && text.includes(capture.path) && text.includes(capture.git_sha.slice(0, 12)), text);
  }
  assert.match(await table.nth(2).innerText(), /\+3\.0\s% here/, "the first slow capture");
  assert.equal(await page.locator(".chart-box i.point").count(), captures.length);
  assert.match(await page.locator(".block-note").innerText(), /op custom-call\.2[\s\S]*commit 0b0b0b0b0b0b[\s\S]*crossprof compare runs\/a\/run_010/);
  await page.locator(".choice button[data-value='']").waitFor();
  assert.match(page.url(), /by\.workload=/);
  await page.reload();
  // Keys of other views do nothing.
  await open(page, site);
  await loaded(page, TRENDS);
  await page.keyboard.press("4");
  assert.match(page.url(), /#\/overview/);
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    assert.ok(await fits(page), `${width} px`);
  }
});

test("ten thousand captures of a hundred workloads open and scroll", async ({ page, site }) => {
  const trends = read();
  const [capture] = trends.captures.filter((it) => it.git_sha);
  trends.workloads = Array.from({ length: 100 }, (_, at) => ({ workload_key: `w${at}`, program: `jit_step_${at}`, device_kind: "TPU v5 lite", num_devices: 8 }));
  trends.captures = Array.from({ length: 10_000 }, (_, at) => ({ ...capture, workload: Math.floor(at / 100), capture_id: `c${at}`, typical_step_ps: capture.typical_step_ps + (at % 100) * 1e6 }));
  const path = join(scratch(), "trend.json.gz");
  writeFileSync(path, gzipSync(JSON.stringify(trends)));
  await open(page, site);
  const start = performance.now();
  await loaded(page, path);
  const took = performance.now() - start;
  console.log(`10 000 captures are shown after ${took.toFixed(0)} ms`);
  assert.ok(took < 20_000, `${took} ms`);
  const elements = await page.evaluate(() => document.querySelectorAll("*").length);
  assert.ok(elements < 12_000, `${elements} elements`);
  const slowest = await page.evaluate(async () => {
    const main = document.querySelector("#main");
    let [slowest, before] = [0, performance.now()];
    for (let at = 0; at < 60; at++) {
      main.scrollBy(0, 120);
      await new Promise(requestAnimationFrame);
      [slowest, before] = [Math.max(slowest, performance.now() - before), performance.now()];
    }
    return slowest;
  });
  console.log(`${elements} elements, slowest frame while scrolling ${slowest.toFixed(0)} ms`);
  await page.locator(".choice select").selectOption("w77");
  await page.locator("h2", { hasText: "jit_step_77" }).first().waitFor();
});

test("a damaged or newer lake export gives what was read, or one sentence", async ({ page, site }) => {
  const text = gunzipSync(readFileSync(TRENDS)).toString();
  const folder = scratch();
  writeFileSync(join(folder, "cut.json"), text.slice(0, text.length / 2));
  writeFileSync(join(folder, "newer.json"), text.replace('"version":1', '"version":2'));
  await open(page, site);
  await loaded(page, join(folder, "cut.json"));
  assert.match(await page.locator("#warnings").innerText(), /captures before this place were read/);
  await page.reload();
  await open(page, site);
  await drop(page, "#main", [join(folder, "newer.json")]);
  await page.getByText("A lake export of version 2 cannot be read. Use a newer version of crossprof.").first().waitFor();
});

test("crossprof view opens the export in the folder of a lake", async ({ page, cli }) => {
  const lake = mkdtempSync(join(tmpdir(), "crossprof-lake-"));
  mkdirSync(join(lake, "schema=1"));
  copyFileSync(TRENDS, join(lake, "trend.json.gz"));
  const then = Date.now() / 1000 - 60;
  utimesSync(join(lake, "trend.json.gz"), then, then);
  const server = spawn(cli, ["view", lake, "--no-browser", "--port", "0", "--page", resolve(dist)]);
  try {
    const link = await new Promise((found, failed) => {
      server.stdout.on("data", (data) => { const [link] = /http:\S+/.exec(data) ?? []; if (link) found(link); });
      server.on("exit", () => failed(new Error("crossprof view ended")));
    });
    await page.goto(link);
    await page.locator(".page.overview .grid-box").first().waitFor({ timeout: 60_000 });
    assert.match(await page.locator(".grid-box").first().innerText(), /▼ \+3\.0/);
  } finally {
    server.kill();
    rmSync(lake, { recursive: true });
  }
});
