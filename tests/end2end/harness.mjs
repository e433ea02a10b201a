// The list of tests. A file named *.test.mjs imports `test` and calls it once per test.
//
// Each test gets a new browser context, so tests do not see each other's stored data:
//   page       a blank page; its console errors and uncaught errors fail the test
//   context    the page's browser context
//   site       { url, requests, stop }: the built page below a sub-path, on a separate server
// artifacts  a folder for screenshots and downloads
//   cli        the native command-line tool
//   expected   add a regular expression for each console error that the test provokes

export const tests = [];

/**
 * Adds a test. Tests run in parallel, each in its own context. A test that uses what all contexts share (the clipboard, a
 * fixed port), or that measures time, runs alone.
 */
export function test(name, run, { alone = false } = {}) {
  tests.push({ name, run, alone });
}

/** Calls `probe` until it returns a truthy value. Fails with `what` after `ms`. */
export async function until(what, probe, ms = 60_000) {
  const end = Date.now() + ms;
  for (;;) {
    const found = await probe();
    if (found) return found;
    if (Date.now() > end) throw new Error(`did not happen within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
