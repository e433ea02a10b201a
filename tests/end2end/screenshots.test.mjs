// Pictures of every page, light and dark, wide and narrow, for people to look at.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { drop } from "./browser.mjs";
import { test } from "./harness.mjs";
import { load, open, scratch, trace, VIEWS, view } from "./page.mjs";

const SIZES = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } };
for (const scheme of ["light", "dark"]) {
  for (const [name, size] of Object.entries(SIZES)) {
    test(`pictures, ${scheme}, ${name}`, async ({ page, site, artifacts }) => {
      const shoot = (what) => page.screenshot({ path: join(artifacts, `${what}-${scheme}-${name}.png`) });
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize(size);
      await open(page, site);
      await shoot("start");
      await page.keyboard.press("?");
      await shoot("help");
      await page.keyboard.press("Escape");
      await page.locator(".example").first().click();
      await page.locator(".page.overview .card").first().waitFor();
      for (const which of VIEWS) {
        await view(page, which);
        await page.locator("#main").hover({ position: { x: 2, y: 2 } });
        await shoot(which);
      }
      const bad = join(scratch(), "notes.txt");
      writeFileSync(bad, "These are notes, not a profile.");
      await drop(page, "#main", [bad]);
      await page.locator(".file.failed").waitFor();
      await shoot("failed");
      for (const real of ["tpu-v6e-4chip/host.xplane.pb", "mi300x-8gpu-conv/tw003.xplane.pb"]) {
        const path = trace(real);
        if (!path) continue;
        await load(page, path);
        await shoot(`overview-${real.split("/")[0]}`);
      }
    });
  }
}
