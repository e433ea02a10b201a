// Manual changes on the timeline: ranges snap to events, flags and ranges are kept, tracks are arranged, the URL contains all
// of this, and the timeline can be saved.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { drop } from "./browser.mjs";
import { test, until } from "./harness.mjs";
import { load, open, pressed, scratch, view } from "./page.mjs";

/** Builds one stream with a from 0 to 400 µs and b from 600 to 1000, another with c from 500 to 700, and a host thread. */
function profile() {
  const name = (pid, tid, name) => ({ ph: "M", pid, tid, name: tid === undefined ? "process_name" : "thread_name", args: { name } });
  const event = (pid, tid, name, ts, dur) => ({ ph: "X", pid, tid, name, ts, dur });
  const traceEvents = [
    name(1, undefined, "/device:GPU:0"), name(2, undefined, "/host:CPU"), name(1, 1, "Stream #1(Compute)"), name(1, 2, "Stream #2(Compute)"),
    name(2, 1, "python"), event(1, 1, "a", 0, 400), event(1, 1, "b", 600, 400), event(1, 2, "c", 500, 200), event(2, 1, "f", 0, 1000),
  ];
  const path = join(scratch(), "hand.trace.json");
  writeFileSync(path, JSON.stringify({ traceEvents }));
  return path;
}

/** Opens the profile's timeline. Returns the box of the events and the height of the first stream in it. */
async function timeline(page, site) {
  const path = profile();
  await open(page, site);
  await load(page, path);
  await view(page, "timeline");
  await picture(page);
  return path;
}

async function picture(page) {
  await until("the picture is there", () => page.evaluate(() => [".timeline-events", ".timeline-names"].every((canvas) => document.querySelector(canvas)?.style.width)));
}

const option = (page, key) => new URLSearchParams(page.url().split("?")[1] ?? "").get(`by.${key}`);

const name = (page) => page.locator(".timeline-name");

/** Moves the pointer to a height and a fraction of the width, and waits for the tooltip at that position. */
async function pointAt(page, share, y, tip) {
  const box = await page.locator(".timeline-window").boundingBox();
  await page.mouse.move(box.x + box.width * share, box.y + y);
  if (tip) await until(`the tip says ${tip}`, async () => (await page.locator(".tip.shown").allInnerTexts()).join().includes(tip));
  return box;
}

/** Returns the height of a lane that shows an event at a fraction of the width. */
async function heightOf(page, share, event) {
  for (let y = 32; y < 400; y += 8) {
    const box = await pointAt(page, share, y);
    await page.waitForTimeout(60);
    const said = (await page.locator(".tip.shown").allInnerTexts()).join();
    if (said.startsWith(`${event}\n`)) return { y, box };
  }
  throw new Error(`no ${event}`);
}

test("a dragged range snaps to events, and is kept with a name in the address", async ({ page, site, artifacts }) => {
  await timeline(page, site);
  const { y, box } = await heightOf(page, 0.2, "a");
  const near = 6 / box.width;
  await pointAt(page, near, y);
  // Waits for a picture that shows the nearby edge.
  await page.waitForTimeout(300);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * (0.4 + near), box.y + y, { steps: 5 });
  await page.mouse.up();
  await until("the range is that of the event", () => option(page, "selection")?.startsWith("0-400000000"));
  await page.getByRole("button", { name: "Keep this range" }).click();
  await name(page).waitFor();
  await name(page).fill("first half");
  await name(page).press("Enter");
  await until("the address keeps it", () => option(page, "flags")?.endsWith("!first half"));
  await page.screenshot({ path: join(artifacts, "timeline-kept.png") });
  await page.locator(".timeline-scroll").press("Escape");
  await until("nothing is selected", () => option(page, "selection") === null);
  await page.getByRole("button", { name: /^first half/ }).click();
  await until("it is selected again", () => option(page, "selection")?.startsWith("0-400000000"));
});

test("flags are set, named, walked through, removed, and there again after a reload", async ({ page, site, artifacts }) => {
  const path = await timeline(page, site);
  const { y } = await heightOf(page, 0.2, "a");
  await pointAt(page, 0.399, y);
  await page.keyboard.down("Control");
  await page.mouse.down();
  await page.mouse.up();
  await page.keyboard.up("Control");
  await name(page).waitFor();
  await name(page).fill("end of a");
  await name(page).press("Enter");
  await until("it is at the end of a", () => option(page, "flags") === "400000000!end of a");
  await pointAt(page, 0.8, 10);
  await page.keyboard.press("g");
  await until("a second one", () => option(page, "flags")?.split(";").length === 2);
  await page.keyboard.press("k");
  await until("K goes back", async () => (await name(page).inputValue()) === "end of a");
  await page.keyboard.press("j");
  await until("J goes on", async () => (await name(page).inputValue()) === "1");
  await page.screenshot({ path: join(artifacts, "timeline-flags.png") });
  await page.keyboard.press("Delete");
  await until("Delete removes it", () => option(page, "flags") === "400000000!end of a");
  await page.reload();
  await page.locator("body[data-ready]").waitFor();
  // The URL is kept: the run opens in the same state.
  await drop(page, "#main", [path]);
  await picture(page);
  await page.getByRole("button", { name: /^end of a/ }).waitFor();
});

test("tracks are hidden, moved and pinned by keys and by the hand", async ({ page, site }) => {
  await timeline(page, site);
  const { y } = await heightOf(page, 0.2, "a");
  await pointAt(page, -0.02, y, "Stream #1");
  await page.keyboard.press("h");
  await until("the address says so", () => option(page, "tracks")?.startsWith("h"));
  await page.getByRole("button", { name: "Show 1 hidden" }).click();
  await until("it is shown again", () => option(page, "tracks") === null);
  await pointAt(page, -0.02, y, "Stream #1");
  await page.locator(".timeline-scroll").focus();
  await page.keyboard.press("Alt+ArrowDown");
  await until("it moves down", () => option(page, "tracks")?.startsWith("m"));
  await pointAt(page, -0.02, y, "Stream #2");
  await page.keyboard.press("Alt+ArrowDown");
  await until("and back", () => option(page, "tracks") === null);
  await pointAt(page, -0.02, y, "Stream #1");
  await page.keyboard.press("t");
  await until("it is pinned", () => option(page, "tracks")?.startsWith("p"));
});

test("a damaged address is a timeline", async ({ page, site }) => {
  await timeline(page, site);
  const address = new URL(page.url());
  await page.goto(`${address.href}&by.tracks=h9.9-m0.0.77-x-p7&by.flags=-5;x;9223372036854775807!far;@!;1-2@3`);
  await page.locator('.views a[href^="#/timeline"]').waitFor();
  await picture(page);
});

test("the picture is saved as PNG and the range as a trace, which the command line reads", async ({ page, site, cli }) => {
  await timeline(page, site);
  const png = await pressed(page, page.getByRole("button", { name: "PNG", exact: true }));
  assert.equal(png.name, "hand.timeline.png");
  assert.equal(png.bytes.subarray(1, 4).toString(), "PNG");
  const [width, scroll] = [png.bytes.readUInt32BE(16), await page.locator(".timeline-scroll").evaluate((it) => it.clientWidth * devicePixelRatio)];
  assert.ok(Math.abs(width - scroll) < 2, `${width} of ${scroll} pixels`);
  const trace = await pressed(page, page.getByRole("button", { name: "Trace", exact: true }));
  const { traceEvents } = JSON.parse(gunzipSync(trace.bytes));
  assert.deepEqual(traceEvents.filter((it) => it.ph === "X").map((it) => [it.name, it.ts, it.dur]), [["a", 0, 400], ["b", 600, 400], ["c", 500, 200], ["f", 0, 1000]]);
  const folder = scratch();
  writeFileSync(join(folder, "again.trace.json.gz"), trace.bytes);
  const table = execFileSync(cli, ["table", "range", "again.trace.json.gz", "--format", "json"], { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  assert.deepEqual(JSON.parse(table).map((row) => [row.name, row.total_us]).sort(), [["a", 400], ["b", 400], ["c", 200], ["f", 1000]]);
});

test("the range is handed over to Perfetto's page, by a click only and within the browser", async ({ page, context, site }) => {
  let visits = 0;
  const stub = `<script>addEventListener("message", (event) => {
    if (event.data === "PING") event.source.postMessage("PONG", event.origin);
    else if (event.data.perfetto) { window.taken = event.data.perfetto; document.title = event.data.perfetto.title; }
  });</script>`;
  await context.route("https://ui.perfetto.dev/**", (route) => { visits += 1; return route.fulfill({ contentType: "text/html", body: stub }); });
  await timeline(page, site);
  assert.equal(visits, 0);
  const button = page.getByRole("button", { name: "Open in Perfetto" });
  assert.match(await button.getAttribute("title"), /pass the .* stays in this browser/);
  const [other] = await Promise.all([context.waitForEvent("page"), button.click()]);
  await until("it has the trace", () => other.evaluate(() => !!window.taken));
  const bytes = Buffer.from(await other.evaluate(() => [...new Uint8Array(window.taken.buffer)]));
  assert.equal(JSON.parse(gunzipSync(bytes)).traceEvents.filter((it) => it.ph === "X").length, 4);
  assert.deepEqual(await other.evaluate(() => [window.taken.title, window.taken.localOnly]), ["hand", true]);
  assert.equal(visits, 1);
  assert.equal(await page.locator(".requests").innerText(), "0 requests since load");
});
