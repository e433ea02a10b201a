"""Reads and writes the files of a lake in a folder.

Names are relative to the lake, with ``/`` between folders. A file appears under its name only when it is complete.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    import duckdb

#: Temporary files of this age were left by writers that were killed: a write takes seconds.
_LEFT_BEHIND_S = 24 * 3600
_ENDING = ".tmp"


class Entry(NamedTuple):
    """A file in a listing."""

    size: int
    #: Text that changes when the file is replaced.
    version: str
    #: Time of the last change in seconds.
    modified: float


class Made:
    """A file that is being written."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        #: Name of the file, which the writer may set after it has written the contents.
        self.name = ""


class replacing:
    """Opens a temporary file next to a file, and renames the temporary file to that file at the end. After an error, removes the
    temporary file."""

    def __init__(self, path: str) -> None:
        self.path = path
        folder, name = os.path.split(path)
        # Readers of a lake ignore names that begin with a dot or do not end in .parquet.
        self.temporary = os.path.join(folder, f".{os.path.splitext(name)[0]}.{uuid.uuid4().hex}{_ENDING}")

    def __enter__(self) -> BinaryIO:
        try:
            self.file = open(self.temporary, "wb")
        except FileNotFoundError:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            self.file = open(self.temporary, "wb")
        return self.file

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.file.close()
            if kind is None:
                os.replace(self.temporary, self.path)
                return
        except OSError:
            Path(self.temporary).unlink(missing_ok=True)
            raise
        Path(self.temporary).unlink(missing_ok=True)


class Folder:
    """A folder on this machine or on a network disk. A file is written under a temporary name and then renamed."""

    #: True if a request takes so long that a connection lists the files once.
    is_remote = False
    #: A file that changed less than this time ago may change again without another time and size.
    settled_s = 2.0

    def __init__(self, root: Path) -> None:
        self.root = root
        self._text = str(root)

    def address(self, name: str) -> str:
        """Returns the path of a file."""
        return f"{self._text}/{name}"

    def register(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Does nothing, because DuckDB can read the files of a folder without preparation."""

    def read(self, name: str) -> bytes:
        """Returns the contents of a file.

        Raises:
            OSError: There is no such file.
        """
        with open(f"{self._text}/{name}", "rb") as file:
            return file.read()

    def read_many(self, names: Sequence[str]) -> Iterator[bytes | None]:
        """Yields the contents of files, or None for a file that is missing."""
        for name in names:
            try:
                yield self.read(name)
            except OSError:
                yield None

    def open(self, name: str) -> BinaryIO:
        """Opens a file for reading."""
        return (self.root / name).open("rb")

    def write(self, name: str, contents: bytes | memoryview) -> None:
        """Writes a file."""
        # One call: a library that writes a file of 20 kB itself writes hundreds of parts.
        with replacing(f"{self._text}/{name}") as file:
            file.write(contents)

    def write_many(self, files: dict[str, bytes | memoryview]) -> None:
        """Writes files, in any order."""
        for name, contents in files.items():
            self.write(name, contents)

    @contextmanager
    def making(self, folder: str) -> Iterator[Made]:
        """Provides a file to write, which appears in the folder under its name at the end."""
        to = replacing(f"{self._text}/{folder}/new")
        with to as file:
            made = Made(file)
            yield made
            to.path = f"{self._text}/{folder}/{made.name}"

    def remove(self, name: str) -> None:
        """Removes a file if it exists."""
        (self.root / name).unlink(missing_ok=True)

    def size(self, name: str) -> int | None:
        """Returns the size of a file. Returns None if there is no such file."""
        try:
            return os.stat(f"{self._text}/{name}").st_size
        except OSError:
            return None

    def find(self, folder: str) -> Iterator[tuple[str, Entry]]:
        """Yields the files in and below a folder, in any order."""
        for name, entry in self._below(folder):
            if not entry.name.startswith("."):
                try:
                    found = entry.stat()
                except OSError:
                    continue
                yield name, Entry(found.st_size, str(found.st_mtime_ns), found.st_mtime)

    def folders(self, folder: str = "") -> list[str]:
        """Returns the names of the folders in a folder."""
        try:
            with os.scandir(self.root / folder) as entries:
                return sorted(entry.name for entry in entries if entry.is_dir())
        except OSError:
            return []

    def settled(self) -> float:
        """Returns the time before which a file must have last changed, so that another change would give it another version."""
        return self._now() - self.settled_s

    def _now(self) -> float:
        """Returns the current time on the clock with which the file system dates files."""
        with replacing(f"{self._text}/state/clock") as file:
            return os.fstat(file.fileno()).st_mtime

    def sweep(self) -> int:
        """Removes the temporary files of writers that were killed, and returns their number."""
        number, now = 0, self._now()
        for name, entry in self._below(""):
            if entry.name.startswith(".") and entry.name.endswith(_ENDING):
                try:
                    if now - entry.stat().st_mtime > _LEFT_BEHIND_S:
                        self.remove(name)
                        number += 1
                except OSError:
                    # Another process has renamed or removed it.
                    continue
        return number

    def _below(self, folder: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        try:
            with os.scandir(self.root / folder) as found:
                entries = list(found)
        except OSError:
            return
        above = f"{folder}/" if folder else ""
        for entry in entries:
            if entry.is_dir():
                yield from self._below(above + entry.name)
            else:
                yield above + entry.name, entry
