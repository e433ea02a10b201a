// Screenshots of every page, light and dark, in three widths, for manual inspection. No page scrolls sideways, and axe-core finds
// no problems.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { accessible } from "./accessible.mjs";
import { drop } from "./browser.mjs";
import { test } from "./harness.mjs";
import { fits, load, open, scratch, trace, VIEWS, view } from "./page.mjs";

const SIZES = {
  wide: { width: 1280, height: 800 },
  large: { width: 1920, height: 1080 },
  narrow: { width: 390, height: 844 },
};
for (const scheme of ["light", "dark"]) {
  for (const [name, size] of Object.entries(SIZES)) {
    test(`pictures, ${scheme}, ${name}`, async ({ page, site, artifacts }) => {
      const shoot = (what) => page.screenshot({ path: join(artifacts, `${what}-${scheme}-${name}.png`) });
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize(size);
      await open(page, site);
      await shoot("start");
      await accessible(page, "start");
      await page.keyboard.press("?");
      await shoot("help");
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+k");
      await page.locator("#palette input").waitFor();
      await shoot("palette");
      await page.keyboard.press("Escape");
      await page.locator(".example").first().click();
      await page.locator(".page.overview .card").first().waitFor();
      for (const which of VIEWS) {
        await view(page, which);
        await page.locator("#main").hover({ position: { x: 2, y: 2 } });
        await shoot(which);
        assert.ok(await fits(page), `${which} scrolls sideways`);
        await accessible(page, which);
      }
      await view(page, "ops");
      await page.locator("tr[data-row='0']").first().click();
      await page.locator(".row-details .facts").first().waitFor();
      await page.locator(".row-details").first().scrollIntoViewIfNeeded();
      // The hovered row shows a tooltip outside the page's landmarks.
      await page.locator("#main").hover({ position: { x: 2, y: 2 } });
      await shoot("row");
      await accessible(page, "details of a row");
      const bad = join(scratch(), "notes.txt");
      writeFileSync(bad, "These are notes, not a profile.");
      await drop(page, "#main", [bad]);
      await page.locator(".file.failed").waitFor();
      await shoot("failed");
      await accessible(page, "failed");
      for (const real of ["tpu-v6e-4chip/host.xplane.pb", "mi300x-8gpu-conv/tw003.xplane.pb"]) {
        const path = trace(real);
        if (!path) continue;
        await load(page, path);
        await shoot(`overview-${real.split("/")[0]}`);
      }
    });
  }
}
