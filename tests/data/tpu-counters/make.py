"""Makes synthetic captures of TPUs with readings of all hardware counters, and the tables that XProf makes from them.

    python make.py OUT

Needs the package `xprof` (version 2.24.2 made the files). The ids and names of the counters come from XProf's headers
`xprof/utils/tpu_counter_ids_*.h`. The values of the counters are pseudorandom. `xprof.json` contains all rows of
`utilization_viewer`, and every 97th row of `perf_counters`.
"""

import gzip
import json
import os
import re
import shutil
import struct
import sys
import tempfile

OUT = sys.argv[1]
import xprof  # noqa: E402
from xprof.convert import raw_to_tool_data  # noqa: E402


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def double(number, value):
    return varint(number << 3 | 1) + struct.pack("<d", value)


STATS = {
    name: index + 1
    for index, name in enumerate(
        ["device_id", "device_type_string", "global_chip_id", "performance_counter_id", "counter_value",
         "performance_counter_description", "performance_counter_sets"]
    )
}


def stat(name, value, kind=None):
    body = field(1, STATS[name])
    if isinstance(value, float):
        return body + double(2, value)
    return body + field(kind or (5 if isinstance(value, str) else 3), value)


def counters(chip):
    path = os.path.join(os.path.dirname(xprof.__file__), "utils", f"tpu_counter_ids_{chip}.h")
    return [(name, int(number, 0)) for name, number in re.findall(r"(VF_\w+)\s*=\s*(\d\w*)", open(path).read())]


def value(chip, name, sample):
    """Returns a reproducible value that is below the cycles."""
    mixed = (hash_of(f"{chip} {name} {sample}") % 1_000_003) * 11
    return 4_000_000_000 + 4 * (mixed % 1000) if "CYCLE" in name and "MATPUSH" not in name else mixed


def hash_of(text):
    found = 2166136261
    for byte in text.encode():
        found = (found ^ byte) * 16777619 % (1 << 32)
    return found


def capture(chip, model, chips, samples, real):
    found = counters(chip)
    metadata = b"".join(
        field(4, field(1, index) + field(2, field(1, index) + field(2, name))) for index, (name, _) in enumerate(found, 1)
    )
    stats = b"".join(field(5, field(1, number) + field(2, field(1, number) + field(2, name))) for name, number in STATS.items())
    planes = b""
    for device in range(chips):
        plane = field(1, device + 1) + field(2, f"/device:TPU:{device}")
        for sample in range(samples):
            line = field(1, sample) + field(2, "_counters_" if real else "0") + field(3, 1000 + sample)
            for index, (name, number) in enumerate(found, 1):
                read = value(chip, name, device + 10 * sample)
                event = field(1, index) + field(2, 0)
                event += field(4, stat("performance_counter_id", number, 4))
                event += field(4, stat("counter_value", float(read) if real else read, None if real else 4))
                if index % 3 == 0:
                    event += field(4, stat("performance_counter_description", f"Meaning of {name.lower()[-20:]}"))
                    event += field(4, stat("performance_counter_sets", "issue" if index % 2 else "all"))
                line += field(4, event)
            plane += field(3, line)
        plane += metadata + stats
        for name, held in (("device_id", device), ("global_chip_id", device + 4), ("device_type_string", model)):
            plane += field(6, stat(name, held))
        planes += field(1, plane)
    return planes


def table(files, tool):
    data, _ = raw_to_tool_data.xspace_to_tool_data(files, tool, {"use_saved_result": False})
    found = json.loads(data)
    columns = [column["id"] for column in found["cols"]]
    return {"columns": columns, "rows": [[cell and cell["v"] for cell in row["c"]] for row in found["rows"]]}


os.makedirs(OUT, exist_ok=True)
expected = {}
for chip, model, chips, samples, real in (("v6e", "TPU v6 Lite", 2, 2, False), ("v7x", "TPU v7x", 1, 1, True)):
    written = capture(chip, model, chips, samples, real)
    with open(os.path.join(OUT, f"{chip}.xplane.pb.gz"), "wb") as file:
        file.write(gzip.compress(written, 9, mtime=0))
    scratch = tempfile.mkdtemp()
    folder = os.path.join(scratch, "plugins/profile/run")
    os.makedirs(folder)
    path = os.path.join(folder, "tpu.xplane.pb")
    with open(path, "wb") as file:
        file.write(written)
    found = {tool: table([path], tool) for tool in ("perf_counters", "utilization_viewer")}
    found["perf_counters"]["count"] = len(found["perf_counters"]["rows"])
    found["perf_counters"]["rows"] = found["perf_counters"]["rows"][::97]
    expected[chip] = found
    shutil.rmtree(scratch)
with open(os.path.join(OUT, "xprof.json"), "w") as file:
    json.dump(expected, file, separators=(",", ":"))
