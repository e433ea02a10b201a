"""One window of a program that is recorded: its folder, its trace, its memory profiles, its sidecar."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import _compiles
from ._names import claim_session, file_stem, publish, session_folder, write_text
from ._parameters import parameter_counts, placement
from ._processes import agreed, chosen, clock_offsets, identity
from ._profiler import Recording, add_metadata, wait_for_devices
from ._sidecar import environment

log = logging.getLogger("crossprof")

#: Tracing makes nothing faster; so much is noise.
_LEAST_RATIO = 0.9


@dataclass(frozen=True)
class Workload:
    """What a trace cannot know of the program."""

    batch_size: int | None = None
    seq_length: int | None = None
    tokens_per_step: int | None = None
    params: Any = None
    trainable: Any = None
    model: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("batch_size", "seq_length", "tokens_per_step"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise ValueError(f"{name} is a whole number from 1 on, not {value!r}.")
        if self.tokens_per_step is not None and self.batch_size is not None:
            if self.seq_length is None and self.tokens_per_step % self.batch_size:
                raise ValueError(
                    f"tokens_per_step={self.tokens_per_step} is no multiple of batch_size={self.batch_size}: give seq_length, too."
                )
            if self.seq_length is not None and self.tokens_per_step != self.batch_size * self.seq_length:
                raise ValueError("tokens_per_step is not batch_size times seq_length: give two of the three.")

    def fields(self) -> dict[str, Any]:
        """The fields that crossprof reads as a model configuration."""
        seq_length = self.seq_length
        if seq_length is None and self.tokens_per_step is not None and self.batch_size is not None:
            seq_length = self.tokens_per_step // self.batch_size
        counts = parameter_counts(self.params, self.trainable) if self.params is not None else {}
        given = {"batch_size": self.batch_size, "seq_length": seq_length, **counts, **self.model}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class Settings:
    """Everything about a capture that does not change."""

    folder: Path
    options: dict[str, Any]
    advanced: dict[str, Any]
    processes: str | int | Sequence[int]
    memory: bool
    workload: Workload
    perfetto: bool


@dataclass
class Timing:
    """Steps that were timed together, from one rest of the devices to the next."""

    steps: int
    seconds: float
    compiled: bool

    @property
    def per_step(self) -> float:
        return self.seconds / self.steps


@dataclass(frozen=True)
class Captured:
    """A capture that was saved."""

    #: ``<folder>/plugins/profile/<session>``: what ``crossprof`` and the page open.
    path: Path
    #: This process's part of it.
    file: Path
    #: Numbers of the first and the last step that were recorded; None where no steps were counted.
    steps: tuple[int, int] | None
    #: Time of a step with tracing over that without; None where it was not measured.
    slowdown: float | None


class Window:
    """From the moment before the profiler starts to the moment when everything is saved."""

    def __init__(
        self, settings: Settings, label: str, *, key: str = "", session: str | None = None, is_alone: bool = False
    ) -> None:
        """Chooses the folder: of ``session``, to whose name other processes come by themselves unless this one ``is_alone``, or one that
        they agree on under ``key``."""
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
        # All have to be here for it.
        is_of_all = session is None and len(self._participants) == processes
        self._clocks = clock_offsets(key, self.process, processes) if is_of_all else None
        self._recording = Recording(self.folder, file_stem(self.process, processes))
        self._stem = file_stem(self.process, processes)
        self._memory_profiles: list[str] = []
        self._started: float | None = None

    def start(self) -> None:
        """Waits for the devices and starts the profiler."""
        if self._settings.memory:
            self.save_memory("start")
        wait_for_devices()
        self._recording.start(self._settings.options, self._settings.advanced, perfetto=self._settings.perfetto)
        self._wall_clock_ns = time.time_ns()
        self._compiles = _compiles.count()
        self._started = time.perf_counter()

    def finish(self, steps: tuple[int, int] | None, baseline: Timing | None, ended_by: str, value: Any = None) -> Captured:
        """Waits for the devices, stops the profiler and saves."""
        wait_for_devices(value)
        seconds = time.perf_counter() - (self._started or 0.0)
        traced = None
        if steps is not None and ended_by == "schedule":
            traced = Timing(steps[1] - steps[0] + 1, seconds, _compiles.count() != self._compiles)
        try:
            about = self._about(steps, baseline, traced, ended_by)
        except Exception as error:
            log.error("The sidecar of the capture could not be made: %s", error)
            about = {}
        add_metadata("crossprof", json.dumps(about))
        file = self._recording.stop()
        if self._settings.memory:
            self.save_memory("end")
        if about:
            about["capture"]["memory_profiles"] = self._memory_profiles
            name = "crossprof.json" if self._is_leader else f"{self._stem}.capture.json"
            write_text(self.folder / name, json.dumps(about if self._is_leader else about["capture"], indent=1) + "\n")
        slowdown = about.get("capture", {}).get("slowdown", {}).get("ratio")
        log.info("Saved %s", file)
        return Captured(self.folder, file, steps, slowdown)

    def discard(self) -> None:
        """Stops the profiler and keeps nothing."""
        self._recording.discard()

    def save_memory(self, when: str) -> None:
        """Saves what fills the devices' memory now, beside the trace."""
        import jax

        name = f"{self._stem}.memory_{when}.prof"
        part = self.folder / f".{name}.{os.getpid()}"
        try:
            part.write_bytes(jax.profiler.device_memory_profile())
            publish(part, self.folder / name)
            self._memory_profiles.append(name)
        except Exception as error:
            log.error("The memory profile %s could not be saved: %s", name, error)
        finally:
            part.unlink(missing_ok=True)

    def _about(
        self, steps: tuple[int, int] | None, baseline: Timing | None, traced: Timing | None, ended_by: str
    ) -> dict[str, Any]:
        settings = self._settings
        capture: dict[str, Any] = {
            "session": self._session,
            **environment(),
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
        if settings.workload.tokens_per_step is not None:
            capture["tokens_per_step"] = settings.workload.tokens_per_step
        if self._clocks is not None:
            capture["clocks"] = self._clocks
        if settings.workload.params is not None:
            capture.update(placement(settings.workload.params))
        return {**settings.workload.fields(), "capture": capture}


def slowdown(baseline: Timing | None, traced: Timing | None) -> dict[str, Any]:
    """How much longer a step takes while it is traced: seconds per step of both, and the ratio, or why there is none."""
    made: dict[str, Any] = {}
    for name, timing in (("untraced", baseline), ("traced", traced)):
        if timing is not None:
            made[f"{name}_step_s"] = timing.per_step
            made[f"{name}_steps"] = timing.steps
    if baseline is None:
        made["not_measured"] = "No step was timed before the capture: let it wait for at least two steps."
    elif traced is None:
        made["not_measured"] = "The capture ended before its last step."
    elif baseline.compiled or traced.compiled:
        made["not_measured"] = "A program was compiled in one of the timed steps."
    elif traced.per_step < _LEAST_RATIO * baseline.per_step:
        made["not_measured"] = "The steps before the capture took longer than those in it: let it wait until the program has warmed up."
    else:
        made["ratio"] = traced.per_step / baseline.per_step
    return made
