"""Events that start or end a capture of a running program: signals, a touched file, and the end of the program."""

from __future__ import annotations

import atexit
import os
import signal
import threading
import time
import weakref
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from ._log import log
from ._processes import client

#: In the folder of the captures. ``touch profiles/capture-now`` requests a capture, and ``echo 20 > profiles/capture-now`` one of 20
#: steps.
REQUEST_FILE = "capture-now"
_POLL_S = 0.5


class Listener(Protocol):
    """An object that accepts requests for a capture."""

    def request(self, steps: int | None = None, requested_ns: int = 0) -> None: ...

    def end(self, reason: str) -> None: ...


_listeners: weakref.WeakSet[Any] = weakref.WeakSet()
#: The program's own SIGTERM handlers, in the order in which they were found.
_terminate_before: list[Any] = []
#: Number of these handlers that are running, one called by the other.
_terminating = 0


def register(listener: Listener) -> list[str]:
    """Ends the listener's capture when the program ends or is terminated. Returns messages about events that cannot be handled."""
    if not _listeners:
        atexit.register(_end_all, "exit")
    _listeners.add(listener)
    return listen_to_end()


def register_requests(listener: Listener, folder: Path) -> list[str]:
    """Requests captures from the listener on SIGUSR1 and when the request file is touched. Returns messages about events that cannot be
    handled."""
    problems = [*register(listener), *listen_to_requests()]
    file = folder / REQUEST_FILE
    watch = (weakref.ref(listener), file, _modified(file))
    threading.Thread(target=_watch, args=watch, daemon=True, name="crossprof").start()
    return problems


def unregister(listener: Listener) -> None:
    """Removes the listener."""
    _listeners.discard(listener)


def listen_to_end() -> list[str]:
    """Handles SIGTERM, even if the program has set its own handler since the last call. The program's handler runs after the
    capture is saved. Returns messages about events that cannot be handled."""
    if threading.current_thread() is not threading.main_thread():
        return []
    before = signal.getsignal(signal.SIGTERM)
    if before is _terminated:
        return []
    if before is None:
        return ["SIGTERM is handled by code outside of Python: a window that it ends is not saved."]
    if before is signal.SIG_DFL and client() is not None:
        # jax.distributed handles SIGTERM to save a checkpoint before a machine is taken away. Python cannot see its handler.
        log.debug("SIGTERM is left to jax.distributed.")
        return []
    _terminate_before.append(before)
    signal.signal(signal.SIGTERM, _terminated)
    return []


def listen_to_requests() -> list[str]:
    """Handles SIGUSR1, unless the program handles it. Returns messages about events that cannot be handled."""
    if not hasattr(signal, "SIGUSR1"):
        return []
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread can set a handler.
        if signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL:
            return [f"The capture was created outside of the main thread: SIGUSR1 would end the program. Touch {REQUEST_FILE} instead."]
        return []
    before = signal.getsignal(signal.SIGUSR1)
    if before is signal.SIG_DFL:
        signal.signal(signal.SIGUSR1, _requested)
    elif before is not _requested:
        return [f"The program handles SIGUSR1 itself, so the signal requests no capture. Touch {REQUEST_FILE} instead."]
    return []


def _end_all(reason: str) -> None:
    for listener in list(_listeners):
        listener.end(reason)


def _terminated(number: int, frame: FrameType | None) -> None:
    global _terminating
    _end_all("SIGTERM")
    # A handler of the program may call the handler that it replaced, which is this one.
    if _terminating >= len(_terminate_before):
        return
    _terminating += 1
    try:
        before = _terminate_before[-_terminating]
        if callable(before):
            before(number, frame)
        elif before is signal.SIG_DFL and _terminating == 1:
            # Lets the program end as it would without this handler. If a handler of the program called this one, that handler decides.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
    finally:
        _terminating -= 1


def _requested(_number: int, _frame: FrameType | None) -> None:
    for listener in list(_listeners):
        listener.request()


def _watch(listener: weakref.ref[Any], file: Path, known: int | None) -> None:
    """Checks whether the file was touched. Never removes the file, because other processes may watch it too."""
    while True:
        time.sleep(_POLL_S)
        now = _modified(file)
        asked = listener()
        if asked is None:
            return
        if now is not None and now != known:
            # All processes that see the file see the same time.
            asked.request(_steps(file), now)
        known = now
        del asked


def _modified(file: Path) -> int | None:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return None


def _steps(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
        if not text:
            return None
        if int(text) > 0:
            return int(text)
    except (OSError, ValueError):
        pass
    log.error("%s contains no number of steps: the default number is captured.", file)
    return None
