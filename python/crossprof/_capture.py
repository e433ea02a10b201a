"""``crossprof.trace`` and ``crossprof.capture``: windows of a program, recorded without ever breaking it."""

from __future__ import annotations

import itertools
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from . import _compiles, _triggers
from ._names import claim_session, local_folder
from ._options import checked
from ._processes import check_processes, chosen, identity
from ._profiler import Recording, wait_for_devices
from ._schedule import Schedule
from ._window import Captured, Settings, Timing, Window, Workload

log = logging.getLogger("crossprof")

_NEVER = 1 << 62
#: In place of a session's name: that of a capture which this process alone was asked for.
_OWN = ""
#: Numbers of captures, which all processes of a job make in the same order.
_numbers = itertools.count()


def _settings(
    folder: str | os.PathLike[str],
    processes: str | int | Sequence[int],
    memory: bool,
    options: dict[str, Any] | None,
    advanced: dict[str, Any] | None,
    workload: Workload,
    perfetto: bool,
) -> Settings:
    # `crossprof scale` collects the captures of its runs.
    folder = os.environ.get("CROSSPROF_FOLDER") or folder
    check_processes(processes)
    in_force, extra = checked(options, advanced)
    return Settings(local_folder(folder), in_force, extra, processes, memory, workload, perfetto)


class Capture:
    """Records steps of a training. Made by :func:`capture`."""

    def __init__(
        self, settings: Settings, schedule: Schedule, *, first_step: int, step_name: str, memory_every: int | None, triggers: bool
    ) -> None:
        #: What was saved, in order.
        self.captures: list[Captured] = []
        #: What went wrong, in order; each was logged.
        self.errors: list[str] = []
        self._number = next(_numbers)
        self._settings = settings
        self._schedule = schedule
        self._first_step = first_step
        self._step_name = step_name
        self._memory_every = memory_every
        # Steps that are done.
        self._done = 0
        # The least number of done steps at which something is to be done.
        self._next = 0
        self._queue: list[tuple[int, Callable[[Any], None]]] = []
        self._index = 0
        self._request: tuple[int | None, str | None] | None = None
        self._lock = threading.RLock()
        self._is_ended = False
        self._reset()
        if triggers:
            _triggers.register_requests(self, settings.folder)
        else:
            _triggers.register(self)
        self._plan_next()
        if self._next <= 0:
            self._act(None)

    def __enter__(self) -> Capture:
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: object) -> None:
        self.end("the block's end" if kind is None else kind.__name__)

    def step(self, value: Any = None) -> None:
        """Says that a step is done. Call it at the end of each.

        Args:
            value: What the step returned. At the edges of a window the call waits for it; without it, for all arrays that exist.
        """
        self._done = done = self._done + 1
        if done >= self._next:
            self._act(value)

    def request(self, steps: int | None = None, session: str | None = None) -> None:
        """Asks for a capture of the next steps, beside those of the schedule; as many as its ``active`` where none are given. Any
        thread may. While a window is recorded, the request waits for its end."""
        if not self._is_ended:
            self._request = (steps, session)
            self._next = 0

    def begin(self, step: int, steps: int) -> None:
        """Records from now on so many steps, the first of which has the number ``step``, whatever the schedule says. Does nothing while a
        window is recorded."""
        with self._lock:
            if self._is_ended or self._window is not None or self._warmup is not None:
                return
            self._first_step = step - self._done
            end = self._done + steps
            self._queue = [(self._done, lambda _value: self._record(end, None)), (end, self._finish)]
            self._guarded(lambda: self._act_now(None))

    def end(self, reason: str = "the program") -> None:
        """Ends the capture. What is recorded until now is saved."""
        with self._lock:
            if self._is_ended:
                return
            self._is_ended = True
            self._next = _NEVER
            _triggers.unregister(self)
            if self._window is not None:
                self._guarded(lambda: self._save(reason))
            elif self._warmup is not None:
                self._guarded(self._warmup.discard)
            self._reset()

    def _reset(self) -> None:
        self._window: Window | None = None
        self._warmup: Recording | None = None
        self._annotation: Any = None
        self._baseline: Timing | None = None
        self._first_recorded = 0
        self._clock = 0.0
        self._compiled = 0

    # Planning: a list of actions, each with the number of done steps at which it is due.

    def _plan_next(self) -> None:
        """Plans the next window of the schedule, or waits for requests."""
        while (start := self._schedule.start(self._index)) is not None and start < self._done:
            # Its time went by while something else was recorded.
            self._index += 1
        if start is None:
            self._queue = []
        else:
            untimed = start - self._schedule.baseline_steps(self._index)
            self._plan(max(untimed, self._done), start, self._schedule.active, None)
            self._index += 1
        self._next = self._queue[0][0] if self._queue else _NEVER
        if self._request is not None:
            self._next = 0

    def _plan(self, baseline: int, start: int, active: int, session: str | None) -> None:
        record = start + self._schedule.warmup
        self._queue = []
        if baseline < start:
            self._queue += [(baseline, self._begin_baseline), (start, self._end_baseline)]
        if record > start:
            self._queue += [(start, self._begin_warmup), (record, self._end_warmup)]
        self._queue += [(record, lambda value: self._record(record + active, session)), (record + active, self._finish)]

    def _act(self, value: Any) -> None:
        with self._lock:
            if self._is_ended:
                return
            self._guarded(lambda: self._act_now(value))

    def _act_now(self, value: Any) -> None:
        if self._window is not None:
            if self._queue and self._queue[0][0] <= self._done:
                # The last step ends with what the devices do for it, as the others do.
                wait_for_devices(value)
            self._next_step()
        is_idle = self._window is None and self._warmup is None
        if self._request is not None and is_idle:
            (steps, session), self._request = self._request, None
            session = session or _OWN
            active = steps or self._schedule.active
            # A scheduled window that is about to begin gives way.
            self._index -= bool(self._queue)
            self._plan(self._done, self._done + min(active, self._schedule.active), active, session)
        while self._queue and self._queue[0][0] <= self._done:
            self._queue.pop(0)[1](value)
        if self._queue:
            self._next = self._done + 1 if self._window is not None else self._queue[0][0]
        else:
            self._reset()
            self._plan_next()

    def _guarded(self, act: Callable[[], object]) -> None:
        """A profile is not worth a training: what goes wrong is said, and the training goes on."""
        try:
            act()
        except Exception as error:
            log.error("No capture: %s", error)
            self.errors.append(str(error))
            self._abandon()

    def _abandon(self) -> None:
        for recording in (self._warmup, self._window):
            try:
                if recording is not None:
                    recording.discard()
            except Exception as error:
                log.debug("Ending a capture that failed: %s", error)
        self._reset()
        self._request = None
        if not self._is_ended:
            self._plan_next()

    # Actions.

    def _begin_baseline(self, value: Any) -> None:
        wait_for_devices(value)
        self._compiled = _compiles.count()
        self._baseline = Timing(self._done, 0.0, False)
        self._clock = time.perf_counter()

    def _end_baseline(self, value: Any) -> None:
        wait_for_devices(value)
        if self._baseline is not None:
            seconds = time.perf_counter() - self._clock
            self._baseline = Timing(self._done - self._baseline.steps, seconds, _compiles.count() != self._compiled)

    def _takes_part(self) -> bool:
        process, count = identity()
        return process in chosen(self._settings.processes, count)

    def _begin_warmup(self, _value: Any) -> None:
        if self._takes_part():
            # The first start loads the tracer of the devices, and distorts what it records.
            warmup = Recording(self._settings.folder, "warmup")
            warmup.start(self._settings.options, self._settings.advanced)
            self._warmup = warmup

    def _end_warmup(self, value: Any) -> None:
        if self._warmup is not None:
            wait_for_devices(value)
            warmup, self._warmup = self._warmup, None
            warmup.discard()

    def _record(self, end: int, session: str | None) -> None:
        if not self._takes_part():
            return
        first = self._first_step + self._done
        label = f"steps_{first:06}-{self._first_step + end - 1:06}"
        if session is None:
            window = Window(self._settings, label, key=f"{self._number}/{first}")
        elif session == _OWN:
            # The other processes were asked for nothing.
            window = Window(self._settings, label, session=claim_session(self._settings.folder, label), is_alone=True)
        else:
            window = Window(self._settings, label, session=session)
        window.start()
        self._window = window
        self._first_recorded = self._done
        self._annotate()

    def _annotate(self) -> None:
        import jax

        annotation = jax.profiler.StepTraceAnnotation(self._step_name, step_num=self._first_step + self._done)
        annotation.__enter__()
        self._annotation = annotation

    def _end_annotation(self) -> None:
        if self._annotation is not None:
            annotation, self._annotation = self._annotation, None
            annotation.__exit__(None, None, None)

    def _next_step(self) -> None:
        """Between two steps that are recorded."""
        self._end_annotation()
        recorded = self._done - self._first_recorded
        if self._window is not None and self._memory_every and recorded % self._memory_every == 0:
            self._window.save_memory(f"step_{self._first_step + self._done - 1}")
        if self._queue and self._done < self._queue[0][0]:
            self._annotate()

    def _finish(self, value: Any) -> None:
        if self._window is not None:
            self._save("schedule", value)

    def _save(self, reason: str, value: Any = None) -> None:
        self._end_annotation()
        window, self._window = self._window, None
        if window is None:
            return
        first = self._first_step + self._first_recorded
        # A step that was cut short is in the trace, too.
        last = self._first_step + self._done - (1 if reason == "schedule" else 0)
        self.captures.append(window.finish((first, max(first, last)), self._baseline, reason, value))


def capture(
    folder: str | os.PathLike[str] = "profiles",
    *,
    wait: int = 10,
    warmup: int = 1,
    active: int = 5,
    repeat: int = 1,
    every: int | None = None,
    processes: str | int | Sequence[int] = "all",
    first_step: int = 0,
    step_name: str = "train",
    memory: bool = True,
    memory_every: int | None = None,
    triggers: bool = True,
    batch_size: int | None = None,
    seq_length: int | None = None,
    tokens_per_step: int | None = None,
    params: Any = None,
    trainable: Any = None,
    model: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    advanced: dict[str, Any] | None = None,
    perfetto: bool = False,
) -> Capture:
    """Records some steps of a training, and costs the others nothing.

    ::

        with crossprof.capture("profiles", wait=10, active=5, batch_size=32, seq_length=2048) as capture:
            for batch in data:
                state = train_step(state, batch)
                capture.step(state)

    Each capture becomes a folder ``profiles/plugins/profile/<time>_steps_<first>-<last>``, all processes of a job in one, with a
    sidecar ``crossprof.json``. Nothing is overwritten. What goes wrong is logged (logger ``crossprof``) and kept in ``errors``; it never
    ends the training. An exception, the end of the program and SIGTERM inside a window save what was recorded until then
    (SIGTERM not under ``jax.distributed``, which itself listens to it).

    While the program runs, ``kill -USR1 <pid>`` or ``touch profiles/capture-now`` record the next steps; the file may hold their number.

    Args:
        folder: A local folder, the same for all processes.
        wait: Steps before the first window. The last of them are timed, to be compared with those that are traced.
        warmup: Steps that are recorded and thrown away: the first start of the profiler is slow.
        active: Steps that are kept. Two to five tell most; a GPU trace over 2 GB is lost.
        repeat: Windows; 0 for as many as the program lasts.
        every: Steps from the start of a window to the next one's; without it the next wait begins at once.
        processes: "all", or the numbers of those that record (``jax.process_index()``).
        first_step: Number of the first step, where a training goes on from a checkpoint.
        step_name: Name of the steps in the trace.
        memory: Also save what fills the devices' memory, before and after the window.
        memory_every: And after each so many steps of it, which takes time within the trace.
        triggers: Listen to SIGUSR1 and to the file.
        batch_size: Samples per step over all devices.
        seq_length: Tokens per sample.
        tokens_per_step: Tokens per step over all devices, instead of one of the two.
        params: The model's parameters, a pytree: they are counted and their placement is noted.
        trainable: Which of them are trained: see :func:`parameter_counts`.
        model: Further fields of a model configuration (``{"num_layers": 32}``).
        options: Options of ``jax.profiler.ProfileOptions``. The Python tracer is off, the compiled programs are kept.
        advanced: Its ``advanced_configuration``.
        perfetto: Also write ``perfetto_trace.json.gz``.

    Raises:
        ValueError, TypeError: An argument is wrong. Nothing was started.
    """
    workload = Workload(batch_size, seq_length, tokens_per_step, params, trainable, dict(model or {}))
    if memory_every is not None and (type(memory_every) is not int or memory_every < 1):
        raise ValueError(f"memory_every is a whole number of steps from 1 on, not {memory_every!r}.")
    return Capture(
        _settings(folder, processes, memory, options, advanced, workload, perfetto),
        Schedule(wait, warmup, active, repeat, every),
        first_step=first_step,
        step_name=step_name,
        memory_every=memory_every,
        triggers=triggers,
    )


class Trace:
    """What :func:`trace` records."""

    def __init__(self) -> None:
        #: The folder of the capture, once it is saved; None where it could not be.
        self.captured: Captured | None = None
        #: What went wrong; it was logged.
        self.error: str | None = None
        self._window: Window | None = None

    def end(self, reason: str) -> None:
        """Saves what is recorded until now."""
        _triggers.unregister(self)
        window, self._window = self._window, None
        try:
            if window is not None:
                self.captured = window.finish(None, None, reason)
        except Exception as error:
            self._fail(error)

    def request(self, steps: int | None = None, session: str | None = None) -> None:
        """It records already."""

    def _fail(self, error: Exception) -> None:
        log.error("No capture: %s", error)
        self.error = str(error)


@contextmanager
def trace(
    folder: str | os.PathLike[str] = "profiles",
    *,
    label: str = "",
    processes: str | int | Sequence[int] = "all",
    memory: bool = True,
    batch_size: int | None = None,
    seq_length: int | None = None,
    tokens_per_step: int | None = None,
    params: Any = None,
    trainable: Any = None,
    model: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    advanced: dict[str, Any] | None = None,
    perfetto: bool = False,
) -> Iterator[Trace]:
    """Records what the block does; see :func:`capture` for the arguments and for what is saved.

    ::

        with crossprof.trace("profiles"):
            for batch in data:
                state = train_step(state, batch)

    Args:
        label: Added to the name of the capture.

    Raises:
        ValueError, TypeError: An argument is wrong. Nothing was started.
    """
    workload = Workload(batch_size, seq_length, tokens_per_step, params, trainable, dict(model or {}))
    settings = _settings(folder, processes, memory, options, advanced, workload, perfetto)
    made = Trace()
    number = next(_numbers)
    try:
        process, count = identity()
        if process in chosen(processes, count):
            window = Window(settings, label, key=str(number))
            window.start()
            made._window = window
            _triggers.register(made)
    except Exception as error:
        made._fail(error)
    try:
        yield made
    except BaseException as error:
        made.end(type(error).__name__)
        raise
    made.end("the block's end")
