// Archives with very many members: nothing waits for long, memory stays bounded, and skipped members are counted.

import assert from "node:assert/strict";
import { createWriteStream, readFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { memory, renderers } from "./browser.mjs";
import { test } from "./harness.mjs";
import { load, number, open, scratch } from "./page.mjs";

const EXAMPLE = join(import.meta.dirname, "../../www/assets/examples/gpu-training.trace.json.gz");
const MEMBERS = 99_999;
/** Limit of the page's memory beyond its content. A buffer of 4 MiB per member would need 400 GB. */
const MOST_BYTES = 600e6;
const MOST_MS = 60_000;

/** Builds a zip file of these uncompressed members: [name, bytes]. */
function zip(members) {
  const [parts, directory] = [[], []];
  let offset = 0;
  for (const [name, body] of members) {
    const title = Buffer.from(name);
    // Version, flags, method, time, date, checksum, both sizes, lengths of name and extra field.
    const head = Buffer.alloc(26);
    head.writeUInt16LE(20, 0);
    head.writeUInt32LE(crc32(body), 10);
    head.writeUInt32LE(body.length, 14);
    head.writeUInt32LE(body.length, 18);
    head.writeUInt16LE(title.length, 22);
    parts.push(Buffer.from("PK\x03\x04"), head, title, body);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.from("PK\x01\x02\x14\0"), head, rest, title);
    offset += 30 + title.length + body.length;
  }
  const end = Buffer.alloc(18);
  // The 16-bit count overflows, as in real archives without the extension for large ones.
  [4, 6].forEach((at) => end.writeUInt16LE(members.length & 0xffff, at));
  const length = directory.reduce((sum, part) => sum + part.length, 0);
  end.writeUInt32LE(length, 8);
  end.writeUInt32LE(offset, 12);
  return [...parts, ...directory, Buffer.from("PK\x05\x06"), end];
}

test("reads an archive of a hundred thousand members in seconds, within bounds", async ({ page, site }) => {
  const small = Array.from({ length: MEMBERS }, (_, at) => [`notes/${at}.txt`, Buffer.from(`note ${at}`)]);
  const path = join(scratch(), "many.zip");
  const file = createWriteStream(path);
  zip([...small, ["run/host.trace.json.gz", readFileSync(EXAMPLE)]]).forEach((part) => file.write(part));
  await new Promise((done) => file.end(done));
  await open(page, site);
  const browser = page.context().browser();
  const before = new Map((await renderers(browser)).map((pid) => [pid, memory(pid, "VmRSS")]));
  const start = performance.now();
  await load(page, path);
  const ms = performance.now() - start;
  const grown = Math.max(...[...before].map(([pid, bytes]) => memory(pid, "VmHWM") - bytes));
  console.log(`        ${Math.round(ms)} ms, ${Math.round(grown / 1e6)} MB`);
  assert.ok(ms < MOST_MS, `${ms} ms`);
  assert.ok(grown < MOST_BYTES, `${grown} bytes`);
  await page.keyboard.press("o");
  const warnings = page.locator(".file .warning-row");
  await warnings.first().waitFor();
  assert.equal(await warnings.count(), 201, "the first are named, the others counted");
  assert.equal(number(await warnings.last().innerText().then((text) => text.replace(/^\D+/, ""))), MEMBERS - 200);
}, { alone: true });
