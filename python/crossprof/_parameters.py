"""Counts the parameters of a model, and describes their sharding."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any


def parameter_counts(params: Any, trainable: Any = None) -> dict[str, int]:
    """Counts the parameters in a pytree of arrays, or of other objects with a ``shape``.

    Args:
        params: The pytree.
        trainable: The parameters that are trained: a pytree of booleans with the same structure or a prefix of it, such as optax
            masks, or a function of a leaf's path (``"layers/0/kernel"``). By default, all parameters.

    Returns:
        ``total_params``, ``trainable_params`` and ``frozen_params``.

    Raises:
        ValueError: The mask has a different structure.
    """
    import jax

    leaves = jax.tree_util.tree_flatten_with_path(params)[0]
    total = sum(_size(leaf) for _, leaf in leaves)
    if trainable is None:
        trained = total
    elif callable(trainable):
        trained = sum(_size(leaf) for path, leaf in leaves if trainable(_path(path)))
    else:
        sums: list[int] = []

        def add(is_trained: Any, below: Any) -> None:
            if is_trained:
                sums.extend(_size(leaf) for leaf in jax.tree_util.tree_leaves(below))

        jax.tree_util.tree_map(add, trainable, params)
        trained = sum(sums)
    return {"total_params": total, "trainable_params": trained, "frozen_params": total - trained}


def placement(params: Any) -> dict[str, Any]:
    """Returns the mesh on which the arrays of a pytree are, and the number of arrays with each partitioning."""
    import jax

    meshes: dict[str, int] = {}
    specs: Counter[str] = Counter()
    for leaf in jax.tree_util.tree_leaves(params):
        sharding = getattr(leaf, "sharding", None)
        if isinstance(sharding, jax.sharding.NamedSharding):
            meshes.update({str(axis): int(size) for axis, size in sharding.mesh.shape.items()})
            specs[str(tuple(sharding.spec))] += 1
        elif sharding is not None:
            specs[type(sharding).__name__] += 1
    return {"mesh": meshes, "shardings": dict(sorted(specs.items()))}


def _size(leaf: Any) -> int:
    return math.prod(getattr(leaf, "shape", ()))


def _path(keys: tuple[Any, ...]) -> str:
    parts = [getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))) for key in keys]
    return "/".join(map(str, parts))
