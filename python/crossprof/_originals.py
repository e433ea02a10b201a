"""The names under which other projects knew their profiling helpers, on top of :func:`crossprof.trace` and
:func:`crossprof.capture`. Programs that import those keep their calls."""

from __future__ import annotations

import functools
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ._capture import Trace, capture, trace
from ._flops import FlopCounter
from ._names import write_text
from ._profiler import wait_for_devices

Result = TypeVar("Result")


class Profiler:
    """Records ``num_steps`` steps from a step number on, or the next ones on request."""

    def __init__(
        self,
        num_steps: int = 5,
        log_dir: str | os.PathLike[str] = "./profiler_traces",
        auto_enable_at_step: int | None = None,
        flop_counter: FlopCounter | None = None,
    ) -> None:
        """
        Args:
            num_steps: Steps of a capture.
            log_dir: Folder of the captures.
            auto_enable_at_step: The first step to record. A training that goes on from a later one records its first steps.
            flop_counter: With the tokens of :meth:`end_step`, a ``flop_stats.json`` is written to ``log_dir``.
        """
        self._log_dir = Path(log_dir)
        self._start_at = auto_enable_at_step
        self._num_steps = num_steps
        self._flop_counter = flop_counter
        self._capture = capture(log_dir, wait=_NEVER, warmup=0, active=num_steps, triggers=False)
        self._is_armed = False
        self._times: list[float] = []
        self._tokens: list[int] = []
        self._recorded_from: int | None = None
        self._begun: float | None = None

    @property
    def is_profiling(self) -> bool:
        """A capture is being recorded."""
        return self._recorded_from is not None

    @property
    def avg_step_time(self) -> float:
        """Mean time of the steps but the first, which compiles, in seconds; 0 before there are two. Without waiting for the device."""
        return statistics.fmean(self._times[1:]) if len(self._times) > 1 else 0.0

    def capture_async(self) -> None:
        """Records the next steps, unless a capture is being recorded."""
        if not self.is_profiling:
            self._is_armed = True

    def begin_step(self, step: int) -> None:
        """Call it before each step, with its number."""
        if self._start_at is not None and step >= self._start_at:
            self._start_at = None
            self._is_armed = True
        if self._is_armed and not self.is_profiling:
            self._is_armed = False
            self._tokens = []
            self._recorded_from = len(self._times)
            self._capture.begin(step, self._num_steps)
        self._begun = time.perf_counter()

    def end_step(self, num_tokens: int | None = None, value: Any = None) -> None:
        """Call it after each step, with its tokens over all devices and what it returned."""
        if self._begun is None:
            raise RuntimeError("end_step() without begin_step().")
        self._capture.step(value)
        self._times.append(time.perf_counter() - self._begun)
        self._begun = None
        if self._recorded_from is not None:
            self._tokens.append(num_tokens or 0)
            if len(self._times) - self._recorded_from >= self._num_steps:
                times, self._recorded_from = self._times[self._recorded_from :], None
                self._write_flop_stats(times)

    def _write_flop_stats(self, times: list[float]) -> None:
        counter, tokens = self._flop_counter, sum(self._tokens)
        if counter is None or tokens == 0:
            return
        seconds = sum(times)
        stats = {
            "profiling_steps": len(times),
            "total_tokens": tokens,
            "total_time_sec": seconds,
            "tokens_per_sec": tokens / seconds,
            "model_params": counter.num_params,
            "num_devices": counter.num_devices,
            "flops_per_token": counter.flops_per_token,
            "achieved_tflops": counter.achieved_flops(tokens, seconds) / 1e12,
            "peak_tflops": None if counter.peak_flops is None else counter.peak_flops / 1e12,
            "mfu_percent": counter.mfu_percent(tokens, seconds),
            "per_step_tokens": self._tokens,
            "per_step_times": times,
        }
        write_text(self._log_dir / "flop_stats.json", json.dumps(stats, indent=1) + "\n")


#: More steps than any training has.
_NEVER = 1 << 62


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
            with trace(Path(log_dir) / (name or function.__name__)):
                result = function(*args, **kwargs)
                wait_for_devices(result)
            return result

        return call

    return decorate


def time_jax_function(func: Callable[..., Result], *args: Any, **kwargs: Any) -> tuple[Result, float]:
    """What the function returns, and the milliseconds that it takes once it is compiled."""
    import jax

    jax.block_until_ready(func(*args, **kwargs))
    start = time.perf_counter()
    result = jax.block_until_ready(func(*args, **kwargs))
    return result, (time.perf_counter() - start) * 1e3


def benchmark_function(
    func: Callable[..., Any], *args: Any, num_iterations: int = 100, warmup: int = 10, **kwargs: Any
) -> dict[str, float]:
    """Times a function; each sample ends when the device is done.

    Returns:
        ``mean``, ``std`` (of the sample), ``min``, ``max`` and ``median`` in milliseconds, and ``first_call``: the time of the first call,
        which compiles, and is in none of the others.
    """
    if num_iterations < 1 or warmup < 0:
        raise ValueError("num_iterations is at least 1, warmup at least 0.")
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


@dataclass(frozen=True)
class ProfilingConfig:
    """What the environment says: PROFILE_ENABLED (1 or 0), PROFILE_DIR, PROFILE_START_STEP, PROFILE_INTERVAL (steps from one
    capture to the next, 0: one only), PROFILE_DURATION (steps of a capture) and PROFILE_MODE (tensorboard or perfetto)."""

    enabled: bool = False
    dir: str = "./profiles"
    start_step: int = 100
    interval: int = 1000
    duration: int = 1
    mode: str = "tensorboard"


def get_profiling_config() -> ProfilingConfig:
    """Reads the environment.

    Raises:
        ValueError: A variable has a value that it cannot have.
    """

    def number(name: str, default: int, least: int) -> int:
        text = os.environ.get(name, str(default))
        if not text.isdecimal() or int(text) < least:
            raise ValueError(f"{name}={text}: a whole number from {least} on.")
        return int(text)

    default = ProfilingConfig()
    mode = os.environ.get("PROFILE_MODE", default.mode)
    if mode not in ("tensorboard", "perfetto"):
        raise ValueError(f"PROFILE_MODE={mode}: tensorboard or perfetto.")
    duration = number("PROFILE_DURATION", default.duration, 1)
    interval = number("PROFILE_INTERVAL", default.interval, 0)
    if 0 < interval < duration:
        raise ValueError(f"PROFILE_INTERVAL={interval} is less than PROFILE_DURATION={duration}.")
    return ProfilingConfig(
        enabled=os.environ.get("PROFILE_ENABLED", "0") == "1",
        dir=os.environ.get("PROFILE_DIR", default.dir),
        start_step=number("PROFILE_START_STEP", default.start_step, 0),
        interval=interval,
        duration=duration,
        mode=mode,
    )


class _EnvironmentProfiler:
    """Records what the environment asks for."""

    def __init__(self) -> None:
        self._config = config = get_profiling_config()
        self._next_window = config.start_step if config.enabled else None
        self._capture = capture(
            config.dir, wait=_NEVER, warmup=0, active=config.duration, triggers=False, perfetto=config.mode == "perfetto"
        )

    def before_step(self, step: int) -> None:
        self._capture.step()
        if self._next_window is not None and step >= self._next_window:
            self._next_window = step + self._config.interval if self._config.interval else None
            self._capture.begin(step, self._config.duration)


_of_environment: _EnvironmentProfiler | None = None


def maybe_profile(step: int) -> None:
    """Call it before each step, with its number: records the steps that the environment asks for (:class:`ProfilingConfig`), which is read
    at the first call."""
    global _of_environment
    if _of_environment is None:
        _of_environment = _EnvironmentProfiler()
    _of_environment.before_step(step)


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
    with trace(folder, label=description.replace(" ", "_").replace("/", "_")[:60]):
        result = func()
        wait_for_devices(result)
    return result, str(folder)


def create_profiled_test_function(test_func: Callable[..., Result], benchmark: Any, n_qubit: int) -> Callable[[], Result]:
    """The call ``test_func(benchmark, n_qubit)``, which ends when the device is done."""

    def call() -> Result:
        import jax

        return jax.block_until_ready(test_func(benchmark, n_qubit))

    return call


def print_tensorboard_summary(results: dict[str, str], directory: str | os.PathLike[str]) -> None:
    """Prints where the captures lie and how to look at them."""
    for name, folder in results.items():
        print(f"{name}: {folder}")
    print(f"crossprof view {directory}")

