"""Writes synthetic captures of three hosts with unrelated clocks: `python make.py OUT` writes OUT/CASE/HOST.trace.json.gz and
OUT/CASE.truth.json with the offset of each host's clock.

steps     TPUs. The hosts annotate their steps, and begin them at different times. Their captures begin at different steps.
nccl      GPUs that only record kernels. The captures begin at different steps.
periodic  GPUs that only record kernels, and whose steps all take the same time: the kernels cannot tell the steps apart
"""
import gzip
import json
import os
import random
import sys

OUT = sys.argv[1]
HOSTS = ["host0", "host1", "host2"]
STEPS = 24
END_JITTER_US = 1.0  # The ends of a collective on two hosts differ by at most this much.


def make(case, seed):
    rng = random.Random(seed)
    is_tpu, is_regular = case == "steps", case == "periodic"
    offsets = [rng.uniform(0, 5e6), rng.uniform(5e8, 1e9), rng.uniform(2e9, 3e9)]
    first_step = [0, 2, 5]
    devices = ["/device:TPU:0", "/device:TPU:1"] if is_tpu else ["/device:GPU:0", "/device:GPU:1"]
    events = [[] for _ in HOSTS]
    for host, own in enumerate(events):
        names = [(1 + n, device) for n, device in enumerate(devices)] + [(9, "/host:CPU")]
        lines = {1: "XLA Ops" if is_tpu else "Stream #7(Compute)"}
        for pid, name in names:
            own.append({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}})
            for tid, line in lines.items() if pid < 9 else [(1, "python")]:
                own.append({"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": line}})

    def add(host, step, pid, name, start, end, **args):
        if step >= first_step[host]:
            ts = round(start + offsets[host], 3)
            args = {key: str(value) for key, value in args.items()}
            events[host].append(
                {"ph": "X", "pid": pid, "tid": 1, "name": name, "ts": ts, "dur": round(end - start, 3), "args": args}
            )

    free = 1000.0
    for step in range(STEPS):
        begins = [free - rng.uniform(20, 600) for _ in HOSTS]
        for number in range(2):
            work = 300 if is_regular else rng.uniform(200, 500)
            arrivals = [[free + work + rng.uniform(0, 80) for _ in devices] for _ in HOSTS]
            end = (free + 420 if is_regular else max(map(max, arrivals))) + 40
            ends = [end + rng.uniform(0, END_JITTER_US) for _ in HOSTS]
            for host in range(len(HOSTS)):
                for device in range(len(devices)):
                    arrival = arrivals[host][device]
                    add(host, step, 1 + device, f"fusion.{number}", free + 2, arrival)
                    if is_tpu:
                        op = f"all-reduce.{number}"
                        add(host, step, 1 + device, op, arrival, ends[host], hlo_category="all-reduce")
                    else:
                        name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
                        add(host, step, 1 + device, name, arrival, ends[host])
            free = end + 3
        for host in range(len(HOSTS)):
            if is_tpu:
                add(host, step, 9, "train", begins[host], free - 700, step_num=step)
    os.makedirs(f"{OUT}/{case}", exist_ok=True)
    for name, own in zip(HOSTS, events):
        with open(f"{OUT}/{case}/{name}.trace.json.gz", "wb") as file:
            file.write(gzip.compress(json.dumps({"traceEvents": own}).encode(), 9, mtime=0))
    with open(f"{OUT}/{case}.truth.json", "w") as file:
        json.dump({"offsets_us": offsets, "end_jitter_us": END_JITTER_US, "first_step": first_step}, file, indent=1)
        file.write("\n")


for number, case in enumerate(["steps", "nccl", "periodic"]):
    make(case, number)
