"""``crossprof lake import``: writes many captures with a pool of processes."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, TextIO

from .._progress import clock_text, size_text
from ._write import record_failure, write

#: Captures per process that wait for a free process, so that none is idle.
_AHEAD = 2
_INTERVAL_S = 0.2
_WIDTH = 24


def import_all(paths: list[str], lake: str, jobs: int, events: bool, watch: Callable[[dict[str, Any]], None]) -> dict[str, int]:
    """Writes captures, and calls ``watch`` with the status of each. Returns the number of captures with each status."""
    counts: dict[str, int] = {}
    statuses = _in_this_process(paths, lake, events) if jobs == 1 else _in_processes(paths, lake, jobs, events)
    for status in statuses:
        counts[status["status"]] = counts.get(status["status"], 0) + 1
        watch(status)
    return counts


def _in_this_process(paths: list[str], lake: str, events: bool) -> Iterator[dict[str, Any]]:
    return (write(path, lake, events=events) for path in paths)


def _in_processes(paths: list[str], lake: str, jobs: int, events: bool) -> Iterator[dict[str, Any]]:
    waiting = deque(paths)
    # JAX and other libraries in this process have threads, which a fork would not copy.
    context = get_context("spawn")
    while waiting:
        running: dict[Future[dict[str, Any]], str] = {}
        try:
            with ProcessPoolExecutor(jobs, context) as pool:
                while waiting or running:
                    while waiting and len(running) < _AHEAD * jobs:
                        path = waiting[0]
                        running[pool.submit(write, path, lake, events=events)] = path
                        waiting.popleft()
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        status = future.result()
                        del running[future]
                        yield status
        except BrokenProcessPool:
            # One of these captures ended its process. Alone, it is the only one to fail.
            for path in running.values():
                yield _alone(path, lake, events)


def _alone(path: str, lake: str, events: bool) -> dict[str, Any]:
    """Writes a capture in a separate process."""
    try:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            return pool.submit(write, path, lake, events=events).result()
    except BrokenProcessPool:
        return record_failure(path, lake, f"{path}: the process ended while it read this capture. The machine may lack memory.")


class Bar:
    """One line with the progress. The line appears only on a terminal, and is removed at the end."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._is_shown = self._stream.isatty() and not os.environ.get("TQDM_DISABLE")
        self._total, self._done, self._shown = total, 0, 0
        #: Sums over the captures so far.
        self.events, self.errors = 0, 0
        self._began = time.monotonic()
        self._last = 0.0

    def __call__(self, status: dict[str, Any]) -> None:
        """Counts a capture."""
        self._done += 1
        self.events += status["events"] or 0
        self.errors += status["status"] == "failed"
        now = time.monotonic()
        if self._is_shown and now - self._last >= _INTERVAL_S:
            self._last = now
            self._write(line(self._done, self._total, self.events, self.errors, now - self._began))

    def _write(self, text: str) -> None:
        self._stream.write("\r" + text.ljust(self._shown))
        self._stream.flush()
        self._shown = len(text)

    def close(self) -> float:
        """Removes the progress line, and returns the time since the start."""
        if self._shown:
            self._write("")
            self._stream.write("\r")
        return time.monotonic() - self._began


def line(done: int, total: int, events: int, errors: int, seconds: float) -> str:
    """Formats ``Importing:  45%|##########              | 450/1000 captures, 12.3M events, 2 errors [00:10<00:12]``."""
    part = done / total if total else 1.0
    left = clock_text(seconds / done * (total - done)) if done else "?"
    bar = ("#" * round(part * _WIDTH)).ljust(_WIDTH)
    return f"Importing: {part:4.0%}|{bar}| {done}/{total} captures, {size_text(events)} events, {errors} errors [{clock_text(seconds)}<{left}]"
