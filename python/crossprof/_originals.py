"""Profiling helpers of other projects under their original names, implemented with :func:`crossprof.trace`. Programs that import
these helpers need not change their calls."""

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
    """Records the block."""
    return trace(log_dir)


@contextmanager
def profile_trace(
    log_dir: str | os.PathLike[str],
    name: str = "trace",
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    tensorboard: bool = True,
) -> Iterator[Trace]:
    """Records the block below ``log_dir/name``.

    Args:
        create_perfetto_link: Not supported. Use ``crossprof view`` instead, which shows the timeline and can open it in Perfetto.
        create_perfetto_trace: Also write ``perfetto_trace.json.gz``.
        tensorboard: Has no effect: TensorBoard and XProf can read every capture.

    Raises:
        ValueError: A link was requested.
    """
    if create_perfetto_link:
        raise ValueError("create_perfetto_link would stop the program until a browser connects. Use `crossprof view` instead.")
    with trace(Path(log_dir) / name, perfetto=create_perfetto_trace or not tensorboard) as made:
        yield made


def profile_scope(name: str, enabled: bool = True) -> Any:
    """Gives the block's work on the host a name in the trace."""
    import contextlib

    import jax

    return jax.profiler.TraceAnnotation(name) if enabled else contextlib.nullcontext()


def profile_function(
    log_dir: str | os.PathLike[str], name: str | None = None, warmup_steps: int = 3, profile_steps: int = 1
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Decorates a function. Each call of the returned function runs ``function`` once. In each cycle of ``warmup_steps`` +
    ``profile_steps`` calls, the first ``warmup_steps`` calls run normally and the others are recorded below ``log_dir/name``. Stops
    after ``profile_steps`` recorded calls.
    """
    if profile_steps < 1 or warmup_steps < 0:
        raise ValueError("profile_steps must be at least 1, and warmup_steps at least 0.")

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
    """Returns the folder for a run on this many devices."""
    return f"tensorboard_logs/{gpu_count}gpu_{timestamp or time.strftime('%Y%m%d_%H%M%S')}"


def run_with_jax_profiler(
    func: Callable[[], Result], trace_name: str, log_dir: str | os.PathLike[str], description: str = ""
) -> tuple[Result, str]:
    """Records a call of the function.

    Returns:
        The function's result, and the folder of the capture: ``log_dir/trace_name``.
    """
    folder = Path(log_dir) / trace_name
    with trace(folder, label=re.sub(r"[^\w.=+-]", "_", description)[:60]), _step(trace_name, 0):
        result = func()
        wait_for_devices(result)
    return result, str(folder)


def _step(name: str, number: int) -> Any:
    """Marks a call as a step. The step ends when the devices have finished. The duration of the step is not the duration of an
    individual op."""
    import jax

    return jax.profiler.StepTraceAnnotation(name, step_num=number)


def profile_methods(
    methods: Mapping[str, Callable[[], Any]],
    log_dir: str | os.PathLike[str],
    output_json: str | os.PathLike[str] | None = None,
) -> dict[str, dict[str, Any]]:
    """Times and records several functions in order. If one function fails, the others still run.

    Args:
        methods: The functions, by name.
        log_dir: Folder of the captures. Each capture is in ``<name>_trace``.
        output_json: Also write the results to this file.

    Returns:
        For each name: ``execution_time`` (milliseconds, after compilation and without recording; None if the function failed),
            ``success``, ``tensorboard_trace`` (folder of the capture, or None) and, if the function failed, ``error``.
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
    """Returns a function that calls ``test_func(benchmark, n_qubit)`` and waits for the device."""

    def call() -> Result:
        import jax

        return jax.block_until_ready(test_func(benchmark, n_qubit))

    return call


def print_tensorboard_summary(results: Mapping[str, Any], directory: str | os.PathLike[str]) -> None:
    """Prints where the captures are and how to view them. ``results`` maps names to folders, or is the result of
    :func:`profile_methods`."""
    for name, found in results.items():
        folder = found.get("tensorboard_trace") if isinstance(found, Mapping) else found
        print(f"{name}: {folder or 'not captured'}")
    print(f"crossprof view {directory}")

