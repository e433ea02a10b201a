"""Trains with input from tf.data, and captures four steps.

    pip install crossprof jax tensorflow-cpu
    python tf_data.py && crossprof view profiles

Only two lines belong to the capture: the ``with`` statement, and ``capture.step`` at the end of the loop. In the trace, the time
    that a step waits for its batch has the name that is passed to ``crossprof.profile_scope``. JAX's profiler does not see the work
    of tf.data's own threads.
"""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf

import crossprof

BATCH, FEATURES = 32, 16


def batches() -> Iterator[np.ndarray]:
    """Yields batches of samples without end. Prepares the next batch while the current step runs."""
    samples = np.random.default_rng(0).normal(size=(1024, FEATURES)).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices(samples).shuffle(1024, seed=0).repeat()
    return data.batch(BATCH).prefetch(tf.data.AUTOTUNE).as_numpy_iterator()


@jax.jit
def train_step(params: dict, batch: jax.Array) -> tuple[dict, jax.Array]:
    """One step of gradient descent towards the sum of the features."""

    def loss(params: dict) -> jax.Array:
        return jnp.mean((batch @ params["weights"] + params["bias"] - batch.sum(axis=1)) ** 2)

    value, gradients = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda value, gradient: value - 0.1 * gradient, params, gradients), value


def main() -> None:
    """Trains the model."""
    # TensorFlow only reads data, so it must leave the accelerators to JAX.
    tf.config.set_visible_devices([], "GPU")
    params = {"weights": jnp.zeros(FEATURES), "bias": jnp.zeros(())}
    data = batches()
    with crossprof.capture("profiles", wait=10, active=4, batch_size=BATCH, params=params) as capture:
        for _ in range(20):
            with crossprof.profile_scope("next_batch"):
                batch = jnp.asarray(next(data))
            params, loss = train_step(params, batch)
            capture.step(loss)
    print(f"loss {float(loss):.3f}, captured {capture.captures[0].path}")


if __name__ == "__main__":
    main()
