// Times an inflater in the tab.
//
//   node bench-inflate.mjs FOLDER FILE.gz
//
// The folder contains inflating.js and its program, as written by wasm-bindgen.

import { copyFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { launch } from "./browser.mjs";
import { serve } from "./server.mjs";

/** Number of rounds. The fastest is reported: the first rounds run poorly compiled code, and others may be disturbed. */
const ROUNDS = 9;
const [folder, file] = process.argv.slice(2);

writeFileSync(join(folder, "index.html"), "<!doctype html><title>inflating</title>");
copyFileSync(file, join(folder, "file.gz"));
const site = await serve(resolve(folder), "/bench/");
const browser = await launch();
const page = await browser.newPage();
await page.goto(`${site.url}index.html`);
const { bytes, ms } = await page.evaluate(async (rounds) => {
  const { default: start, unpack } = await import("./inflating.js");
  await start();
  const stored = new Uint8Array(await (await fetch("file.gz")).arrayBuffer());
  let [bytes, best] = [0, Infinity];
  for (let round = 0; round < rounds; round++) {
    const before = performance.now();
    bytes = unpack(stored);
    best = Math.min(best, performance.now() - before);
  }
  return { bytes, ms: best };
}, ROUNDS);
console.log(`${basename(file)}: ${(bytes / 2 ** 20).toFixed(0)} MiB in ${ms.toFixed(0)} ms, ${(bytes / 2 ** 20 / (ms / 1000)).toFixed(0)} MiB/s`);
await browser.close();
await site.stop();
