"""Capture the JAX CPU profiles of tests/data and of the page's examples: `python capture.py train|mesh|async|costs|rows OUT`.

train: one device, 6 steps of a two-layer network with step annotations and a data_loading annotation; the step is
       compiled inside the capture, so the first step is a warm-up.
mesh:  8 forced host devices, 4 steps of a sharded matrix product with an all-reduce.
async: ops that outlast their events: 3 steps of a network of matrix products, a loop whose ops run on other threads,
       and three runs of the loop in flight at once.
costs: a program for each of 18 kinds of instruction, run twice; OUT.costs.json has the results of XLA's cost_analysis().
rows:  8 forced host devices as 4 x 2, 3 steps with collectives along each axis and over all devices.
"""
import json
import os
import sys

MODE, OUT = sys.argv[1], sys.argv[2]
DEVICES = {"mesh": 8, "async": 2, "costs": 4, "rows": 8}
if MODE in DEVICES:
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES[MODE]}"

import jax
import jax.numpy as jnp
import numpy as np

# Removes the local folder from the paths of source files.
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")


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


def normal(*shape):
    return jnp.asarray(np.random.default_rng(7).standard_normal(shape, dtype="f4"))


def asynchronous():
    @jax.jit
    def step(w, x):
        loss = lambda w: ((jnp.tanh(x @ w[0]) @ w[1]) ** 2).mean()
        return jax.tree.map(lambda p, d: p - 0.01 * d, w, jax.grad(loss)(w))

    @jax.jit
    def loop(w, x):
        def body(h, w):
            a = jnp.tanh(h @ w[0])
            b = a @ w[1]
            return b + h, (h.T @ a, a.T @ b)

        return jax.lax.scan(body, x, w)

    w, x = (normal(384, 768) * 0.02, normal(768, 384) * 0.02), normal(384, 384)
    stacked = (normal(3, 256, 384) * 0.02, normal(3, 384, 256) * 0.02)
    y = normal(384, 256)
    w = jax.block_until_ready(step(w, x))
    jax.block_until_ready(loop(stacked, y))
    with jax.profiler.trace(OUT, profiler_options=OPTIONS):
        for number in range(3):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                w = jax.block_until_ready(step(w, x))
        jax.block_until_ready(loop(stacked, y))
        jax.block_until_ready([loop(stacked, y) for _ in range(3)])


def costs():
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    devices = Mesh(np.array(jax.devices()), ("d",))
    rows, whole, some = P("d", None), P(None, None), jnp.asarray(np.arange(200) * 7 % 800, jnp.int32)

    def sharded(function, given, made):
        return jax.shard_map(function, mesh=devices, in_specs=given, out_specs=made, check_vma=False)

    def convolve(x, k):
        return jax.lax.conv_general_dilated(x, k, (1, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def solve(a, b):
        return jax.scipy.linalg.solve_triangular(a, b, lower=True)

    split = jax.device_put(normal(256, 192), NamedSharding(devices, rows))
    programs = {
        "dot": (lambda a, b: a @ b, normal(320, 256), normal(256, 448)),
        "conv": (convolve, normal(2, 35, 29, 8), normal(3, 5, 8, 12)),
        "reduce": (lambda x: (jnp.exp(x) * 3 + 2).sum(0), normal(384, 640)),
        "allreduce": (sharded(lambda x: jax.lax.psum(x, "d"), rows, whole), split),
        "cholesky": (lambda x: jnp.linalg.cholesky(x @ x.T + 100 * jnp.eye(96)), normal(96, 96)),
        "scatter": (lambda x, i, u: x.at[i].add(u), normal(800, 48), some, normal(200, 48)),
        "sort": (lambda x: jnp.sort(x, axis=1), normal(48, 900)),
        "fft": (jnp.fft.fft, normal(32, 2048).astype(jnp.complex64)),
        "triangular": (solve, jnp.tril(normal(96, 96)) + 10 * jnp.eye(96), normal(96, 24)),
        "random": (lambda k: jax.random.normal(k, (192, 256)), jax.random.PRNGKey(1)),
        "gather": (lambda x, i: x[i], normal(800, 48), some),
        "window": (lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
                   normal(2, 36, 28, 8)),
        "tanh": (jnp.tanh, normal(192, 256)),
        "divide": (lambda x, y: x / y + jnp.sqrt(x * x), normal(192, 256), normal(192, 256)),
        "cumsum": (lambda x: jnp.cumsum(x, 1), normal(48, 192)),
        "concatenate": (lambda x, y: jnp.concatenate([x, y], 1) * 1.0, normal(48, 25), normal(48, 39)),
        "allgather": (sharded(lambda x: jax.lax.all_gather(x, "d", tiled=True), rows, whole), split),
        "reducescatter": (sharded(lambda x: jax.lax.psum_scatter(x, "d", scatter_dimension=0, tiled=True), whole, rows),
                          normal(256, 192)),
    }
    ready, truth = [], {}
    for name, (function, *arguments) in programs.items():
        named = lambda *a, function=function: function(*a)
        named.__name__ = name
        jitted = jax.jit(named)
        cost = jitted.lower(*arguments).compile().cost_analysis()
        truth[f"jit_{name}"] = {key: cost.get(key, 0) for key in ("flops", "transcendentals", "bytes accessed")}
        jax.block_until_ready(jitted(*arguments))
        ready.append((jitted, arguments))
    with open(OUT + ".costs.json", "w") as file:
        json.dump(truth, file, indent=0)
        file.write("\n")
    with jax.profiler.trace(OUT, profiler_options=OPTIONS):
        for jitted, arguments in ready:
            for _ in range(2):
                jax.block_until_ready(jitted(*arguments))


def rows():
    from jax.sharding import Mesh, PartitionSpec as P

    devices = Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))

    def exchange(x):
        swapped = jax.lax.all_to_all(x, "x", 1, 0, tiled=True)
        shifted = jax.lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)])
        part = jax.lax.psum_scatter(x, "y", scatter_dimension=0, tiled=True)
        return jax.lax.psum(swapped.sum() + shifted.sum() + part.sum(), ("x", "y"))

    step = jax.jit(jax.shard_map(exchange, mesh=devices, in_specs=P(("x", "y"), None), out_specs=P(), check_vma=False))
    x = np.ones((512, 192), np.float32)
    step(x).block_until_ready()
    with jax.profiler.trace(OUT, profiler_options=OPTIONS):
        for number in range(3):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                step(x).block_until_ready()


OPTIONS = jax.profiler.ProfileOptions()
OPTIONS.python_tracer_level = 0
if MODE == "mesh":
    mesh()
elif MODE == "async":
    asynchronous()
elif MODE == "costs":
    costs()
elif MODE == "rows":
    rows()
else:
    with jax.profiler.trace(OUT, profiler_options=OPTIONS):
        train()
