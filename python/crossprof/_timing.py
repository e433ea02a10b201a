"""Times functions without recording them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


def time_jax_function(func: Callable[..., Result], *args: Any, **kwargs: Any) -> tuple[Result, float]:
    """Returns the function's result, and the time in milliseconds of a call after compilation."""
    import jax

    jax.block_until_ready(func(*args, **kwargs))
    start = time.perf_counter()
    result = jax.block_until_ready(func(*args, **kwargs))
    return result, (time.perf_counter() - start) * 1e3


def benchmark_function(
    func: Callable[..., Any], *args: Any, num_iterations: int = 100, warmup: int = 10, **kwargs: Any
) -> dict[str, float]:
    """Times a function. Each sample includes the time that the device needs to finish.

    Returns:
        ``mean``, ``std`` (sample standard deviation), ``min``, ``max`` and ``median`` in milliseconds, and ``first_call``: the time of
        the first call, which compiles. The first call is not included in the other values.
    """
    if num_iterations < 1 or warmup < 0:
        raise ValueError("num_iterations must be at least 1, and warmup at least 0.")
    import jax

    def sample() -> float:
        start = time.perf_counter()
        jax.block_until_ready(func(*args, **kwargs))
        return (time.perf_counter() - start) * 1e3

    first = sample()
    for _ in range(warmup):
        sample()
    samples = [sample() for _ in range(num_iterations)]
    return {
        "mean": statistics.fmean(samples),
        "std": statistics.stdev(samples) if len(samples) > 1 else 0.0,
        "min": min(samples),
        "max": max(samples),
        "median": statistics.median(samples),
        "first_call": first,
    }
