"""Compile programs on which a memory rule must fire, and for each of them a similar program on which it must not fire:
`python memory_findings.py OUT`.

OUT/*.hlo.pb.gz     the HLO of each program with its buffer assignment, as --xla_dump_to writes it
OUT/expected.json   compiled.memory_analysis() of each

Five programs are a training step of a network with four blocks. train is unchanged, train_twice has twice the batch, remat
recomputes the forward pass, donate donates the parameters, and unusable donates an argument whose shape no result has. baked
contains an array of 4 MiB, and given takes it as an argument. On eight devices, replicated has all parameters on each device, and
sharded has only a part of them on each device. The programs are only compiled and never run, so their shapes can be large.
"""
import glob
import gzip
import json
import os
import sys
import tempfile

OUT = sys.argv[1]
DUMP = tempfile.mkdtemp()
# Without the last flag, XLA's CPU compiler merges the recomputation of jax.checkpoint with the original.
os.environ["XLA_FLAGS"] = (
    f"--xla_dump_to={DUMP} --xla_dump_hlo_as_proto --xla_force_host_platform_device_count=8"
    " --xla_disable_hlo_passes=cse_barrier_expander"
)

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

# Removes the local folder from the paths of source files.
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")

WIDTH, HIDDEN, BATCH = 256, 1024, 2048
BLOCKS = ("first", "second", "third", "fourth")


def block(name, h, w):
    with jax.named_scope(name):
        return jnp.tanh(h @ w["up"]) @ w["down"] + h


def step(remat):
    def loss(params, batch):
        h = batch["x"]
        for name in BLOCKS:
            one = lambda h, w, name=name: block(name, h, w)
            h = (jax.checkpoint(one) if remat else one)(h, params[name])
        return (h**2).mean()

    def train_step(params, batch):
        gradients = jax.grad(loss)(params, batch)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients)

    return train_step


def array(*shape, sharding=None):
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)


def params(up=None, down=None):
    return {name: {"up": array(WIDTH, HIDDEN, sharding=up), "down": array(HIDDEN, WIDTH, sharding=down)} for name in BLOCKS}


def batch(size, sharding=None):
    return {"x": array(size, WIDTH, sharding=sharding)}


mesh = jax.make_mesh((8,), ("d",), axis_types=(AxisType.Auto,))
split, whole = NamedSharding(mesh, PartitionSpec("d")), NamedSharding(mesh, PartitionSpec())
table = np.tile(np.arange(64, dtype="f4"), (1024, 16))

PROGRAMS = {
    "train": (step(False), (params(), batch(BATCH)), {}),
    "train_twice": (step(False), (params(), batch(2 * BATCH)), {}),
    "remat": (step(True), (params(), batch(BATCH)), {}),
    "donate": (step(False), (params(), batch(BATCH)), {"donate_argnums": (0,)}),
    "unusable": (
        lambda state, y: (state.sum() * y).sum(),
        (array(8192, 1024, sharding=split), array(8, sharding=whole)),
        {"donate_argnums": (0,)},
    ),
    "baked": (lambda y: y @ table, (array(32, 1024),), {}),
    "given": (lambda y, table: y @ table, (array(32, 1024), array(1024, 1024)), {}),
    "replicated": (step(False), (params(whole, whole), batch(BATCH, split)), {"donate_argnums": (0,)}),
    "sharded": (step(False), (params(split, split), batch(BATCH, split)), {"donate_argnums": (0,)}),
}

os.makedirs(OUT, exist_ok=True)
expected = {}
for name, (function, arguments, options) in PROGRAMS.items():
    function.__name__ = name
    found = jax.jit(function, **options).lower(*arguments).compile().memory_analysis()
    expected[name] = {key: getattr(found, key) for key in dir(found) if key.endswith("_in_bytes")}
    [dumped] = glob.glob(f"{DUMP}/*.jit_{name}.cpu_after_optimizations.hlo.pb")
    with open(f"{OUT}/{os.path.basename(dumped)}.gz", "wb") as file:
        file.write(gzip.compress(open(dumped, "rb").read(), mtime=0))
with open(f"{OUT}/expected.json", "w") as file:
    json.dump(expected, file, indent=1, sort_keys=True)
    file.write("\n")
