"""Compile the programs of tests/data/jax-cpu-memory and record XLA's numbers for their memory: `python memory.py OUT`.

OUT/*.hlo.pb.gz     the HLO of each program with its buffer assignment, as --xla_dump_to writes it
OUT/expected.json   compiled.memory_analysis() of each

plain, remat and donate are the same training step of a network with three layers: unchanged, with a recomputed forward pass
(jax.checkpoint), and with donated parameters. constant contains an array, and sort calls a comparison.
"""
import glob
import gzip
import json
import os
import sys
import tempfile

OUT = sys.argv[1]
DUMP = tempfile.mkdtemp()
os.environ["XLA_FLAGS"] = f"--xla_dump_to={DUMP} --xla_dump_hlo_as_proto"

import jax
import jax.numpy as jnp
import numpy as np

# Removes the local folder from the paths of source files.
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")


def normal(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape, dtype="f4"))


def layer(h, w):
    return jnp.tanh(h @ w["up"]) @ w["down"] + h


def step(remat):
    body = jax.checkpoint(layer) if remat else layer

    def loss(params, x):
        return (jax.lax.scan(lambda h, w: (body(h, w), None), x, params)[0] ** 2).mean()

    def train_step(params, x):
        gradients = jax.grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients)

    return train_step


params = {"up": normal(1, 3, 64, 256), "down": normal(2, 3, 256, 64)}
x, table = normal(3, 128, 64), np.asarray(normal(4, 96, 96))
PROGRAMS = {
    "plain": (step(False), (params, x), ()),
    "remat": (step(True), (params, x), ()),
    "donate": (step(False), (jax.tree.map(jnp.copy, params), x), (0,)),
    "constant": (lambda y: y @ table, (normal(5, 32, 96),), ()),
    "sort": (lambda y: jnp.sort(y, axis=-1)[:, ::2].cumsum(0), (normal(6, 64, 512),), ()),
}

os.makedirs(OUT, exist_ok=True)
expected = {}
for name, (function, arguments, donated) in PROGRAMS.items():
    function.__name__ = name
    program = jax.jit(function, donate_argnums=donated)
    found = program.lower(*arguments).compile().memory_analysis()
    expected[name] = {key: getattr(found, key) for key in dir(found) if key.endswith("_in_bytes")}
    [dumped] = [path for path in glob.glob(f"{DUMP}/*.jit_{name}.cpu_after_optimizations.hlo.pb")]
    with open(f"{OUT}/{os.path.basename(dumped)}.gz", "wb") as file:
        file.write(gzip.compress(open(dumped, "rb").read(), mtime=0))
    jax.block_until_ready(program(*arguments))
with open(f"{OUT}/expected.json", "w") as file:
    json.dump(expected, file, indent=1, sort_keys=True)
    file.write("\n")
