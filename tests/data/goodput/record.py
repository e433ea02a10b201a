"""Records a training loop that loses time in known ways, on the CPU.

usage: python record.py CASE OUT
  CASE: losses: compiles inside the capture, waits for input in one step, and saves a checkpoint in another, in annotated ranges
        orbax: saves checkpoints with Orbax's CheckpointManager, with Python frames (needs orbax-checkpoint)
Writes OUT/CASE.xplane.pb.gz, and OUT/CASE.truth.json with the lost times by the script's own clock.
"""

import glob
import gzip
import json
import sys
import tempfile
import time

import jax
import jax.numpy as jnp

STEPS = 12

case, out = sys.argv[1:3]
lost = {"compilation": 0.0, "checkpoint": 0.0, "input": 0.0, "stall": 0.0}


class Lost:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.begin = time.perf_counter()

    def __exit__(self, *_):
        lost[self.name] += time.perf_counter() - self.begin


def work(x):
    def sleep(value):
        time.sleep(0.03)
        return value

    return jax.pure_callback(sleep, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1.0


def model(x):
    # Enough ops for a compilation that lasts.
    for _ in range(60):
        x = jnp.sin(x @ x / 8.0)
    return work(x)


train = jax.jit(model)
# The first callback starts threads.
jax.jit(work)(jnp.ones(3)).block_until_ready()
x = jnp.ones((8, 8))
if case == "orbax":
    import orbax.checkpoint

    train(x).block_until_ready()
    manager = orbax.checkpoint.CheckpointManager(tempfile.mkdtemp() + "/checkpoints")
options = jax.profiler.ProfileOptions()
options.python_tracer_level = int(case == "orbax")
options.host_tracer_level = 2
with tempfile.TemporaryDirectory() as folder:
    jax.profiler.start_trace(folder, profiler_options=options)
    begin = time.perf_counter()
    if case == "losses":
        with Lost("compilation"):
            compiled = train.lower(x).compile()
    else:
        compiled = train
    for number in range(STEPS):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            if case == "losses" and number == 4:
                with Lost("input"), jax.profiler.TraceAnnotation("next_batch"):
                    time.sleep(0.15)
            if case == "losses" and number == 8:
                # No range names the reason.
                with Lost("stall"):
                    time.sleep(0.2)
            compiled(x).block_until_ready()
        if case == "losses" and number == 6:
            with Lost("checkpoint"), jax.profiler.TraceAnnotation("save_checkpoint"):
                time.sleep(0.25)
        if case == "orbax" and number in (5, 8):
            with Lost("checkpoint"):
                manager.save(number, args=orbax.checkpoint.args.StandardSave({"x": x}))
    if case == "orbax":
        with Lost("checkpoint"):
            manager.wait_until_finished()
    elapsed = time.perf_counter() - begin
    jax.profiler.stop_trace()
    (path,) = glob.glob(folder + "/**/*.xplane.pb", recursive=True)
    with open(path, "rb") as file, gzip.GzipFile(f"{out}/{case}.xplane.pb.gz", "wb", mtime=0) as packed:
        packed.write(file.read())
truth = {f"{name}_us": 1e6 * time_ for name, time_ in lost.items()} | {"elapsed_us": 1e6 * elapsed}
with open(f"{out}/{case}.truth.json", "w") as file:
    json.dump(truth, file, indent=1)
    file.write("\n")
print(case, truth)
