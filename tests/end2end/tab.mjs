// A tab of a browser that Playwright does not drive. `firefox.mjs` and `webkit.mjs` provide the primitives for it.

import { until } from "./harness.mjs";

/** Returns a tab with the page, once it has fetched everything. */
export async function opened(browser, site) {
  const { launch } = await import(`./${browser}.mjs`);
  const tab = await launch();
  // A condition is a function that runs in the page.
  tab.until = (what, condition, ...args) => until(what, () => tab.run(condition, ...args));
  await tab.goto(site.url);
  await shown(tab, "body[data-ready]");
  return tab;
}

/** Waits until such an element exists. */
export function shown(tab, selector) {
  return tab.until(`${selector} is there`, (selector) => !!document.querySelector(selector), selector);
}

/** Opens a view of the run and waits until its content is up to date. */
export async function visit(tab, name) {
  await tab.run((name) => document.querySelector(`.views a[href^="#/${name}"]`).click(), name);
  await tab.until(`${name} is up to date`, (name) => !!document.querySelector(`.page.${name}`) && !document.querySelector('[aria-busy="true"]'), name);
}

/**
 * Drops files (absolute paths). The drivers of these browsers cannot drag files, so the files are set on an input, and an event drops them.
 */
export async function drop(tab, paths) {
  await tab.run(() => {
    const input = Object.assign(document.createElement("input"), { type: "file", multiple: true, id: "to-drop" });
    input.style = "position: fixed; inset: 0 auto auto 0; z-index: 99";
    document.body.append(input);
  });
  await tab.choose("#to-drop", paths);
  await tab.run(() => {
    const input = document.querySelector("#to-drop");
    const dataTransfer = new DataTransfer();
    for (const file of input.files) dataTransfer.items.add(file);
    input.remove();
    document.querySelector("#main").dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
  });
}
