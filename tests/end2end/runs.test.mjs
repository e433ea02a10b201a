// Many runs, failed loads, reloads, and values that the model form rejects.

import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { drop } from "./browser.mjs";
import { test, until } from "./harness.mjs";
import { load, open, scratch, settled, view } from "./page.mjs";

const EXAMPLES = join(import.meta.dirname, "../../www/assets/examples");
const GPU = "gpu-training.trace.json.gz";

/** Creates copies of an example under these names. */
function copies(names) {
  const folder = scratch();
  return names.map((name) => {
    const path = join(folder, `${name}.trace.json.gz`);
    copyFileSync(join(EXAMPLES, GPU), path);
    return path;
  });
}

const names = (page) => page.locator(".run-link .name").allInnerTexts();

test("many runs are listed in the order of their files and leave the views visible", async ({ page, site }) => {
  await open(page, site);
  const wanted = Array.from({ length: 15 }, (_, at) => `run-${String.fromCharCode(97 + at)}`);
  await drop(page, "#main", copies(wanted));
  await until("all runs are there", async () => (await page.locator(".run-link").count()) === wanted.length, 120_000);
  assert.deepEqual(await names(page), wanted);
  const { y, height } = await page.locator(".views li").last().boundingBox();
  assert.ok(y + height < 772, `the last view ends at ${y + height}`);
});

test("the newest run of a folder is opened first", async ({ page, site }) => {
  await open(page, site);
  const folder = join(scratch(), "log");
  for (const time of ["2026_01_05_10_00_00", "2026_03_07_10_00_00", "2026_02_06_10_00_00"]) {
    const run = join(folder, "plugins/profile", time);
    mkdirSync(run, { recursive: true });
    copyFileSync(join(EXAMPLES, GPU), join(run, "host.trace.json.gz"));
  }
  await drop(page, "#main", [folder]);
  await page.locator(".page.overview .card").first().waitFor();
  await until("all runs are there", async () => (await page.locator(".run-link").count()) === 3);
  assert.equal(await page.locator(".run-link[aria-current]").count(), 1);
  assert.match(await page.locator(".run-header h1").innerText(), /03.07/);
});

test("after a reload the page names the file to drop, and then restores its state", async ({ page, site }) => {
  await open(page, site);
  await load(page, copies(["mine"]));
  await view(page, "ops");
  const address = page.url();
  await page.reload();
  await page.locator("body[data-ready]").waitFor();
  assert.match(await page.locator(".banner").innerText(), /Drop mine\.trace\.json\.gz again/);
  await drop(page, "#main", copies(["mine"]));
  await page.locator(".page.ops .table-box").waitFor();
  assert.equal(page.url(), address);
});

test("failed loads show no progress and can be dismissed immediately", async ({ page, site }) => {
  await open(page, site);
  const folder = scratch();
  const bad = ["notes.txt", "more.txt"].map((name) => {
    writeFileSync(join(folder, name), "These are notes.");
    return join(folder, name);
  });
  for (const path of bad) await drop(page, "#main", [path]);
  await until("both failed", async () => (await page.locator(".file.failed").count()) === 2);
  for (const file of await page.locator(".file").all()) assert.equal(await file.locator(".percent").innerText(), "");
  await page.locator(".loads > button").click();
  await until("nothing is left", async () => (await page.locator(".load").count()) === 0);
});

test("a file without events is reported once", async ({ page, site }) => {
  await open(page, site);
  const path = join(scratch(), "empty.json");
  writeFileSync(path, '{"traceEvents": []}');
  await drop(page, "#main", [path]);
  await page.locator(".warning-row").first().waitFor();
  await settled(page);
  assert.equal(await page.locator(".warning-row").count(), 1);
  assert.equal(await page.locator(".nothing").count(), 0);
});

test("the model form keeps rejected values and explains why", async ({ page, site }) => {
  await open(page, site);
  await load(page, copies(["mine"]));
  await view(page, "model");
  const field = (name) => page.locator(`input[name=${name}]`);
  for (const [name, text] of [["batch_size", "banana"], ["num_steps", "-5"]]) {
    await field(name).fill(text);
    await field(name).press("Tab");
    await page.locator(".field.wrong", { has: field(name) }).locator(".hint").waitFor();
  }
  await field("seq_length").fill("2048");
  await field("seq_length").press("Tab");
  await settled(page);
  assert.equal(await field("batch_size").inputValue(), "banana");
  assert.equal(await field("num_steps").inputValue(), "-5");
  assert.equal(await page.locator(".hint").count(), 2);
  await page.locator("button", { hasText: "Clear all" }).click();
  await until("nothing is refused any more", async () => (await page.locator(".hint").count()) === 0);
  assert.equal(await field("batch_size").inputValue(), "");
});

/** Returns a text with all white space replaced by single spaces. */
const words = async (element) => (await element.innerText()).replace(/[\s\u00a0]+/g, " ");

test("expensive ops are named if no rule fires, and missing data takes one line", async ({ page, site }) => {
  await open(page, site);
  await load(page, copies(["mine"]));
  const named = page.locator(".to-do .finding", { hasText: "Most time:" });
  const [, share, name] = /Most time: ([\d.]+) % (.+?)(,| Of)/.exec(await words(named));
  const bars = page.locator("[data-chart='Kernel time by category'] .bar");
  assert.match(await words(bars.first()), new RegExp(`${name} .* ${share} %`));
  // The length of a bar matches its percentage.
  const [track, fill] = await Promise.all([".track", ".fill"].map((part) => bars.first().locator(part).boundingBox()));
  assert.ok(Math.abs((100 * fill.width) / track.width - Number(share)) < 1, `${fill.width} of ${track.width} for ${share} %`);
  const missing = page.locator(".fold", { hasText: "Not measured" });
  assert.equal(await missing.getAttribute("open"), null);
  await missing.locator("summary").click();
  assert.ok((await missing.locator("dt").count()) > 0);
  assert.doesNotMatch(await missing.innerText(), /[a-z]_[a-z]|--[a-z]/, "no field paths and no flags");
});
