// The timeline: it is drawn, moved by mouse and keys, describes the selection, and its statistics match those of the command
// line.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { test, until } from "./harness.mjs";
import { load, open, trace, view } from "./page.mjs";

const TPU = "tpu-v6e-4chip/host.xplane.pb";

/** Opens the timeline and waits for its first picture. */
async function timeline(page) {
  await view(page, "timeline");
  await until("the picture is there", () => page.evaluate(() => [".timeline-events", ".timeline-names"].every((canvas) => document.querySelector(canvas)?.style.width)));
}

/** Returns the number of different colours on a canvas. */
function colours(page, selector) {
  return page.evaluate((selector) => {
    const shown = document.querySelector(selector);
    const copy = new OffscreenCanvas(shown.width, shown.height).getContext("2d");
    copy.drawImage(shown, 0, 0);
    return new Set(new Uint32Array(copy.getImageData(0, 0, shown.width, shown.height).data.buffer)).size;
  }, selector);
}

/** Returns an option of the URL. */
const option = (page, key) => new URLSearchParams(page.url().split("?")[1] ?? "").get(`by.${key}`);

/** Returns the edges of a range in picoseconds, as in the URL. */
const edges = (text) => text.split("@")[0].split("-").map(Number);

for (const [what, name] of [["a TPU", TPU], ["a GPU and its host", "kineto/rank-0.json.gz"]]) {
  test(`the timeline of ${what} is drawn`, async ({ page, site, artifacts }) => {
    const path = trace(name);
    if (!path) return;
    await open(page, site);
    await load(page, path);
    await timeline(page);
    assert.ok((await colours(page, ".timeline-events")) > 5, "events have colours");
    assert.ok((await colours(page, ".timeline-names")) > 5, "tracks have names");
    await page.screenshot({ path: join(artifacts, `timeline-${name.split("/")[0]}.png`) });
  });
}

test("the timeline keeps most of the window's height when something is selected", async ({ page, site }) => {
  await open(page, site);
  await page.locator(".example").first().click();
  await page.locator(".page.overview .card").first().waitFor();
  for (const [width, height] of [[1280, 800], [390, 844]]) {
    await page.setViewportSize({ width, height });
    await timeline(page);
    await page.locator(".timeline-filter").fill("fusion");
    await page.locator(".timeline-filter").press("Enter");
    await page.locator(".timeline-details h2").first().waitFor();
    const [picture, details] = await Promise.all([".timeline-scroll", ".timeline-details"].map((it) => page.locator(it).boundingBox()));
    assert.ok(picture.height > 0.6 * height - 1, `${picture.height} of ${height} at ${width}`);
    assert.ok(details.y < height - 60, `the details begin at ${details.y} of ${height}`);
    await page.locator(".timeline-filter").fill("");
    await view(page, "overview");
  }
});

test("picture and strip take the system's theme as it changes, and the page's own", async ({ page, site }) => {
  const path = trace(TPU);
  if (!path) return;
  await page.emulateMedia({ colorScheme: "light" });
  await open(page, site);
  await load(page, path);
  await timeline(page);
  const corners = () => page.evaluate(() => [".timeline-events", ".strip canvas"].map((selector) => {
    const shown = document.querySelector(selector);
    const copy = new OffscreenCanvas(shown.width, shown.height).getContext("2d");
    copy.drawImage(shown, 0, 0);
    return copy.getImageData(shown.width - 1, shown.height - 1, 1, 1).data[0] < 128;
  }));
  const both = (dark) => until(`picture and strip are ${dark ? "dark" : "light"}`, async () => (await corners()).every((is) => is === dark));
  await both(false);
  await page.emulateMedia({ colorScheme: "dark" });
  await both(true);
  await page.getByRole("button", { name: "Light or dark" }).click();
  await both(false);
});

test("wheel and keys move the view, and the address follows", async ({ page, site }) => {
  const path = trace(TPU);
  if (!path) return;
  await open(page, site);
  await load(page, path);
  await timeline(page);
  const shown = () => page.locator(".timeline-range").innerText();
  const all = await shown();
  const box = await page.locator(".timeline-window").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 100);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -200);
  await page.keyboard.up("Control");
  await until("the wheel zooms", async () => (await shown()) !== all);
  const [start, end] = edges(await until("the address follows", () => option(page, "range")));
  await page.locator(".timeline-scroll").focus();
  await page.keyboard.down("d");
  await until("D moves later", async () => edges(option(page, "range"))[0] > start);
  await page.keyboard.up("d");
  await page.keyboard.press("z");
  await until("Z shows all", async () => (await shown()) === all);
  assert.ok(end > start);
});

test("arrows go from event to event and say what each is; an address leads back to it", async ({ page, site }) => {
  const path = trace(TPU);
  if (!path) return;
  await open(page, site);
  await load(page, path);
  await timeline(page);
  await page.locator(".timeline-scroll").focus();
  await page.keyboard.press("ArrowRight");
  const said = () => page.locator(".timeline > [role=status]").last().innerText();
  const first = await until("an event is selected", said);
  await page.keyboard.press("ArrowRight");
  const second = await until("the next one", async () => { const now = await said(); return now !== first && now; });
  const event = await until("it is in the address", () => option(page, "event"));
  const name = await page.locator(".timeline-details h2").first().innerText();
  assert.ok(second.startsWith(name), `${second} is of ${name}`);
  await view(page, "ops");
  await page.goBack();
  await until("the same event again", async () => option(page, "event") === event && (await page.locator(".timeline-details h2").first().innerText()) === name);
  await page.locator(".timeline-scroll").focus();
  await page.keyboard.press("Escape");
  await until("Esc selects nothing", async () => (await page.locator(".timeline-details").count()) === 0);
});

test("brackets and links go along the flows of the selected event, which arrows show", async ({ page, site, artifacts }) => {
  await open(page, site);
  await load(page, join(import.meta.dirname, "../../www/assets/examples/gpu-training.trace.json.gz"));
  await timeline(page);
  await page.locator(".timeline-filter").fill("name:cuLaunchKernel");
  await page.locator(".timeline-filter").press("Enter");
  const name = () => page.locator(".timeline-details h2").first().innerText();
  await until("a call is selected", async () => (await page.locator(".timeline-details h2").count()) > 0 && (await name()).includes("cuLaunchKernel"));
  const call = await until("it is in the address", () => option(page, "event"));
  const links = page.locator(".timeline-details .grid-box").filter({ hasText: "Linked events" });
  const kernel = await links.locator("button").first().innerText();
  await links.locator("button").first().click();
  await until("a link selects its event", async () => (await name()) === kernel);
  await page.screenshot({ path: join(artifacts, "timeline-flows.png") });
  await page.locator(".timeline-scroll").focus();
  await page.keyboard.press("[");
  await until("back to the call", async () => (await name()).includes("cuLaunchKernel"));
  await page.keyboard.press("]");
  await until("and on to what it launched", async () => (await name()) === kernel && option(page, "event") !== call);
});

test("the statistics of a selected range are those of the command line", async ({ page, site, cli }) => {
  const path = trace(TPU);
  if (!path) return;
  await open(page, site);
  await load(page, path);
  await timeline(page);
  const box = await page.locator(".timeline-window").boundingBox();
  // A drag on the axis selects all tracks.
  await page.mouse.move(box.x + box.width * 0.4, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 10, { steps: 4 });
  await page.mouse.up();
  const table = page.locator(".timeline-details .table-box");
  await table.waitFor();
  const [from, to] = edges(await until("the range is in the address", () => option(page, "selection")));
  const args = ["table", "range", "--from", `${from}ps`, "--to", `${to}ps`, "--format", "json", basename(path)];
  const rows = JSON.parse(execFileSync(cli, args, { cwd: dirname(path), maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] }).toString());
  const shown = await table.locator("tbody tr:not(.pad)").evaluateAll((rows) => rows.slice(0, 5).map((row) => [row.cells[0].innerText.trim(), Number(row.cells[1].innerText.replace(/\D/g, ""))]));
  assert.deepEqual(shown, rows.slice(0, 5).map((row) => [row.name, row.count]));
});

test("a selected range shows the counters in it", async ({ page, site, cli, artifacts }) => {
  const path = join(artifacts, "counters.trace.json");
  const counter = (ts, used) => ({ ph: "C", pid: 1, name: "memory", ts, args: { used } });
  const events = [{ ph: "M", pid: 1, name: "process_name", args: { name: "/host:CPU" } }, { ph: "X", pid: 1, tid: 1, name: "f", ts: 0, dur: 1000 }, counter(0, 4), counter(500, 8), counter(900, 2)];
  writeFileSync(path, JSON.stringify({ traceEvents: events }));
  await open(page, site);
  await load(page, path);
  await timeline(page);
  const box = await page.locator(".timeline-window").boundingBox();
  await page.mouse.move(box.x + box.width * 0.25, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, box.y + 10, { steps: 4 });
  await page.mouse.up();
  const row = page.locator(".timeline-details .grid-box tbody tr").first();
  await row.waitFor();
  const [from, to] = edges(await until("the range is in the address", () => option(page, "selection")));
  const args = ["table", "range", "--by", "counter", "--from", `${from}ps`, "--to", `${to}ps`, "--format", "json", basename(path)];
  const [told] = JSON.parse(execFileSync(cli, args, { cwd: dirname(path), stdio: ["ignore", "pipe", "ignore"] }).toString());
  assert.deepEqual([told.name, told.samples, told.min_value, told.max_value, told.first_value, told.last_value], ["memory used", 1, 4, 8, 4, 8]);
  const cells = await row.locator("th, td").allInnerTexts();
  assert.deepEqual([cells[0], cells[2]], ["memory used", "1"]);
  assert.ok(Math.abs(Number(cells[3]) - told.mean_value) < 0.01, `${cells[3]} is ${told.mean_value}`);
  await page.screenshot({ path: join(artifacts, "timeline-counters.png") });
});

test("filtered events are found in order", async ({ page, site }) => {
  const path = trace(TPU);
  if (!path) return;
  await open(page, site);
  await load(page, path);
  await timeline(page);
  await page.locator(".timeline-filter").fill("name:copy-done");
  await until("it says how many", async () => /\d events/.test(await page.locator(".timeline-bar [role=status]").innerText()));
  await page.keyboard.press("Enter");
  await until("the first is selected", async () => (await page.locator(".timeline-details h2").first().innerText()).includes("copy-done"));
});

test("a drag over the strip measures that part of the capture, in every view and in the address", async ({ page, site }) => {
  const path = trace(TPU);
  if (!path) return;
  await open(page, site);
  await load(page, path);
  const sentence = page.locator(".run-header .window > span").first();
  const before = await sentence.innerText();
  const box = await page.locator(".strip").boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 15);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 15, { steps: 4 });
  await page.mouse.up();
  await until("numbers are of the range", async () => (await sentence.innerText()) !== before);
  const window = await until("the address names it", () => option(page, "window"));
  assert.match(window, /^[\d.]+-[\d.]+$/);
  await view(page, "ops");
  await until("in the next view, too", () => option(page, "window") === window);
});

test("a row of a table leads to its events, and a step to its time", async ({ page, site }) => {
  const path = trace(TPU);
  if (!path) return;
  await open(page, site);
  await load(page, path);
  await view(page, "ops");
  const row = page.locator("tr[data-row='0']");
  await row.hover();
  await row.locator(".in-timeline").click();
  await until("its first event is selected", () => option(page, "event"));
  const filter = await page.locator(".timeline-filter").inputValue();
  assert.match(filter, /^hlo_op_name="[^"]+"$/);
  const name = filter.slice('hlo_op_name="'.length, -1);
  assert.ok((await page.locator(".timeline-details").innerText()).includes(name));
  assert.match(await page.locator(".timeline-bar [role=status]").first().innerText(), /^[\d\u202f]+ events?$/);
  await view(page, "steps");
  await page.locator(".in-timeline[href*='by.selection']").first().evaluate((link) => link.click());
  const [start, end] = edges(await until("the step is selected", () => option(page, "selection")));
  assert.ok(end > start);
});

test("two runs are shown one above the other, aligned at a step, and move together", async ({ page, site, artifacts }) => {
  const [first, second] = ["synth-gpu-7steps/vm.xplane.pb", TPU].map(trace);
  if (!first || !second) return;
  await open(page, site);
  await load(page, first);
  await load(page, second);
  await page.evaluate(() => (location.hash = "#/compare"));
  await page.locator(".compare-downloads a").click();
  await until("both are drawn", () => page.evaluate(() => [...document.querySelectorAll(".timeline-events")].filter((canvas) => canvas.style.width).length === 2));
  await until("they are aligned", async () => (await page.locator(".timeline-bar [role=status]").last().innerText()).startsWith("aligned at the start of"));
  const lower = () =>
    page.evaluate(() => {
      const shown = document.querySelectorAll(".timeline-events")[1];
      const copy = new OffscreenCanvas(shown.width, shown.height).getContext("2d");
      copy.drawImage(shown, 0, 0);
      return new Uint32Array(copy.getImageData(0, 0, shown.width, shown.height).data.buffer).reduce((sum, it) => (Math.imul(sum, 31) + it) >>> 0, 0);
    });
  const before = await until("the lower run is at rest", async () => {
    const one = await lower();
    await new Promise((resolve) => setTimeout(resolve, 400));
    return (await lower()) === one && one;
  });
  await page.screenshot({ path: join(artifacts, "timeline-beside.png") });
  const box = await page.locator(".timeline-window").first().boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 100);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -400);
  await page.keyboard.up("Control");
  await until("the lower run moves with the upper one", async () => (await lower()) !== before);
  await page.locator("#beside").selectOption("");
  await until("one run is left", () => page.evaluate(() => document.querySelectorAll(".timeline-events").length === 1));
});
