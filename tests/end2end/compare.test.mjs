// Comparison of two runs: the verdict, the baseline, names and order in the URL, and the report.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { drop } from "./browser.mjs";
import { test, until } from "./harness.mjs";
import { downloaded, fits, open, scratch } from "./page.mjs";

const EXAMPLES = join(import.meta.dirname, "../../www/assets/examples");

/** Copies the examples under different names into a folder. */
function files() {
  const folder = scratch();
  const names = ["gpu-training.trace.json.gz", "tpu-training.trace.json.gz"];
  for (const name of names) copyFileSync(join(EXAMPLES, name), join(folder, name));
  return { folder, names, paths: names.map((name) => join(folder, name)) };
}

async function compare(page, site, paths) {
  await open(page, site);
  for (const [at, path] of paths.entries()) {
    await drop(page, "#main", [path]);
    await until("the run is there", async () => (await page.locator(".run-link").count()) === at + 1, 60_000);
  }
  await page.evaluate(() => { location.hash = "#/compare"; });
  await page.locator(".page.compare .fold").first().waitFor();
}

const sentences = (page) => page.locator(".page.compare .blocks").innerText();

test("two runs are compared, and a swap of the baseline inverts the answer", async ({ page, site }) => {
  const { paths } = files();
  await compare(page, site, paths);
  // The traces do not contain the amount of work per step, so neither run is called faster.
  const steps = async () => /step takes ([\d.]+ \S+) against ([\d.]+ \S+)/.exec(await sentences(page));
  assert.match(await sentences(page), /cannot tell whether .* do the same work/);
  const [, ours, theirs] = await steps();
  await page.locator(".compare-chip [data-do=base]").nth(1).click();
  await until("the answer is the other way round", async () => {
    const now = await steps();
    return now && now[1] === theirs && now[2] === ours;
  });
  assert.match(await page.evaluate(() => location.hash), /by\.baseline=2/);
  assert.equal(await page.locator(".compare-chip.baseline").getAttribute("data-at"), "1");
  assert.ok(await page.locator(".waterfall svg path").count() > 2, "the waterfall is drawn");
  await page.setViewportSize({ width: 390, height: 844 });
  assert.ok(await fits(page), "fits a phone");
});

test("a comparison runs in a worker of its own, from the program that the browser has compiled", async ({ page, context, site }) => {
  const urls = [];
  context.on("request", (request) => urls.push(request.url()));
  await page.addInitScript(() => {
    Object.assign(window, { compiled: 0, workers: 0 });
    const { compile } = WebAssembly;
    WebAssembly.compile = (bytes) => (window.compiled++, compile(bytes));
    window.Worker = class extends Worker {
      constructor(...args) {
        super(...args);
        window.workers++;
      }
    };
  });
  const { paths } = files();
  await open(page, site);
  assert.equal(await page.evaluate(() => window.compiled), 2, "reader and analyst");
  await compare(page, site, paths);
  // Each of the two loads has two readers and an analyst, and one of them a second analyst. The pool refills itself.
  assert.ok((await page.evaluate(() => window.workers)) >= 7);
  assert.equal(await page.evaluate(() => window.compiled), 2, "the second analyst compiles nothing");
  const programs = new Set(urls.map((url) => new URL(url).pathname).filter((path) => path.endsWith(".wasm")));
  // The page, the reader, the analyst, and the graph worker, which is not compiled.
  assert.equal(programs.size, 4, [...programs].join(" "));
});

test("the verdict comes first, then figures and caveats, then details that unfold", async ({ page, site }) => {
  const { paths } = files();
  await compare(page, site, paths);
  const top = async (part) => (await page.locator(`.page.compare .blocks ${part}`).first().boundingBox()).y;
  const places = await Promise.all([".block-note", ".card", ".block-heading", ".grid-box", ".waterfall"].map(top));
  assert.deepEqual(places, [...places].sort((a, b) => a - b), "verdict, figures, caveats, phases, waterfall");
  const text = await sentences(page);
  assert.equal(text.split("Conditions that are unknown for some runs").length, 2, "a caveat is said once");
  assert.match(text, /by phase[\s\S]*Matmul/);
  assert.doesNotMatch(text, /\b(new|gone)\b\n/, "no op is new or gone on another platform");
  assert.match(await page.locator(".fold summary").first().innerText(), /^Fairness: \d+ of \d+ conditions are the same, \d+ differ \(.+\), \d+ are unknown$/);
  const conditions = page.locator(".fold .grid-box").first();
  assert.ok(!(await conditions.isVisible()), "details are folded");
  await page.locator(".fold summary").first().click();
  await conditions.waitFor();
  assert.match(await conditions.innerText(), /Devices/i);
});

test("the compiled programs of two runs are compared", async ({ page, site }) => {
  const mesh = join(import.meta.dirname, "../data/jax-cpu-mesh/plugins/profile/2026_11_21_02_00_07/host.xplane.pb");
  await compare(page, site, [join(EXAMPLES, "jax-cpu-train.xplane.pb"), mesh]);
  const section = page.locator(".page.compare .fold").filter({ has: page.locator("summary", { hasText: "Compiled programs" }) });
  await section.waitFor();
  assert.match(await section.textContent(), /jit_train_step\(4\) → jit_train_step\(0\)[\s\S]*Fusions[\s\S]*all-reduce/);
  // The report contains what the page shows.
  const report = await downloaded(page, "#download-report");
  assert.match(report, /Compiled programs[\s\S]*jit_train_step\(4\) → jit_train_step\(0\)/);
});

test("runs are named, ordered and left out by keys, and the link names missing runs", async ({ page, site }) => {
  const { paths } = files();
  await compare(page, site, paths);
  const name = page.locator(".compare-name").first();
  await name.fill("<b>mine</b>");
  await name.press("Enter");
  await until("the name is used", async () => (await sentences(page)).includes("<b>mine</b>"));
  assert.equal(await page.locator(".blocks b").count(), 0, "a name is not markup");
  await page.locator("[data-do=right]").first().press("Enter");
  await until("the order changes", async () => (await page.locator(".compare-name").nth(1).inputValue()) === "<b>mine</b>");
  const address = await page.evaluate(() => location.href);
  await page.reload();
  await page.goto(address);
  await page.locator(".page.compare .empty").waitFor();
  const asked = await page.locator(".page.compare .empty").innerText();
  assert.match(asked, /gpu-training\.trace\.json\.gz/, "the files are named");
  assert.match(asked, /tpu-training\.trace\.json\.gz/);
  for (const path of paths) await drop(page, "#main", [path]);
  await page.evaluate((hash) => { location.hash = hash; }, new URL(address).hash);
  await page.locator(".page.compare .fold").first().waitFor({ timeout: 60_000 });
  assert.equal(await page.locator(".compare-name").nth(1).inputValue(), "<b>mine</b>", "the comparison is as it was");
  await page.locator("[data-do=out]").first().click();
  await page.locator(".page.compare .empty").waitFor();
});

test("batch, sequence, power and price are given with their units, and wrong values have a message", async ({ page, site }) => {
  const { paths } = files();
  await compare(page, site, paths);
  await page.locator(".compare-given summary").click();
  for (const label of ["Batch size (sequences per step)", "Sequence length (tokens)", "Power (W per device)", "Price ($ per device-hour)"]) {
    assert.equal(await page.getByLabel(label).count(), 2, label);
  }
  const give = async (key, at, value) => {
    const field = page.locator(`[data-do=${key}]`).nth(at);
    await field.fill(value);
    await field.press("Enter");
  };
  await give("batch", 0, "many");
  await page.locator(".compare-inputs .hint").waitFor();
  for (const at of [0, 1]) {
    for (const [key, value] of [["batch", "32"], ["seq", "2k"], ["watts", "700"], ["dollars", "2.5"]]) await give(key, at, value);
  }
  await until("the verdict is of tokens", async () => /per token/.test(await sentences(page)));
  assert.equal(await page.locator(".compare-inputs .hint").count(), 0);
  assert.match(await sentences(page), /Cost per million tokens[\s\S]*Energy per million tokens/);
  assert.match(await page.evaluate(() => location.hash), /by\.batch=32/);
  await page.setViewportSize({ width: 390, height: 844 });
  assert.ok(await fits(page), "fits a phone");
});

/** Drags a chip onto another one, to this fraction of its width. */
async function drag(page, from, to, share) {
  const target = page.locator(".compare-chip").nth(to);
  const { width, height } = await target.boundingBox();
  await page.locator(".compare-chip .grip").nth(from).dragTo(target, { targetPosition: { x: width * share, y: height / 2 } });
}

test("a run dragged onto another one joins it", async ({ page, site }) => {
  const folder = scratch();
  const paths = ["one", "two", "other"].map((name) => join(folder, `${name}.trace.json.gz`));
  for (const path of paths) copyFileSync(join(EXAMPLES, "gpu-training.trace.json.gz"), path);
  await compare(page, site, paths);
  const groups = () => page.locator(".compare-group").evaluateAll((fields) => fields.map((field) => field.value).join());
  await drag(page, 2, 0, 0.5);
  await until("both are one run", async () => (await groups()) === "one,one,");
  await until("they are compared as one", async () => (await sentences(page)).includes("and 2 captures"));
  assert.equal(await page.locator("[data-drop]").count(), 0);
  await page.locator("[data-do=ungroup]").click();
  await until("each is a run", async () => (await groups()) === ",,");
  assert.equal(await page.locator("[data-do=ungroup]").count(), 0);
});

test("folders of several captures are one run each", async ({ page, site }) => {
  const folder = scratch();
  for (const side of ["main", "new"]) {
    mkdirSync(join(folder, side));
    for (const at of [0, 1]) copyFileSync(join(EXAMPLES, "gpu-training.trace.json.gz"), join(folder, side, `${at}.trace.json.gz`));
  }
  await open(page, site);
  await drop(page, "#main", [join(folder, "main"), join(folder, "new")]);
  await until("the runs are there", async () => (await page.locator(".run-link").count()) === 4, 60_000);
  await page.evaluate(() => { location.hash = "#/compare"; });
  await until("two groups are compared", async () => (await sentences(page)).includes("2 and 2 captures"), 60_000);
  const groups = await page.locator(".compare-group").evaluateAll((fields) => fields.map((field) => field.value));
  assert.deepEqual(groups, ["main", "main", "new", "new"]);
});

test("captures of one group are one run", async ({ page, site }) => {
  const folder = scratch();
  const paths = ["a0", "a1", "b0", "b1"].map((name) => join(folder, `${name}.trace.json.gz`));
  for (const path of paths) copyFileSync(join(EXAMPLES, "gpu-training.trace.json.gz"), path);
  await compare(page, site, paths);
  for (const [at, group] of ["main", "main", "new", "new"].entries()) {
    const field = page.locator(".compare-group").nth(at);
    await field.fill(group);
    await field.press("Enter");
  }
  await until("two groups are compared", async () => (await sentences(page)).includes("2 and 2 captures"));
  assert.match(await sentences(page), /new and main take the same time/);
  assert.match(await page.evaluate(() => location.hash), /by\.groups=/);
  await page.setViewportSize({ width: 390, height: 844 });
  assert.ok(await fits(page), "fits a phone");
});

test("the report matches the command line's and can be opened as a profile", async ({ page, site, cli }) => {
  const { folder, names, paths } = files();
  await compare(page, site, paths);
  const report = await downloaded(page, "#download-report");
  execFileSync(cli, ["compare", ...names, "--output", "report.html"], { cwd: folder, stdio: "ignore" });
  assert.equal(report === readFileSync(join(folder, "report.html"), "utf8"), true, "the same bytes");
  const steps = report.split('<section id="median-steps">')[1].split("</section>")[0];
  assert.equal(steps.split("</tspan>: step ").length - 1, 2, "the median step of each run is drawn");
  await page.goto("about:blank");
  await open(page, site);
  await drop(page, "#main", [join(folder, "report.html")]);
  await until("both runs are back", async () => (await page.locator(".run-link").count()) === 2, 60_000);
  await page.keyboard.press("c");
  await page.locator(".page.compare .fold").first().waitFor();
  assert.equal((await downloaded(page, "#download-report")) === report, true, "the report of the report, with its pictures");
});

test("a run is dragged with the mouse, and a report restores the settings", async ({ page, site }) => {
  const { folder, paths } = files();
  await compare(page, site, paths);
  const names = () => page.locator(".compare-name").evaluateAll((fields) => fields.map((field) => field.value));
  const [first, second] = await names();
  await drag(page, 0, 1, 0.9);
  await until("the order changes", async () => (await names()).join() === [second, first].join());
  assert.equal(await page.locator(".compare-chip.baseline").getAttribute("data-at"), "1", "the baseline stays the same run");
  await page.locator(".compare-given summary").click();
  await page.locator("[data-do=watts]").first().fill("300");
  await page.locator("[data-do=dollars]").nth(1).fill("2.5");
  assert.equal(await page.locator("select[data-do=scaling]").count(), 0, "a GPU and a TPU do not scale");
  const state = () => page.locator(".compare-runs :is(input, select)").evaluateAll((fields) => fields.map((field) => field.value));
  const before = await state();
  const report = await downloaded(page, "#download-report");
  writeFileSync(join(folder, "kept.html"), report);
  await page.goto("about:blank");
  await open(page, site);
  await drop(page, "#main", [join(folder, "kept.html")]);
  await until("both runs are back", async () => (await page.locator(".run-link").count()) === 2, 60_000);
  await page.keyboard.press("c");
  await page.locator(".page.compare .fold").first().waitFor();
  assert.deepEqual(await state(), before, "names, power and price are as they were");
  assert.equal(await page.locator(".compare-chip.baseline").getAttribute("data-at"), "1");
});

test("for runs on different numbers of devices, the kind of scaling can be set, and a report keeps it", async ({ page, site }) => {
  const folder = scratch();
  const on = (devices, stepUs) => {
    const traceEvents = [];
    for (let pid = 1; pid <= devices; pid++) {
      traceEvents.push({ ph: "M", pid, name: "process_name", args: { name: `/device:TPU:${pid - 1}` } });
      traceEvents.push({ ph: "M", pid, tid: 1, name: "thread_name", args: { name: "Steps" } });
      traceEvents.push({ ph: "M", pid, tid: 2, name: "thread_name", args: { name: "XLA Ops" } });
      for (let step = 0; step < 5; step++) {
        const at = { pid, ts: step * stepUs, ph: "X" };
        traceEvents.push({ ...at, tid: 1, dur: stepUs, name: `${step}` }, { ...at, tid: 2, dur: stepUs * 0.8, name: "fusion.1" });
      }
    }
    const path = join(folder, `on-${devices}.trace.json`);
    writeFileSync(path, JSON.stringify({ traceEvents }));
    return path;
  };
  await compare(page, site, [on(1, 1000), on(2, 500)]);
  const scaling = page.locator("select[data-do=scaling]");
  const ask = async () => (await page.locator(".page.compare .blocks").innerText());
  await scaling.selectOption("weak");
  await until("it scales as was said", async () => /weak/i.test(await ask()));
  writeFileSync(join(folder, "kept.html"), await downloaded(page, "#download-report"));
  await page.goto("about:blank");
  await open(page, site);
  await drop(page, "#main", [join(folder, "kept.html")]);
  await until("both runs are back", async () => (await page.locator(".run-link").count()) === 2, 60_000);
  await page.keyboard.press("c");
  await page.locator(".page.compare .fold").first().waitFor();
  assert.equal(await scaling.inputValue(), "weak");
});
