"""Write a synthetic Kineto capture of vLLM on two GPUs: `python graphs.py OUT` writes OUT/graphs.trace.json.gz and
OUT/graphs.truth.json.

Decode passes copy their input, launch one graph or two, and sample the tokens with kernels that are launched individually. Prefill
passes launch every kernel individually. Times are random. The expected values follow from the times that this script chose.
"""
import gzip
import json
import random
import statistics
import sys

OUT = sys.argv[1]
rng = random.Random(11)
DEVICES = 2
events, correlation, graph_node = [], 100, 5000
host = 1000.0
free = [0.0] * DEVICES  # End of the last op of each device.
# Phases: a prompt, decoding, another prompt, decoding.
PHASES = ["prefill"] + ["decode"] * 7 + ["prefill"] + ["decode"] * 9


def add(name, cat, pid, tid, start, duration, **args):
    event = {"ph": "X", "name": name, "cat": cat, "pid": pid, "tid": tid, "ts": round(start, 3), "dur": round(duration, 3)}
    events.append(event | {"args": args})


def run(device, called, duration, name, correlation, cat="kernel", switch=1.0, **args):
    """Adds an op that starts after its call and after the previous op."""
    start = round(max(called + 3, free[device] + switch), 3)
    duration = round(duration, 3)
    add(name, cat, device, 7, start, duration, device=device, stream=7, correlation=correlation, **args)
    free[device] = start + duration
    ops.append((device, start, start + duration, called))


passes = []
for number, phase in enumerate(PHASES):
    begin = host
    ops = []
    counts = {"graph_launches": 0, "graph_kernels": 0, "single_kernels": 0}

    def call(name, duration):
        global host, correlation
        correlation += 1
        add(name, "cuda_runtime", 4321, 1, host, duration, correlation=correlation)
        start = host
        host += duration + 1
        return start, correlation

    for device in range(DEVICES):
        if phase == "prefill":
            for _ in range(20):
                called, id = call("cudaLaunchKernel", 4)
                run(device, called, rng.uniform(20, 40), "gemm", id)
            counts["single_kernels"] += 20
            continue
        called, id = call("cudaMemcpyAsync", 3)
        run(device, called, 2, "Memcpy HtoD (Pinned -> Device)", id, "gpu_memcpy", bytes=4096)
        graphs = 2 if number % 3 == 0 else 1
        for _ in range(graphs):
            called, id = call("cudaGraphLaunch", 30)
            for kernel in range(12):
                graph_node += 1
                # The second device records no nodes, so only the call shows that the kernel is part of a graph.
                node = {"graph node id": graph_node} if device == 0 else {}
                run(device, called, rng.uniform(5, 15), f"layer_{kernel}", id, **node)
        for _ in range(3):
            called, id = call("cudaLaunchKernel", 4)
            run(device, called, rng.uniform(2, 4), "sample", id)
        counts["graph_launches"] += graphs
        counts["graph_kernels"] += 12 * graphs
        counts["single_kernels"] += 4
    batch = "1(512)_generation_0(0)" if phase == "prefill" else "0(0)_generation_8(8)"
    add(f"execute_context_{batch}", "user_annotation", 4321, 1, begin, host - begin)
    if number % 5 == 4:
        host += 2  # The host runs ahead of the device: the device goes on at once.
    else:
        # The host reads the tokens and schedules the next pass.
        host = max(host, *free) + rng.uniform(40, 400)
    passes.append({"phase": phase, "begin": begin, "ops": ops, **{key: n / DEVICES for key, n in counts.items()}})
host += 50
add("stop", "user_annotation", 4321, 1, host, 1)

# On each device: the gap from the end of a decode pass to the next op, which belongs to the next decode pass.
gaps, time, late = [], 0.0, 0.0
for device in range(DEVICES):
    own = [[op for op in it["ops"] if op[0] == device] for it in passes]
    # A pass begins when the host begins it, but not before the end of the ops before it and not after its own first op.
    begins = [min(max(it["begin"], before), ops[0][1]) for it, ops, before in
              zip(passes, own, [0.0] + [ops[-1][2] for ops in own])]
    counted = range(len(passes) - 1)  # The end of the last pass is unknown.
    for at in counted:
        if passes[at]["phase"] != "decode":
            continue
        time += begins[at + 1] - begins[at]
        if at + 1 in counted and passes[at + 1]["phase"] == "decode":
            (_, next, _, called), end = own[at + 1][0], own[at][-1][2]
            gaps.append(next - end)
            late += next - end if called > end else 0  # The host called after the device had become idle.
decode = [it for it in passes[:-1] if it["phase"] == "decode"]
gaps.sort()
truth = {
    "gaps": len(gaps),
    "median_gap_us": statistics.median(gaps),
    "p95_gap_us": gaps[-(-95 * len(gaps) // 100) - 1],
    "max_gap_us": gaps[-1],
    "host_bound_percent": 100 * late / sum(gaps),
    "gap_percent": 100 * sum(gaps) / time,
    "passes": [{key: it[key] for key in ("phase", "graph_launches", "graph_kernels", "single_kernels")} for it in passes],
}
for key in ("graph_launches", "graph_kernels", "single_kernels"):
    truth[key] = statistics.mean(it[key] for it in decode)
metadata = [
    {"ph": "M", "name": "process_name", "pid": 4321, "tid": 0, "args": {"name": "python"}},
    {"ph": "M", "name": "process_labels", "pid": 4321, "tid": 0, "args": {"labels": "CPU"}},
]
for device in range(DEVICES):
    metadata.append({"ph": "M", "name": "process_labels", "pid": device, "tid": 0, "args": {"labels": f"GPU {device}"}})
    metadata.append({"ph": "M", "name": "thread_name", "pid": device, "tid": 7, "args": {"name": "stream 7"}})
capture = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": device, "name": "NVIDIA H100 80GB HBM3"} for device in range(DEVICES)],
    "traceEvents": metadata + sorted(events, key=lambda it: it["ts"]),
}
with open(f"{OUT}/graphs.trace.json.gz", "wb") as file:
    file.write(gzip.compress(json.dumps(capture).encode(), 9, mtime=0))
with open(f"{OUT}/graphs.truth.json", "w") as file:
    json.dump(truth, file, indent=1)
    file.write("\n")
