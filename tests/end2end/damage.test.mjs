// Bad input gives a clear message or a partial profile, and no name is interpreted as markup.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { drop } from "./browser.mjs";
import { test, until } from "./harness.mjs";
import { fits, load, open, scratch, VIEWS, view } from "./page.mjs";

/** Builds a small trace of one TPU with ops of the given names. */
function tpu(names, steps = 5) {
  const events = [
    { ph: "M", pid: 3, name: "process_name", args: { name: "/device:TPU:0" } },
    { ph: "M", pid: 3, tid: 1, name: "thread_name", args: { name: "XLA Modules" } },
    { ph: "M", pid: 3, tid: 2, name: "thread_name", args: { name: "XLA Ops" } },
  ];
  for (let step = 0; step < steps; step++) {
    events.push({ ph: "X", pid: 3, tid: 1, ts: step * 1000, dur: 900, name: "jit_train_step(7)", args: { run_id: `${step}` } });
    names.forEach((name, index) => events.push({ ph: "X", pid: 3, tid: 2, ts: step * 1000 + index * 100, dur: 80, name, args: { hlo_category: "loop fusion" } }));
  }
  return JSON.stringify({ displayTimeUnit: "ns", traceEvents: events });
}

test("keeps the readable part of a truncated file and reports what was lost", async ({ page, site }) => {
  const names = Array.from({ length: 400 }, (_, index) => `fusion.${(index * 7919) % 1000003}`);
  const packed = gzipSync(tpu(names, 40));
  const file = join(scratch(), "cut.trace.json.gz");
  writeFileSync(file, packed.subarray(0, packed.length / 2));
  await open(page, site);
  await load(page, file);
  await page.locator("#warnings .warning-row.bad").first().waitFor();
  const text = await page.locator("#warnings").innerText();
  assert.match(text, /cut\.trace\.json/);
});

test("describes a file that is not a profile, and loads the other dropped files", async ({ page, site }) => {
  const folder = scratch();
  const files = { "empty.json": "", "page.json": "<!doctype html><title>404</title>", "good.trace.json": tpu(["fusion.1"]) };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  await open(page, site);
  await load(page, Object.keys(files).map((name) => join(folder, name)));
  await page.keyboard.press("o");
  await until("both bad files say why", async () => (await page.locator(".file.failed .message").count()) === 2);
  assert.equal(await page.locator(".failed-link").innerText(), "2 files not read");
  const messages = (await page.locator(".file.failed .message").allInnerTexts()).join("\n");
  assert.match(messages, /empty/i);
  assert.match(messages, /HTML/i);
  await page.locator(".file.failed summary").first().click();
  assert.match(await page.locator(".file.failed pre").first().innerText(), /crossprof .* \(build /);
});

test("shows hostile names as text, however long", async ({ page, site, artifacts }) => {
  const hostile = ["<img src=x onerror=\"document.title='owned'\">", "\u202egnp.exe\u202c", "x".repeat(1 << 20), "</td><script>document.title='owned'</script>"];
  const file = join(scratch(), "hostile.trace.json");
  writeFileSync(file, tpu(hostile));
  await open(page, site);
  const title = await page.title();
  await load(page, file);
  for (const name of VIEWS) {
    await view(page, name);
    assert.ok(await fits(page), `${name} scrolls sideways`);
    assert.equal(await page.locator("main img, main script").count(), 0);
  }
  assert.equal(await page.title(), title);
  await view(page, "overview");
  await page.locator(".table-box tbody tr:not(.pad)").first().waitFor();
  const text = await page.locator(".table-scroll").first().innerText();
  assert.ok(text.includes("<img src=x"), "the name is there, as text");
  assert.ok(!text.includes("\u202e"), "marks that reorder text are written out");
  const size = await page.evaluate(() => document.documentElement.outerHTML.length);
  assert.ok(size < 2_000_000, `the document has ${size} characters`);
  await page.screenshot({ path: join(artifacts, "hostile-names.png") });
});

test("refuses a deleted file with a message", async ({ page, site }) => {
  await open(page, site);
  const file = join(scratch(), "text.txt");
  writeFileSync(file, readFileSync(new URL(import.meta.url)));
  await drop(page, "#main", [file]);
  const message = page.locator(".file.failed .message");
  await message.waitFor();
  assert.match(await message.innerText(), /not a profile/);
});
