"""The names under which other projects knew their profiling helpers, on top of :func:`crossprof.trace`. Programs that import those keep
their calls."""

from __future__ import annotations

import functools
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ._names import write_text
from ._profiler import wait_for_devices
from ._timing import time_jax_function
from ._trace import Trace, trace

Result = TypeVar("Result")


def ProfileContext(log_dir: str | os.PathLike[str] = "./profiler_traces") -> Any:  # noqa: N802
    """Records what the block does."""
    return trace(log_dir)


@contextmanager
def profile_trace(
    log_dir: str | os.PathLike[str],
    name: str = "trace",
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    tensorboard: bool = True,
) -> Iterator[Trace]:
    """Records what the block does, below ``log_dir/name``.

    Args:
        create_perfetto_link: Not possible: ``crossprof view`` shows the timeline, and opens it in Perfetto.
        create_perfetto_trace: Also write ``perfetto_trace.json.gz``.
        tensorboard: Every capture is one that TensorBoard and XProf read.

    Raises:
        ValueError: A link was asked for.
    """
    if create_perfetto_link:
        raise ValueError("create_perfetto_link stops the program until a browser comes. Use `crossprof view` instead.")
    with trace(Path(log_dir) / name, perfetto=create_perfetto_trace or not tensorboard) as made:
        yield made


def profile_scope(name: str, enabled: bool = True) -> Any:
    """Names what the host does in the block, in the trace."""
    import contextlib

    import jax

    return jax.profiler.TraceAnnotation(name) if enabled else contextlib.nullcontext()


def profile_function(
    log_dir: str | os.PathLike[str], name: str | None = None, warmup_steps: int = 3, profile_steps: int = 1
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Decorates a function: each call runs it once. Of every so many calls as the two numbers say together, the first
    ``warmup_steps`` run as they are, the others are recorded, below ``log_dir/name``; after ``profile_steps`` recorded calls no more are.
    """
    if profile_steps < 1 or warmup_steps < 0:
        raise ValueError("profile_steps is at least 1, warmup_steps at least 0.")

    def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
        calls = 0

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Result:
            nonlocal calls
            calls += 1
            if not warmup_steps < calls <= warmup_steps + profile_steps:
                return function(*args, **kwargs)
            label = name or function.__name__
            with trace(Path(log_dir) / label), _step(label, calls - 1):
                result = function(*args, **kwargs)
                wait_for_devices(result)
            return result

        return call

    return decorate


def setup_tensorboard_logging(gpu_count: int, timestamp: str | None = None) -> str:
    """The folder for a run on so many devices."""
    return f"tensorboard_logs/{gpu_count}gpu_{timestamp or time.strftime('%Y%m%d_%H%M%S')}"


def run_with_jax_profiler(
    func: Callable[[], Result], trace_name: str, log_dir: str | os.PathLike[str], description: str = ""
) -> tuple[Result, str]:
    """Runs the function while it is recorded.

    Returns:
        What it returned, and the folder of the capture: ``log_dir/trace_name``.
    """
    folder = Path(log_dir) / trace_name
    with trace(folder, label=re.sub(r"[^\w.=+-]", "_", description)[:60]), _step(trace_name, 0):
        result = func()
        wait_for_devices(result)
    return result, str(folder)


def _step(name: str, number: int) -> Any:
    """Marks a call as a step: it ends when the devices are done, which no op shows."""
    import jax

    return jax.profiler.StepTraceAnnotation(name, step_num=number)


def profile_methods(
    methods: Mapping[str, Callable[[], Any]],
    log_dir: str | os.PathLike[str],
    output_json: str | os.PathLike[str] | None = None,
) -> dict[str, dict[str, Any]]:
    """Times and records some functions, one after the other. A function that fails does not keep the others from their turn.

    Args:
        methods: The functions by their names.
        log_dir: Folder of the captures: each has ``<name>_trace``.
        output_json: Also write the results to this file.

    Returns:
        For each name ``execution_time`` (milliseconds, compiled and not recorded; None if it failed), ``success``, ``tensorboard_trace`` (the
        folder of the capture; None without one) and, if it failed, ``error``.
    """
    results: dict[str, dict[str, Any]] = {}
    for name, method in methods.items():
        made: dict[str, Any] = {"execution_time": None, "success": False, "tensorboard_trace": None}
        results[name] = made
        try:
            _, made["execution_time"] = time_jax_function(method)
            folder = Path(log_dir) / f"{name}_trace"
            with trace(folder) as recorded, _step(name, 0):
                wait_for_devices(method())
            made["success"] = True
            made["tensorboard_trace"] = str(folder) if recorded.captured is not None else None
        except Exception as error:
            made["error"] = f"{type(error).__name__}: {error}"
    if output_json is not None:
        write_text(Path(output_json), json.dumps(results, indent=1) + "\n")
    return results


def create_profiled_test_function(test_func: Callable[..., Result], benchmark: Any, n_qubit: int) -> Callable[[], Result]:
    """The call ``test_func(benchmark, n_qubit)``, which ends when the device is done."""

    def call() -> Result:
        import jax

        return jax.block_until_ready(test_func(benchmark, n_qubit))

    return call


def print_tensorboard_summary(results: Mapping[str, Any], directory: str | os.PathLike[str]) -> None:
    """Prints where the captures are, of folders by name or of the results of :func:`profile_methods`, and how to view them."""
    for name, found in results.items():
        folder = found.get("tensorboard_trace") if isinstance(found, Mapping) else found
        print(f"{name}: {folder or 'not captured'}")
    print(f"crossprof view {directory}")

