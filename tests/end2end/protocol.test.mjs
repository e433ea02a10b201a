// Messages between the page and its workers: the latest view wins, and errors reach the sender of the request.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { drop } from "./browser.mjs";
import { test, until } from "./harness.mjs";
import { load, open, scratch, view } from "./page.mjs";

/** Builds a trace with many steps and ops, so that its pages take a while. */
function profile() {
  const meta = (tid, name, value) => ({ ph: "M", pid: 3, ...(tid ? { tid } : {}), name, args: { name: value } });
  const events = [meta(0, "process_name", "/device:TPU:0"), meta(1, "thread_name", "XLA Modules"), meta(2, "thread_name", "XLA Ops")];
  for (let step = 0; step < 100; step++) {
    events.push({ ph: "X", pid: 3, tid: 1, ts: step * 10_000, dur: 9_500, name: "jit_train_step(7)", args: { run_id: `${step}` } });
    for (let at = 0; at < 900; at++) {
      const name = `fusion.${(step * 7 + at) % 2500}`;
      events.push({ ph: "X", pid: 3, tid: 2, ts: step * 10_000 + at * 10, dur: 8, name, args: { hlo_category: "loop fusion" } });
    }
  }
  const path = join(scratch(), "many.trace.json");
  writeFileSync(path, JSON.stringify({ displayTimeUnit: "ns", traceEvents: events }));
  return path;
}

/** Runs in the page: records each message and the workers, and lets a test change or delay the page's messages. */
function watch() {
  const kinds = ["request", "cancel", "progress", "response", "error", "onward", "back"];
  Object.assign(window, { said: [], workers: [], change: null, held: null });
  const Plain = window.Worker;
  window.Worker = class extends Plain {
    constructor(...args) {
      super(...args);
      window.workers.push(this);
      this.addEventListener("message", ({ data }) => Array.isArray(data) && this.note(data));
    }
    note([id, kind, body]) {
      const what = body && typeof body === "object" ? Object.keys(body)[0] : body;
      window.said.push({ worker: window.workers.indexOf(this), id, kind: kinds[kind], what });
    }
    postMessage(data, ...rest) {
      if (Array.isArray(data)) {
        window.change?.(data, this);
        this.note(data);
        if (window.held) return window.held.push(() => super.postMessage(data, ...rest));
      }
      return super.postMessage(data, ...rest);
    }
  };
}

const said = (page) => page.evaluate(() => window.said);
const banner = (page) => page.locator("#main .banner");

/** Returns the headings and the first table of the visible view. */
const content = (page) => page.locator(".page h2, .page .table-head .quiet, .page tbody tr:not(.pad)").allInnerTexts();

test("of several views requested in quick succession, only the last is shown", async ({ page, site }) => {
  await page.addInitScript(watch);
  await open(page, site);
  await load(page, profile());
  await view(page, "roofline");
  await page.locator(".table-box tbody tr:not(.pad)").nth(2).waitFor();
  const slowly = await content(page);
  await view(page, "export");
  await page.evaluate(async () => {
    // The worker gets all messages at once, as if it had been busy the whole time.
    [window.said, window.held] = [[], []];
    for (let round = 0; round < 4; round++) {
      for (const name of ["ops", "kernels", "steps", "findings", "roofline"]) {
        location.hash = `#/${name}?run=1`;
        // Changes the URL as fast as possible: each change is a separate task of the browser.
        await new Promise((next) => addEventListener("hashchange", () => setTimeout(next), { once: true }));
      }
    }
    window.held.forEach((send) => send());
    window.held = null;
  });
  await page.locator(".page.roofline .table-box tbody tr:not(.pad)").nth(2).waitFor();
  await until("every request is answered or cancelled", async () => {
    const all = await said(page);
    const ended = new Set(all.filter(({ kind }) => kind !== "request").map(({ id }) => id));
    return all.every(({ id }) => ended.has(id));
  });
  assert.deepEqual(await content(page), slowly, "the last view is as if it were the only one");
  const all = await said(page);
  // The timeline is rendered at the same time, so only the views are counted.
  const views = new Set(all.filter(({ kind, what }) => kind === "request" && what === "Page").map(({ id }) => id));
  const count = (kind) => all.filter((message) => message.kind === kind && views.has(message.id)).length;
  assert.equal(count("request"), 20);
  assert.equal(count("cancel"), 19, "earlier views are cancelled");
  assert.ok(count("response") < 5, `the worker does not make what nobody waits for: ${count("response")} responses`);
  assert.equal(await banner(page).count(), 0);
});

test("a worker's crash is reported immediately and for later requests", async ({ page, site }) => {
  await page.addInitScript(watch);
  await open(page, site);
  await load(page, profile());
  await view(page, "export");
  await page.evaluate(() => {
    // While the worker renders a page.
    window.change = (data, worker) => data[2]?.Page && setTimeout(() => worker.dispatchEvent(new ErrorEvent("error")));
    window.said = [];
    location.hash = location.hash.replace("export", "ops");
  });
  await banner(page).waitFor();
  assert.match(await banner(page).innerText(), /analysis stopped.*command line/s);
  await page.evaluate(() => (location.hash = location.hash.replace("ops", "kernels")));
  await page.locator(".page.kernels .banner").waitFor();
  await page.evaluate(() => (location.hash = location.hash.replace("kernels", "export")));
  await page.locator("[data-table] button").first().click();
  await until("a button says so too", async () => /analysis stopped/.test(await page.locator(".notice.shown").innerText()));
  await page.evaluate(() => (window.change = null));
  await page.goto(`${site.url}#/start`);
  await load(page, profile());
  assert.equal(await banner(page).count(), 0, "the next load has workers of its own");
});

test("errors in a worker become messages", async ({ page, site, expected }) => {
  await page.addInitScript(watch);
  await open(page, site);
  const path = profile();
  await load(page, path);
  await page.evaluate(() => (window.change = (data) => data[2]?.Page && (data[2] = { Page: 7 })));
  await page.locator('.views a[href^="#/ops"]').click();
  await banner(page).waitFor();
  assert.match(await banner(page).innerText(), /could not read each other's messages/);
  await page.evaluate(() => (window.change = (data) => data[2]?.Page && (data[2].Page.run = 9)));
  await page.locator('.views a[href^="#/kernels"]').click();
  await until("there is no such run", async () => /not loaded/.test(await banner(page).innerText()));
  await page.evaluate(() => (window.change = null));
  await view(page, "steps");
  assert.equal(await banner(page).count(), 0, "the worker goes on");
  /** Drops the file while `change` modifies a message. */
  const fails = async (change, sentence) => {
    await page.evaluate((change) => (window.change = (0, eval)(change)), String(change));
    await page.locator('a[href="#/start"]').first().click();
    await drop(page, "#main", [path]);
    await page.locator(".file.failed .message", { hasText: sentence }).waitFor();
  };
  // A message from another worker that the page forwards.
  await fails((data) => data[1] === 5 && (data[2] = 7), /damaged during the transfer/);
  // A message without its files: an error in the worker's program.
  expected.push(/TypeError|RuntimeError|undefined|unreachable/);
  await fails((data) => data[2]?.Unpack && (data[3] = null), /analysis stopped/);
});
