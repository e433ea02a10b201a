// A tab of a browser that Playwright does not drive. `firefox.mjs` and `webkit.mjs` provide the primitives for it.

import { until } from "./harness.mjs";

/** A tab that shows the page, which has fetched everything. */
export async function opened(browser, site) {
  const { launch } = await import(`./${browser}.mjs`);
  const tab = await launch();
  // A condition is a function that runs in the page.
  tab.until = (what, condition, ...args) => until(what, () => tab.run(condition, ...args));
  await tab.goto(site.url);
  await shown(tab, "body[data-ready]");
  return tab;
}

/** Waits until there is such an element. */
export function shown(tab, selector) {
  return tab.until(`${selector} is there`, (selector) => !!document.querySelector(selector), selector);
}

/** Goes to a view of the run and waits until its content is there and up to date. */
export async function visit(tab, name) {
  await tab.run((name) => document.querySelector(`.views a[href^="#/${name}"]`).click(), name);
  await tab.until(`${name} is up to date`, (name) => !!document.querySelector(`.page.${name}`) && !document.querySelector('[aria-busy="true"]'), name);
}

/**
 * Drops files (absolute paths). No driver of these browsers drags files: they are given to an input, and an event drops what it has.
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
