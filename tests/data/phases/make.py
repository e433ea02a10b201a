"""Records training steps whose code names the phase of each part. These names are the expected phases of the instructions.

    python make.py

Each function wraps its parts in the name scopes `truth_forward`, `truth_update` and `truth_other`. JAX adds `transpose(...)` to the
path of an instruction that computes a gradient, and `rematted_computation` to the path of an instruction that is recomputed. An
instruction inside `truth_forward` therefore belongs to the forward pass, unless its path contains one of these two names. The file
`<name>.pb.gz` contains the program before XLA's optimisations (in which every instruction has its own path), and
`<name>.optimized.pb.gz` contains the program that runs. Needs jax, flax and optax.
"""

import gzip
import pathlib

import jax
import jax.numpy as jnp
import optax

HERE = pathlib.Path(__file__).parent
named = jax.named_scope


def mlp(params, x, key, checkpoint=False):
    def block(layer, x):
        return jnp.tanh(x @ layer["w"] + layer["b"])

    block = jax.checkpoint(block) if checkpoint else block
    with named("truth_forward"):
        for number, layer in enumerate(params["layers"]):
            with named(f"layer_{number}"):
                x = block(layer, x)
        keep = jax.random.bernoulli(key, 0.9, x.shape)
        return jnp.where(keep, x, 0) @ params["out"]


def make(checkpoint=False, clip=False, accumulate=0):
    tx = optax.adamw(1e-3)
    width = 32
    params = {
        "layers": [{"w": jnp.ones((width, width)), "b": jnp.ones(width)} for _ in range(3)],
        "out": jnp.ones((width, 10)),
    }
    state = tx.init(params)

    def loss_fn(params, x, y, key):
        logits = mlp(params, x, key, checkpoint)
        with named("truth_forward"):
            loss = optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
        return loss, logits

    def step(params, state, x, y, key):
        with named("truth_other"):
            x = x / 255.0 - 0.5
        if accumulate:

            def one(total, batch):
                (_, _), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, *batch, key)
                with named("truth_update"):
                    return jax.tree.map(jnp.add, total, grads), 0.0

            zeros = jax.tree.map(jnp.zeros_like, params)
            batches = (x.reshape(accumulate, -1, width), y.reshape(accumulate, -1))
            grads, _ = jax.lax.scan(one, zeros, batches)
            loss = correct = 0.0
        else:
            (loss, logits), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, x, y, key)
            with named("truth_other"):
                correct = (logits.argmax(-1) == y).mean()
        with named("truth_update"):
            if clip:
                norm = optax.global_norm(grads)
                grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / norm), grads)
            updates, state = tx.update(grads, state, params)
            params = optax.apply_updates(params, updates)
        return params, state, loss, correct

    arguments = (params, state, jnp.ones((64, width)), jnp.zeros(64, jnp.int32), jax.random.key(0))
    return step, arguments


def write(name, proto):
    (HERE / name).write_bytes(gzip.compress(proto, mtime=0))


for name, options in {
    "adamw": {},
    "clipped": {"clip": True},
    "checkpointed": {"checkpoint": True},
    "accumulated": {"accumulate": 4, "clip": True},
}.items():
    step, arguments = make(**options)
    lowered = jax.jit(step).lower(*arguments)
    write(f"{name}.pb.gz", lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
    write(f"{name}.optimized.pb.gz", lowered.compile().runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto())
