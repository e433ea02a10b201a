// Pages that a worker renders: each opens with real data, tables request rows, and marks and findings have links.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { basename, dirname, join } from "node:path";
import { test, until } from "./harness.mjs";
import { downloaded, fits, load, measure, open, trace, VIEWS, view } from "./page.mjs";

const REAL = [
  ["a TPU", "tpu-v6e-4chip/host.xplane.pb"],
  ["eight GPUs", "mi300x-8gpu-conv/tw003.xplane.pb"],
  ["a GPU without HLO", "kineto/rank-0.json.gz"],
];

/** The views whose content a worker renders. */
const MADE = VIEWS.filter((name) => !["overview", "timeline", "graph", "model", "export"].includes(name));

/** Returns the rows of a table that the command line prints, as lists of cells. */
function rows(cli, path, name, options) {
  const args = ["table", name, "--format", "csv", ...options, basename(path)];
  const csv = execFileSync(cli, args, { cwd: dirname(path), maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] }).toString();
  return csv.trim().split("\r\n").slice(1).map((line) => line.split(","));
}

for (const [what, name] of REAL) {
  test(`every view opens with ${what}`, async ({ page, site, artifacts }) => {
    const path = trace(name);
    if (!path) return;
    await open(page, site);
    await load(page, path);
    for (const which of MADE) {
      await view(page, which);
      assert.ok((await page.locator(".blocks > *").count()) > 0, `${which} is empty`);
      const text = await page.locator(".blocks").innerText();
      assert.doesNotMatch(text, /could not be made|NaN|undefined|Infinity/, which);
      assert.ok(await fits(page), `${which} scrolls sideways`);
      await page.screenshot({ path: join(artifacts, `${which}-${name.split("/")[0]}.png`) });
    }
  });
}

test("sorting and filtering a million rows in the worker matches the command line", async ({ page, site, cli }) => {
  const path = trace("tpu-v6e-4chip/host.xplane.pb");
  if (!path) return;
  await open(page, site);
  await load(page, path);
  await measure(page, "all");
  await view(page, "ops");
  const table = page.locator(".table-box").last();
  const name = (await table.locator("h2").innerText()).toLowerCase();
  const firsts = async () => (await table.locator("tbody tr:not(.pad) td:first-child").allInnerTexts()).slice(0, 5);
  const heading = table.locator("th.number .sort").first();
  await heading.click();
  await until("the order stands in the address", async () => /sort\./.test(page.url()));
  await until("the heading says so", async () => (await table.locator('th[aria-sort="descending"]').count()) === 1);
  const [, key, column] = page.url().match(/sort\.([a-z-]+)=-([a-z_]+)/);
  await table.locator(".table-filter").fill("-copy");
  await until("the filter stands in the address", async () => page.url().includes("q=-copy"));
  await until("fewer rows", async () => / of |that pass/.test(await table.locator(".table-head .quiet").innerText()));
  const csv = await downloaded(page, '.table-box:last-of-type button:has-text("CSV")');
  const expected = rows(cli, path, key, ["--window", "all", "--sort", `-${column}`, "--filter=-copy"]);
  assert.equal(csv.trim().split("\r\n").length - 1, expected.length, `rows of ${name}`);
  assert.deepEqual(csv.trim().split("\r\n")[1].split(",").slice(0, 3), expected[0].slice(0, 3));
  assert.equal((await firsts()).length, Math.min(5, expected.length));
});

test("marks are reached by keys, name themselves and lead on", async ({ page, site }) => {
  const path = trace("tpu-v6e-4chip/host.xplane.pb");
  if (!path) return;
  await open(page, site);
  await load(page, path);
  await view(page, "roofline");
  const chart = page.locator(".chart.plane").first();
  if (!(await chart.count())) return console.log("skipped: this build has no plane of points");
  await chart.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.locator("#tip.shown").waitFor();
  assert.ok((await page.locator("#tip").innerText()).length > 3);
  await page.keyboard.press("Enter");
  await until("the mark's filter stands in the address", async () => page.url().includes("q="));
  await page.locator(".chip").waitFor();
  await page.keyboard.press("Escape");
  await until("Esc clears it", async () => !page.url().includes("q="));
});

test("the tree zooms in and back, and its choice changes it", async ({ page, site }) => {
  const path = trace("tpu-v6e-4chip/host.xplane.pb");
  if (!path) return;
  await open(page, site);
  await load(page, path);
  await view(page, "ops");
  const chart = page.locator(".chart.icicle").first();
  const spans = () => chart.locator(".span").count();
  const before = await spans();
  await chart.focus();
  for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  await until("the way back is there", async () => (await page.locator(".crumb-button").count()) > 0);
  await page.locator(".crumb-button").first().click();
  await until("the whole tree again", async () => (await spans()) === before);
  const choice = page.locator(".choice button[aria-pressed=false]").first();
  const value = await choice.getAttribute("data-value");
  await choice.click();
  await until("the choice stands in the address", async () => page.url().includes(`=${value}`));
  await until("the button is pressed", async () => (await page.locator(`.choice button[data-value="${value}"]`).getAttribute("aria-pressed")) === "true");
});

test("links of the overview lead to their rows", async ({ page, site }) => {
  const path = trace("tpu-v6e-4chip/host.xplane.pb");
  if (!path) return;
  await open(page, site);
  await load(page, path);
  const row = page.locator(".page.overview .table-box tbody tr:not(.pad)").first();
  // Corresponding ops of repeated layers, such as `copy-done.*`.
  const stem = (await row.locator("td, th").first().innerText()).trim().replace(/\.\*$/, "");
  await row.locator("td").nth(1).click();
  await page.locator(".page.ops").waitFor();
  assert.equal(await page.locator(".chip").innerText(), `hlo_op_name:${stem} ×`);
  const ops = page.locator(".table-box").first();
  await until("only its ops are left", async () => /^\d+ of /.test(await ops.locator(".table-head .quiet").innerText()));
  const left = await ops.locator("tbody tr:not(.pad)").allInnerTexts();
  assert.ok(left.length > 1 && left.every((text) => text.includes(stem)), `${left}`);
  await page.goBack();
  await page.locator('[data-chart="Kernel time by category"] .bars a[href]').first().click();
  await page.locator(".page.ops").waitFor();
  await until("rows are left", async () => /^\d+ of /.test(await page.locator(".table-head .quiet").first().innerText()));
});

test("a part of a step shows its events", async ({ page, site }) => {
  const path = trace("tpu-v6e-4chip/host.xplane.pb");
  if (!path) return;
  await open(page, site);
  await load(page, path);
  await view(page, "steps");
  const chart = page.locator(".chart").first();
  await chart.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await until("step and part stand in the address", async () => /q=step%3D\d+%20part%3D[a-z0-9_]+/.test(page.url()));
  const [, step, part] = /step%3D(\d+)%20part%3D([a-z0-9_]+)/.exec(page.url());
  const events = page.locator(".table-box").first();
  await until("the events of the step", async () => (await events.locator("h2").innerText()).startsWith("Events of"));
  const rows = await events.locator("tbody tr:not(.pad)").allInnerTexts();
  assert.ok(rows.length > 0);
  for (const row of rows) assert.deepEqual(row.split("\t").map((cell) => cell.trim()).filter((cell) => cell === step || cell === part).slice(0, 2), [step, part], row);
});

test("a finding leads to its evidence", async ({ page, site }) => {
  const path = trace("mi300x-8gpu-conv/tw003.xplane.pb");
  if (!path) return;
  await open(page, site);
  await load(page, path);
  await page.locator(".to-do .finding").first().waitFor();
  await view(page, "findings");
  const link = page.locator(".finding .evidence-link").first();
  const href = await link.getAttribute("href");
  await link.click();
  await until("the view of the link is there", async () => page.url().endsWith(href));
  await page.locator(`.page.${href.match(/#\/([a-z]+)/)[1]}`).waitFor();
});
