// Makes the documentation's pictures from the examples.
//
//   node pictures.mjs DIST [FOLDER]

import { join, resolve } from "node:path";
import { launch } from "./browser.mjs";
import { open, settled, view } from "./page.mjs";
import { serve } from "./server.mjs";

const [dist, folder = join(import.meta.dirname, "../../docs/images")] = process.argv.slice(2);
const site = await serve(resolve(dist), "/crossprof/");
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });

async function example(index) {
  await page.locator(".example").nth(index).click();
  await page.locator(".page.overview .card").first().waitFor();
  await settled(page);
}

async function picture(name) {
  await settled(page);
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

await open(page, site);
await example(0);
await picture("overview");
await view(page, "timeline");
await page.locator(".timeline-events").waitFor();
// One step.
const box = await page.locator(".timeline-window").boundingBox();
await page.mouse.move(box.x + box.width * 0.3, box.y + 60);
await page.keyboard.down("Control");
for (let turn = 0; turn < 6; turn++) await page.mouse.wheel(0, -120);
await page.keyboard.up("Control");
await picture("timeline");
await page.locator('.rail a:has-text("Open a profile")').click();
await example(1);
await page.locator('.rail a[href^="#/compare"]').click();
await page.locator(".page.compare h2").first().waitFor();
await picture("comparison");
await page.locator('.rail a:has-text("Open a profile")').click();
await example(2);
await view(page, "memory");
await picture("memory");
await browser.close();
await site.stop();
