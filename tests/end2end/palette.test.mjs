// The command palette: every action is available by name, using only the keyboard.

import assert from "node:assert/strict";
import { test, until } from "./harness.mjs";
import { open, view } from "./page.mjs";

test("ops, scopes and events are found by name, and Enter leads to them", async ({ page, site }) => {
  await open(page, site);
  await page.locator(".example").first().click();
  await page.locator(".page.overview .card").first().waitFor();
  await view(page, "ops");
  const name = await page.locator("tr[data-row='0'] td.fixed bdi").first().innerText();
  const lines = page.locator("#palette [role=option]");
  const found = (kind) => page.locator("#palette [role=option]", { has: page.locator(".kind", { hasText: new RegExp(`^${kind}$`) }) });
  const search = async (text) => {
    await page.keyboard.press("Control+k");
    await page.locator("#palette input:focus").waitFor();
    await page.keyboard.type(text);
  };
  await search(name);
  await found("Op").first().waitFor();
  await found("Event").first().waitFor();
  assert.ok((await found("Op").count()) <= 8 && (await found("Event").count()) <= 8);
  assert.equal(await lines.first().locator("bdi").innerText(), name, "no action is called so");
  await page.keyboard.press("Enter");
  await until("the pane of the op opens", async () => (await page.locator(".row-details h2").first().innerText()) === name);
  await search(name);
  await found("Event").first().click();
  await page.locator(".page.timeline").waitFor();
  await until("the event is selected", async () => (await page.locator(".timeline-details h2").first().innerText()) === name);
  // Another event, starting from here.
  await search("all-reduce");
  const other = await found("Event").first().locator("bdi").innerText();
  await found("Event").first().click();
  await until("the other event is selected", async () => (await page.locator(".timeline-details h2").first().innerText()) === other);
  await search("view roof");
  await page.keyboard.press("Enter");
  await page.locator(".page.roofline").waitFor();
});

test("commands are found by typing and done with Enter", async ({ page, context, site }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, site);
  const palette = page.locator("#palette");
  const lines = page.locator("#palette [role=option]");
  const run = async (text) => {
    await page.keyboard.press("Control+k");
    await page.locator("#palette input:focus").waitFor();
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
    await until("the palette closes", async () => (await palette.count()) === 0);
  };
  await page.keyboard.press("Control+k");
  await palette.waitFor();
  assert.equal(await palette.getAttribute("role"), "dialog");
  const before = await lines.allInnerTexts();
  assert.ok(before.some((line) => line.startsWith("Load example")) && !before.some((line) => line.startsWith("View:")), "views need a run");
  await page.keyboard.press("Escape");
  await until("Esc closes", async () => (await palette.count()) === 0);

  await run("example gpu");
  await page.locator(".page.overview .card").first().waitFor();
  await page.locator(".open-link").focus();
  await run("view roof");
  await page.locator(".page.roofline").waitFor();
  assert.ok(await page.evaluate(() => document.activeElement.classList.contains("open-link")), "the focus is where it was");

  await page.keyboard.press("Control+k");
  await page.locator("#palette input:focus").waitFor();
  await page.keyboard.type("view");
  await until("only views", async () => (await lines.allInnerTexts()).every((line) => line.startsWith("View:") || /view/i.test(line)));
  const chosen = () => page.locator("#palette [aria-selected=true]");
  const first = await chosen().innerText();
  await page.keyboard.press("ArrowDown");
  const second = await chosen().innerText();
  assert.notEqual(first, second);
  const active = await page.locator("#palette input").getAttribute("aria-activedescendant");
  assert.equal(await page.locator(`#${active}`).innerText(), second, "the reader hears the chosen line");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  assert.equal(await chosen().innerText(), (await lines.allInnerTexts()).at(-1), "the list goes round");
  await page.keyboard.type(" zzz");
  await until("nothing of that name", async () => /No action/.test(await palette.innerText()));
  await page.keyboard.press("Escape");
  await until("Esc closes", async () => (await palette.count()) === 0);

  await run("view kernels");
  await page.locator(".table-filter").first().waitFor();
  await run("filter tables of this view");
  assert.ok(await page.evaluate(() => document.activeElement.classList.contains("table-filter")), "an action may move the focus");
  const theme = await page.evaluate(() => document.documentElement.dataset.theme ?? "");
  await run("theme");
  await until("the theme changes", () => page.evaluate((theme) => document.documentElement.dataset.theme !== theme, theme));
  await run("view overview");
  await page.locator(".page.overview").waitFor();
  await page.locator(".chart-box").first().waitFor();
  await page.keyboard.press("Control+k");
  await page.locator("#palette input:focus").waitFor();
  await page.keyboard.type("svg step");
  const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
  assert.match(download.suggestedFilename(), /step-by-step\.svg$/);
  await run("copy url");
  await page.locator(".notice.shown").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), page.url());
  await run("help");
  assert.match(await page.locator("#help").innerText(), /commands/);
  await page.keyboard.press("Escape");
  await run("close this run");
  await page.locator(".start").waitFor();
}, { alone: true });
