// `crossprof view`: the list of runs, and the page that receives their files.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { test, until } from "./harness.mjs";

const examples = join(dirname(fileURLToPath(import.meta.url)), "../../www/assets/examples");
const [, , dist = "dist"] = process.argv;

/** Adds a run with these examples under their own names, written a minute ago. */
function addRun(log, run, files) {
  const folder = join(log, "plugins/profile", run);
  mkdirSync(folder, { recursive: true });
  const then = Date.now() / 1000 - 60;
  for (const [name, example] of Object.entries(files)) {
    copyFileSync(join(examples, example), join(folder, name));
    utimesSync(join(folder, name), then, then);
  }
}

/** Runs `crossprof view` on a log folder with two runs. Calls `act` with the printed URL and the folder. */
async function viewed(cli, act) {
  const log = mkdtempSync(join(tmpdir(), "crossprof-view-"));
  addRun(log, "cpu", { "host.xplane.pb": "jax-cpu-train.xplane.pb" });
  const tpu = "tpu-training.trace.json.gz";
  addRun(log, "two-hosts", { "a.trace.json.gz": tpu, "b.trace.json.gz": tpu });
  const server = spawn(cli, ["view", log, "--no-browser", "--port", "0", "--page", resolve(dist)]);
  try {
    const link = await new Promise((found, failed) => {
      server.stdout.on("data", (data) => { const [link] = /http:\S+/.exec(data) ?? []; if (link) found(link); });
      server.on("exit", () => failed(new Error("crossprof view ended")));
    });
    await act(link, log);
  } finally {
    server.kill();
    rmSync(log, { recursive: true });
  }
}

test("crossprof view: one click opens a run of two hosts, and only this server receives requests", async ({ page, cli }) => {
  await viewed(cli, async (link, log) => {
    const foreign = [];
    page.on("request", (request) => {
      const { protocol, origin } = new URL(request.url());
      if (protocol === "http:" && origin !== new URL(link).origin) foreign.push(request.url());
    });
    await page.goto(link);
    await page.getByRole("link", { name: "two-hosts" }).click();
    await page.waitForURL(/#\/overview/);
    await page.getByText("2 hosts").first().waitFor();
    assert.deepEqual(foreign, []);
    // Reloading the page shows the run again.
    await page.reload();
    await page.getByText("2 hosts").first().waitFor();
    // A capture that is written now appears automatically.
    await page.goto(link);
    await page.getByRole("link", { name: "cpu" }).waitFor();
    assert.equal(await page.getByRole("row").count(), 3);
    addRun(log, "later", { "host.xplane.pb": "jax-cpu-train.xplane.pb" });
    await page.getByRole("link", { name: "later" }).waitFor();
    await page.getByLabel("Filter").fill("two");
    await until("the filter leaves one run", async () => (await page.getByRole("row").count()) === 2);
  });
}, { alone: true });

test("crossprof view: several runs are compared", async ({ page, cli }) => {
  await viewed(cli, async (link) => {
    await page.goto(link);
    const compare = page.getByRole("button", { name: "Compare" });
    await page.getByLabel("Compare cpu").check();
    assert.equal(await compare.isDisabled(), true);
    await page.getByLabel("Compare two-hosts").check();
    await compare.click();
    await page.waitForURL(/#\/compare/);
    await until("both runs are in the comparison", async () => {
      const text = await page.locator("main").innerText();
      return text.includes("Download report") && text.includes("cpu") && text.includes("two-hosts");
    });
  });
}, { alone: true });

test("crossprof view: a run that is gone is named", async ({ page, cli, expected }) => {
  await viewed(cli, async (link, log) => {
    await page.goto(`${link}app/?open=no%2Fsuch%2F%3Cb%3Erun`);
    await page.getByText("There is no run no/such/<b>run any more.").waitFor();
    // The run is listed, but deleted before it is requested.
    expected.push(/404/);
    await page.goto(link);
    await page.getByRole("link", { name: "cpu" }).waitFor();
    rmSync(join(log, "plugins/profile/cpu"), { recursive: true });
    await page.goto(`${link}app/?open=plugins%2Fprofile%2Fcpu%2Fhost.xplane.pb`);
    await page.getByText(/There is no run|could not be read/).waitFor();
  });
}, { alone: true });

test("crossprof view: the list shows names as they are", async ({ page, cli }) => {
  await viewed(cli, async (link, log) => {
    addRun(log, "<img src=x onerror=alert(1)> & 100%", { "host.xplane.pb": "jax-cpu-train.xplane.pb" });
    await page.goto(link);
    await page.getByRole("link", { name: "<img src=x onerror=alert(1)> & 100%" }).click();
    await page.waitForURL(/#\/overview/);
  });
}, { alone: true });
