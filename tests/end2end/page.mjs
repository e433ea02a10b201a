// Shared functions of the page's tests: opening the page, dropping profiles, and reading figures.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { drop } from "./browser.mjs";
import { until } from "./harness.mjs";

const here = dirname(fileURLToPath(import.meta.url));

/** Folder of the real profiles. */
export const TRACES = process.env.CROSSPROF_TRACES ?? join(here, "../../../shared/traces");

/** Returns the path of a real profile. Fails with a message if it is missing. */
export function trace(name) {
  const path = join(TRACES, name);
  if (existsSync(path)) return path;
  console.log(`skipped: there is no ${name} among the real profiles`);
  return null;
}

/** Creates a folder for a test's files. */
export function scratch() {
  return mkdtempSync(join(tmpdir(), "crossprof-"));
}

/** Opens the page and waits until it has fetched everything. */
export async function open(page, site) {
  await page.goto(site.url);
  await page.locator("body[data-ready]").waitFor();
}

/** Waits until the page has fetched everything and the service worker has cached every file of the build. The server may then stop. */
export async function kept(page) {
  await page.locator("body[data-ready]").waitFor();
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await until("the service worker controls the page", () => page.evaluate(() => !!navigator.serviceWorker.controller));
}

/** Waits until no view is waiting for a response: the content belongs to the latest request, and nothing will replace it. */
export async function settled(page) {
  await until("every view is up to date", () => page.evaluate(() => !document.querySelector('[aria-busy="true"]')));
}

/** Drops files and waits until the overview is up to date. */
export async function load(page, paths) {
  await drop(page, "#main", [paths].flat());
  await page.locator(".page.overview .card").first().waitFor({ timeout: 120_000 });
  await settled(page);
}

/** Parses the number at the start of a text. Its digits may be grouped. */
export function number(text) {
  return Number.parseFloat(text.replace(/\u202f/g, ""));
}

/** Returns the exact figure of a card as a number, or null if it was not measured. */
export async function figure(page, card) {
  const text = await page.locator(`[data-card="${card}"] .figure`).getAttribute("data-exact");
  return text ? number(text) : null;
}

/** Returns the command line's profile of a file (exit status 1 means: read, but damaged). */
export function analyze(cli, path, options = []) {
  const args = ["analyze", "--format", "json", ...options, basename(path)];
  try {
    return execFileSync(cli, args, { cwd: dirname(path), maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] }).toString();
  } catch (error) {
    if (error.status === 1) return error.stdout.toString();
    throw error;
  }
}

/** Returns the web page that the command line writes for a profile. */
export function reported(cli, path) {
  const folder = mkdtempSync(join(tmpdir(), "crossprof-"));
  analyze(cli, path, ["--output", join(folder, "report.html")]);
  return readFileSync(join(folder, "report.html"), "utf8");
}

/** Presses a button of a view that is up to date. Returns the name and bytes of the downloaded file. */
export async function pressed(page, button) {
  // A response that arrives at this time would replace the button.
  await settled(page);
  const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

/** Clicks, and returns the text of the downloaded file. */
export async function downloaded(page, selector) {
  return (await pressed(page, page.locator(selector).first())).bytes.toString("utf8");
}

/** All views of a run. */
export const VIEWS = ["overview", "findings", "steps", "timeline", "layers", "ops", "graph", "kernels", "roofline", "communication", "transfers", "serving", "input", "memory", "devices", "model", "export"];

/** Opens a view of the run and waits until its content is visible. */
export async function view(page, name) {
  await page.locator(`.views a[href^="#/${name}"]`).click();
  await page.locator(`.page.${name}`).waitFor();
  await settled(page);
}

/** Selects the measured window of the run, and waits until the visible view uses it. */
export async function measure(page, window) {
  const sentence = page.locator(".run-header .window > span").first();
  await sentence.waitFor();
  const before = await sentence.innerText();
  const field = page.locator('input[name="window"]');
  await field.fill(window);
  await field.press("Enter");
  await until(`numbers are of ${window}`, async () => (await sentence.innerText()) !== before);
  await settled(page);
}

/** Returns true if the page itself does not scroll sideways. */
export function fits(page) {
  return page.evaluate(() => {
    const main = document.querySelector("#main");
    return document.documentElement.scrollWidth <= innerWidth && main.scrollWidth <= main.clientWidth;
  });
}
