"""``crossprof.Profiler``: for training programs that mark the start and end of each step."""

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
    """Records ``num_steps`` steps, starting at a given step number or on request."""

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
            num_steps: Number of steps per capture.
            log_dir: Folder of the captures.
            auto_enable_at_step: First step to record. If the training continues from a later step, the steps from there on are
                recorded.
            flop_counter: Together with the tokens of :meth:`end_step`, writes a ``flop_stats.json`` to ``log_dir``.
            enabled: If False, all calls do nothing.
            batch_size: Samples per step over all devices.
            seq_length: Tokens per sample.

        Raises:
            ValueError, TypeError: An argument is invalid, or the folder cannot be written.
        """
        if type(num_steps) is not int or num_steps < 1:
            raise ValueError(f"num_steps must be a whole number of steps, 1 or more, not {num_steps!r}.")
        if auto_enable_at_step is not None and type(auto_enable_at_step) is not int:
            raise TypeError(f"auto_enable_at_step must be a step number, not {auto_enable_at_step!r}.")
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
        """Problems, in order. Each problem was also logged."""
        return [] if self._capture is None else self._capture.errors

    @property
    def is_profiling(self) -> bool:
        """True while a capture is being recorded."""
        return self._recorded_from is not None

    @property
    def avg_step_time(self) -> float:
        """Mean step time in seconds, without the first step, which compiles. The mean is 0 until two steps have ended. Does not
        wait for the device."""
        return statistics.fmean(self._times[1:]) if len(self._times) > 1 else 0.0

    def capture_async(self) -> None:
        """Records the next steps, unless a capture is being recorded or profiling is disabled."""
        if self._capture is None:
            if not self._is_armed:
                log.warning("Nothing is captured: profiling is off.")
        elif self.is_profiling:
            log.warning("Profiler already active: wait for the end of the capture that is being recorded.")
            return
        self._is_armed = True

    def begin_step(self, step: int) -> None:
        """Begins a step. Call this method before each step, with the step's number."""
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
        """Ends a step. Call this method after each step, with the step's tokens over all devices and its result."""
        if self._begun is None:
            raise RuntimeError("end_step() was called without begin_step().")
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
    """Adds ``--enable_profiling``, ``--profiler_start_step`` and ``--profiler_num_steps`` to a program's command line.
    :func:`from_args` creates a profiler from them."""
    group = parser.add_argument_group("profiling")
    group.add_argument("--enable_profiling", action="store_true", help="record steps with JAX's profiler")
    group.add_argument(
        "--profiler_start_step", type=int, default=150, metavar="N", help="the first step to record, -1: on request only (%(default)s)"
    )
    group.add_argument("--profiler_num_steps", type=int, default=5, metavar="N", help="steps to record (%(default)s)")


def from_args(arguments: argparse.Namespace, log_dir: str | os.PathLike[str] | None = None, **others: Any) -> Profiler:
    """Creates the profiler that the command-line arguments of :func:`add_arguments` describe. Without ``--enable_profiling``, the
    methods of this profiler do nothing.

    Args:
        arguments: Result of the parser.
        log_dir: Folder of the captures. By default ``profiler_traces``, below ``--checkpoint_dir`` if the program has that argument, or
            else in the current folder.
        **others: More arguments of :class:`Profiler`.

    Raises:
        ValueError, TypeError: An argument is invalid, or the folder cannot be written.
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
