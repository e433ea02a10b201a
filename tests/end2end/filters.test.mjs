// One filter for all views: rows and cells set it, views that lack its column state this, and charts that are shown as tables
// stay tables.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { drop } from "./browser.mjs";
import { test, until } from "./harness.mjs";
import { load, measure, open, scratch, trace, view } from "./page.mjs";

const rowsOf = (page, at = 0) => page.locator(".table-box > .table-body > .table-scroll").nth(at).locator("tbody tr:not(.pad)");
const counted = (page, at = 0) => page.locator(".table-box .table-head .quiet").nth(at).innerText();

/** Returns the texts of a column, given its heading. */
async function column(page, title, at = 0) {
  const box = page.locator(".table-box > .table-body > .table-scroll").nth(at);
  const heads = (await box.locator("thead th").allInnerTexts()).map((text) => text.replace(/\s+/g, " ").replace(/[↑↓]/, "").trim());
  return box.locator(`tbody tr:not(.pad) td:nth-child(${heads.indexOf(title) + 1})`).allInnerTexts();
}

/** Opens the details of a row and sets the filter for its subject. */
async function filterBy(page, row) {
  await row.click();
  await page.locator(".row-details .facts").first().waitFor();
  await page.getByRole("button", { name: "Filter by it" }).click();
}

test("an op filter applies to every view with ops, and other views state that it does not apply", async ({ page, site }) => {
  const path = trace("tpu-v6e-4chip/host.xplane.pb");
  if (!path) return;
  await open(page, site);
  await load(page, path);
  // The collectives run outside the steps.
  await measure(page, "all");
  await view(page, "ops");
  await rowsOf(page).nth(2).waitFor();
  const names = await column(page, "Op");
  const name = names.find((name) => name.startsWith("all-reduce"));
  const steps = async () => (await view(page, "steps"), counted(page));
  const all = await steps();
  await view(page, "ops");
  await filterBy(page, rowsOf(page).nth(names.indexOf(name)));
  await until("the filter stands in the address", async () => page.url().includes(encodeURIComponent(`hlo_op_name="${name}"`)));
  for (const [which, title] of [["ops", "Op"], ["kernels", "Kernel"], ["roofline", "Op"], ["communication", "Op"]]) {
    if (which !== "ops") await view(page, which);
    await until(`only that op: ${which}`, async () => (await column(page, title)).every((text) => text === name) && (await rowsOf(page).count()) === 1);
    assert.equal(await page.locator(".chip").count(), 1);
  }
  const text = await steps();
  assert.ok(text.startsWith(all), `${text} begins with ${all}`);
  assert.match(text, /not filtered by hlo_op_name/);
  assert.ok((await rowsOf(page).count()) > 1);
  await view(page, "ops");
  await filterBy(page, rowsOf(page).first());
  await until("a second time it is taken away", async () => (await rowsOf(page).count()) > 1 && (await page.locator(".chip").count()) === 0);
  await page.locator(".table-scroll").focus();
  for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  await until("Enter opens the details too", async () => (await page.locator(".row-details h2").first().innerText()) === names[1]);
  assert.equal(await page.locator("tr.chosen").count(), 1);
  await page.keyboard.press("Enter");
  await until("and closes them", async () => (await page.locator(".row-details").count()) === 0);
});

test("filtering by a kernel follows to the op, with and without HLO", async ({ page, site }) => {
  for (const name of ["mi300x-8gpu-conv/tw003.xplane.pb", "kineto/rank-0.json.gz"]) {
    const path = trace(name);
    if (!path) continue;
    await open(page, site);
    await load(page, path);
    await view(page, "kernels");
    await rowsOf(page).first().waitFor();
    await filterBy(page, rowsOf(page).first());
    await page.locator(".chip").waitFor();
    const kernels = () => rowsOf(page).count();
    await until("kernels of that op remain", async () => (await kernels()) >= 1 && / of /.test(await counted(page)));
    assert.doesNotMatch(await counted(page), /not filtered/);
    await view(page, "ops");
    await until("its row is there", async () => (await rowsOf(page).count()) === 1 && / of /.test(await counted(page)));
    await page.goto("about:blank");
  }
});

/** Builds four chips: 0 and 1 reduce together, 2 and 3 reduce together, and 0 sends to 2. */
function collectives() {
  const meta = (pid, tid, name, value) => ({ ph: "M", pid, ...(tid ? { tid } : {}), name, args: { name: value } });
  const ops = [
    ["all-reduce.1", "all-reduce", "f32[250]{0} all-reduce(f32[250]{0} %x), replica_groups={{0,1},{2,3}}"],
    ["collective-permute.2", "collective-permute", "f32[250]{0} collective-permute(f32[250]{0} %x), source_target_pairs={{0,2}}"],
  ];
  const events = [0, 1, 2, 3].flatMap((chip) => [
    meta(chip + 1, 0, "process_name", `/device:TPU:${chip}`),
    meta(chip + 1, 1, "thread_name", "XLA Ops"),
    ...ops.map(([name, category, text], at) => ({
      ph: "X", pid: chip + 1, tid: 1, ts: 100 * at, dur: 10, name, args: { long_name: `%${name} = ${text}`, hlo_category: category },
    })),
  ]);
  return JSON.stringify({ displayTimeUnit: "ns", traceEvents: events });
}

test("a cell of the matrix lists the collectives between two devices", async ({ page, site }) => {
  const path = join(scratch(), "four.trace.json");
  writeFileSync(path, collectives());
  await open(page, site);
  await load(page, path);
  await view(page, "communication");
  const chart = page.locator(".matrix-plot .chart");
  await chart.waitFor();
  assert.deepEqual((await column(page, "Op")).sort(), ["all-reduce.1", "collective-permute.2"]);
  const { width, height } = await chart.boundingBox();
  await chart.click({ position: { x: 0.625 * width, y: 0.125 * height } });
  await until("the cell stands in the address", async () => page.url().includes("between%3D0-2"));
  await until("what 0 sends to 2", async () => (await column(page, "Op")).join() === "collective-permute.2");
  assert.match(await page.locator(".table-head h2").innerText(), /TPU:0 sends to .*TPU:2/);
  assert.equal(await chart.locator(".chosen-cell").count(), 1);
  await page.keyboard.press("Escape");
  await until("Esc lists all again", async () => (await rowsOf(page).count()) === 2);
  await chart.focus();
  for (const key of ["Home", "ArrowRight", "Enter"]) await page.keyboard.press(key);
  await until("by keys too", async () => (await column(page, "Op")).join() === "all-reduce.1");
  await page.keyboard.press("Enter");
  await until("and back", async () => (await rowsOf(page).count()) === 2 && !page.url().includes("between"));
  await view(page, "ops");
  assert.equal(await rowsOf(page).count(), 2);
});

test("the address records that a chart is shown as a table", async ({ page, site }) => {
  const path = trace("synth-gpu-7steps/vm.xplane.pb");
  if (!path) return;
  await open(page, site);
  await load(page, path);
  await view(page, "kernels");
  const chart = page.locator('[data-chart="Time by family"]');
  await chart.locator('[data-save="table"]').click();
  await chart.locator(".chart-table").waitFor();
  assert.ok(page.url().includes("table=time-by-family"));
  await page.locator(".table-filter").first().fill("gemm");
  await until("a filter keeps it", async () => page.url().includes("q=gemm") && page.url().includes("table=time-by-family"));
  await chart.locator(".chart-table").waitFor();
  const address = page.url();
  await page.goto("about:blank");
  await page.goto(address);
  await page.locator("body[data-ready]").waitFor();
  // The URL waits for the run, and then shows the run in the same state.
  await drop(page, "#main", [path]);
  await chart.locator(".chart-table").waitFor();
  await chart.locator('[data-save="table"]').click();
  await until("the address forgets it", async () => !page.url().includes("table="));
});

test("leaving a view while typing a filter does not affect the next view", async ({ page, site }) => {
  const path = trace("synth-gpu-7steps/vm.xplane.pb");
  if (!path) return;
  await open(page, site);
  await load(page, path);
  for (const [from, to] of [["ops", "kernels"], ["kernels", "ops"]]) {
    await view(page, from);
    await rowsOf(page).first().waitFor();
    // A key and the click come in quick succession, while the query for the key still waits for more keys.
    await page.evaluate((to) => {
      const field = document.querySelector(".table-filter");
      field.value += "a";
      field.dispatchEvent(new Event("input", { bubbles: true }));
      document.querySelector(`.views a[href^="#/${to}"]`).click();
    }, to);
    await view(page, to);
    await page.locator(`.page.${to} .table-box`).first().waitFor();
  }
});

test("columns are chosen by their headings, and a filter without matches explains why", async ({ page, site }) => {
  const path = trace("tpu-v6e-4chip/host.xplane.pb");
  if (!path) return;
  await page.setViewportSize({ width: 1280, height: 800 });
  await open(page, site);
  await load(page, path);
  await view(page, "ops");
  await rowsOf(page).nth(2).waitFor();
  const scroller = page.locator(".table-scroll");
  assert.ok(await scroller.evaluate((it) => it.scrollWidth <= it.clientWidth), "the leading columns fit");
  assert.ok((await column(page, "Source")).some((text) => /\.py:\d+/.test(text)), "sources stand in sight");
  await page.locator(".columns summary").click();
  await page.getByLabel("FLOPs", { exact: true }).check();
  await until("the column is there, and in the address", async () => (await column(page, "FLOPs")).length > 2 && /columns\.ops=/.test(page.url()));
  assert.ok(await page.getByLabel("FLOPs", { exact: true }).isChecked());
  await page.locator(".columns summary").click();
  await page.setViewportSize({ width: 390, height: 844 });
  await rowsOf(page).first().click();
  await page.locator(".row-details .facts").first().waitFor();
  const [table, details] = await Promise.all([scroller.boundingBox(), page.locator(".row-details").boundingBox()]);
  assert.ok(table.height > 100 && details.y >= table.y + table.height - 1, "on a phone the details stand below the table");
  await page.getByRole("button", { name: "Close the details" }).click();
  const field = page.locator(".table-filter").first();
  await field.fill("longest>1us");
  await until("the column that is asked for is in sight", async () => (await column(page, "Longest")).length > 0);
  const why = page.locator(".table-scroll .empty");
  const says = async (filter, pattern) => {
    await field.fill(filter);
    await until(`why nothing passes ${filter}`, async () => pattern.test(await why.innerText()));
  };
  await says("longest > 30000 s", /No row passes longest>30000s: Longest ranges from .* to .* [mµ]?s\./);
  await says("longest>30days", /is a time\. Give it in ps, ns, us, ms, s, min or h\./);
  await says("self>1ms", /There is no column self in this table\. Did you mean .*self_time_us/);
  await says("bound:HBM", /There is no column bound in this table\. Did you mean Bound by \(bound_by\)/);
  const cards = await page.locator(".cards").first().innerText();
  assert.match(cards, /no op passes the filter/);
  assert.doesNotMatch(cards, /\b0 s\b|<0\.1/, "cards of nothing");
});

test("a filter is completed by keyboard, with the columns' visible names", async ({ page, site }) => {
  await open(page, site);
  await page.locator(".example").first().click();
  await page.locator(".page.overview .card").first().waitFor();
  await view(page, "ops");
  await rowsOf(page).nth(2).waitFor();
  const field = page.getByRole("combobox", { name: "Filter Ops" });
  const offered = page.locator(".completions [role=option]");
  assert.equal(await field.getAttribute("aria-expanded"), "false");
  await field.focus();
  await page.keyboard.press("ArrowDown");
  await until("an empty field offers columns", async () => (await offered.count()) > 5);
  await page.keyboard.press("Escape");
  await until("Escape closes the list", async () => (await field.getAttribute("aria-expanded")) === "false");
  await page.keyboard.type("self");
  await until("columns are offered", async () => /Self time/.test(await offered.first().innerText()));
  assert.match(await offered.first().innerText(), /total_self_time_us/, "heading and key");
  await page.keyboard.press("ArrowDown");
  const active = await field.getAttribute("aria-activedescendant");
  assert.equal(await page.locator(`#${active}`).getAttribute("aria-selected"), "true");
  await page.keyboard.press("Enter");
  assert.equal(await field.inputValue(), '"self time">');
  await page.keyboard.type("1ns ");
  await page.keyboard.type("cat");
  await until("the next word is completed", async () => /Category/.test(await offered.first().innerText()));
  await page.keyboard.press("Tab");
  await until("Tab takes the first", async () => (await field.inputValue()) === '"self time">1ns category=');
  await until("then values are offered", async () => (await offered.count()) > 0);
  const value = await offered.first().locator("bdi").innerText();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await until("the value is in the filter", async () => (await field.inputValue()).includes(value));
  await until("fewer rows pass", async () => / of /.test(await counted(page)) && (await rowsOf(page).count()) > 0);
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("role")), "combobox", "the focus stays");
  await page.keyboard.press("Escape");
  await until("Escape without a list clears the filter", async () => (await field.inputValue()) === "");
});

test("an op's pane begins with its code, links describe their targets, and going back returns to it", async ({ page, site }) => {
  await open(page, site);
  await page.locator(".example").first().click();
  await page.locator(".page.overview .card").first().waitFor();
  await view(page, "ops");
  await rowsOf(page).nth(2).waitFor();
  const pane = page.locator(".row-details");
  await rowsOf(page).nth(1).click();
  await pane.locator(".facts").first().waitFor();
  const name = await pane.locator("h2").first().innerText();
  assert.match(await pane.locator(".facts").first().innerText(), /^Source/, "the code comes first");
  const open_facts = await pane.locator(".blocks > .facts dt").count();
  assert.ok(open_facts <= 16, `${open_facts} facts in sight`);
  assert.match(await pane.locator(".fold summary").last().innerText(), /more columns of the table/);
  const links = await pane.locator(".row-links a").allInnerTexts();
  assert.ok(links.some((text) => text === `Timeline: longest ${name} in step ${/\d+$/.exec(text)?.[0]}`), links.join());
  assert.ok(links.includes(`Roofline: ${name}`), links.join());
  await pane.locator(".row-links a", { hasText: "Roofline" }).click();
  await page.locator(".page.roofline").waitFor();
  await page.goBack();
  await page.locator(".page.ops").waitFor();
  await until("the pane is open again", async () => (await pane.locator("h2").first().innerText()) === name);
  // Clicking a heading of the table keeps the table.
  await page.locator("thead .sort").nth(1).click();
  await until("the table has another order", async () => (await page.locator("th[aria-sort=ascending], th[aria-sort=descending]").count()) === 1);
  assert.equal(await pane.locator("h2").first().innerText(), name);
  await pane.locator(".row-links a", { hasText: "Timeline" }).click();
  await page.locator(".page.timeline").waitFor();
  await until("the op is selected", async () => (await page.locator(".timeline-details h2").first().innerText()) === name);
  await page.goBack();
  await until("the pane is open again", async () => (await pane.locator("h2").first().innerText()) === name);
  await page.getByRole("button", { name: "Close the details" }).click();
  await until("it is closed", async () => (await pane.count()) === 0);
  assert.doesNotMatch(page.url(), /row\.ops/);
});

test("tips have four digits and a unit", async ({ page, site }) => {
  await open(page, site);
  await page.locator(".example").first().click();
  await page.locator(".page.overview .card").first().waitFor();
  await view(page, "ops");
  const tip = page.locator("#tip.shown");
  await page.locator("td.number", { hasText: /s$/ }).first().hover();
  await tip.waitFor();
  assert.match((await tip.innerText()).trim(), /^[\d.\u202f]{1,6} [pnµm]?s$/);
  await page.locator('.card:not(.missing) .figure', { hasText: "%" }).first().hover();
  await until("a card's tip", async () => /^\d{1,3}(\.\d\d?)? %$/.test((await tip.innerText()).trim()));
});
