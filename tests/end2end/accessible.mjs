// Checks with axe-core, if a program can test it, that the page can be used without sight and without a mouse.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { source } = createRequire(import.meta.url)("axe-core");

/** Fails with a description and location of each problem. */
export async function accessible(page, where) {
  await page.evaluate(source);
  const violations = await page.evaluate(async () => {
    const found = await window.axe.run(document, { resultTypes: ["violations"] });
    return found.violations.map(({ id, help, nodes }) => `${id}: ${help}\n  ${nodes.map((node) => node.html.slice(0, 200)).join("\n  ")}`);
  });
  assert.deepEqual(violations, [], where);
}
