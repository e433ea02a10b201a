// Every chart can be saved as SVG, PNG and table. Its marks set filters, and filters can be removed one by one.

import assert from "node:assert/strict";
import { drop } from "./browser.mjs";
import { test, until } from "./harness.mjs";
import { analyze, load, measure, number, open, pressed, trace, view } from "./page.mjs";

/** Returns the content of an SVG, as read by a browser's XML parser. */
function read(page, text) {
  return page.evaluate((text) => {
    const all = new DOMParser().parseFromString(text, "application/xml");
    const count = (selector) => all.querySelectorAll(selector).length;
    const root = all.documentElement;
    return {
      broken: count("parsererror"),
      tag: root.tagName,
      size: [Number(root.getAttribute("width")), Number(root.getAttribute("height"))],
      marks: count("rect") + count("path[d]:not([d=''])"),
      texts: [...all.querySelectorAll("text")].map((element) => element.textContent),
      titles: count("title"),
    };
  }, text);
}

for (const [what, name, views] of [
  ["a TPU", "tpu-v6e-4chip/host.xplane.pb", ["overview", "steps", "ops", "roofline", "communication", "transfers"]],
  ["eight GPUs", "mi300x-8gpu-conv/tw003.xplane.pb", ["overview", "ops", "kernels", "roofline"]],
]) {
  test(`every chart of ${what} downloads as SVG and PNG`, async ({ page, site }) => {
    const path = trace(name);
    if (!path) return;
    await open(page, site);
    await load(page, path);
    // The TPU's collectives run outside its steps.
    await measure(page, "all");
    let seen = 0;
    for (const which of views) {
      await view(page, which);
      await page.locator(".chart-box").first().waitFor();
      // All charts of the overview arrive in one response.
      if (which === "overview") await page.locator('[data-chart="Kernel time by category"] .bars a[href]').first().waitFor();
      const charts = page.locator(".chart-box");
      for (let at = 0; at < (await charts.count()); at++) {
        const chart = charts.nth(at);
        // An empty chart offers no download.
        if (!(await chart.locator('[data-save="svg"]').isVisible())) continue;
        const title = await chart.getAttribute("data-chart");
        const drawn = await chart.evaluate((box) => box.querySelectorAll('.fill:not([style*="0.00%"]), .point, .span, path[d]:not([d=""])').length);
        const { name, bytes } = await pressed(page, chart.locator('[data-save="svg"]'));
        const text = bytes.toString("utf8");
        const svg = await read(page, text);
        assert.equal(svg.broken, 0, `${which}: ${title} is no XML`);
        assert.equal(svg.tag, "svg");
        assert.match(name, /^[\w.-]+\.svg$/);
        assert.ok(svg.marks >= drawn && drawn + svg.texts.length > 0, `${which}: ${title} has ${svg.marks} marks, the page ${drawn}`);
        assert.ok(svg.texts.join(" ").includes(title.split(" ")[0]), `${which}: ${title} has its title`);
        assert.doesNotMatch(text, /var\(|light-dark|color-mix|class=|NaN|Infinity/, `${which}: ${title} needs nothing of the page`);
        assert.equal(await chart.evaluate((box) => box.classList.contains("exporting")), false);
        const png = (await pressed(page, chart.locator('[data-save="png"]'))).bytes;
        assert.equal(png.subarray(0, 8).toString("latin1"), "\x89PNG\r\n\x1a\n", title);
        assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], svg.size.map((side) => 2 * side), title);
        seen += 1;
      }
    }
    assert.ok(seen > views.length, `${seen} charts`);
    assert.equal(await page.locator(".requests").innerText(), "0 requests since load");
  });
}

test("a chart is also a table, with the same numbers", async ({ page, context, site, cli }) => {
  const path = trace("synth-gpu-7steps/vm.xplane.pb");
  if (!path) return;
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, site);
  await load(page, path);
  const chart = page.locator('[data-chart="Step by step"]');
  const cells = async (box) => {
    const rows = await box.locator(".chart-table tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText)));
    return rows;
  };
  assert.ok(await chart.locator(".chart").isVisible());
  await chart.locator('[data-save="table"]').click();
  assert.ok(!(await chart.locator(".chart").isVisible()), "the table stands in the chart's place");
  const profile = JSON.parse(analyze(cli, path));
  const shown = await cells(chart);
  const heads = await chart.locator(".chart-table thead th").allInnerTexts();
  const at = (name) => heads.findIndex((head) => head.startsWith(name));
  // In this trace, each complete step takes a millisecond.
  assert.deepEqual(shown.slice(0, 6).map((row) => number(row[at("Total")])), Array(6).fill(1000));
  assert.deepEqual(shown.map((row) => number(row[at("Compute")])), profile.step_breakdown.steps.map((step) => step.parts.compute_us));
  await chart.locator('[data-save="tsv"]').click();
  await page.locator(".notice.shown").waitFor();
  const copied = (await page.evaluate(() => navigator.clipboard.readText())).trim().split("\n").map((line) => line.split("\t"));
  assert.deepEqual(copied[0].slice(0, 2), ["Name", "Compute (µs)"]);
  assert.deepEqual(copied.slice(1).map((row) => Number(row[at("Total")])), profile.steps.map((step) => step.duration_us));
  await chart.locator('[data-save="table"]').click();
  assert.ok(await chart.locator(".chart").isVisible());
  for (const which of ["steps", "kernels", "transfers", "communication"]) {
    await view(page, which);
    for (const box of await page.locator(".chart-box").all()) {
      const title = await box.getAttribute("data-chart");
      const values = await box.locator(".bar .value, .row-totals li").allInnerTexts();
      await box.locator('[data-save="table"]').click();
      const rows = await cells(box);
      assert.ok(rows.length > 0 && rows.length >= values.length, `${which}: ${title}`);
    }
  }
}, { alone: true });

test("a mark sets a filter for every view, and chips remove it", async ({ page, site }) => {
  const path = trace("tpu-v6e-4chip/host.xplane.pb");
  if (!path) return;
  await open(page, site);
  await load(page, path);
  await page.locator('[data-chart="Kernel time by category"] a.bar').first().click();
  await page.locator(".page.ops").waitFor();
  await page.locator(".chip").waitFor();
  const category = (await page.locator(".chip").innerText()).match(/category=(\S+)/)[1];
  const shown = () => page.locator(".table-box tbody tr:not(.pad)").allInnerTexts();
  await until("only rows of the category", async () => {
    const rows = await shown();
    return rows.length > 0 && rows.every((row) => row.includes(category));
  });
  await page.locator(".table-filter").first().fill(`category="${category}" -nothing`);
  await until("a chip for each term", async () => (await page.locator(".chip").count()) === 2);
  await page.keyboard.press("Tab");
  await view(page, "roofline");
  assert.ok(page.url().includes("q="), "the filter goes along");
  assert.equal(await page.locator(".chip").count(), 2);
  await page.locator(".chip").nth(1).click();
  await until("one is left", async () => (await page.locator(".chip").count()) === 1);
  assert.ok(page.url().endsWith(`q=category%3D%22${category}%22`));
  await page.reload();
  await page.locator("body[data-ready]").waitFor();
  // The URL is kept: the run opens in the same state.
  await drop(page, "#main", [path]);
  await page.locator(".run-header h1").waitFor();
  await view(page, "ops");
  await page.locator(".table-filter").first().fill("zzzz");
  await page.locator(".table-box .empty button").click();
  await until("the empty table offers the way out", async () => (await page.locator(".chip").count()) === 0 && (await shown()).length > 1);
});

test("a step of the overview leads to its parts", async ({ page, site }) => {
  const path = trace("synth-gpu-7steps/vm.xplane.pb");
  if (!path) return;
  await open(page, site);
  await load(page, path);
  await page.locator('[data-chart="Step by step"] .chart').focus();
  for (const key of ["ArrowRight", "ArrowRight", "Enter"]) await page.keyboard.press(key);
  await page.locator(".page.steps").waitFor();
  await until("only that step", async () => {
    const rows = await page.locator(".table-box").last().locator("tbody tr:not(.pad) td:nth-child(1)").allInnerTexts();
    return rows.length > 0 && rows.every((step) => step === rows[0]) && page.url().includes(`step%3D${rows[0]}`);
  });
});
