"""Writes a capture to a lake."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import _native
from .._errors import ProfileError
from . import _rows, _schema
from ._files import Files, files_at
from ._store import Store, encoded_events


def write(capture: str | os.PathLike[str], lake: str | os.PathLike[str], *, events: bool = False) -> dict[str, Any]:
    """Reads a capture and writes its numbers to a lake. This function is safe to repeat, to kill and to call from several
    processes.

    Args:
        capture: A profile, or the folder of one run (``plugins/profile/<session>``) with the files of all its hosts, or the URL of
            one of these (``gs://bucket/run/plugins/profile/<session>``).
        lake: Folder of the lake, or its URL (``s3://bucket/lake``). The lake is created if needed.
        events: Also write every event.

    Returns:
        A dict: ``capture`` (the path), ``capture_id``, ``status``, ``events``, ``seconds`` and ``error``. The status is
        ``written``, ``unchanged`` (the lake already contains the capture), ``replaced`` (the capture had been written by an older
        version of crossprof, or without events) or ``failed``. A capture that cannot be read does not raise an exception: ``error``
        contains the reason, and so does a row of the table ``imports``.

    Raises:
        OSError: The lake cannot be written.
        ProfileError: The path of the lake contains a folder that engines would read as a column (``run=17``), or a package for this kind of
            bucket is missing.
    """
    began = time.perf_counter()
    path = os.fspath(capture)
    made = _Write(files_at(path), path, Store(lake), events)
    made.run()
    return {
        "capture": path,
        "capture_id": made.capture_id,
        "status": made.status,
        "events": made.events,
        "seconds": time.perf_counter() - began,
        "error": made.error,
    }


#: Name of the exception for a panic of the native library. It derives from BaseException.
_PANIC = "PanicException"
#: Workload and month, the file of each table, and the row of ``imports``.
Rows = tuple[list[str], dict[str, Any], dict[str, Any]]


class _Unreadable(Exception):
    """The files of the capture cannot be read. Errors about files of the lake raise other exceptions."""


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (OSError, MemoryError) as error:
        raise _Unreadable(getattr(error, "strerror", None) or str(error) or "the memory is full") from None


class _Write:
    """Writes one capture."""

    def __init__(self, files: Files, path: str, store: Store, with_events: bool) -> None:
        self.files, self.store, self.with_events = files, store, with_events
        #: The path as text. Files may contain only Unicode, unlike names of files.
        self.path = path.encode("utf-8", "backslashreplace").decode()
        self.capture_id: str | None = None
        self.status = "failed"
        self.error: str | None = None
        self.events: int | None = None
        self.size, self.num_files = 0, 0

    def run(self) -> None:
        try:
            self._run()
        except _Unreadable as error:
            # The next import tries again.
            self.capture_id = None
            self.fail(f"{self.path}: {error}")

    def _run(self) -> None:
        source = self._source()
        with _reading():
            state = self.files.state()
        self.size, self.num_files = sum(file[1] or 0 for file in state), len(state)
        known = self.store.state("sources", source)
        if known.get("files") == state and self._is_there(known.get("capture_id")):
            return
        with _reading():
            self.capture_id = self.files.content_hash()
        is_there = self._is_there(self.capture_id)
        with _reading():
            read = None if is_there else self._read(self.capture_id)
            if self.files.state() != state:
                raise OSError("its files changed while they were read; write it again")
        # Another writer may have finished since, perhaps a newer version or one with events.
        if read is not None and not self._is_there(self.capture_id):
            self._store(self.capture_id, *read)
        self._forget(f"path-{source}")
        if known.get("capture_id") != self.capture_id and all(file in state for file in known.get("files", [None])):
            # The files of other hosts were added.
            self._forget(known["capture_id"])
        self.store.set_state("sources", source, {"files": state, "capture_id": self.capture_id})

    def _source(self) -> str:
        """Returns the hash of the path."""
        return hashlib.sha256(self.files.place.encode("utf-8", "surrogateescape")).hexdigest()[:32]

    def fail(self, error: str) -> None:
        """Records that the capture at this path cannot be read."""
        self._store(f"path-{self._source()}", *self._failed(error))

    def _forget(self, name: str) -> None:
        """Removes a capture, or the row which states that a path could not be read."""
        state = self.store.state("captures", name)
        if state:
            for place in state["places"]:
                self.store.remove(name, place, state["tables"])
            self.store.forget("captures", name)

    def _is_there(self, capture_id: str | None) -> bool:
        """Returns true if the lake contains the capture, complete, undamaged and from this or a newer version. If the lake contains
        the capture, takes over the status that is stored there."""
        if capture_id is None:
            return False
        state = self.store.state("captures", capture_id)
        if not state.get("complete") or _schema.is_older(state["stamp"]) or (self.with_events and not state["has_events"]):
            return False
        (place,), sizes = state["places"], state.get("sizes", {})
        # A bucket truncates no object, and a request for each of them would take as long as the write.
        names = {} if self.store.files.is_remote else {table: self.store.place(table, place, capture_id) for table in state["tables"]}
        if any(self.store.files.size(name) != sizes.get(table) for table, name in names.items()):
            return False
        self.capture_id, self.events, self.error = capture_id, state["events"], state["error"]
        self.status = "failed" if state["error"] else "unchanged"
        return True

    def _read(self, capture_id: str) -> Rows:
        """Returns the rows of the capture. If the capture cannot be read, returns the row about the failure."""
        try:
            profiles = self.files.profiles()
            if len(profiles) > 1:
                raise ProfileError(
                    f"{self.path}: contains {len(profiles)} runs. Write each separately; crossprof lake import finds them in a folder."
                )
            read = _rows.Capture(profiles[0], capture_id, self.path)
            tables: dict[str, bytes | memoryview] = dict(read.files(_rows.OF_PROFILE))
            if self.with_events and len(events := _rows.events(read)):
                tables["events"] = encoded_events(events)
        except (OSError, MemoryError):
            raise
        except ValueError as error:
            # Also values that do not fit their column, in a damaged file.
            return self._failed(str(error))
        except BaseException as error:
            # A mistake of crossprof. It must not end an import of thousands of captures.
            if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
                raise
            return self._failed(f"{self.path}: crossprof failed: {type(error).__name__}: {error}")
        report = read.report
        self.events = report["metadata"].get("num_events")
        warnings = ",".join(sorted({warning["code"] for warning in report.get("warnings", [])}))
        about = {**read.keys, **self._about(), "status": "ok", "warnings": warnings}
        place = [read.keys["workload_key"], read.month]
        return place, tables, about

    def _about(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "num_files": self.num_files,
            "size_bytes": self.size,
            "num_events": self.events,
            "has_events": self.with_events,
        }

    def _failed(self, error: str) -> Rows:
        """Returns the row about a capture that cannot be read."""
        self.status, self.error = "failed", error
        keys = {"capture_id": self.capture_id, "crossprof_version": _native.__version__}
        return ["unknown", "unknown"], {}, {**keys, **self._about(), "status": "failed", "error": error, "has_events": False}

    def _store(self, name: str, place: list[str], tables: dict[str, Any], about: dict[str, Any]) -> None:
        """Writes the files of a capture. The file of the table ``imports`` is written last."""
        before = self.store.state("captures", name)
        places = [*(old for old in before.get("places", []) if old != place), place]
        state: dict[str, Any] = {
            "stamp": _schema.stamp(),
            "places": places,
            "tables": sorted({*before.get("tables", []), *tables, "imports"}),
            "events": self.events,
            "has_events": self.with_events,
            "error": self.error,
            "complete": False,
        }
        self.store.lay_schema()
        self.store.set_state("captures", name, state)
        for old in places[:-1]:
            self.store.remove(name, old, state["tables"])
        self.store.remove(name, place, [table for table in state["tables"] if table not in tables and table != "imports"])
        self.store.files.write_many({self.store.place(table, place, name): file for table, file in tables.items()})
        imports = _rows.file("imports", [about], {})
        self.store.files.write(self.store.place("imports", place, name), imports)
        sizes = {table: len(file) for table, file in {**tables, "imports": imports}.items()}
        state |= {"places": [place], "tables": list(sizes), "sizes": sizes, "complete": True}
        self.store.set_state("captures", name, state)
        if self.error is None:
            self.status = "replaced" if before else "written"


def record_failure(capture: str | os.PathLike[str], lake: str | os.PathLike[str], error: str) -> dict[str, Any]:
    """Records in the lake that a capture cannot be read, and returns the status."""
    path = os.fspath(capture)
    made = _Write(files_at(path), path, Store(lake), False)
    made.fail(error)
    return {"capture": path, "capture_id": None, "status": made.status, "events": None, "seconds": 0.0, "error": error}
