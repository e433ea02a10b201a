"""``crossprof.Profiler``: a training that says when its steps begin and end."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

from ._capture import Capture, capture
from ._flops import FlopCounter
from ._log import log
from ._names import write_text


class Profiler:
    """Records ``num_steps`` steps from a step number on, or the next ones on request."""

    def __init__(
        self,
        num_steps: int = 5,
        log_dir: str | os.PathLike[str] = "./profiler_traces",
        auto_enable_at_step: int | None = None,
        flop_counter: FlopCounter | None = None,
        *,
        enabled: bool = True,
        batch_size: int | None = None,
        seq_length: int | None = None,
    ) -> None:
        """
        Args:
            num_steps: Steps of a capture.
            log_dir: Folder of the captures.
            auto_enable_at_step: The first step to record. A training that goes on from a later one records its first steps.
            flop_counter: With the tokens of :meth:`end_step`, a ``flop_stats.json`` is written to ``log_dir``.
            enabled: Without it the calls do nothing.
            batch_size: Samples per step over all devices.
            seq_length: Tokens per sample.

        Raises:
            ValueError, TypeError: An argument is wrong, or the folder cannot be written.
        """
        if type(num_steps) is not int or num_steps < 1:
            raise ValueError(f"num_steps is a whole number of steps from 1 on, not {num_steps!r}.")
        if auto_enable_at_step is not None and type(auto_enable_at_step) is not int:
            raise TypeError(f"auto_enable_at_step is the number of a step, not {auto_enable_at_step!r}.")
        self._log_dir = Path(log_dir)
        self._start_at = auto_enable_at_step
        self._num_steps = num_steps
        self._flop_counter = flop_counter
        self._capture: Capture | None = None
        if enabled:
            self._capture = capture(
                log_dir, wait=None, warmup=0, active=num_steps, triggers=False, batch_size=batch_size, seq_length=seq_length
            )
            if auto_enable_at_step is not None:
                self._capture.reason_for_nothing = f"No capture: the program ended before step {auto_enable_at_step}."
        self._is_armed = False
        self._times: list[float] = []
        self._tokens: list[int] = []
        self._recorded_from: int | None = None
        self._begun: float | None = None

    @property
    def errors(self) -> list[str]:
        """What went wrong or is missing, in order; each was logged."""
        return [] if self._capture is None else self._capture.errors

    @property
    def is_profiling(self) -> bool:
        """A capture is being recorded."""
        return self._recorded_from is not None

    @property
    def avg_step_time(self) -> float:
        """Mean time of the steps but the first, which compiles, in seconds; 0 before there are two. Without waiting for the device."""
        return statistics.fmean(self._times[1:]) if len(self._times) > 1 else 0.0

    def capture_async(self) -> None:
        """Records the next steps, unless a capture is being recorded or profiling is off."""
        if self._capture is None:
            if not self._is_armed:
                log.warning("Nothing is captured: profiling is off.")
        elif self.is_profiling:
            log.warning("Profiler already active: wait for the end of the capture that is being recorded.")
            return
        self._is_armed = True

    def begin_step(self, step: int) -> None:
        """Call it before each step, with its number."""
        if self._start_at is not None and step >= self._start_at:
            self._start_at = None
            self._is_armed = True
        if self._is_armed and not self.is_profiling and self._capture is not None:
            self._is_armed = False
            self._tokens = []
            self._recorded_from = len(self._times)
            self._capture.begin(step, self._num_steps)
        self._begun = time.perf_counter()

    def end_step(self, num_tokens: int | None = None, value: Any = None) -> None:
        """Call it after each step, with its tokens over all devices and what it returned."""
        if self._begun is None:
            raise RuntimeError("end_step() without begin_step().")
        if self._capture is not None:
            self._capture.step(value, tokens=num_tokens)
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds ``--enable_profiling``, ``--profiler_start_step`` and ``--profiler_num_steps`` to a program's command line;
    :func:`from_args` makes a profiler of them."""
    group = parser.add_argument_group("profiling")
    group.add_argument("--enable_profiling", action="store_true", help="record steps with JAX's profiler")
    group.add_argument(
        "--profiler_start_step", type=int, default=150, metavar="N", help="the first step to record, -1: on request only (%(default)s)"
    )
    group.add_argument("--profiler_num_steps", type=int, default=5, metavar="N", help="steps to record (%(default)s)")


def from_args(arguments: argparse.Namespace, log_dir: str | os.PathLike[str] | None = None, **others: Any) -> Profiler:
    """Makes the profiler that a command line asks for (:func:`add_arguments`). Without ``--enable_profiling`` its calls do nothing.

    Args:
        arguments: What the parser returned.
        log_dir: Folder of the captures; ``profiler_traces`` below ``--checkpoint_dir`` if the program has that argument, else here.
        **others: Further arguments of :class:`Profiler`.

    Raises:
        ValueError, TypeError: An argument is wrong, or the folder cannot be written.
    """
    if log_dir is None:
        log_dir = Path(getattr(arguments, "checkpoint_dir", None) or ".") / "profiler_traces"
    start = arguments.profiler_start_step
    return Profiler(
        arguments.profiler_num_steps,
        log_dir,
        None if start < 0 else start,
        enabled=arguments.enable_profiling,
        **others,
    )
