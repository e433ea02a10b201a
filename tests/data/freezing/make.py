"""Compiles small training steps with frozen parameters. Writes their HLO modules, and the parameters that they change.

The truth is measured: the script runs each step, and a parameter is frozen if its array is the same before and after the step.

    pip install "jax==0.10.2" optax && python make.py    (in this folder; writes *.pb.gz and truth.json)
"""
import dataclasses
import gzip
import json
import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax
import jax.numpy as jnp
import numpy as np
import optax
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # no paths in the files
jax.config.update("jax_traceback_in_locations_limit", 0)
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P


def parameters():
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    normal = lambda key, shape: jax.random.normal(key, shape) * 0.1
    return {
        "embed": {"table": normal(keys[0], (64, 32))},
        "block": {"w": normal(keys[1], (32, 32)), "b": jnp.zeros((32,))},
        "head": {"w": normal(keys[2], (32, 8))},
    }


def loss_of(params, x, y, stopped=()):
    part = lambda name: jax.lax.stop_gradient(params[name]) if name in stopped else params[name]
    h = jnp.take(part("embed")["table"], x, axis=0)
    h = jnp.tanh(h @ part("block")["w"] + part("block")["b"])
    return jnp.mean((h @ part("head")["w"] - y) ** 2)


X, Y = jnp.arange(16) % 64, jnp.ones((16, 8))
descend = lambda params, grads: jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def sgd(stopped):
    def step(params, x, y):
        loss, grads = jax.value_and_grad(loss_of)(params, x, y, stopped)
        return descend(params, grads), loss

    return step, (parameters(), X, Y), lambda out: out[0], lambda args: args[0]


def adam(frozen, how):
    labels = {name: "frozen" if name in frozen else "train" for name in parameters()}
    if how == "multi_transform":
        rule = optax.multi_transform({"train": optax.adam(1e-2), "frozen": optax.set_to_zero()}, labels)
    else:
        rule = optax.chain(
            optax.masked(optax.adam(1e-2), {name: label == "train" for name, label in labels.items()}),
            optax.masked(optax.set_to_zero(), {name: label == "frozen" for name, label in labels.items()}),
        )

    def step(params, opt_state, x, y):
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        updates, opt_state = rule.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    params = parameters()
    return step, (params, rule.init(params), X, Y), lambda out: out[0], lambda args: args[0]


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    step: jax.Array
    params: dict
    opt_state: object


def train_state(frozen):
    rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-2))

    def step(state, batch):
        loss, grads = jax.value_and_grad(loss_of)(state.params, batch["x"], batch["y"], frozen)
        grads = {name: jax.tree.map(jnp.zeros_like, g) if name in frozen else g for name, g in grads.items()}
        updates, opt_state = rule.update(grads, state.opt_state, state.params)
        updates = {name: jax.tree.map(jnp.zeros_like, u) if name in frozen else u for name, u in updates.items()}
        return State(state.step + 1, optax.apply_updates(state.params, updates), opt_state), loss

    params = parameters()
    state = State(jnp.zeros((), jnp.int32), params, rule.init(params))
    return step, (state, {"x": X, "y": Y}), lambda out: out[0].params, lambda args: args[0].params


def separate():
    """Frozen parameters are a separate argument and are not returned."""

    def step(trainable, frozen, x, y):
        loss, grads = jax.value_and_grad(lambda t: loss_of({**t, **frozen}, x, y))(trainable)
        return descend(trainable, grads), loss

    params = parameters()
    trainable = {"head": params.pop("head")}
    return step, (trainable, params, X, Y), lambda out: {**params, **out[0]}, lambda args: {**args[1], **args[0]}


def several_steps():
    """Four steps in one program: a loop passes the frozen parameters through."""

    def step(params, x, y):
        def body(params, _):
            loss, grads = jax.value_and_grad(loss_of)(params, x, y, ("embed",))
            return descend(params, grads), loss

        return jax.lax.scan(body, params, None, length=4)

    return step, (parameters(), X, Y), lambda out: out[0], lambda args: args[0]


def conditional():
    """The block changes inside a branch, like an optimizer state that is refreshed only in some steps."""

    def step(params, number, x, y):
        loss, grads = jax.value_and_grad(loss_of)(params, x, y, ("embed",))
        changed = lambda w, g: jax.lax.fori_loop(0, 5, lambda _, w: jnp.tanh(w - 0.1 * g), w)
        block = jax.lax.cond(
            number % 2 == 0,
            lambda block, grads: jax.tree.map(changed, block, grads),
            lambda block, grads: block,
            params["block"],
            grads["block"],
        )
        return {**descend(params, grads), "block": block}, loss

    return step, (parameters(), jnp.int32(4), X, Y), lambda out: out[0], lambda args: args[0]


def sharded(params_too):
    mesh = Mesh(np.array(jax.devices()), ("d",))
    step, (params, x, y), after, before = sgd(("embed",))
    place = lambda value, spec: jax.device_put(value, NamedSharding(mesh, spec))
    spec = lambda value: P("d") if params_too and value.ndim == 2 else P()
    params = jax.tree.map(lambda value: place(value, spec(value)), params)
    return step, (params, place(x, P("d")), place(y, P("d"))), after, before


def inference():
    """A decoding step, which changes a cache and computes no gradients."""

    def step(params, cache, x):
        h = jnp.take(params["embed"]["table"], x, axis=0)
        cache = {"k": jax.lax.dynamic_update_slice(cache["k"], h @ params["block"]["w"], (0, 0))}
        return cache, (cache["k"] @ params["head"]["w"]).sum()

    return step, (parameters(), {"k": jnp.zeros((16, 32))}, X), None, None


CASES = {
    "sgd_all": (sgd(()), ()),
    "sgd_stopped": (sgd(("embed", "block")), ()),
    "sgd_stopped_donated": (sgd(("embed", "block")), (0,)),
    "adam_multi_transform_donated": (adam(("embed",), "multi_transform"), (0, 1)),
    "adam_masked_donated": (adam(("block", "embed"), "masked"), (0, 1)),
    "train_state": (train_state(("embed",)), (0,)),
    "separate_donated": (separate(), (0,)),
    "several_steps": (several_steps(), ()),
    "conditional": (conditional(), ()),
    "replicated": (sharded(False), ()),
    "sharded": (sharded(True), ()),
    "inference": (inference(), (1,)),
}

truth = {}
for name, ((step, args, after, before), donated) in CASES.items():
    compiled = jax.jit(step, donate_argnums=donated).lower(*args).compile()
    module = compiled.runtime_executable().hlo_modules()[0]
    open(name + ".pb.gz", "wb").write(gzip.compress(module.as_serialized_hlo_module_proto(), mtime=0))
    if after is None:
        truth[name] = None
        continue
    old = jax.tree.map(np.array, before(args))
    new = jax.tree.map(np.array, after(compiled(*args)))
    changed = {part: [not np.array_equal(a, b) for a, b in zip(jax.tree.leaves(old[part]), jax.tree.leaves(new[part]))] for part in old}
    size = lambda wanted: sum(
        int(leaf.size) for part in old for leaf, is_changed in zip(jax.tree.leaves(old[part]), changed[part]) if is_changed == wanted
    )
    truth[name] = {
        "trained_arrays": sum(sum(part) for part in changed.values()),
        "frozen_arrays": sum(len(part) - sum(part) for part in changed.values()),
        "trained_params": size(True),
        "frozen_params": size(False),
        "frozen": sorted(part for part in changed if not any(changed[part])),
    }
json.dump(truth, open("truth.json", "w"), indent=1, sort_keys=True)
open("truth.json", "a").write("\n")
