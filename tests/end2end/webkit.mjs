// WebKitGTK with its own WebDriver, on a virtual screen: `webkit2gtk-driver` and `xvfb` from Debian.

import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { until } from "./harness.mjs";

/** The key under which WebDriver identifies elements. */
const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";
const SCRIPT_MS = 120_000;

/** Returns a free port. */
async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts a virtual screen and returns its name. */
async function screen() {
  const process = spawn(globalThis.process.env.XVFB ?? "Xvfb", ["-displayfd", "3", "-screen", "0", "1400x1000x24", "-nolisten", "tcp"], {
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  const number = await new Promise((resolve, reject) => {
    process.on("error", reject);
    process.on("exit", () => reject(new Error("Xvfb ended")));
    process.stdio[3].once("data", (data) => resolve(String(data).trim()));
  });
  return { process, display: `:${number}` };
}

/** Returns a tab of a new browser, with the same functions as in `firefox.mjs`. */
export async function launch() {
  const shown = await screen();
  const port = await freePort();
  const driver = spawn(process.env.WEBKIT_DRIVER ?? "WebKitWebDriver", [`--port=${port}`, "--host=127.0.0.1"], {
    stdio: "ignore",
    env: { ...process.env, DISPLAY: shown.display, LIBGL_ALWAYS_SOFTWARE: "1", GTK_A11Y: "none" },
  });
  const ask = async (method, path, body) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, body: body && JSON.stringify(body) });
    const { value } = await answer.json();
    if (!answer.ok) throw new Error(`WebKitWebDriver: ${value?.error}: ${value?.message}`);
    return value;
  };
  await until("WebKitWebDriver is ready", () => ask("GET", "/status").catch(() => null), 30_000);
  const { sessionId } = await ask("POST", "/session", { capabilities: { alwaysMatch: { timeouts: { script: SCRIPT_MS } } } });
  const session = (method, path, body) => ask(method, `/session/${sessionId}${path}`, body);
  const run = async (what, ...args) => {
    const script = `const done = arguments[arguments.length - 1];
      Promise.resolve().then(() => (${what})(...[...arguments].slice(0, -1))).then((value) => done({ value }), (error) => done({ error: String(error) }));`;
    const { value, error } = await session("POST", "/execute/async", { script, args });
    if (error) throw new Error(error);
    return value;
  };
  return {
    name: "WebKit",
    goto: (url) => session("POST", "/url", { url }),
    run,
    async choose(selector, paths) {
      const element = await session("POST", "/element", { using: "css selector", value: selector });
      await session("POST", `/element/${element[ELEMENT]}/value`, { text: paths.join("\n") });
    },
    async close() {
      await session("DELETE", "").catch(() => {});
      driver.kill();
      shown.process.kill();
    },
  };
}
