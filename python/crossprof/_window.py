"""One recorded window of a program: its folder, trace, memory profiles and sidecar."""

from __future__ import annotations

import json
import os
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _compiles, _power, _redact
from ._log import log
from ._names import claim_session, file_stem, publish, session_folder, write_text
from ._parameters import placement
from ._processes import agreed, chosen, clock_offsets, identity
from ._profiler import Recording, add_metadata, wait_for_devices
from ._settings import Settings
from ._sidecar import environment

if TYPE_CHECKING:
    from ._profile import Profile

#: Value of ``ended_by`` if the program ended the window by stopping JAX's profiler.
FOREIGN_STOP = "jax.profiler.stop_trace"
#: Tracing never makes steps faster. Ratios down to this value are noise.
_LEAST_RATIO = 0.9


@dataclass
class Timing:
    """Steps that were timed together. The devices were idle before the first step and after the last."""

    steps: int
    seconds: float
    compiled: bool

    @property
    def per_step(self) -> float:
        return self.seconds / self.steps


@dataclass(frozen=True)
class Captured:
    """A saved capture."""

    #: ``<folder>/plugins/profile/<session>``. ``crossprof`` and the page can open it.
    path: Path
    #: This process's file in it.
    file: Path
    #: Numbers of the first and the last recorded step. None if steps were not counted.
    steps: tuple[int, int] | None
    #: Time of a traced step divided by that of an untraced step. None if it was not measured.
    slowdown: float | None

    def profile(self) -> Profile:
        """Reads the capture like :func:`open`.

        Raises:
            ProfileError: The files are no longer there.
        """
        from ._profile import open

        return open(self.path)


class Window:
    """A window lasts from before the start of the profiler until all files are saved."""

    def __init__(
        self, settings: Settings, label: str, *, key: str = "", session: str | None = None, is_alone: bool = False
    ) -> None:
        """Chooses the folder. If ``session`` is given, the folder has that name. Unless this process ``is_alone``, other processes
        choose the same name. If ``session`` is not given, the processes agree on a name under ``key``.
        """
        self._settings = settings
        self.process, processes = identity()
        self._participants = chosen(settings.processes, processes)
        is_leader = is_alone or self.process == self._participants[0]
        if session is None:
            self._session = agreed(f"session/{key}", is_leader, lambda: claim_session(settings.folder, label))
        else:
            self._session = session
        self.folder = session_folder(settings.folder, self._session)
        self._is_leader = is_leader
        # Needs all processes.
        is_of_all = session is None and len(self._participants) == processes
        self._clocks = clock_offsets(key, self.process, processes) if is_of_all else None
        self._recording = Recording(self.folder, file_stem(self.process, processes))
        self._stem = file_stem(self.process, processes)
        self._memory_profiles: list[str] = []
        self._started: float | None = None
        self._power: _power.Sampler | None = None
        #: Problems of a capture that was saved nevertheless.
        self.problems: list[str] = []

    @property
    def is_running(self) -> bool:
        """Returns False if the program has stopped JAX's profiler."""
        return self._recording.is_running

    def start(self, what: str = "") -> None:
        """Waits for the devices and starts the profiler. ``what`` is a description, which is written into the sidecar.

        Raises:
            CaptureError: The profiler does not start. No file is left in the folder.
        """
        try:
            if self._settings.memory:
                self.save_memory("start")
            wait_for_devices()
            self._power = _power.begin() if self._settings.power else None
            self._recording.start(self._settings.options, self._settings.advanced, perfetto=self._settings.perfetto)
        except BaseException:
            self._end_power()
            self._remove()
            raise
        log.info("Recording %sinto %s", f"{what} " if what else "", self.folder)
        self._wall_clock_ns = time.time_ns()
        self._compiles = _compiles.count()
        self._started = time.perf_counter()

    def finish(
        self,
        steps: tuple[int, int] | None,
        baseline: Timing | None,
        ended_by: str,
        value: Any = None,
        tokens_per_step: float | None = None,
    ) -> Captured:
        """Waits for the devices, stops the profiler and saves the capture.

        Raises:
            CaptureError: The capture could not be saved. None of the capture's files are left.
        """
        wait_for_devices(value)
        seconds = time.perf_counter() - (self._started or 0.0)
        samples = self._end_power()
        if not self.is_running:
            ended_by = FOREIGN_STOP
            self._say("The program itself stopped JAX's profiler inside the window, so nothing after that was recorded.")
        traced = None
        if steps is not None and ended_by == "schedule":
            traced = Timing(steps[1] - steps[0] + 1, seconds, _compiles.count() != self._compiles)
        try:
            about = self._about(steps, baseline, traced, ended_by, tokens_per_step)
            if samples is not None:
                about["capture"]["device_samples"] = samples
        except Exception as error:
            self._say(f"The sidecar of the capture could not be created: {error}")
            about = {}
        if self.is_running:
            add_metadata("crossprof", json.dumps(about))
        try:
            file = self._recording.stop()
        except BaseException:
            self._remove()
            raise
        if self._settings.memory:
            self.save_memory("end")
        if about:
            about["capture"]["memory_profiles"] = self._memory_profiles
            name = "crossprof.json" if self._is_leader else f"{self._stem}.capture.json"
            write_text(self.folder / name, json.dumps(about if self._is_leader else about["capture"], indent=1) + "\n")
        slowdown = about.get("capture", {}).get("slowdown", {}).get("ratio")
        size = sum(path.stat().st_size for path in self.folder.glob(f"{self._stem}*"))
        if self._settings.is_temporary:
            log.info("Recorded %s", _size(size))
        else:
            log.info("Saved %s (%s). To view it: crossprof view %s", self.folder, _size(size), shlex.quote(str(self._settings.folder)))
        return Captured(self.folder, file, steps, slowdown)

    def discard(self) -> None:
        """Stops the profiler and deletes all files of the capture."""
        try:
            self._end_power()
            self._recording.discard()
        finally:
            self._remove()

    def _end_power(self) -> dict[str, Any] | None:
        sampler, self._power = self._power, None
        return None if sampler is None else sampler.end()

    def _remove(self) -> None:
        """Removes the remaining files of a failed capture, because a folder with only memory profiles looks like a run."""
        for name in self._memory_profiles:
            (self.folder / name).unlink(missing_ok=True)
        try:
            self.folder.rmdir()
        except OSError:
            # Another process has files in it.
            pass

    def _say(self, problem: str) -> None:
        log.error("%s", problem)
        self.problems.append(problem)

    def save_memory(self, when: str) -> None:
        """Saves the devices' current memory profile next to the trace."""
        import jax

        name = f"{self._stem}.memory_{when}.prof"
        part = self.folder / f".{name}.{os.getpid()}"
        try:
            part.write_bytes(jax.profiler.device_memory_profile())
            publish(part, self.folder / name)
            self._memory_profiles.append(name)
        except Exception as error:
            self._say(f"The memory profile {name} could not be saved: {error}")
        finally:
            part.unlink(missing_ok=True)

    def _about(
        self,
        steps: tuple[int, int] | None,
        baseline: Timing | None,
        traced: Timing | None,
        ended_by: str,
        tokens_per_step: float | None,
    ) -> dict[str, Any]:
        settings = self._settings
        capture: dict[str, Any] = {
            "session": self._session,
            **environment(settings.argv),
            "process": self.process,
            "captured_processes": self._participants,
            "wall_clock_ns": self._wall_clock_ns,
            "ended_by": ended_by,
            "options": settings.options,
            "advanced_options": settings.advanced,
            "slowdown": slowdown(baseline, traced),
        }
        if steps is not None:
            capture["steps"] = {"first": steps[0], "last": steps[1], "count": steps[1] - steps[0] + 1}
        tokens = tokens_per_step if tokens_per_step is not None else settings.workload.tokens_per_step
        if tokens is not None:
            capture["tokens_per_step"] = int(tokens) if tokens == int(tokens) else tokens
        if self._clocks is not None:
            capture["clocks"] = self._clocks
        if settings.workload.params is not None:
            capture.update(placement(settings.workload.params))
        made: dict[str, Any] = _redact.without_home({**settings.workload.fields(), "capture": capture})
        return made


def _size(number: int) -> str:
    return f"{number / 1e6:.1f} MB" if number >= 1e6 else f"{number / 1e3:.0f} kB"


def slowdown(baseline: Timing | None, traced: Timing | None) -> dict[str, Any]:
    """Returns how much tracing slows a step down: the seconds per step with and without tracing and their ratio, or the reason why
    the slowdown is unknown.
    """
    made: dict[str, Any] = {}
    for name, timing in (("untraced", baseline), ("traced", traced)):
        if timing is not None:
            made[f"{name}_step_s"] = timing.per_step
            made[f"{name}_steps"] = timing.steps
    if baseline is None:
        made["not_measured"] = "No step was timed before the capture: let the capture wait for at least two steps (wait=2)."
    elif traced is None:
        made["not_measured"] = "The capture ended before its last step."
    elif baseline.compiled or traced.compiled:
        made["not_measured"] = "A program was compiled in one of the timed steps."
    elif traced.per_step < _LEAST_RATIO * baseline.per_step:
        made["not_measured"] = (
            "The steps before the capture took longer than the steps in it: give a larger wait, so that the program has warmed up."
        )
    else:
        made["ratio"] = traced.per_step / baseline.per_step
    return made
