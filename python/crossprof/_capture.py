"""``crossprof.capture``: records parts of a program. Errors in the profiler never stop the program."""

from __future__ import annotations

import operator
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from . import _compiles, _triggers
from ._log import log
from ._memory import Reader
from ._names import claim_session
from ._processes import chosen, identity, next_number, requested_session
from ._profiler import Recording, is_foreign_start, mark, wait_for_devices
from ._schedule import Schedule
from ._settings import Settings, Workload, settings
from ._window import FOREIGN_STOP, Captured, Timing, Window

if TYPE_CHECKING:
    from ._profile import Profile

_NEVER = 1 << 62
#: Stands for the time of a request that was made only to this process.
_OWN = 0


class Capture:
    """Records steps of a training program. Created by :func:`capture`."""

    def __init__(
        self, settings: Settings, schedule: Schedule, *, first_step: int, step_name: str, memory_every: int | None, triggers: bool
    ) -> None:
        #: Saved captures, in order.
        self.captures: list[Captured] = []
        #: Problems, in order. Each was also logged.
        self.errors: list[str] = []
        #: Logged at the end if nothing was recorded. If None, the schedule's own message is used.
        self.reason_for_nothing: str | None = None
        self._number = next_number()
        self._settings = settings
        self._reader = Reader()
        self._reader.use(settings)
        self._schedule = schedule
        self._first_step = first_step
        self._step_name = step_name
        self._memory_every = memory_every
        # Number of finished steps.
        self._done = 0
        # Number of finished steps at which the next action is due.
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
            self._say("The program itself started JAX's profiler inside a crossprof window. Do not let the two overlap.")
        self.end("the block's end" if kind is None else kind.__name__)

    def step(self, value: Any = None, *, tokens: int | None = None) -> None:
        """Ends a step. Call this method at the end of every step, always on the same thread.

        Args:
            value: Result of the step. At the edges of a window, the call waits for this value. If it is None, the call waits for
                all existing arrays.
            tokens: Tokens of this step over all devices, if they vary between steps. The sidecar contains the mean of the tokens
                over a window.
        """
        # Keeps the count correct even if several threads call step().
        with self._lock:
            self._done = done = self._done + 1
            if done >= self._next or self._request is not None:
                if self._window is not None and tokens is not None:
                    self._tokens.append(tokens)
                self._act(value)

    def profiles(self) -> list[Profile]:
        """Returns the profiles of the saved :attr:`captures`, in order. Each profile is read only once.

        Raises:
            ProfileError: The files of a capture are no longer there.
        """
        return self._reader.profiles(self.captures)

    def request(self, steps: int | None = None, requested_ns: int = _OWN) -> None:
        """Requests a capture of the next steps, in addition to the scheduled captures. Without ``steps``, the capture has as many
        steps as a scheduled capture (``active``). May be called on any thread. If a window is being recorded, the request waits for
        its end. Processes with the same ``requested_ns`` record into one folder.

        Raises:
            ValueError: ``steps`` is not a positive whole number.
        """
        if steps is not None and (type(steps) is not int or steps < 1):
            raise ValueError(f"steps must be a whole number of steps, 1 or more, not {steps!r}.")
        if not self._is_ended:
            self._request = (steps, requested_ns)

    def begin(self, step: int, steps: int, subfolder: str = "") -> None:
        """Starts recording ``steps`` steps now, regardless of the schedule. The first recorded step has the number ``step``. Does
        nothing while a window is being recorded."""
        with self._lock:
            if self._is_ended or self._window is not None or self._warmup is not None:
                return
            self._first_step = step - self._done
            self._window_settings = replace(self._settings, folder=self._settings.folder / subfolder)
            end = self._done + steps
            self._queue = [(self._done, lambda _value: self._record(end, None)), (end, self._finish)]
            self._guarded(lambda: self._act_now(None))

    def end(self, reason: str = "the program") -> None:
        """Ends the capture and saves the steps that were recorded so far."""
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
        """Reports a schedule that recorded less than planned, and a request that came too late. This method is called when the
        capture ends."""
        done = f"after {self._done} step{'' if self._done == 1 else 's'}"
        if self._request is not None:
            self._say(f"The program ended {done}, before the requested capture.")
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
        # Thread that started the annotation. The annotation belongs to it.
        self._thread = 0
        self._tokens: list[int] = []
        self._baseline: Timing | None = None
        self._first_recorded = 0
        self._clock = 0.0
        self._compiled = 0

    # Planning: a list of actions, each with the number of finished steps at which it is due.

    def _plan_next(self) -> None:
        """Plans the next window of the schedule, or waits for requests."""
        while (start := self._schedule.start(self._index)) is not None and start < self._done:
            # The window's time has passed while another capture was recorded.
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
            # The program stopped the profiler, so later steps are not in the window.
            self._queue = []
            self._save(FOREIGN_STOP, value)
        if self._window is not None:
            if self._queue and self._queue[0][0] <= self._done:
                # The last step includes the devices' work for it, like the other steps.
                wait_for_devices(value)
            self._next_step()
        is_idle = self._window is None and self._warmup is None
        if self._request is not None and is_idle:
            (steps, requested_ns), self._request = self._request, None
            active = steps or self._schedule.active
            # Postpones a scheduled window that is about to begin.
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
        """Logs errors of an action and continues: a failed profile must not stop the training."""
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
                log.debug("A failed capture could not be ended: %s", error)
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
            # The first start loads the tracer of the devices, which distorts the recording.
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
            # The other processes received no request.
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
                self._say(
                    "Several threads call step(): the steps of this window are spread over several lines. Call step() on one thread."
                )
            annotation, self._annotation = self._annotation, None
            annotation.__exit__(None, None, None)

    def _next_step(self) -> None:
        """Ends one recorded step and begins the next."""
        self._end_annotation()
        if self._queue and self._done < self._queue[0][0]:
            # Without delay, so that no gap falls between the annotations.
            self._annotate()
        # The program may have set its own handler since the last step.
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
            # An annotation that never ends is not recorded, so an interrupted step is not included.
            cut, self._annotation = self._annotation, None
        self._end_annotation()
        if cut is None and window.is_running:
            mark("crossprof.steps_end")
        first = self._first_step + self._first_recorded
        # The program stopped the profiler during the step that would have been the last one.
        last = self._first_step + self._done - (2 if reason == FOREIGN_STOP else 1)
        tokens = sum(self._tokens) / len(self._tokens) if self._tokens else None
        try:
            self.captures.append(window.finish((first, max(first, last)), self._baseline, reason, value, tokens))
        finally:
            self.errors += window.problems
            # Kept alive until here, because the annotation ends when its last reference is gone.
            del cut


def capture(
    folder: str | os.PathLike[str] | None = "profiles",
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
    power: bool = True,
) -> Capture:
    """Records some steps of a training program. The other steps run at full speed.

    ::

        with crossprof.capture("profiles", wait=10, active=5, batch_size=32, seq_length=2048) as capture:
            for batch in data:
                state = train_step(state, batch)
                capture.step(state)

    Each capture becomes a folder ``profiles/plugins/profile/<time>_steps_<first>-<last>`` with a sidecar ``crossprof.json``. All
    processes of a job write into this folder. Nothing is overwritten. Problems are logged (logger ``crossprof``) and added to
    ``errors``. Problems never end the training. If an exception, the end of the program or SIGTERM interrupts a window, the steps
    recorded so far are saved. Under ``jax.distributed``, a window that SIGTERM interrupts is not saved, because JAX handles the
    signal itself.

    While the program runs, ``kill -USR1 <pid>`` or ``touch profiles/capture-now`` record the next steps. The file may contain the
    number of steps.

    Args:
        folder: A local folder. All processes must use the same folder. If None, the captures stay in memory, and ``profiles()``
            returns them. In each process, the profiles cover the devices of that process.
        wait: Steps before the first window. The last of these steps are timed, for comparison with the traced steps. If None, steps
            are recorded only on request.
        warmup: Steps to record and discard, because the first start of the profiler is slow.
        active: Steps to keep. Two to five are usually enough. A GPU trace over 2 GB is lost.
        repeat: Number of windows, or 0 for no limit.
        every: Steps from the start of one window to the start of the next. If None, the next wait begins immediately after a window.
        processes: "all", or the numbers of the processes that record (``jax.process_index()``).
        first_step: Number of the first step, if the training continues from a checkpoint.
        step_name: Name of the steps in the trace.
        memory: Also save memory profiles of the devices, before and after the window.
        memory_every: Also save a memory profile each time this many steps of the window have ended. Saving takes time during the
            trace.
        triggers: Accept requests by SIGUSR1 and by the file.
        batch_size: Samples per step over all devices.
        seq_length: Tokens per sample.
        tokens_per_step: Tokens per step over all devices. Pass two of ``batch_size``, ``seq_length`` and ``tokens_per_step``, or
            only ``tokens_per_step``.
        params: The model's parameters, a pytree. The parameters are counted, and their sharding is recorded.
        trainable: The parameters that are trained: see :func:`parameter_counts`.
        model: More fields of a model configuration (``{"num_layers": 32}``).
        options: Options of ``jax.profiler.ProfileOptions``. By default, the Python tracer is off and compiled programs are recorded.
        advanced: The options' ``advanced_configuration``.
        perfetto: Also write ``perfetto_trace.json.gz``.
        argv: Also record the values of the program's flags. By default, the sidecar contains only the names of the flags. Values
            that look like secrets are never recorded.
        power: Also sample the power, clocks and temperature of NVIDIA GPUs during a window, on a separate thread.

    Raises:
        ValueError, TypeError: An argument is invalid, or the folder cannot be written. Nothing was started.
        ImportError: JAX is not installed.
    """
    workload = Workload(batch_size, seq_length, tokens_per_step, params, trainable, dict(model or {}))
    if memory_every is not None and (type(memory_every) is not int or memory_every < 1):
        raise ValueError(f"memory_every must be a whole number of steps, 1 or more, not {memory_every!r}.")
    if not isinstance(step_name, str) or not step_name:
        raise ValueError(f"step_name must be the name of the steps in the trace, not {step_name!r}.")
    schedule = Schedule(wait, warmup, active, repeat, every)
    first = _step_number(first_step)
    return Capture(
        settings(folder, processes, memory, options, advanced, workload, perfetto, argv, power),
        schedule,
        first_step=first,
        step_name=step_name,
        memory_every=memory_every,
        triggers=triggers,
    )


def _step_number(value: Any) -> int:
    try:
        # Training states store it as an array or a NumPy number.
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"first_step must be a step number, not {value!r}.") from None
    if isinstance(value, bool) or number < 0:
        raise ValueError(f"first_step must be a step number, 0 or more, not {value!r}.")
    return number
