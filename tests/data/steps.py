"""Record the JAX CPU profiles for the tests of steps: `python steps.py CASE OUT` writes OUT/CASE.xplane.pb.gz,
OUT/CASE.trace.json.gz and OUT/CASE.truth.json, the sums of the JSON's raw events, computed here and not by crossprof.

recompile  StepTraceAnnotation 0 to 7; XLA compiles inside annotations 5, 6 and 7 (new shapes), nowhere else
replicas   4 devices, which run 6 steps each in sequence, without annotations or collectives
threads    4 devices, each fed by its own thread, which starts some steps after the previous one, no collectives
programs   16 programs of different names and sizes, 3 runs each in a shuffled order, without annotations
function   a Python function `train_step` that runs 5 programs of equal size, 6 times; the Python tracer is on
range      the same body in a range `update`, without the Python tracer
input      8 annotated steps; between them 10 ms in a range `fetch_batch`
bare       the same without the range
behind     8 annotated steps of 3 programs each, dispatched without waiting: the device runs behind the host
epochs     3 times 4 annotated steps, with step_num starting again each time
sleep      1 annotated step of one small program, with 60 ms of sleep in it
"""
import glob
import gzip
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time

CASE, OUT = sys.argv[1], sys.argv[2]
if CASE in ("replicas", "threads"):
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
if CASE in ("behind", "epochs", "sleep"):
    # Ops run on one thread, so that an event lasts as long as its op.
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(7)
options = jax.profiler.ProfileOptions()
options.python_tracer_level = int(CASE == "function")


def normal(*shape):
    return jnp.asarray(rng.standard_normal(shape, dtype="f4"))


def record(run):
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, profiler_options=options):
            run()
        os.makedirs(OUT, exist_ok=True)
        (xplane,) = glob.glob(f"{folder}/plugins/profile/*/*.xplane.pb")
        (trace,) = glob.glob(f"{folder}/plugins/profile/*/*.trace.json.gz")
        with open(xplane, "rb") as file, open(f"{OUT}/{CASE}.xplane.pb.gz", "wb") as packed:
            packed.write(gzip.compress(file.read(), 9, mtime=0))
        shutil.copy(trace, f"{OUT}/{CASE}.trace.json.gz")
    with open(f"{OUT}/{CASE}.truth.json", "w") as file:
        json.dump(truth(f"{OUT}/{CASE}.trace.json.gz"), file, indent=1)
        file.write("\n")


def truth(path):
    """Returns lengths in microseconds: from start to start of the step marks, and for the last step to the end of its annotation or
    last op."""
    events = [event for event in json.load(gzip.open(path))["traceEvents"] if event.get("ph") == "X"]
    events.sort(key=lambda event: event["ts"])
    is_op = lambda event: "hlo_op" in event.get("args", {}) and not event["name"].startswith("end: ")
    ops = [event for event in events if is_op(event)]
    end = max(op["ts"] + op["dur"] for op in ops)

    def lengths(starts, end):
        return [round(b - a, 3) for a, b in zip(starts, starts[1:] + [end])]

    if CASE in ("replicas", "threads"):
        runs = {}
        for op in ops:
            key = (int(op["args"].get("device_ordinal", 0)), op["args"]["run_id"])
            start, stop = runs.get(key, (op["ts"], 0))
            runs[key] = (start, max(stop, op["ts"] + op["dur"]))
        devices = [sorted(run for key, run in runs.items() if key[0] == device) for device in range(4)]
        starts = zip(*[[start for start, _ in device] for device in devices])
        return {
            "lengths_us": [lengths([start for start, _ in device], device[-1][1]) for device in devices],
            "start_skew_us": round(statistics.median(max(step) - min(step) for step in starts), 3),
        }
    if CASE in ("behind", "epochs", "sleep"):
        return launched(events, ops)
    mark = {"function": "train_step", "range": "update"}.get(CASE, "train")
    marks = [event for event in events if event["name"].split(" ")[-1] == mark and not is_op(event)]
    if not marks:
        return {}
    starts = [event["ts"] for event in marks]
    end = max(end, marks[-1]["ts"] + marks[-1]["dur"])
    counted = starts[-1] - starts[0]
    fetch = [event["dur"] for event in events if event["name"] == "fetch_batch" and starts[0] < event["ts"] < starts[-1]]
    inside = sum(event["dur"] for event in marks[:-1])
    return {
        "lengths_us": lengths(starts, end),
        # Percentages of the time from the first to the last start.
        "fetch_batch_percent": 100 * sum(fetch) / counted,
        "between_marks_percent": 100 * (counted - inside) / counted,
    }


def launched(events, ops):
    """Returns the launches of each annotated step. Each step calls every program once, so the n-th run of a program belongs to the n-th
    annotation."""
    marks = [event for event in events if event["name"] == "train"]
    runs = {}
    for op in ops:
        runs.setdefault((op["args"]["hlo_module"], op["args"]["run_id"]), []).append(op)
    per_step = [[] for _ in marks]
    for module in {module for module, _ in runs}:
        in_order = sorted((run for key, run in runs.items() if key[0] == module), key=lambda run: run[0]["ts"])
        assert len(in_order) == len(marks), (module, len(in_order), len(marks))
        for step, run in zip(per_step, in_order):
            step.extend(run)

    def union(step):
        covered, end = 0.0, 0.0
        for op in sorted(step, key=lambda op: op["ts"]):
            covered += max(0.0, op["ts"] + op["dur"] - max(op["ts"], end))
            end = max(end, op["ts"] + op["dur"])
        return covered

    starts = [mark["ts"] for mark in marks]
    last = max(marks[-1]["ts"] + marks[-1]["dur"], max(op["ts"] + op["dur"] for op in per_step[-1]))
    return {
        "host_lengths_us": [round(mark["dur"], 3) for mark in marks],
        "host_step_us": [round(b - a, 3) for a, b in zip(starts, starts[1:])],
        "ops": [len(step) for step in per_step],
        "work_us": [round(union(step), 3) for step in per_step],
        "lag_us": [round(min(op["ts"] for op in step) - start, 3) for step, start in zip(per_step, starts)],
        "from_first_start_us": round(last - starts[0], 3),
    }


def step(w, x):
    return w - 1e-3 * (x.T @ jnp.tanh(x @ w))


def recompile():
    f = jax.jit(step)
    w, batches = normal(192, 192), [normal(48 + i, 192) for i in range(9)]
    w = f(w, batches[1]).block_until_ready()

    def run():
        nonlocal w
        for i in range(8):
            with jax.profiler.StepTraceAnnotation("train", step_num=i):
                w = f(w, batches[1 if i < 5 else i]).block_until_ready()

    record(run)


def replicas(threaded):
    f = jax.jit(step)
    state = [jax.device_put((normal(256, 256), normal(256, 256)), device) for device in jax.devices()]
    for w, x in state:
        f(w, x).block_until_ready()

    def replica(index):
        w, x = state[index]
        for _ in range(10 if threaded else 6):
            w = f(w, x).block_until_ready()
            time.sleep(0.002 if threaded else 0)

    def run():
        threads = [threading.Thread(target=replica, args=(index,)) for index in range(len(state))]
        for index, thread in enumerate(threads):
            if threaded:
                thread.start()
                time.sleep(0.008)
            else:
                replica(index)
                time.sleep(0.02)
        for thread in threads if threaded else []:
            thread.join()

    record(run)


def programs():
    def program(index):
        def f(x):
            for _ in range(1 + index % 4):
                x = jnp.tanh(x @ x) + index
            return x

        f.__name__ = f"program_{index}"
        return jax.jit(f), normal(32 + 12 * index, 32 + 12 * index)

    every = [program(index) for index in range(16)]
    for f, x in every:
        f(x).block_until_ready()
    order = every * 3
    random.Random(7).shuffle(order)
    record(lambda: [f(x).block_until_ready() for f, x in order])


def loop():
    def part(index):
        def f(x):
            return jnp.tanh(x @ x) + index

        f.__name__ = f"part_{index}"
        return jax.jit(f)

    parts, x = [part(index) for index in range(5)], normal(160, 160)

    def train_step():
        for f in parts:
            f(x).block_until_ready()

    def update():
        with jax.profiler.TraceAnnotation("update"):
            train_step()

    train_step()
    body = train_step if CASE == "function" else update
    record(lambda: [body() for _ in range(6)])


def waits(bare):
    f, w = jax.jit(step), normal(256, 256)

    def batch():
        time.sleep(0.01)
        return rng.standard_normal((256, 256), dtype="f4")

    def fetch():
        if bare:
            return batch()
        with jax.profiler.TraceAnnotation("fetch_batch"):
            return batch()

    w = f(w, batch()).block_until_ready()

    def run():
        nonlocal w
        for i in range(8):
            x = fetch()
            with jax.profiler.StepTraceAnnotation("train", step_num=i):
                w = f(w, x).block_until_ready()

    record(run)


def annotated():
    """Runs steps of three programs of different sizes."""

    def program(name, rounds):
        def f(x):
            for _ in range(rounds):
                x = jnp.tanh(x @ x * 0.05)
            return x

        f.__name__ = name
        return jax.jit(f)

    parts = [program("forward", 1), program("backward", 3), program("update", 2)]
    size = 96 if CASE == "sleep" else 512
    x = normal(size, size)

    def one(number):
        nonlocal x
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            for f in parts[:1] if CASE == "sleep" else parts:
                x = f(x)
            if CASE != "behind":
                x.block_until_ready()
            if CASE == "sleep":
                time.sleep(0.06)

    numbers = {"behind": range(8), "epochs": [*range(4)] * 3, "sleep": range(1)}[CASE]
    one(0)
    x.block_until_ready()
    record(lambda: [[one(number) for number in numbers], x.block_until_ready()])


{
    "recompile": recompile,
    "replicas": lambda: replicas(False),
    "threads": lambda: replicas(True),
    "programs": programs,
    "function": loop,
    "range": loop,
    "input": lambda: waits(False),
    "bare": lambda: waits(True),
    "behind": annotated,
    "epochs": annotated,
    "sleep": annotated,
}[CASE]()
