// The details of an event: arguments that no number uses are read from the file again, and match those of the command line.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { test, until } from "./harness.mjs";
import { load, number, open, scratch, trace, view } from "./page.mjs";

const EXAMPLES = join(import.meta.dirname, "../../www/assets/examples");
const button = (page) => page.locator(".timeline-details button", { hasText: "All arguments in the file" });

/** Opens the timeline and selects the first event that matches a word. */
async function select(page, word) {
  await view(page, "timeline");
  await until("the picture is there", () => page.evaluate(() => document.querySelector(".timeline-events")?.style.width));
  await page.locator(".timeline-filter").fill(word);
  await page.locator(".timeline-filter").press("Enter");
  await button(page).waitFor();
}

/** Presses the button, and returns the arguments in the file by name. */
async function allArguments(page) {
  await button(page).click();
  const box = page.locator(".timeline-details .grid-box").filter({ hasText: "All arguments in the file" });
  await box.waitFor();
  const rows = await box.locator("tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  return Object.fromEntries(rows);
}

/** Returns the command line's arguments for the events with this name and start. Control characters are written as on the page. */
function told(cli, path, name, start) {
  const args = ["table", "events", "--arguments", "--format", "json", "--filter", `name="${name}"`, basename(path)];
  const rows = JSON.parse(execFileSync(cli, args, { cwd: dirname(path), maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] }).toString());
  const at = rows.filter((row) => row.name === name && Math.abs(row.start_us - start) < 0.001);
  return at.map((row) => Object.fromEntries(Object.entries(row.arguments).map(([key, value]) => [key, value.replace(/[\n\r\t]/g, " ")])));
}

async function selected(page) {
  const card = page.locator(".timeline-details .card").filter({ hasText: "from the start of the capture" });
  return { name: await page.locator(".timeline-details h2").first().innerText(), start: number(await card.locator(".figure").getAttribute("data-exact")) };
}

const FILES = [
  ["an xplane of a TPU", () => trace("tpu-v6e-4chip/host.xplane.pb"), 'category="all-reduce"', "source_stack"],
  ["a packed trace of PyTorch", () => trace("kineto/rank-0.json.gz"), 'name="nccl:all_to_all"', "Ev Idx"],
  ["a packed trace of JAX", () => join(EXAMPLES, "gpu-training.trace.json.gz"), "cuLaunchKernel", "correlation_id"],
];
for (const [what, file, word, argument] of FILES) {
  test(`the arguments of an event of ${what} are those of the command line`, async ({ page, site, cli, artifacts }) => {
    const path = file();
    if (!path) return;
    await open(page, site);
    await load(page, path);
    await select(page, word);
    const { name, start } = await selected(page);
    const shown = await allArguments(page);
    assert.ok(argument in shown, `${argument} is in ${JSON.stringify(shown)}`);
    const expected = told(cli, path, name, start);
    assert.ok(expected.some((it) => JSON.stringify(it) === JSON.stringify(shown)), `${JSON.stringify(shown)} is one of ${JSON.stringify(expected)}`);
    assert.equal(await button(page).count(), 0, "it is read once");
    await page.locator(".timeline-details .grid-box").last().scrollIntoViewIfNeeded();
    await page.screenshot({ path: join(artifacts, `arguments-${basename(path)}.png`) });
    await page.emulateMedia({ colorScheme: "dark" });
    await page.screenshot({ path: join(artifacts, `arguments-${basename(path)}-dark.png`) });
  });
}

test("arguments are read from a member of an archive", async ({ page, site, cli }) => {
  const folder = scratch();
  cpSync(join(EXAMPLES, "jax-cpu-train.xplane.pb"), join(folder, "run/plugins/profile/r/host.xplane.pb"));
  const archive = join(folder, "run.tar.gz");
  execFileSync("tar", ["czf", archive, "-C", folder, "run"]);
  await open(page, site);
  await load(page, archive);
  await select(page, "dot");
  const { name, start } = await selected(page);
  const shown = await allArguments(page);
  assert.ok(told(cli, archive, name, start).some((it) => JSON.stringify(it) === JSON.stringify(shown)));
});

test("a file that is gone is named", async ({ page, site }) => {
  const path = join(scratch(), "gone.xplane.pb");
  copyFileSync(join(EXAMPLES, "jax-cpu-train.xplane.pb"), path);
  await open(page, site);
  await load(page, path);
  await select(page, "dot");
  rmSync(path);
  await button(page).click();
  const said = () => page.locator(".timeline-details").innerText();
  await until("the file is named", async () => (await said()).includes("gone.xplane.pb could not be read"));
});
