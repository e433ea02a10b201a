"""Capture the JAX CPU profiles of tests/data and of the page's examples: `python capture.py train|mesh OUT`.

train: one device, 6 steps of a two-layer network with step annotations and a data_loading annotation; the step is
       compiled inside the capture, so the first step is a warm-up.
mesh:  8 forced host devices, 4 steps of a sharded matrix product with an all-reduce.
"""
import os
import sys

MODE, OUT = sys.argv[1], sys.argv[2]
if MODE == "mesh":
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np


def train():
    def loss(params, x, y):
        hidden = jax.nn.gelu(x @ params["up"])
        return jnp.mean((hidden @ params["down"] - y) ** 2)

    @jax.jit
    def train_step(params, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

    rng = np.random.default_rng(0)
    params = {
        "up": jnp.asarray(rng.normal(size=(256, 1024)) * 0.02, jnp.float32),
        "down": jnp.asarray(rng.normal(size=(1024, 256)) * 0.02, jnp.float32),
    }
    for step in range(6):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            with jax.profiler.TraceAnnotation("data_loading"):
                x = rng.normal(size=(512, 256)).astype(np.float32)
            params, value = train_step(params, x, x)
            value.block_until_ready()


def mesh():
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    devices = Mesh(np.array(jax.devices()), ("data",))
    x = jax.device_put(np.ones((1024, 256), np.float32), NamedSharding(devices, P("data", None)))
    w = jax.device_put(np.ones((256, 256), np.float32), NamedSharding(devices, P()))

    @jax.jit
    def train_step(x, w):
        hidden = jnp.tanh(x @ w)
        return w - 0.01 * (hidden.T @ x) / x.shape[0]

    w = train_step(x, w).block_until_ready()
    with jax.profiler.trace(OUT, profiler_options=OPTIONS):
        for step in range(4):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                w = train_step(x, w).block_until_ready()


OPTIONS = jax.profiler.ProfileOptions()
OPTIONS.python_tracer_level = 0
if MODE == "mesh":
    mesh()
else:
    with jax.profiler.trace(OUT, profiler_options=OPTIONS):
        train()
