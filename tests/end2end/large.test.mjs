// A file so large that its metadata is read before its events, and its events are passed on while the file is still being read.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "./harness.mjs";
import { analyze, downloaded, load, open, scratch, view } from "./page.mjs";

const varint = (value) => {
  const out = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest < 128n) return [...out, Number(rest)];
    out.push(Number(rest & 127n) | 128);
  }
};
const number = (field, value) => [...varint(field << 3), ...varint(value)];
const bytes = (field, body) => Buffer.concat([Buffer.from([...varint((field << 3) | 2), ...varint(body.length)]), Buffer.from(body)]);
const metadata = (field, id, name) => bytes(field, Buffer.concat([Buffer.from(number(1, id)), bytes(2, Buffer.concat([Buffer.from(number(1, id)), bytes(2, name)]))]));

/** Builds a GPU stream and a host thread with the same number of events. The names come last. */
function profile(events) {
  const line = (name, every, correlated) => {
    const parts = [bytes(2, name), Buffer.from(number(3, 1_700_000_000_000_000_000n))];
    for (let at = 0; at < events; at++) {
      const event = [...number(1, 1 + (at % 3)), ...number(2, at * every), ...number(3, every / 2 + (at % 97))];
      if (correlated) event.push(...bytes(4, [...number(1, 1), ...number(3, at)]));
      parts.push(bytes(4, event));
    }
    return Buffer.concat(parts);
  };
  const plane = (name, line, names) =>
    bytes(1, Buffer.concat([bytes(2, name), bytes(3, line), ...names.map((name, at) => metadata(4, at + 1, name)), metadata(5, 1, "correlation_id")]));
  const gpu = plane("/device:GPU:0", line("Stream #7(Compute)", 3_000_000, true), ["gemm_fp16", "loop_add_fusion", "MemcpyD2D"]);
  const host = plane("/host:CPU", line("python", 2_500_000, false), ["train", "PjitFunction(f)", "load"]);
  return Buffer.concat([gpu, host]);
}

test("reads a large xplane as the command line does", async ({ page, site, cli }) => {
  const path = join(scratch(), "large.xplane.pb");
  const file = profile(600_000);
  assert.ok(file.length > 20 << 20, `${file.length} bytes`);
  writeFileSync(path, file);
  const text = analyze(cli, path);
  assert.equal(JSON.parse(text).metadata.num_events, 1_200_000);
  await open(page, site);
  await load(page, path);
  await view(page, "export");
  assert.equal((await downloaded(page, "#download-json")).trim(), text.trim(), "the downloaded profile");
  const two = [path, join(scratch(), "other.xplane.pb")];
  writeFileSync(two[1], file);
  await open(page, site);
  await load(page, two);
  await view(page, "export");
  assert.equal(JSON.parse(await downloaded(page, "#download-json")).metadata.num_events, 1_200_000, "of two files at once");
});
