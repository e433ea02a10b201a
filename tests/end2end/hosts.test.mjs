// The map of devices by step: pointer, keys, choices, filter and the way to the timeline.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test, until } from "./harness.mjs";
import { fits, load, open, view } from "./page.mjs";

const EXAMPLE = join(import.meta.dirname, "../../www/assets/examples/tpu-training.trace.json.gz");

test("a cell of the map leads to the step of its device on the timeline", async ({ page, site }) => {
  await open(page, site);
  await load(page, EXAMPLE);
  await view(page, "devices");
  const map = page.locator(".heat-cells .chart");
  await map.waitFor();
  const canvas = map.locator("canvas");
  await until("one pixel per cell", async () => (await canvas.getAttribute("width")) === "8" && (await canvas.getAttribute("height")) === "4");
  const { width, height } = await map.boundingBox();
  // The last chip works longer in each step.
  await map.hover({ position: { x: (5.5 / 8) * width, y: (3.5 / 4) * height } });
  await page.locator("#tip").waitFor();
  assert.match(await page.locator("#tip").innerText(), /TPU:3\s+step 5\s+\+[\d.]+ (µs|ms)/);
  await map.focus();
  for (const key of ["Home", "ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
  assert.match(await page.locator("#tip").innerText(), /TPU:1\s+step 1/);
  assert.ok(await fits(page));
  await page.locator('[data-option="scale"] button[data-value="time"]').click();
  await until("times instead of differences", async () => /^Work of each device in each step$/.test(await page.locator(".chart-head h2").first().innerText()));
  await page.locator(".heat-cells .chart").click({ position: { x: (5.5 / 8) * width, y: (3.5 / 4) * height } });
  await page.locator(".page.timeline").waitFor();
  await until("the first op of the step is selected", async () => /event=c\d+/.test(page.url()));
  assert.match(page.url(), /range=\d+-\d+/);
});

test("the old and the new address of the view work", async ({ page, site }) => {
  await open(page, site);
  await load(page, EXAMPLE);
  for (const key of ["hosts", "devices"]) {
    await page.evaluate((key) => (location.hash = location.hash.replace(/^#\/\w+/, `#/${key}`)), key);
    await page.locator(".heat-cells canvas").waitFor();
  }
});
