// Starts the browser, and drops files on a page like a user.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

// `cargo xtask` keeps playwright-core outside the checkout and names its folder in NODE_PATH. Only require() reads this
// variable.
const { chromium } = createRequire(import.meta.url)("playwright-core");

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Starts the browser named by $CHROME, without a window. */
export function launch(flags = []) {
  return chromium.launch({ executablePath: process.env.CHROME ?? "/usr/bin/chromium", args: [...FLAGS, ...flags] });
}

/** Drops files or folders (absolute paths) on the element, with the browser's own drag events. */
export async function drop(page, selector, paths) {
  const box = await page.locator(selector).first().boundingBox();
  if (!box) throw new Error(`there is nothing to drop on: ${selector}`);
  const session = await page.context().newCDPSession(page);
  const at = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"]) {
    await session.send("Input.dispatchDragEvent", { type, ...at, data });
  }
  await session.detach();
}

/** Returns a number of bytes from a process's status: VmRSS is the resident memory, VmHWM its peak. */
export function memory(pid, field) {
  let status = "";
  try {
    status = readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    // The process has ended.
  }
  return 1024 * Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
}

/** Returns the processes that contain pages. */
export async function renderers(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return processInfo.filter((process) => process.type === "renderer").map((process) => process.id);
}
