"""Records mixtures of experts with a planted imbalance on forced CPU devices.

usage: python record.py CASE OUT
  CASE: shapes: four experts with products of their own on one device, and three times as many tokens for the first
        devices: two experts on each of 8 devices, which work on tiles of tokens (a sleep of known time per tile), and three times
                 as many tiles on device 3; all devices then exchange their results
Writes OUT/CASE.xplane.pb.gz, and OUT/CASE.truth.json with the tokens, or the work of each device by the script's own clock.
"""

import glob
import gzip
import json
import os
import sys
import tempfile
import time

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

STEPS = 4
TILE = 0.004
TOKENS = {"shapes": [384, 128, 128, 128]}
TILES = np.array([4, 4, 4, 12, 4, 4, 4, 4], np.int32)

case, out = sys.argv[1:3]
worked = np.zeros(8)


def of_shapes():
    tokens = TOKENS[case]

    @jax.jit
    def moe(x, up, down):
        parts, begin = [], 0
        for expert, count in enumerate(tokens):
            with jax.named_scope(f"expert_{expert}"):
                hidden = jax.nn.relu(x[begin : begin + count] @ up[expert])
                parts.append(hidden @ down[expert])
            begin += count
        return jnp.concatenate(parts)

    x = jnp.ones((sum(tokens), 256))
    up, down = jnp.ones((4, 256, 1024)), jnp.ones((4, 1024, 256))
    return lambda: moe(x, up, down).block_until_ready()


def of_devices():
    mesh = Mesh(np.array(jax.devices()), ("expert",))

    def tile(device, x):
        def sleep(device, value):
            begin = time.perf_counter()
            time.sleep(TILE)
            worked[int(device)] += time.perf_counter() - begin
            return value

        return jax.pure_callback(sleep, jax.ShapeDtypeStruct(x.shape, x.dtype), device, x) + 1.0

    def body(x):
        device = jax.lax.axis_index("expert")
        x = jax.lax.all_to_all(x, "expert", 0, 0, tiled=True)
        with jax.named_scope("experts"):
            x = jax.lax.fori_loop(0, jnp.asarray(TILES)[device], lambda _, value: tile(device, value), x)
        return jax.lax.all_to_all(x, "expert", 0, 0, tiled=True)

    f = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=P("expert"), out_specs=P("expert"), check_vma=False))
    x = jnp.ones((64, 8))
    return lambda: f(x).block_until_ready()


step = of_devices() if case == "devices" else of_shapes()
step()
options = jax.profiler.ProfileOptions()
options.python_tracer_level = 0
options.host_tracer_level = 1
with tempfile.TemporaryDirectory() as folder:
    worked[:] = 0
    jax.profiler.start_trace(folder, profiler_options=options)
    for number in range(STEPS):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            step()
    jax.profiler.stop_trace()
    (path,) = glob.glob(folder + "/**/*.xplane.pb", recursive=True)
    with open(path, "rb") as file, gzip.GzipFile(f"{out}/{case}.xplane.pb.gz", "wb", mtime=0) as packed:
        packed.write(file.read())
truth = {"tokens": TOKENS[case]} if case in TOKENS else {"work_us": (1e6 * worked / STEPS).tolist()}
with open(f"{out}/{case}.truth.json", "w") as file:
    json.dump(truth, file, indent=1)
    file.write("\n")
print(case, truth)
