// The memory page: its figures and tables match those of the command line, for compiled programs, allocators and device memory
// profiles.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { drop } from "./browser.mjs";
import { test } from "./harness.mjs";
import { analyze, downloaded, figure, fits, load, open, scratch, settled, trace, view } from "./page.mjs";

const PROGRAMS = join(import.meta.dirname, "../data/jax-cpu-memory");

/** Returns a table that the command line prints for these files. */
function printed(cli, paths, name, options) {
  const args = ["table", name, ...options, ...paths.map((path) => basename(path))];
  return execFileSync(cli, args, { cwd: dirname(paths[0]), maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] }).toString();
}

/** Returns the rows of such a table as objects. */
function rows(cli, paths, name, options = []) {
  return JSON.parse(printed(cli, paths, name, ["--format", "json", ...options]));
}

/** Returns the lines of the CSV that the page saves for the table with this heading. */
async function saved(page, heading) {
  const csv = await downloaded(page, `.table-box:has(h2:text-is("${heading}")) button:has-text("CSV")`);
  return csv.trim().split("\r\n");
}

test("a capture's memory is that of the command line", async ({ page, site, cli, artifacts }) => {
  const path = trace("tpu-v6e-4chip/host.xplane.pb");
  if (!path) return;
  await open(page, site);
  await load(page, path);
  await view(page, "memory");
  const [program] = rows(cli, [path], "program-memory", ["--sort", "-peak_heap_bytes"]);
  assert.equal(await page.locator('[data-card="arguments"] .figure').getAttribute("data-exact").then((it) => it.replace(/\D/g, "")), String(program.parameter_bytes));
  const buffers = rows(cli, [path], "buffers");
  assert.equal((await saved(page, "Buffers alive at the peak, all programs")).length - 1, buffers.length);
  const events = rows(cli, [path], "memory-timeline");
  assert.equal((await saved(page, "Every allocation and release")).length - 1, events.length);
  assert.ok(await fits(page), "the page scrolls sideways");
  assert.doesNotMatch(await page.locator(".blocks").innerText(), /NaN|undefined|Infinity/);
  // A click on a row opens its details. A worker renders them.
  const table = page.locator('.table-box:has(h2:text-is("Buffers alive at the peak, all programs"))');
  await table.locator("tbody tr:not(.pad)").first().click();
  await page.locator(".row-details h2").waitFor();
  assert.match(await page.locator(".row-details").innerText(), /Class/);
  await page.screenshot({ path: join(artifacts, "memory-tpu.png"), fullPage: true });
});

test("the memory page of an imported report shows its numbers and offers no events", async ({ page, site, cli, artifacts }) => {
  const path = trace("tpu-v6e-4chip/host.xplane.pb");
  if (!path) return;
  const text = analyze(cli, path);
  const report = join(scratch(), "earlier.json");
  writeFileSync(report, text);
  const { devices, programs } = JSON.parse(text).memory;
  await open(page, site);
  await load(page, report);
  await view(page, "memory");
  const peak = Math.max(...devices.map((device) => device.peak_bytes));
  assert.equal(await page.locator('[data-card="peak"] .figure').getAttribute("data-exact").then((it) => it.replace(/\D/g, "")), String(peak));
  const shown = await page.locator(".blocks").innerText();
  for (const name of [...devices.map((device) => device.device_name), ...programs.map((program) => program.module)]) assert.ok(shown.includes(name), name);
  await page.screenshot({ path: join(artifacts, "memory-earlier.png"), fullPage: true });
  assert.equal(await page.locator('input[name="window"]').count(), 0);
  assert.equal(await page.locator(".strip").count(), 0);
  await view(page, "timeline");
  assert.match(await page.locator(".page.timeline").innerText(), /earlier result/);
});

test("programs that XLA dumped open by themselves, at their memory", async ({ page, site, cli, artifacts }) => {
  const paths = readdirSync(PROGRAMS).filter((name) => name.endsWith(".pb.gz")).map((name) => join(PROGRAMS, name));
  await open(page, site);
  await drop(page, "#main", paths);
  await page.locator(".page.memory .card").first().waitFor({ timeout: 60_000 });
  await settled(page);
  const programs = rows(cli, paths, "program-memory");
  assert.equal(programs.length, 5);
  assert.equal(await figure(page, "peak"), programs[0].peak_heap_bytes);
  // Another program has different figures.
  const last = programs.at(-1);
  await page.locator(`button:has-text("${last.module}")`).click();
  await settled(page);
  assert.equal(await figure(page, "peak"), last.peak_heap_bytes);
  await page.screenshot({ path: join(artifacts, "memory-programs.png"), fullPage: true });
});

test("a device memory profile opens at its call stacks", async ({ page, site, cli, artifacts }) => {
  const path = trace("memory-prof/cuda-led-getter.prof");
  if (!path) return;
  await open(page, site);
  await drop(page, "#main", [path]);
  await page.locator(".page.memory .card").first().waitFor({ timeout: 60_000 });
  await settled(page);
  const kinds = rows(cli, [path], "heap", ["--by", "kind"]);
  assert.equal(await figure(page, "arrays"), kinds.find((row) => row.kind === "buffer").bytes);
  assert.equal((await saved(page, "By line")).length - 1, rows(cli, [path], "heap").length);
  await page.screenshot({ path: join(artifacts, "memory-heap.png"), fullPage: true });
  // The overview and the downloaded profile show the same bytes.
  await view(page, "overview");
  const all = rows(cli, [path], "heap").reduce((sum, row) => sum + row.bytes, 0);
  assert.equal(await figure(page, "live-memory"), all);
  assert.equal((await saved(page, "Memory by line of code")).length - 1, rows(cli, [path], "heap").length);
});

test("a capture without allocations and programs explains how to record them", async ({ page, site }) => {
  await open(page, site);
  await page.locator(".example").first().click();
  await page.locator(".page.overview .card").first().waitFor();
  await view(page, "memory");
  const text = await page.locator(".blocks").innerText();
  assert.match(text, /A JSON trace does not contain programs/);
  assert.match(text, /save_device_memory_profile/);
});

test("device memory profiles dropped together show the difference from the previous one", async ({ page, site, cli }) => {
  const paths = ["memory-prof/cuda-poscidyn.prof", "memory-prof/cuda-led-getter.prof"].map(trace);
  if (!paths.every(Boolean)) return;
  await open(page, site);
  await drop(page, "#main", paths);
  await page.locator(".page.memory .card").first().waitFor({ timeout: 60_000 });
  await settled(page);
  // The files are ordered by name. The later file shows the difference.
  const [, later] = paths.map((path) => basename(path)).sort();
  await page.locator(`.runs a:has-text("${later.replace(".prof", "")}")`).first().click();
  const heading = await page.locator('h2:has-text("By kind, since")').innerText();
  const told = rows(cli, paths.sort(), "heap", ["--by", "kind"]);
  assert.ok(told.every((row) => row.bytes_change === row.bytes - row.bytes_before) && told.some((row) => row.bytes_change !== 0));
  assert.deepEqual(await saved(page, heading), printed(cli, paths, "heap", ["--by", "kind", "--format", "csv"]).trim().split("\r\n"));
});

const OUT_OF_MEMORY = readFileSync(join(import.meta.dirname, "../data/out-of-memory/gpu.log"), "utf8");

test("the text of an out-of-memory error opens by a drop and by pasting", async ({ page, site, cli, artifacts }) => {
  const path = join(artifacts, "train.log");
  writeFileSync(path, OUT_OF_MEMORY);
  const look = async () => {
    await page.locator(".page.memory .card").first().waitFor({ timeout: 60_000 });
    await settled(page);
    assert.equal(await figure(page, "requested"), 8388608);
    const told = printed(cli, [path], "buffers", ["--format", "csv"]);
    assert.deepEqual(await saved(page, "Buffers alive at the peak, all programs"), told.trim().split("\r\n"));
    assert.match(told, /model.py:31.*8388608|8388608.*model.py:31/);
  };
  await open(page, site);
  await drop(page, "#main", [path]);
  await look();
  await open(page, site);
  await page.evaluate((text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, OUT_OF_MEMORY);
  await look();
});
