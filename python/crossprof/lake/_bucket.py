"""The files of a lake in a bucket.

S3, GCS and Azure guarantee that an object appears only when it is complete, and that a read after a write returns the new object.
Objects therefore need not be renamed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from .. import _remote
from ._storage import Entry, Made

if TYPE_CHECKING:
    import duckdb

#: Names that file systems give the time of the last change.
_TIMES = ("LastModified", "mtime", "updated", "last_modified", "created")


class Bucket:
    """A folder of a bucket, with the methods of :class:`Folder`."""

    is_remote = True

    def __init__(self, url: str) -> None:
        """
        Raises:
            ProfileError: A package for this kind of bucket is missing.
        """
        self._fs, self._path = _remote.filesystem(url)
        self._address = f"{url.split('://')[0]}://{self._path.lstrip('/')}"

    def address(self, name: str) -> str:
        """See :meth:`Folder.address`."""
        return f"{self._address}/{name}"

    def register(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Lets DuckDB read the files."""
        connection.register_filesystem(self._fs)

    def read(self, name: str) -> bytes:
        """See :meth:`Folder.read`."""
        with self._errors(name):
            contents: bytes = self._fs.cat_file(self._name(name))
            return contents

    def read_many(self, names: Sequence[str]) -> Iterator[bytes | None]:
        """See :meth:`Folder.read_many`. Requests all objects at the same time."""
        paths = [self._name(name) for name in names]
        with self._errors(""):
            found = self._fs.cat(paths, on_error="return")
        for path in paths:
            contents = found.get(path)
            yield contents if isinstance(contents, bytes) else None

    def open(self, name: str) -> BinaryIO:
        """See :meth:`Folder.open`."""
        with self._errors(name):
            file: BinaryIO = self._fs.open(self._name(name), "rb")
            return file

    def write(self, name: str, contents: bytes | memoryview) -> None:
        """See :meth:`Folder.write`."""
        with self._errors(name):
            self._fs.pipe_file(self._name(name), bytes(contents))

    def write_many(self, files: dict[str, bytes | memoryview]) -> None:
        """See :meth:`Folder.write_many`. Sends all objects at the same time."""
        with self._errors(""):
            self._fs.pipe({self._name(name): bytes(contents) for name, contents in files.items()})

    @contextmanager
    def making(self, folder: str) -> Iterator[Made]:
        """See :meth:`Folder.making`."""
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "new"
            with path.open("wb") as file:
                made = Made(file)
                yield made
            with self._errors(made.name):
                self._fs.put_file(str(path), self._name(f"{folder}/{made.name}"))

    def remove(self, name: str) -> None:
        """See :meth:`Folder.remove`."""
        try:
            with self._errors(name):
                self._fs.rm_file(self._name(name))
        except FileNotFoundError:
            pass

    def size(self, name: str) -> int | None:
        """See :meth:`Folder.size`."""
        try:
            with self._errors(name):
                self._fs.invalidate_cache(self._fs._parent(self._name(name)))
                size: int | None = self._fs.info(self._name(name))["size"]
                return size
        except FileNotFoundError:
            return None

    def find(self, folder: str) -> Iterator[tuple[str, Entry]]:
        """See :meth:`Folder.find`."""
        try:
            with self._errors(folder):
                self._fs.invalidate_cache()
                found = self._fs.find(self._name(folder), detail=True)
        except FileNotFoundError:
            return
        start = len(self._name(""))
        for path, info in found.items():
            version = next((str(info[key]) for key in (*_remote.VERSIONS, *_TIMES) if info.get(key)), "")
            yield path[start:], Entry(info["size"], version, _seconds(info))

    def folders(self, folder: str = "") -> list[str]:
        """See :meth:`Folder.folders`."""
        try:
            with self._errors(folder):
                self._fs.invalidate_cache()
                found = self._fs.ls(self._name(folder).rstrip("/"), detail=True)
        except FileNotFoundError:
            return []
        return sorted(info["name"].rstrip("/").rpartition("/")[2] for info in found if info["type"] == "directory")

    def settled(self) -> float:
        """See :meth:`Folder.settled`. Returns infinity, because the version of an object changes whenever its contents change."""
        return float("inf")

    def sweep(self) -> int:
        """See :meth:`Folder.sweep`. Does nothing, because a killed writer leaves no object."""
        return 0

    def _name(self, name: str) -> str:
        return f"{self._path}/{name}"

    @contextmanager
    def _errors(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError:
            raise
        except Exception as error:
            # Each backend has its own exceptions.
            raise OSError(f"{self.address(name)}: {str(error) or type(error).__name__}") from None


def _seconds(info: dict[str, Any]) -> float:
    """Returns the time of the last change. Returns infinity if it is unknown."""
    value = next((info[key] for key in _TIMES if info.get(key)), None)
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            return float("inf")
    return value.timestamp() if isinstance(value, datetime) else float("inf") if value is None else float(value)
