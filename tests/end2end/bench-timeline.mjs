// Times the timeline of a profile in the tab: its first picture, and the frames while it is moved.
//
//   node bench-timeline.mjs DIST FILE
//
// A frame is shown on the screen, and a picture is drawn by the worker. While the worker draws, the page moves the last
// picture.

import { resolve } from "node:path";
import { launch } from "./browser.mjs";
import { load, open } from "./page.mjs";
import { serve } from "./server.mjs";

const SECONDS = 4;
const RUNS = 5;
const [dist, file] = process.argv.slice(2);

/** Runs in the page: shows the timeline, and returns how long its first picture took. */
async function first() {
  const start = performance.now();
  document.querySelector('.views a[href^="#/timeline"]').click();
  while (!document.querySelector(".timeline-events")?.style.width) await new Promise(requestAnimationFrame);
  return performance.now() - start;
}

/** Runs in the page: moves the timeline back and forth in every frame, and returns the times of the frames. */
async function moved({ how, seconds }) {
  const scroll = document.querySelector(".timeline-scroll");
  const { left, top } = scroll.getBoundingClientRect();
  const show = ImageBitmapRenderingContext.prototype.transferFromImageBitmap;
  let pictures = 0;
  ImageBitmapRenderingContext.prototype.transferFromImageBitmap = function (bitmap) {
    pictures += this.canvas.className === "timeline-events" ? 1 : 0;
    return show.call(this, bitmap);
  };
  const frames = [];
  const own = [];
  const end = performance.now() + seconds * 1000;
  for (let last = await new Promise(requestAnimationFrame), index = 0; performance.now() < end; index++) {
    const start = performance.now();
    const sign = Math.floor(index / 30) % 2 ? 1 : -1;
    const at = { clientX: left + 300 + ((index * 7) % 600), clientY: top + 60 + ((index * 3) % 200), bubbles: true, cancelable: true };
    if (how === "zoom") scroll.dispatchEvent(new WheelEvent("wheel", { ...at, deltaY: sign * 60, ctrlKey: true }));
    if (how === "pan") scroll.dispatchEvent(new WheelEvent("wheel", { ...at, deltaX: sign * 40 }));
    if (how === "hover") scroll.dispatchEvent(new PointerEvent("pointermove", { ...at, pointerId: 1 }));
    own.push(performance.now() - start);
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - last);
    last = now;
  }
  ImageBitmapRenderingContext.prototype.transferFromImageBitmap = show;
  const at = (values, share) => values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))].toFixed(1);
  return `frames p50 ${at(frames, 0.5)}, p95 ${at(frames, 0.95)}, worst ${at(frames, 1)} ms; the page's own p95 ${at(own, 0.95)} ms; ${Math.round(pictures / seconds)} pictures a second`;
}

/** Runs in the page: waits for the end of a drag, and returns how long it took until the statistics of the selection were visible. */
async function measured() {
  const end = await new Promise((done) => addEventListener("pointerup", () => done(performance.now()), { once: true, capture: true }));
  while (!document.querySelector(".timeline-details tbody tr")) await new Promise(requestAnimationFrame);
  // A message sent in this frame arrives after it is painted.
  await new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = done;
    port2.postMessage(0);
  });
  return performance.now() - end;
}

const site = await serve(resolve(dist), "/bench/");
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
await open(page, site);
await load(page, file);
// Waits until the background work is done.
await page.waitForTimeout(4000);
console.log(`\nThe timeline of ${file.split("/").at(-1)} in a tab: first picture ${(await page.evaluate(first)).toFixed(0)} ms`);
for (const how of ["zoom", "pan", "hover"]) console.log(`  ${how.padEnd(6)} ${await page.evaluate(moved, { how, seconds: SECONDS })}`);
// Shows everything again, so that the drag along the axis selects nearly everything.
await page.locator(".timeline-scroll").focus();
await page.keyboard.press("0");
await page.waitForTimeout(1000);
const box = await page.locator(".timeline-window").boundingBox();
const areas = [];
for (let run = 0; run < RUNS; run++) {
  await page.mouse.move(box.x + 2 + run, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, box.y + 10, { steps: 4 });
  const time = page.evaluate(measured);
  await page.waitForTimeout(300);
  await page.mouse.up();
  areas.push(await time);
  await page.keyboard.press("Escape");
  await page.locator(".timeline-details tbody tr").first().waitFor({ state: "detached" });
}
console.log(`  statistics of everything on the screen ${areas.map((ms) => ms.toFixed(0)).join(", ")} ms after the drag's end`);
await browser.close();
await site.stop();
