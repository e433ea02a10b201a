// Times queries to the tables of a profile with many ops, in the tab: from the page's request to the worker's response.
//
//   node bench-tables.mjs DIST FILE
//
// The first response is reported separately, because browsers compile WebAssembly well only after some use. Memory is
// measured for the tab's process.

import { resolve } from "node:path";
import { launch, memory as held, renderers } from "./browser.mjs";
import { load, open } from "./page.mjs";
import { serve } from "./server.mjs";

const ROUNDS = 4;
const [dist, file] = process.argv.slice(2);

/** Runs in the page: records when a page or table is requested and when the response arrives. A message is `[id, kind, body]`. */
function watchRequests() {
  const [REQUEST, CANCEL, RESPONSE] = [0, 1, 3];
  window.asked = new Map();
  window.told = [];
  const Plain = window.Worker;
  window.Worker = class extends Plain {
    constructor(...args) {
      super(...args);
      this.addEventListener("message", ({ data }) => {
        if (data[1] === RESPONSE && window.asked.has(data[0])) window.told.push(performance.now());
      });
    }
    postMessage(data, ...rest) {
      if (data[1] === REQUEST && (data[2].Page || data[2].Table)) window.asked.set(data[0], performance.now());
      if (data[1] === CANCEL) window.asked.delete(data[0]);
      return super.postMessage(data, ...rest);
    }
  };
}

/** Returns the milliseconds from the first request since the last call to the last response. */
async function taken(page) {
  await page.waitForFunction(() => window.asked.size > 0 && window.told.length === window.asked.size, null, { polling: 20 });
  return page.evaluate(() => {
    const taken = window.told.at(-1) - Math.min(...window.asked.values());
    window.asked.clear();
    window.told = [];
    return taken;
  });
}

/** Returns the resident bytes of the browser's largest renderer, now and at their peak. */
async function memory(browser) {
  const pids = await renderers(browser);
  return ["VmRSS", "VmHWM"].map((field) => Math.max(...pids.map((pid) => held(pid, field))));
}

const site = await serve(resolve(dist), "/bench/");
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
await page.addInitScript(watchRequests);
await open(page, site);
const dropped = performance.now();
await load(page, file);
console.log(`\nQuestions in a tab, first and then the best and worst of ${ROUNDS - 1}; the overview took ${((performance.now() - dropped) / 1000).toFixed(1)} s:`);
await taken(page).catch(() => null);
for (const view of ["Ops", "Kernels", "Roofline"]) {
  await page.locator("a.view-link", { hasText: view }).first().click();
  console.log(`${view}: first look ${(await taken(page)).toFixed(0)} ms`);
  const table = page.locator(".table-box").first();
  const filters = ["fusion", "layer_42 -copy", "occurrences>0", "no such op", "f", ""].map((filter) => {
    return [`filter "${filter}"`, () => table.locator(".table-filter").fill(filter)];
  });
  const heads = await table.locator("thead th button").allTextContents();
  const sorts = [1, 2, 3, 9].map((at) => [`order by ${heads[at]}`, () => table.locator("thead th button").nth(at).click()]);
  const times = new Map();
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, ask] of [...filters, ...sorts]) {
      await ask();
      times.set(name, [...(times.get(name) ?? []), await taken(page)]);
    }
  }
  for (const [name, [first, ...rest]] of times) {
    console.log(`${[first, Math.min(...rest), Math.max(...rest)].map((ms) => ms.toFixed(0).padStart(5)).join("")} ms  ${name}`);
  }
}
const [now, peak] = await memory(browser);
console.log(`memory of the tab: ${Math.round(now / 1e6)} MB, ${Math.round(peak / 1e6)} MB at its peak`);
await browser.close();
await site.stop();
