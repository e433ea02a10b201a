"""``crossprof.capture``: windows of a program, recorded without ever breaking it."""

from __future__ import annotations

import operator
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from . import _compiles, _triggers
from ._log import log
from ._names import claim_session
from ._processes import chosen, identity, next_number, requested_session
from ._profiler import Recording, is_foreign_start, mark, wait_for_devices
from ._schedule import Schedule
from ._settings import Settings, Workload, settings
from ._window import FOREIGN_STOP, Captured, Timing, Window

_NEVER = 1 << 62
#: In place of the time of a request: only this process was asked.
_OWN = 0


class Capture:
    """Records steps of a training. Made by :func:`capture`."""

    def __init__(
        self, settings: Settings, schedule: Schedule, *, first_step: int, step_name: str, memory_every: int | None, triggers: bool
    ) -> None:
        #: What was saved, in order.
        self.captures: list[Captured] = []
        #: What went wrong or is missing, in order; each was logged.
        self.errors: list[str] = []
        #: Said at the end if nothing was recorded; absent, the schedule's own words.
        self.reason_for_nothing: str | None = None
        self._number = next_number()
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
        self._request: tuple[int | None, int] | None = None
        self._lock = threading.RLock()
        self._is_ended = False
        self._reset()
        self._listens_to_requests = triggers
        for problem in _triggers.register_requests(self, settings.folder) if triggers else _triggers.register(self):
            self._say(problem)
        self._plan_next()
        if self._next <= 0:
            self._act(None)

    def __enter__(self) -> Capture:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if is_foreign_start(error) and self._window is not None:
            self._say("The program started JAX's profiler itself inside a window of crossprof: let them follow each other.")
        self.end("the block's end" if kind is None else kind.__name__)

    def step(self, value: Any = None, *, tokens: int | None = None) -> None:
        """Ends a step. Call it at the end of each, on one thread.

        Args:
            value: What the step returned. At the edges of a window the call waits for it; without it, for all arrays that exist.
            tokens: Tokens of this step over all devices, where they differ from step to step. The sidecar gets the mean of a window.
        """
        # Steps of several threads are counted right, too.
        with self._lock:
            self._done = done = self._done + 1
            if done >= self._next or self._request is not None:
                if self._window is not None and tokens is not None:
                    self._tokens.append(tokens)
                self._act(value)

    def request(self, steps: int | None = None, requested_ns: int = _OWN) -> None:
        """Asks for a capture of the next steps, beside those of the schedule; as many as its ``active`` where none are given. Any
        thread may. While a window is recorded, the request waits for its end. Processes that are asked with the same time record into one
        folder.

        Raises:
            ValueError: It is no number of steps.
        """
        if steps is not None and (type(steps) is not int or steps < 1):
            raise ValueError(f"steps is a whole number of steps from 1 on, not {steps!r}.")
        if not self._is_ended:
            self._request = (steps, requested_ns)

    def begin(self, step: int, steps: int, subfolder: str = "") -> None:
        """Records from now on so many steps, the first of which has the number ``step``, whatever the schedule says. Does nothing while a
        window is recorded."""
        with self._lock:
            if self._is_ended or self._window is not None or self._warmup is not None:
                return
            self._first_step = step - self._done
            self._window_settings = replace(self._settings, folder=self._settings.folder / subfolder)
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
            self._say_what_is_missing()
            self._reset()

    def _say_what_is_missing(self) -> None:
        """At the end: a schedule that recorded less than it should, and a request that came too late."""
        done = f"after {self._done} step{'' if self._done == 1 else 's'}"
        if self._request is not None:
            self._say(f"The program ended {done}, before the capture that was asked for.")
        start = self._schedule.start(0)
        if self.captures or self.errors:
            repeat, made = self._schedule.repeat, len(self.captures)
            if start is not None and made < repeat and not self.errors:
                self._say(f"The program ended {done}: {made} of {repeat} windows were recorded.")
        elif self.reason_for_nothing is not None:
            self._say(self.reason_for_nothing)
        elif start is not None and self._is_chosen():
            first = start + self._schedule.warmup
            self._say(
                f"No capture: the program ended {done}, and the first window begins after {first} "
                f"(wait={self._schedule.wait}, warmup={self._schedule.warmup}). Give a smaller wait."
            )

    def _is_chosen(self) -> bool:
        return self._settings.processes == "all" or self._takes_part()

    def _say(self, problem: str) -> None:
        if problem not in self.errors:
            log.error("%s", problem)
            self.errors.append(problem)

    def _reset(self) -> None:
        self._window: Window | None = None
        self._warmup: Recording | None = None
        self._window_settings = self._settings
        self._annotation: Any = None
        # Thread of the annotation: it belongs to that one.
        self._thread = 0
        self._tokens: list[int] = []
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

    def _plan(self, baseline: int, start: int, active: int, requested_ns: int | None) -> None:
        record = start + self._schedule.warmup
        self._queue = []
        if baseline < start:
            self._queue += [(baseline, self._begin_baseline), (start, self._end_baseline)]
        if record > start:
            self._queue += [(start, self._begin_warmup), (record, self._end_warmup)]
        self._queue += [(record, lambda value: self._record(record + active, requested_ns)), (record + active, self._finish)]

    def _act(self, value: Any) -> None:
        with self._lock:
            if self._is_ended:
                return
            self._guarded(lambda: self._act_now(value))

    def _act_now(self, value: Any) -> None:
        if self._window is not None and not self._window.is_running:
            # The program stopped the profiler: the steps after that are not in the window.
            self._queue = []
            self._save(FOREIGN_STOP, value)
        if self._window is not None:
            if self._queue and self._queue[0][0] <= self._done:
                # The last step ends with what the devices do for it, as the others do.
                wait_for_devices(value)
            self._next_step()
        is_idle = self._window is None and self._warmup is None
        if self._request is not None and is_idle:
            (steps, requested_ns), self._request = self._request, None
            active = steps or self._schedule.active
            # A scheduled window that is about to begin gives way.
            self._index -= bool(self._queue)
            self._plan(self._done, self._done + min(active, self._schedule.active), active, requested_ns)
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

    def _record(self, end: int, requested_ns: int | None) -> None:
        if not self._takes_part():
            return
        first = self._first_step + self._done
        label = f"steps_{first:06}-{self._first_step + end - 1:06}"
        for problem in [*_triggers.listen_to_end(), *(_triggers.listen_to_requests() if self._listens_to_requests else [])]:
            self._say(problem)
        if requested_ns is None:
            window = Window(self._window_settings, label, key=f"{self._number}/{first}")
        elif requested_ns == _OWN or identity()[1] == 1:
            # The other processes were asked for nothing.
            own = claim_session(self._settings.folder, f"{label}_requested")
            window = Window(self._settings, label, session=own, is_alone=True)
        else:
            window = Window(self._settings, label, session=requested_session(requested_ns, label))
        last = self._first_step + end - 1
        window.start(f"step {first}" if first == last else f"steps {first} to {last}")
        self._window = window
        self._first_recorded = self._done
        self._annotate()

    def _annotate(self) -> None:
        import jax

        annotation = jax.profiler.StepTraceAnnotation(self._step_name, step_num=self._first_step + self._done)
        annotation.__enter__()
        self._annotation = annotation
        self._thread = threading.get_ident()

    def _end_annotation(self) -> None:
        if self._annotation is not None:
            if threading.get_ident() != self._thread:
                self._say("Several threads call step(): the steps of this window are spread over their lines. Call it on one thread.")
            annotation, self._annotation = self._annotation, None
            annotation.__exit__(None, None, None)

    def _next_step(self) -> None:
        """Between two steps that are recorded."""
        self._end_annotation()
        if self._queue and self._done < self._queue[0][0]:
            # At once: a pause belongs to neither annotation.
            self._annotate()
        # The program may have set a handler of its own since the last step.
        _triggers.listen_to_end()
        recorded = self._done - self._first_recorded
        if self._window is not None and self._memory_every and recorded % self._memory_every == 0:
            self._window.save_memory(f"step_{self._first_step + self._done - 1}")

    def _finish(self, value: Any) -> None:
        if self._window is not None:
            self._save("schedule", value)

    def _save(self, reason: str, value: Any = None) -> None:
        window, self._window = self._window, None
        if window is None:
            return
        cut = None
        if reason != "schedule" and self._done > self._first_recorded:
            # An annotation that does not end is not recorded: a step that was cut short is none.
            cut, self._annotation = self._annotation, None
        self._end_annotation()
        if cut is None and window.is_running:
            mark("crossprof.steps_end")
        first = self._first_step + self._first_recorded
        # The program stopped the profiler in the step that was to be the last one.
        last = self._first_step + self._done - (2 if reason == FOREIGN_STOP else 1)
        tokens = sum(self._tokens) / len(self._tokens) if self._tokens else None
        try:
            self.captures.append(window.finish((first, max(first, last)), self._baseline, reason, value, tokens))
        finally:
            self.errors += window.problems
            # Kept until here, for it ends when nothing refers to it.
            del cut


def capture(
    folder: str | os.PathLike[str] = "profiles",
    *,
    wait: int | None = 10,
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
    argv: bool = False,
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
        wait: Steps before the first window. The last of them are timed, to be compared with those that are traced. None: record on
            request only.
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
        argv: Record the values of the program's flags too. Without it the sidecar has only their names; values that look like secrets
            are never recorded.

    Raises:
        ValueError, TypeError: An argument is wrong, or the folder cannot be written. Nothing was started.
        ImportError: JAX is not installed.
    """
    workload = Workload(batch_size, seq_length, tokens_per_step, params, trainable, dict(model or {}))
    if memory_every is not None and (type(memory_every) is not int or memory_every < 1):
        raise ValueError(f"memory_every is a whole number of steps from 1 on, not {memory_every!r}.")
    if not isinstance(step_name, str) or not step_name:
        raise ValueError(f"step_name is the name of the steps in the trace, not {step_name!r}.")
    schedule = Schedule(wait, warmup, active, repeat, every)
    first = _step_number(first_step)
    return Capture(
        settings(folder, processes, memory, options, advanced, workload, perfetto, argv),
        schedule,
        first_step=first,
        step_name=step_name,
        memory_every=memory_every,
        triggers=triggers,
    )


def _step_number(value: Any) -> int:
    try:
        # Training states hold it as an array or a number of NumPy.
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"first_step is the number of a step, not {value!r}.") from None
    if isinstance(value, bool) or number < 0:
        raise ValueError(f"first_step is the number of a step from 0 on, not {value!r}.")
    return number
