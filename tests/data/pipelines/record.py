"""Records pipeline-parallel programs on forced CPU devices, with stages that sleep for a known time.

usage: python record.py CASE OUT
  CASE: gpipe, 1f1b: separate programs per device, in a thread per stage, as in MPMD frameworks
        equal_names: gpipe, with the same function names on all stages
        loop: one program with shard_map, scan and ppermute, which skips the work of empty ticks
        loop_without_skips: the same, but all ticks work
Writes OUT/CASE.xplane.pb.gz, and OUT/CASE.truth.json with the work and the steps by the script's own clock.
"""

import glob
import gzip
import json
import os
import queue
import sys
import tempfile
import threading
import time

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

CASES = {"gpipe": (4, 6), "1f1b": (4, 8), "equal_names": (3, 5), "loop": (4, 8), "loop_without_skips": (4, 6)}
SLEEP = 0.05
STEPS = 2

case, out = sys.argv[1:3]
stages, microbatches = CASES[case]
devices = jax.devices()[:stages]
worked = []


def work(x):
    def sleep(value):
        begin = time.perf_counter()
        time.sleep(SLEEP)
        worked.append(time.perf_counter() - begin)
        return value

    return jax.pure_callback(sleep, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1.0


def program(name):
    def f(x):
        return work(x)

    f.__name__ = f.__qualname__ = name
    return jax.jit(f)


def order(stage):
    """Returns the passes of a stage in a step: (is_forward, microbatch)."""
    if case != "1f1b":
        return [(True, k) for k in range(microbatches)] + [(False, k) for k in range(microbatches)]
    ahead = min(stages - stage, microbatches)
    passes = [(True, k) for k in range(ahead)]
    for k in range(ahead, microbatches):
        passes += [(False, k - ahead), (True, k)]
    return passes + [(False, k) for k in range(microbatches - ahead, microbatches)]


def mpmd():
    name = lambda kind, stage: kind if case == "equal_names" else f"{kind}_stage{stage}"
    forward = [program(name("forward", stage)) for stage in range(stages)]
    backward = [program(name("backward", stage)) for stage in range(stages)]
    x = np.ones((8, 8), np.float32)

    def step():
        forwards, backwards = ([queue.Queue() for _ in range(stages + 1)] for _ in range(2))
        for _ in range(microbatches):
            forwards[0].put(x)

        def run(stage):
            for is_forward, _ in order(stage):
                source, of = (forwards[stage], forward) if is_forward else (backwards[stage + 1], backward)
                y = of[stage](jax.device_put(source.get(), devices[stage])).block_until_ready()
                is_last = stage == stages - 1
                target = backwards[stage] if not is_forward else backwards[stages] if is_last else forwards[stage + 1]
                target.put(y)

        threads = [threading.Thread(target=run, args=(stage,)) for stage in range(stages)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return step


def loop():
    mesh = Mesh(np.array(devices), ("stage",))
    chain = [(stage, stage + 1) for stage in range(stages - 1)]

    def body(x):
        stage = jax.lax.axis_index("stage")

        def tick(carry, at):
            is_active = (at >= stage) & (at < stage + microbatches)
            if case == "loop":
                carry = jax.lax.cond(is_active, work, lambda value: value, carry)
            else:
                carry = work(carry)
            return jax.lax.ppermute(carry, "stage", chain), None

        return jax.lax.scan(tick, x, jnp.arange(microbatches + stages - 1))[0]

    f = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=P("stage"), out_specs=P("stage"), check_vma=False))
    x = jnp.ones((8 * stages, 8))
    return lambda: f(x).block_until_ready()


step = loop() if case.startswith("loop") else mpmd()
step()
options = jax.profiler.ProfileOptions()
options.python_tracer_level = 0
options.host_tracer_level = 1
with tempfile.TemporaryDirectory() as folder:
    worked.clear()
    times = []
    jax.profiler.start_trace(folder, profiler_options=options)
    for _ in range(STEPS):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    jax.profiler.stop_trace()
    (path,) = glob.glob(folder + "/**/*.xplane.pb", recursive=True)
    with open(path, "rb") as file, gzip.GzipFile(f"{out}/{case}.xplane.pb.gz", "wb", mtime=0) as packed:
        packed.write(file.read())
# The results of the ticks that fill and drain the loop are discarded.
useful = microbatches / (microbatches + stages - 1) if case == "loop_without_skips" else 1.0
work_us = 1e6 * useful * sum(worked) / stages / STEPS
step_us = 1e6 * sum(times) / STEPS
truth = {
    "stages": stages,
    "microbatches": microbatches,
    "steps": STEPS,
    "step_us": step_us,
    "work_us": work_us,
    "bubble_percent": 100 * (1 - work_us / step_us),
}
with open(f"{out}/{case}.truth.json", "w") as file:
    json.dump(truth, file, indent=1)
    file.write("\n")
print(case, truth)
