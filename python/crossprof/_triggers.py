"""What asks a running program for a capture, and what ends one: signals, a file that is touched, the end of the program."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import threading
import time
import weakref
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from ._processes import client

log = logging.getLogger("crossprof")

#: Below the folder of the captures: ``touch profiles/capture-now``, or ``echo 20 > profiles/capture-now`` for 20 steps.
REQUEST_FILE = "capture-now"
_POLL_S = 0.5


class Listener(Protocol):
    """What can be asked."""

    def request(self, steps: int | None = None, session: str | None = None) -> None: ...

    def end(self, reason: str) -> None: ...


_listeners: weakref.WeakSet[Any] = weakref.WeakSet()
_terminate_before: Any = None


def register(listener: Listener) -> None:
    """Ends the listener's capture when the program ends or is terminated."""
    if not _listeners:
        atexit.register(_end_all, "exit")
    _listeners.add(listener)
    _install(signal.SIGTERM, _terminated)


def register_requests(listener: Listener, folder: Path) -> None:
    """Asks the listener for a capture on SIGUSR1, and when the request file is touched."""
    register(listener)
    if hasattr(signal, "SIGUSR1"):
        _install(signal.SIGUSR1, _requested)
    thread = threading.Thread(target=_watch, args=(weakref.ref(listener), folder / REQUEST_FILE), daemon=True, name="crossprof")
    thread.start()


def unregister(listener: Listener) -> None:
    """The listener needs nothing any more."""
    _listeners.discard(listener)


def _install(number: signal.Signals, handler: Any) -> None:
    """Handles a signal, before whoever does now; a signal that other code than Python's handles is left alone."""
    global _terminate_before
    if threading.current_thread() is not threading.main_thread():
        log.debug("Only the main thread can listen to signals.")
        return
    before = signal.getsignal(number)
    if before is handler or before is None:
        return
    if number == signal.SIGUSR1 and before is not signal.SIG_DFL:
        log.debug("The program uses SIGUSR1 itself.")
        return
    if number == signal.SIGTERM:
        if before is signal.SIG_DFL and client() is not None:
            # Python does not see that jax.distributed listens to it, to save a checkpoint before a machine is taken away.
            log.debug("SIGTERM is left to jax.distributed.")
            return
        _terminate_before = before
    signal.signal(number, handler)


def _end_all(reason: str) -> None:
    for listener in list(_listeners):
        listener.end(reason)


def _terminated(number: int, frame: FrameType | None) -> None:
    _end_all("SIGTERM")
    if callable(_terminate_before):
        _terminate_before(number, frame)
    elif _terminate_before is signal.SIG_DFL:
        # The program ends as it would have.
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def _requested(_number: int, _frame: FrameType | None) -> None:
    for listener in list(_listeners):
        listener.request()


def _watch(listener: weakref.ref[Any], file: Path) -> None:
    """Looks whether the file is newer than it was. It is never removed: other processes may watch it, too."""
    known = _modified(file)
    while True:
        time.sleep(_POLL_S)
        now = _modified(file)
        if now is not None and now != known:
            asked = listener()
            if asked is None:
                return
            # All processes that see the file come to the same name.
            session = time.strftime("%Y_%m_%d_%H_%M_%S", time.localtime(now / 1e9)) + f"_requested_{now % 1_000_000_000:09}"
            asked.request(_steps(file), session)
            del asked
        elif listener() is None:
            return
        known = now


def _modified(file: Path) -> int | None:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return None


def _steps(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
        return int(text) if text and int(text) > 0 else None
    except (OSError, ValueError):
        log.error("%s holds no number of steps: the usual number is captured.", file)
        return None
