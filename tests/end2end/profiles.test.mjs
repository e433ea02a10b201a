// Figures of profiles: the page shows the same figures as the command line.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { drop } from "./browser.mjs";
import { test, until } from "./harness.mjs";
import { analyze, downloaded, figure, load, number, open, reported, scratch, trace, view } from "./page.mjs";

const EXAMPLES = join(import.meta.dirname, "../../www/assets/examples");

/** Compares every headline with the profile's JSON. */
async function compare(page, profile) {
  const usage = profile.compute_utilization;
  const kinds = Object.values(profile.kernels.kernels_by_category);
  const ops = kinds.reduce((sum, kind) => sum + kind.count, 0);
  const kernels = profile.metadata.platform === "GPU" && profile.kernel_statistics?.count ? profile.kernel_statistics : null;
  const expected = {
    "step-time": profile.step_timing.avg_step_time_us ?? null,
    "device-busy": usage?.compute_util_percent ?? null,
    [kernels ? "mean-kernel" : "mean-op"]: kernels?.avg_time_us ?? (ops ? kinds.reduce((sum, kind) => sum + kind.time_us, 0) / ops : null),
    compilation: profile.compilation?.compilation_time_us ?? null,
    throughput: profile.throughput.tokens_per_sec ?? profile.throughput.samples_per_sec ?? profile.throughput.steps_per_sec ?? null,
  };
  // The mean of a kernel or an op is shown only if there is a judgement about it.
  const isShown = async (card) => !card.startsWith("mean-") || (await page.locator(`[data-card="${card}"]`).count()) > 0;
  for (const [card, value] of Object.entries(expected)) if (await isShown(card)) assert.equal(await figure(page, card), value, card);
  const top = page.locator(".table-box", { has: page.locator("h2", { hasText: "Top ops" }) });
  const rows = top.locator("table tbody tr:not(.pad)");
  await until("rows of the top ops", async () => (await rows.count()) > 0 === profile.kernels.top_kernels.length > 0);
  const missing = await page.locator(".fold .facts dl > div").count();
  assert.equal(missing, (profile.not_measured ?? []).length, "what was not measured");
}

const REAL = [
  ["a TPU's xplane", "tpu-v6e-4chip/host.xplane.pb"],
  ["a TPU's trace JSON", "tpu-qwen3-runs/run-a.trace.json.gz"],
  ["eight GPUs' trace JSON", "mi300x-8gpu-conv/tw003.trace.json.gz"],
  ["a GPU's xplane", "gfx950-te-attention/934987a2fc2f.xplane.pb"],
  ["a Kineto trace", "kineto/rank-0.json.gz"],
];

for (const [what, name] of REAL) {
  test(`reads ${what} as the command line does`, async ({ page, site, cli }) => {
    const path = trace(name);
    if (!path) return;
    const text = analyze(cli, path);
    await open(page, site);
    await load(page, path);
    await compare(page, JSON.parse(text));
    await view(page, "export");
    const json = await downloaded(page, "#download-json");
    assert.equal(json.trim(), text.trim(), "the downloaded profile");
    const report = await downloaded(page, "#download-report");
    assert.equal(report, reported(cli, path), "the downloaded report");
  });
}

test("counts tokens once the model is known, as the command line does", async ({ page, site, cli }) => {
  const path = trace("tpu-qwen3-runs/run-a.trace.json.gz");
  if (!path) return;
  const options = ["--batch-size", "32", "--seq-length", "1024", "--num-steps", "4"];
  const profile = JSON.parse(analyze(cli, path, options));
  await open(page, site);
  await load(page, path);
  await view(page, "model");
  await page.locator("[name=batch_size]").fill("32");
  await page.locator("[name=seq_length]").fill("1k");
  await page.locator("[name=seq_length]").fill("1 024");
  await page.locator("[name=num_steps]").fill("4");
  await page.locator("[name=num_steps]").press("Enter");
  const field = page.locator('[data-field="throughput.tokens_per_sec"]');
  const tokens = async () => number((await field.getAttribute("data-exact")) ?? "");
  await until("tokens/s are those of the command line", async () => (await tokens()) === profile.throughput.tokens_per_sec);
  await page.locator(".form select").first().selectOption("Llama 3 8B");
  const params = page.locator('[data-field="parameter_counts.total_params"]');
  await until("the parameters of Llama 3 8B", async () => ((await params.getAttribute("data-exact")) ?? "").replace(/\D/g, "") === "8030261248");
});

test("gives the price of lost time once a device has a price, as the command line does", async ({ page, site, cli }) => {
  const path = join(EXAMPLES, "jax-cpu-train.xplane.pb");
  const lost = JSON.parse(analyze(cli, path, ["--price", "2.5"])).goodput.lost_dollars_per_hour;
  assert.ok(lost > 0);
  await open(page, site);
  await load(page, path);
  await view(page, "model");
  const field = page.locator('[data-field="goodput.lost_dollars_per_hour"]');
  assert.equal(await field.getAttribute("data-exact"), "");
  await page.locator("[name=price]").fill("cheap");
  await page.locator("[name=price]").press("Enter");
  await page.locator(".field.wrong", { has: page.locator("[name=price]") }).locator(".hint").waitFor();
  await page.locator("[name=price]").fill("2.5");
  await page.locator("[name=price]").press("Enter");
  await until("the price is that of the command line", async () => {
    const shown = number((await field.getAttribute("data-exact")) ?? "");
    return Math.abs(shown - lost) < 1e-6 * lost;
  });
});

test("shows two runs that were dropped together", async ({ page, site }) => {
  const paths = ["run-a", "run-b"].map((name) => trace(`tpu-qwen3-runs/${name}.trace.json.gz`));
  if (!paths.every(Boolean)) return;
  await open(page, site);
  await load(page, paths);
  await until("both runs are in the rail", async () => (await page.locator(".run-link").count()) === 2);
  const before = await page.url();
  // The first run that was read is shown, wherever it is in the list.
  const isLast = (await page.locator(".run-link").nth(1).getAttribute("aria-current")) === "true";
  await page.keyboard.press(isLast ? "[" : "]");
  await until("the other run is shown", async () => (await page.url()) !== before);
});

test("walks a dropped folder", async ({ page, site }) => {
  const folder = trace("mi300x-8gpu-conv");
  if (!folder) return;
  await open(page, site);
  await load(page, folder);
  await until("the load has ended", async () => (await page.locator(".load .cancel").count()) === 0);
  assert.equal(await page.locator(".run-link").count(), 1, "xplane and JSON of one host are one run");
});

test("names runs after their log folder, and distinguishes captures in the same folder", async ({ page, site }) => {
  const folder = join(scratch(), "logs");
  const times = ["2026_01_31_12_00_00", "2026_01_31_13_00_00"];
  for (const [run, time] of [["big", times[0]], ["small", times[0]], ["small", times[1]]]) {
    const at = join(folder, run, "plugins/profile", time);
    mkdirSync(at, { recursive: true });
    copyFileSync(join(EXAMPLES, "gpu-training.trace.json.gz"), join(at, "host.trace.json.gz"));
  }
  await open(page, site);
  await load(page, folder);
  await until("all runs are in the rail", async () => (await page.locator(".run-link").count()) === 3);
  const whole = async (at) => {
    await page.locator(".run-link").nth(at).click();
    const link = page.locator(".run-link").nth(at);
    await until("the run is open", async () => (await link.getAttribute("aria-current")) === "true");
    return (await page.locator(".run-header h1").innerText()).trim();
  };
  const names = [await whole(0), await whole(1), await whole(2)];
  // Captures of the same day are distinguished by their time of day.
  assert.deepEqual(names.sort(), ["big", "small (12:00:00)", "small (13:00:00)"]);
  await page.keyboard.press("c");
  await page.locator(".page.compare .block-note").first().waitFor();
  const chips = () => page.locator(".compare-name").evaluateAll((fields) => fields.map((field) => field.value));
  assert.deepEqual((await chips()).sort(), names, "the comparison calls them so too");
  // The remaining run is not confused with the one of the same name.
  const first = (await chips()).indexOf("small (12:00:00)");
  await page.locator("[data-do=out]").nth(first).click();
  await until("two are left", async () => (await chips()).length === 2);
  assert.deepEqual((await chips()).sort(), ["big", "small (13:00:00)"]);
});

test("validates what it downloads against its own schema's required fields", async ({ page, site }) => {
  await open(page, site);
  await page.locator(".example").first().click();
  await page.locator(".page.overview .card").first().waitFor();
  await view(page, "export");
  const profile = JSON.parse(await downloaded(page, "#download-json"));
  const schema = JSON.parse(await downloaded(page, "#download-schema"));
  for (const field of schema.required) assert.ok(field in profile, field);
  assert.equal(profile.metadata.profiler_version, "1.0.0");
  const csv = await downloaded(page, '[data-table="top-kernels"] button');
  assert.equal(csv.trim().split("\r\n").length, profile.kernels.top_kernels.length + 1);
});

test("copies the digest of the command line for an assistant, with the report", async ({ page, context, site, cli }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const file = join(EXAMPLES, "jax-cpu-train.xplane.pb");
  await open(page, site);
  await load(page, file);
  await view(page, "export");
  await page.locator("#copy-assistant").click();
  await page.locator(".notice.shown", { hasText: "Digest and report copied." }).waitFor();
  const [digest, ...report] = (await page.evaluate(() => navigator.clipboard.readText())).split("\n\n");
  assert.equal(`${digest}\n`, execFileSync(cli, ["digest", file], { encoding: "utf8" }));
  assert.match(report.join("\n\n"), /^## /);
});

test("cancels a load at once", async ({ page, site }) => {
  const path = trace("tpu-v6e-4chip/host.trace.json.gz");
  if (!path) return;
  await open(page, site);
  // Reading takes only a moment, so the button is pressed as soon as it appears.
  await page.evaluate(() => {
    const press = (_, observer) => {
      const button = document.querySelector(".load .cancel");
      if (button) {
        observer.disconnect();
        button.click();
      }
    };
    new MutationObserver(press).observe(document.body, { childList: true, subtree: true });
  });
  await drop(page, "#main", [path]);
  await page.locator(".phase", { hasText: /cancelled/ }).waitFor();
  await until("the button is gone", async () => (await page.locator(".load .cancel").count()) === 0);
  assert.equal(await page.locator(".run-link").count(), 0, "there is no run of it");
});
