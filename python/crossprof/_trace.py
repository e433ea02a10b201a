"""``crossprof.trace``: records a block of a program. Errors in the profiler never stop the program."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from . import _triggers
from ._log import log
from ._errors import ProfileError
from ._names import check_label
from ._processes import chosen, identity, next_number
from ._memory import Reader
from ._profiler import is_foreign_start, mark, wait_for_devices
from ._settings import Workload, settings
from ._window import Captured, Window

if TYPE_CHECKING:
    from ._profile import Profile


class Trace:
    """Result of :func:`trace`."""

    def __init__(self) -> None:
        #: The saved capture. None until it is saved, or if saving failed.
        self.captured: Captured | None = None
        #: The problem, if any. It was also logged.
        self.error: str | None = None
        self._window: Window | None = None
        self._reader = Reader()

    def profile(self) -> Profile:
        """Returns the profile of the block, after its end. The profile is read only once.

        Raises:
            ProfileError: Nothing was recorded. The message of the exception is :attr:`error`.
        """
        if self.captured is None:
            raise ProfileError(self.error or "This process has not recorded anything: the block has not ended, or processes= left it out.")
        return self._reader.profiles([self.captured])[0]

    def end(self, reason: str) -> None:
        """Saves the events that were recorded so far."""
        _triggers.unregister(self)
        window, self._window = self._window, None
        try:
            if window is not None:
                wait_for_devices()
                mark("crossprof.end")
                self.captured = window.finish(None, None, reason)
                self.error = " ".join(window.problems) or None
        except Exception as error:
            self._fail(error)

    def request(self, steps: int | None = None, session: str | None = None) -> None:
        """Does nothing, because the block is already being recorded."""

    def _fail(self, error: Exception | str) -> None:
        log.error("%s%s", "No capture: " if self.captured is None else "", error)
        self.error = str(error)


@contextmanager
def trace(
    folder: str | os.PathLike[str] | None = "profiles",
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
    argv: bool = False,
    power: bool = True,
) -> Iterator[Trace]:
    """Records a block. See :func:`capture` for the arguments and the saved files.

    ::

        with crossprof.trace("profiles"):
            for batch in data:
                state = train_step(state, batch)

    Without a folder, the profile stays in memory, and covers the devices of its process::

        with crossprof.trace(None) as trace:
            ...
        trace.profile().report["step_timing"]

    Args:
        label: Added to the name of the capture.

    Raises:
        ValueError, TypeError: An argument is invalid, or the folder cannot be written. Nothing was started.
        ImportError: JAX is not installed.
    """
    workload = Workload(batch_size, seq_length, tokens_per_step, params, trainable, dict(model or {}))
    check_label(label)
    chosen_settings = settings(folder, processes, memory, options, advanced, workload, perfetto, argv, power)
    made = Trace()
    made._reader.use(chosen_settings)
    number = next_number()
    try:
        process, count = identity()
        if process in chosen(processes, count):
            window = Window(chosen_settings, label, key=str(number))
            window.start()
            made._window = window
            _triggers.register(made)
            # If a program runs once in the block, the block is the step. No op shows where the step begins and ends, so marks are
            # recorded.
            mark("crossprof.begin")
    except Exception as error:
        made._fail(error)
    try:
        yield made
    except BaseException as error:
        is_recorded = made._window is not None
        made.end(type(error).__name__)
        if is_recorded and is_foreign_start(error):
            made._fail("The program itself started JAX's profiler inside the block. Do not let the two overlap.")
        raise
    made.end("the block's end")
