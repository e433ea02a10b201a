// Keyboard focus and printing.

import assert from "node:assert/strict";
import { test, until } from "./harness.mjs";
import { open, view } from "./page.mjs";

const focused = (page) => page.evaluate(() => document.activeElement?.className ?? "");

async function example(page, site) {
  await open(page, site);
  await page.locator(".example").first().click();
  await page.locator(".page.overview .card").first().waitFor();
}

test("a link skips to the view, and dialogs restore the focus", async ({ page, site }) => {
  await example(page, site);
  await page.evaluate(() => document.activeElement?.blur());
  await page.locator(".skip").focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "main");
  await page.locator(".open-link").focus();
  for (const [key, dialog] of [["?", "#help"], ["Control+k", "#palette"]]) {
    await page.keyboard.press(key);
    await page.locator(`${dialog} :focus`).waitFor();
    await page.keyboard.press("Escape");
    await until("it is closed", async () => (await page.locator(dialog).count()) === 0);
    assert.match(await focused(page), /open-link/, dialog);
  }
});

test("menus and the details of a row restore the focus", async ({ page, site }) => {
  await example(page, site);
  await view(page, "ops");
  await page.locator("tr[data-row='0']").first().click();
  await page.locator(".row-details .facts").first().waitFor();
  await page.locator(".row-details .row-actions button", { hasText: "Close" }).click();
  await until("the table has the focus", async () => /table-scroll/.test(await focused(page)));
  await page.locator(".columns summary").first().click();
  await page.locator(".columns[open] .menu").waitFor();
  await page.keyboard.press("Escape");
  await until("the menu is closed", async () => (await page.locator(".columns[open]").count()) === 0);
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "SUMMARY");
});

test("each heading of a chart is one stop of the Tab key", async ({ page, site }) => {
  await example(page, site);
  const stops = await page.locator(".chart-head h2").evaluateAll((all) => all.map((it) => it.querySelectorAll("a, button, [tabindex]").length));
  assert.ok(stops.length > 2 && stops.every((count) => count <= 1), stops.join());
});

test("Ctrl P prints only the view", async ({ page, site }) => {
  await example(page, site);
  await page.evaluate(() => window.addEventListener("keydown", (event) => { window.isTaken = event.defaultPrevented; }));
  await page.keyboard.press("Control+p");
  assert.equal(await page.evaluate(() => window.isTaken), false, "the browser's own command");
  assert.equal(await page.locator("#palette").count(), 0);
  await view(page, "kernels");
  await page.emulateMedia({ media: "print" });
  for (const part of [".rail", ".top", ".footer", ".table-filter"]) assert.ok(!(await page.locator(part).first().isVisible()), part);
  const heights = await page.locator("main, .table-scroll").evaluateAll((all) => all.map((it) => it.scrollHeight - it.clientHeight));
  assert.ok(heights.length > 1 && heights.every((hidden) => hidden <= 1), `nothing scrolls: ${heights.join()}`);
});
