// Runs every *.test.mjs of this folder against a built page.
//
// node run.mjs DIST [WORD...]     only tests whose name or file contains one of the words
//
// `cargo xtask test end2end` sets NODE_PATH (playwright-core), CHROME and CROSSPROF_CLI.

import { mkdirSync, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "./browser.mjs";
import { tests } from "./harness.mjs";
import { serve } from "./server.mjs";

/** Largest number of tests at a time. */
const WORKERS = 2;
const TIMEOUT_MS = 300_000;
/** Generous, because a task of one second takes many times longer on a busy machine. */
const WAIT_MS = 60_000;
/** Time limit for the page of a failed test to return its content. */
const ANSWER_MS = 5_000;
const here = dirname(fileURLToPath(import.meta.url));
const [dist = join(here, "../../dist"), ...words] = process.argv.slice(2);
const artifacts = join(here, "artifacts");
mkdirSync(artifacts, { recursive: true });

for (const file of readdirSync(here).filter((name) => name.endsWith(".test.mjs")).sort()) {
  const before = tests.length;
  await import(`./${file}`);
  for (const test of tests.slice(before)) test.file = file;
}

/** Runs one test in its own browser context, with its own server. */
async function runOne(browser, test) {
  const site = await serve(resolve(dist), "/some/sub-path/");
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true });
  context.setDefaultTimeout(WAIT_MS);
  const errors = [];
  const expected = [];
  let timer;
  let page;
  try {
    page = await context.newPage();
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    const cli = process.env.CROSSPROF_CLI ?? join(here, "../../target/release/crossprof");
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not done after ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
    });
    await Promise.race([test.run({ page, context, site, artifacts, cli, expected }), late]);
    const surprising = errors.filter((text) => !expected.some((pattern) => pattern.test(text)));
    if (surprising.length) throw new Error(`the page reported errors:\n${surprising.join("\n")}`);
  } catch (error) {
    // The text on the screen shows whether the page was wrong or late.
    const text = page?.evaluate(() => `${location.href}\n${document.body.innerText.slice(0, 1500)}`).catch(String);
    const silent = new Promise((resolve) => setTimeout(resolve, ANSWER_MS, "it does not answer"));
    const shown = await Promise.race([text, silent]);
    throw new Error(`${error?.stack ?? error}\nthe page: ${shown}\nits errors: ${errors.join("\n") || "none"}`);
  } finally {
    clearTimeout(timer);
    await context.close();
    await site.stop();
  }
}

const browser = await launch();
let failed = 0;
const chosen = tests.filter((test) => !words.length || words.some((word) => `${test.file} ${test.name}`.includes(word)));

async function runWithReport(test) {
  const start = Date.now();
  const attempt = () => runOne(browser, test).then(() => null, (error) => error?.message ?? String(error));
  const named = () => `${test.file}: ${test.name} (${Date.now() - start} ms)`;
  const error = await attempt();
  if (!error) {
    console.log(`ok      ${named()}`);
    return;
  }
  // Runs a failed test again. A test that fails twice is a failure. A test that fails once is reported with the page that it
  // showed, for later investigation.
  const again = await attempt();
  failed += again ? 1 : 0;
  console.log(`${again ? "FAILED " : "FLAKY  "} ${named()}\n${error}`);
}

/** Runs tests one after another, taking each from the list. */
async function worker(list) {
  for (let test = list.shift(); test; test = list.shift()) await runWithReport(test);
}

const together = chosen.filter((test) => !test.alone);
await Promise.all(Array.from({ length: Math.min(WORKERS, availableParallelism()) }, () => worker(together)));
await worker(chosen.filter((test) => test.alone));
await browser.close();
console.log(`end to end: ${chosen.length - failed} passed, ${failed} failed`);
process.exitCode = failed || !chosen.length ? 1 : 0;
