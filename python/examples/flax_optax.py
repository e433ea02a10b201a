"""Trains with Flax and Optax, with input from Grain, and captures four steps.

    pip install crossprof jax flax optax grain
    python flax_optax.py && crossprof view profiles

Only two lines belong to the capture: the ``with`` statement, and ``capture.step`` at the end of the loop. In the trace, the time of
    the input pipeline has the name that is passed to ``crossprof.profile_scope``.
"""

import flax.linen as nn
import grain
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training.train_state import TrainState

import crossprof

BATCH, FEATURES = 32, 16


class Model(nn.Module):
    """Two layers."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return nn.Dense(1)(nn.relu(nn.Dense(64)(x)))


def batches() -> grain.IterDataset:
    """Yields batches of samples without end."""
    samples = np.random.default_rng(0).normal(size=(1024, FEATURES)).astype(np.float32)
    return grain.MapDataset.source(samples).shuffle(seed=0).repeat().batch(BATCH).to_iter_dataset()


@jax.jit
def train_step(state: TrainState, batch: jax.Array) -> tuple[TrainState, jax.Array]:
    """One step of gradient descent towards the sum of the features."""

    def loss(params: dict) -> jax.Array:
        return jnp.mean((state.apply_fn({"params": params}, batch)[:, 0] - batch.sum(axis=1)) ** 2)

    value, gradients = jax.value_and_grad(loss)(state.params)
    return state.apply_gradients(grads=gradients), value


def main() -> None:
    """Trains the model."""
    model = Model()
    params = model.init(jax.random.key(0), jnp.ones((1, FEATURES)))["params"]
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(1e-3))
    data = iter(batches())
    with crossprof.capture("profiles", wait=10, active=4, batch_size=BATCH, params=state.params) as capture:
        for _ in range(20):
            with crossprof.profile_scope("next_batch"):
                batch = jnp.asarray(next(data))
            state, loss = train_step(state, batch)
            capture.step(loss)
    print(f"loss {float(loss):.3f}, captured {capture.captures[0].path}")


if __name__ == "__main__":
    main()
