"""Captures that are controlled by environment variables."""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import TracebackType

from ._capture import Capture, capture
from ._log import log


@dataclass(frozen=True)
class ProfilingConfig:
    """Settings from environment variables: PROFILE_ENABLED (1 or 0, true or false), PROFILE_DIR, PROFILE_START_STEP, PROFILE_INTERVAL
    (steps from one capture to the next, or 0 for a single capture), PROFILE_DURATION (steps per capture) and PROFILE_MODE (tensorboard
    or perfetto). PROFILER_CAPTURE_STEP alone requests a single capture that starts at that step."""

    enabled: bool = False
    dir: str = "./profiles"
    start_step: int = 100
    interval: int = 1000
    duration: int = 1
    mode: str = "tensorboard"


_SWITCHES = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False, "": False}


def get_profiling_config() -> ProfilingConfig:
    """Reads the environment variables.

    Raises:
        ValueError: A variable has an invalid value.
    """

    def number(name: str, default: int, least: int) -> int:
        text = os.environ.get(name, str(default)).strip()
        if not text.isdecimal() or int(text) < least:
            raise ValueError(f"{name}={text}: must be a whole number, {least} or more.")
        return int(text)

    default = ProfilingConfig()
    start_step, interval = default.start_step, default.interval
    is_step_given = bool(os.environ.get("PROFILER_CAPTURE_STEP"))
    if is_step_given:
        start_step, interval = number("PROFILER_CAPTURE_STEP", 0, 0), 0
    switch = os.environ.get("PROFILE_ENABLED", "1" if is_step_given else "0").strip().lower()
    if switch not in _SWITCHES:
        raise ValueError(f"PROFILE_ENABLED={switch}: must be 1 or 0, true or false.")
    mode = os.environ.get("PROFILE_MODE", default.mode)
    if mode not in ("tensorboard", "perfetto"):
        raise ValueError(f"PROFILE_MODE={mode}: must be tensorboard or perfetto.")
    duration = number("PROFILE_DURATION", default.duration, 1)
    interval = number("PROFILE_INTERVAL", interval, 0)
    if 0 < interval < duration:
        raise ValueError(f"PROFILE_INTERVAL={interval} is less than PROFILE_DURATION={duration}.")
    return ProfilingConfig(
        enabled=_SWITCHES[switch],
        dir=os.environ.get("PROFILE_DIR", default.dir),
        start_step=number("PROFILE_START_STEP", start_step, 0),
        interval=interval,
        duration=duration,
        mode=mode,
    )


class _Step:
    """The step for which :func:`maybe_profile` was called. In a ``with`` statement, the step ends with the block."""

    def __init__(self, profiler: _EnvironmentProfiler) -> None:
        self._profiler = profiler

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self._profiler.end_step()


class _EnvironmentProfiler:
    """Records the captures that the environment variables request."""

    def __init__(self) -> None:
        self._config = config = get_profiling_config()
        self._next_window = config.start_step if config.enabled else None
        self._capture: Capture | None = None
        self._is_in_step = False
        self.step = _Step(self)
        if not config.enabled:
            return
        self._capture = capture(
            config.dir, wait=None, warmup=0, active=config.duration, triggers=False, perfetto=config.mode == "perfetto"
        )
        self._capture.reason_for_nothing = (
            f"No capture: the program ended before step {config.start_step} (PROFILE_START_STEP or PROFILER_CAPTURE_STEP)."
        )
        steps = "1 step" if config.duration == 1 else f"{config.duration} steps"
        repeats = f"every {config.interval} steps" if config.interval else "once"
        log.info("Profiling %s from step %s on, %s, into %s", steps, config.start_step, repeats, config.dir)

    def begin_step(self, step: int) -> None:
        self.end_step()
        self._is_in_step = True
        if self._capture is not None and self._next_window is not None and step >= self._next_window:
            self._next_window = step + self._config.interval if self._config.interval else None
            # One folder per capture. TensorBoard lists captures by their folder.
            self._capture.begin(step, self._config.duration, f"step_{step:08}")

    def end_step(self) -> None:
        if self._is_in_step and self._capture is not None:
            self._capture.step()
        self._is_in_step = False


_of_environment: _EnvironmentProfiler | None = None


def maybe_profile(step: int) -> _Step:
    """Records the steps that the environment variables request (:class:`ProfilingConfig`). The first call reads the variables.
    Call it before each step with the step's number, alone or in a ``with`` statement around the step::

        with crossprof.maybe_profile(step):
            state = train_step(state, batch)

    Raises:
        ValueError: A variable has an invalid value.
    """
    global _of_environment
    if _of_environment is None:
        _of_environment = _EnvironmentProfiler()
    _of_environment.begin_step(step)
    return _of_environment.step
