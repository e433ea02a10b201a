"""Records small captures of input pipelines on a CPU, each with a stage that is slow on purpose.

    python record.py CASE OUT

CASE is a name in CASES. The script writes the capture and `truth.json` into OUT. `truth.json` contains the slow stage, and for each
step the time that the script's own clock measured in each stage. The profiler's clock is not used. The script needs jax and grain.
The cases `tfdata_*` need tensorflow instead of grain, and the cases `torch_*` need torch.
"""

import contextlib
import glob
import gzip
import json
import os
import queue
import re
import shutil
import socket
import sys
import threading
import time

STEPS, BATCH = 8, 4
# Milliseconds per example in each stage, and per batch in `batch` and `transfer`.
CASES = {
    "annotated_preprocess": {"read": 1, "preprocess": 5, "batch": 2, "transfer": 1},
    "annotated_transfer": {"read": 0.5, "preprocess": 1, "batch": 1, "transfer": 14},
    "threads_read": {"read": 5, "preprocess": 2, "batch": 1, "transfer": 1},
    "threads_fast": {"read": 0.3, "preprocess": 0.3, "batch": 0.3, "transfer": 0.5},
    "unannotated_batch": {"read": 1, "preprocess": 1, "batch": 15, "transfer": 1},
    "grain_preprocess": {"read": 1, "preprocess": 12},
    "grain_read": {"read": 14, "preprocess": 1},
    "grain_loader_preprocess": {"read": 1, "preprocess": 5},
    "tfdata_preprocess": {"read": 1, "preprocess": 16},
    "tfdata_read": {"read": 6, "preprocess": 2},
    "tfdata_second_map": {"read": 0.5, "preprocess": 1, "batch": 18},
    "torch_preprocess": {"read": 1, "preprocess": 5, "batch": 1},
    "torch_workers": {"read": 1, "preprocess": 20, "batch": 1},
}
# Rows of the matrices that a step multiplies.
SIZE = {"threads_fast": 1400}

calls, steps = [], []
LOCK = threading.Lock()


def call(stage, milliseconds, annotation=contextlib.nullcontext):
    """Runs a stage."""
    start = time.perf_counter()
    with annotation(stage):
        time.sleep(milliseconds / 1e3)
    with LOCK:
        calls.append((stage, start, time.perf_counter()))


def truth(case, stages):
    """Returns the time of each stage in each step, and the length of each step. A step ends when the next step starts."""
    ends = [start for start, _ in steps[1:]] + [steps[-1][1]]
    inside = lambda a, b, start, end: max(0.0, min(b, end) - max(a, start))
    rows = []
    for (start, _), end in zip(steps, ends):
        row = {"duration_ms": round(1e3 * (end - start), 3)}
        for stage in [*stages, "wait"]:
            # At least one thread is in the stage.
            time, until = 0.0, start
            for a, b in sorted((a, b) for it, a, b in calls if it == stage):
                time += inside(max(a, until), b, start, end)
                until = max(until, b)
            row[stage + "_ms"] = round(1e3 * time, 3)
        rows.append(row)
    counts = {stage: sum(it == stage and steps[0][0] <= a < steps[-1][1] for it, a, _ in calls) for stage in stages}
    # Time of all threads in the steps.
    total = lambda stage: sum(inside(a, b, steps[0][0], steps[-1][1]) for it, a, b in calls if it == stage)
    totals = {stage: round(1e3 * total(stage), 3) for stage in stages}
    slow = case.split("_")[-1]
    return {"case": case, "slow": slow, "steps": rows, "calls": counts, "thread_ms": totals, "ms_per_call": stages}


def train(batches, put, step, mark):
    """Runs the steps. `wait` is the time until the next batch is on the device."""
    for number in range(STEPS):
        start = time.perf_counter()
        with mark(number):
            batch = next(batches)
            got = time.perf_counter()
            array = put(batch)
            with LOCK:
                calls.append(("wait", start, got))
            step(array)
        steps.append((start, time.perf_counter()))


def with_jax(case, stages, out):
    import jax
    import jax.numpy as jnp
    import numpy as np

    size = SIZE.get(case, 400)

    @jax.jit
    def compute(x):
        for _ in range(2):
            x = jnp.tanh(x @ x)
        return x

    def step(x):
        return jax.block_until_ready(compute(x))

    note = jax.profiler.TraceAnnotation if not case.startswith("unannotated") else contextlib.nullcontext
    example = np.zeros((size // BATCH, size), "f4")

    def read(i):
        call("read", stages["read"], note)
        return example

    def preprocess(x):
        call("preprocess", stages["preprocess"], note)
        return x + 1

    def collate(examples):
        call("batch", stages["batch"], note)
        return np.concatenate(examples)

    def make_batches():
        for first in range(0, 10**6, BATCH):
            yield collate([preprocess(read(first + i)) for i in range(BATCH)])

    def threaded(ready):
        for batch in make_batches():
            ready.put(batch)

    class Next:
        """The loop's iterator, with the annotation that a user adds."""

        def __init__(self, batches):
            self.batches = iter(batches)

        def __next__(self):
            with note("next_batch"):
                return next(self.batches)

    def put(batch):
        if "transfer" in stages:
            call("transfer", stages["transfer"], note)
        return jax.device_put(np.reshape(batch, (size, size)))

    class Source:
        def __len__(self):
            return 10**5

        def __getitem__(self, i):
            call("read", stages["read"])
            return np.zeros((size // BATCH, size), "f4")

        def __repr__(self):
            return "Source()"

    def mapped(x):
        call("preprocess", stages["preprocess"])
        return x + 1

    def grain_batches():
        import grain

        if "loader" in case:
            class Preprocess(grain.transforms.Map):
                def map(self, x):
                    return mapped(x)

            sampler = grain.samplers.IndexSampler(10**5, shuffle=False, num_epochs=1, shard_options=grain.sharding.NoSharding())
            loader = grain.DataLoader(
                data_source=Source(),
                sampler=sampler,
                operations=[Preprocess(), grain.transforms.Batch(BATCH)],
                worker_count=0,
                read_options=grain.ReadOptions(num_threads=2, prefetch_buffer_size=4),
            )
            return iter(loader)
        dataset = grain.MapDataset.source(Source()).map(mapped).to_iter_dataset(
            grain.ReadOptions(num_threads=2, prefetch_buffer_size=4)
        )
        return iter(dataset.batch(BATCH, batch_fn=np.concatenate))

    step(jnp.zeros((size, size)))
    if case.startswith("grain"):
        batches = grain_batches()
    elif case.startswith("threads"):
        ready = queue.Queue(2)
        threading.Thread(target=threaded, args=(ready,), daemon=True, name="loader").start()
        batches = Next(ready.get() for _ in iter(int, 1))
    elif case.startswith("annotated"):
        batches = Next(make_batches())
    else:
        batches = make_batches()
    step(put(next(batches)))
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = int(case.startswith("unannotated"))
    jax.profiler.start_trace(out, profiler_options=options)
    train(batches, put, step, lambda i: jax.profiler.StepTraceAnnotation("train", step_num=i))
    jax.profiler.stop_trace()


def with_tensorflow(case, stages, out):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    import numpy as np
    import tensorflow as tf

    size = 400

    def read():
        for _ in range(10**6):
            call("read", stages["read"])
            yield np.zeros((size // BATCH, size), "f4")

    def preprocess(x):
        call("preprocess", stages["preprocess"])
        return x + 1

    def collate(x):
        call("batch", stages["batch"])
        return x

    def python(function):
        def apply(x):
            result = tf.numpy_function(function, [x], tf.float32)
            result.set_shape(x.shape)
            return result

        return apply

    dataset = tf.data.Dataset.from_generator(
        read, output_signature=tf.TensorSpec((size // BATCH, size), tf.float32)
    )
    dataset = dataset.map(python(preprocess), num_parallel_calls=2).batch(BATCH)
    if "batch" in stages:
        dataset = dataset.map(python(collate))
    dataset = dataset.prefetch(2)

    @tf.function(jit_compile=True)
    def compute(x):
        x = tf.reshape(x, (size, size))
        for _ in range(2):
            x = tf.tanh(x @ x)
        return x

    batches = iter(dataset)
    compute(next(batches)).numpy()
    tf.profiler.experimental.start(out, tf.profiler.experimental.ProfilerOptions(python_tracer_level=0))
    mark = lambda i: tf.profiler.experimental.Trace("train", step_num=i, _r=1)
    train(batches, lambda x: x, lambda x: compute(x).numpy(), mark)
    tf.profiler.experimental.stop()


def with_torch(case, stages, out):
    import torch

    torch.set_num_threads(1)
    size = 400
    example = torch.zeros(size // BATCH, size)

    class Examples(torch.utils.data.Dataset):
        def __len__(self):
            return 10**5

        def __getitem__(self, i):
            with torch.profiler.record_function("read"):
                call("read", stages["read"])
            with torch.profiler.record_function("preprocess"):
                call("preprocess", stages["preprocess"])
            return example

    def collate(examples):
        with torch.profiler.record_function("collate"):
            call("batch", stages["batch"])
        return torch.cat(examples)

    loader = torch.utils.data.DataLoader(
        Examples(), BATCH, collate_fn=collate, num_workers=2 * ("workers" in case)
    )
    batches = iter(loader)
    step = lambda x: torch.tanh(x @ x)
    step(next(batches))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        train(batches, lambda x: x, step, lambda i: torch.profiler.record_function(f"ProfilerStep#{i}"))
    profile.export_chrome_trace(os.path.join(out, "torch.json"))


def scrub(data):
    """Replaces this machine's name and paths with others of the same length."""
    for private in {socket.gethostname(), os.path.dirname(os.path.abspath(__file__)), sys.prefix, sys.base_prefix, os.getcwd()}:
        data = data.replace(private.encode(), (("/" if private[0] == "/" else "") + "x" * 500)[: len(private)].encode())
    return data


def main():
    case, out = sys.argv[1:3]
    work = out + ".work"
    os.makedirs(out, exist_ok=True)
    os.makedirs(work, exist_ok=True)
    stages = CASES[case]
    record = {"tfdata": with_tensorflow, "torch": with_torch}.get(case.split("_")[0], with_jax)
    record(case, stages, work)
    found = truth(case, stages)
    found["slow"] = {"workers": "preprocess", "map": "preprocess", "fast": None}.get(found["slow"], found["slow"])
    with open(os.path.join(out, case + ".truth.json"), "w") as file:
        json.dump(found, file, indent=1)
        file.write("\n")
    (capture,) = glob.glob(work + "/**/*.xplane.pb", recursive=True) or glob.glob(work + "/*.json")
    with open(capture, "rb") as file:
        data = scrub(file.read())
    name = re.sub(r"^.*?\.(?=xplane\.pb$|json$)", "", os.path.basename(capture))
    with open(os.path.join(out, f"{case}.{name}.gz"), "wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as file:
        file.write(data)
    shutil.rmtree(work)


main()
os._exit(0)
