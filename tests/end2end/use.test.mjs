// Ordinary use of the page: examples, keys, tables, no requests after the page has loaded, no network at all.

import assert from "node:assert/strict";
import { test, until } from "./harness.mjs";
import { downloaded, fits, kept, open, settled, VIEWS, view } from "./page.mjs";

async function example(page, index = 0) {
  await page.locator(".example").nth(index).click();
  await page.locator(".page.overview .card").first().waitFor();
}

test("every example opens with one click and without requests", async ({ page, context, site }) => {
  await open(page, site);
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  const count = await page.locator(".example").count();
  assert.ok(count >= 2);
  const late = [];
  context.on("request", (request) => /^https?:/.test(request.url()) && late.push(request.url()));
  for (let index = 0; index < count; index++) {
    await page.goto(`${site.url}#/start`);
    await example(page, index);
    assert.ok((await page.locator(".card:not(.missing)").count()) >= 3, "most cards have a figure");
  }
  assert.deepEqual(late.filter((url) => !url.includes("#")), []);
  assert.equal(await page.locator(".requests").innerText(), "0 requests since load");
});

test("works without a network after the first visit", async ({ page, site }) => {
  await open(page, site);
  await kept(page);
  await site.stop();
  await page.reload();
  await page.locator("body[data-ready]").waitFor();
  await example(page);
});

test("can be used with the keyboard alone", async ({ page, site }) => {
  await open(page, site);
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement?.classList.contains("example"))) break;
  }
  await page.keyboard.press("Enter");
  await page.locator(".page.overview .card").first().waitFor();
  for (const [key, name] of [["2", "findings"], ["3", "steps"], ["4", "timeline"], ["5", "layers"], ["6", "ops"], ["7", "graph"], ["8", "kernels"], ["9", "roofline"]]) {
    await page.keyboard.press(key);
    await page.locator(`.page.${name}`).waitFor();
  }
  // The other views do not have a key.
  await page.keyboard.press("Control+k");
  await page.keyboard.type("View: Hosts and devices");
  await page.keyboard.press("Enter");
  await page.locator(".page.devices").waitFor();
  await page.locator(".table-filter").first().waitFor();
  await page.keyboard.press("?");
  await page.locator("#help").waitFor();
  await page.keyboard.press("Escape");
  await until("the help is closed", async () => (await page.locator("#help").count()) === 0);
  await page.keyboard.press("/");
  await page.keyboard.type("zzz -x");
  await until("the filter stands in the address", async () => page.url().includes("q=zzz%20-x"));
  await until("no row passes", async () => /No row passes/.test(await page.locator(".table-scroll").first().innerText()));
  await page.keyboard.press("Escape");
  await until("the filter is cleared", async () => !page.url().includes("q="));
  await page.locator(".table-box tbody tr:not(.pad)").nth(1).waitFor();
  await page.locator(".table-scroll").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.locator("tr.active").count(), 1);
  assert.match(await page.locator("#tip").innerText(), /Device: /);
  const before = await page.evaluate(() => document.documentElement.dataset.theme ?? "");
  await page.keyboard.press("d");
  await until("the theme changes", () => page.evaluate((before) => document.documentElement.dataset.theme !== before, before));
});

test("tables sort, filter, copy and download", async ({ page, context, site }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, site);
  await example(page);
  await view(page, "devices");
  await page.locator(".table-box tbody tr:not(.pad)").first().waitFor();
  const box = page.locator(".table-box").first();
  const column = async (index) => box.locator(`tbody tr:not(.pad) td:nth-child(${index})`).allInnerTexts();
  const sorted = (way) => until(`sorted ${way}`, async () => (await box.locator("th").first().getAttribute("aria-sort")) === way);
  await box.locator("th .sort").first().click();
  await sorted("ascending");
  assert.ok(page.url().includes("sort.devices=device_name"), "the order stands in the address");
  const names = await column(1);
  assert.deepEqual(names, [...names].sort(), "sorted by name");
  await box.locator("th .sort").first().click();
  await sorted("descending");
  assert.deepEqual(await column(1), [...names].reverse(), "sorted the other way");
  const word = names[0].slice(-5);
  await box.locator(".table-filter").fill(`-${word}`);
  await until("rows are left out", async () => (await column(1)).every((name) => !name.includes(word)));
  await box.locator("button", { hasText: "Copy" }).click();
  await page.locator(".notice.shown").waitFor();
  const rows = (await column(1)).length;
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied.trim().split("\n").length, rows + 1);
  assert.ok(copied.startsWith("device_name\t"));
  const csv = await downloaded(page, '.table-box button:has-text("CSV")');
  assert.equal(csv.trim().split("\r\n").length, rows + 1);
}, { alone: true });

test("fits narrow and wide screens, and nothing jumps while it loads", async ({ page, site }) => {
  for (const width of [390, 800, 1280, 1920]) {
    await page.setViewportSize({ width, height: 844 });
    await open(page, site);
    assert.ok(await fits(page), `the start page at ${width}`);
    await page.evaluate(() => {
      [window.shifts, window.acts] = [[], []];
      const add = (list) => window.shifts.push(...list.getEntries());
      new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
    });
    /** Marks layout shifts between a click and its response as requested by the user, however long they take. */
    const asked = async (act) => {
      await page.evaluate(() => window.acts.push([performance.now()]));
      await act();
      await settled(page);
      await page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))));
      await page.evaluate(() => window.acts.at(-1).push(performance.now()));
    };
    await asked(() => example(page));
    for (const name of VIEWS) {
      await asked(() => view(page, name));
      assert.ok(await fits(page), `${name} at ${width}`);
    }
    const shift = await page.evaluate(() => {
      const isAsked = ({ startTime }) => window.acts.some(([start, end]) => start <= startTime && startTime <= end);
      const jumps = window.shifts.filter((entry) => !entry.hadRecentInput && !isAsked(entry));
      return jumps.reduce((sum, { value }) => sum + value, 0);
    });
    assert.ok(shift < 0.1, `layout shift ${shift} at ${width}`);
  }
}, { alone: true });

test("on a phone, flags stay whole, and a name that is cut is read in full by a tap on its row", async ({ page, site }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, site);
  const count = await page.locator(".example").count();
  let flags = 0;
  let cut = 0;
  for (let index = 0; index < count; index++) {
    await page.goto(`${site.url}#/start`);
    await example(page, index);
    await view(page, "findings");
    const words = await page.locator(".finding .word").evaluateAll((all) => all.map((it) => ({
      text: it.textContent,
      lines: it.offsetHeight / parseFloat(getComputedStyle(it).lineHeight),
      fits: it.offsetWidth < it.parentElement.clientWidth - 1,
    })));
    flags += words.length;
    assert.deepEqual(words.filter((it) => it.fits && it.lines > 1.5), [], "flags that are broken although they fit");
    await view(page, "ops");
    const names = page.locator("tbody td:first-child bdi");
    const at = (await names.allTextContents()).findIndex((text) => text.includes("…"));
    if (at < 0) continue;
    cut += 1;
    const [start, end] = (await names.nth(at).textContent()).split("…");
    await names.nth(at).click();
    const heading = page.locator(".row-details h2").first();
    await heading.waitFor();
    const whole = await heading.innerText();
    assert.ok(whole.startsWith(start) && whole.endsWith(end) && !whole.includes("…"), whole);
  }
  assert.ok(flags > 0, "an example has flags");
  assert.ok(cut > 0, "an example has a name that is cut");
});
