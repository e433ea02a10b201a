"""The files of one capture, on this machine or in a bucket."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Union

from .. import _native
from .._errors import ProfileError
from .._profile import Profiles, open_all
from .._sources import is_url, local
from ._paths import content_hash, files_of

#: Files that XProf derives from a profile when it is viewed. They must not change the hash of the capture.
_DERIVED = re.compile(r"\.hlo_proto\.pb$|\.op_stats|\.SSTABLE|\.tracetable$|\.ldb$|cached_|(memory_profile|op_profile|overview_page)\.json")
#: Files that a capture consists of.
_PARTS = (".pb", ".riegeli", ".json", ".prof", ".zip", ".tar", ".tgz")
_BLOCK = 8 << 20


def parts(names: Iterable[str]) -> list[str]:
    """Returns the names of the files that belong to a capture. Files that repeat the xplanes or derive from them do not belong to
    the capture, because viewers add such files later."""
    kept = [name for name in names if name.removesuffix(".gz").endswith(_PARTS) and not _DERIVED.search(name.rpartition("/")[2])]
    if any(".xplane." in name for name in kept):
        kept = [name for name in kept if ".trace.json" not in name and not name.removesuffix(".gz").endswith("perfetto_trace.json")]
    return sorted(kept)


class LocalFiles:
    """The files of a capture on this machine."""

    def __init__(self, capture: str) -> None:
        self._capture = Path(local(capture)).expanduser()
        #: Address that does not depend on the working folder.
        self.place = str(self._capture.absolute())
        self._found: list[Path] = []

    def state(self) -> list[list[Any]]:
        """Returns the name, the size and the version of each file. These values show whether a file has changed.

        Raises:
            OSError: There is no capture.
        """
        above = self._capture if self._capture.is_dir() else self._capture.parent
        self._found = self._files()
        stats = ((path, path.stat()) for path in self._found)
        return [[path.relative_to(above).as_posix(), stat.st_size, stat.st_mtime_ns] for path, stat in stats]

    def content_hash(self) -> str:
        """Returns the hash of the contents of the files that :meth:`state` found, independent of names and order.

        Raises:
            OSError: A file cannot be read.
        """
        return content_hash(self._found or self._files())

    def profiles(self) -> Profiles:
        """Reads the capture.

        Raises:
            ProfileError: It is not a profile.
        """
        return open_all(self._capture, progress=False)

    def _files(self) -> list[Path]:
        files = files_of(self._capture)
        return [Path(name) for name in parts(map(str, files))] if self._capture.is_dir() else files


class RemoteFiles:
    """The files of a capture in a bucket. Each file is read only once, because its hash is computed from the blocks that the
    library reads."""

    def __init__(self, url: str) -> None:
        self.place = url
        self._read: Profiles | ProfileError | None = None

    def state(self) -> list[list[Any]]:
        """See :meth:`LocalFiles.state`."""
        from .. import _remote

        try:
            found = _remote.versions(self.place)
        except ProfileError as error:
            raise OSError(str(error)) from None
        above = f"{self.place.rstrip('/')}/"
        kept = parts(found)
        return [[name.removeprefix(above) if name != self.place else name.rpartition("/")[2], *found[name]] for name in kept or sorted(found)]

    def content_hash(self) -> str:
        """See :meth:`LocalFiles.content_hash`."""
        from .. import _remote

        try:
            streams = _remote.streams(self.place)
        except ProfileError as error:
            raise OSError(str(error)) from None
        names = [name for _, is_folder, contents in streams for name, _, _ in contents if is_folder or name == self.place]
        hashed = {name: _Hashed() for name in parts(names) or names}
        given = [
            (address, is_folder, [(name, size, hashed[name].of(read) if name in hashed else read) for name, size, read in contents])
            for address, is_folder, contents in streams
        ]
        try:
            self._read = Profiles(_native.read([], given, lambda done, total: None), (self.place,))
        except ValueError as error:
            self._read = ProfileError(str(error))
        digests = sorted(each.digest() for each in hashed.values())
        return hashlib.sha256(b"".join(digests)).hexdigest()[:32]

    def profiles(self) -> Profiles:
        """See :meth:`LocalFiles.profiles`."""
        if self._read is None:
            self.content_hash()
        if isinstance(self._read, ProfileError):
            raise self._read
        assert self._read is not None
        return self._read


class _Hashed:
    """Content of a file, which is hashed while the library reads it."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._error: Exception | None = None

    def of(self, content: Any) -> _Hashed:
        self._content = content
        return self

    def read(self, number: int) -> bytes:
        try:
            block: bytes = self._content.read(number)
        except Exception as error:
            self._error = error
            raise
        self._hash.update(block)
        return block

    def digest(self) -> bytes:
        """Reads the remaining content, and returns the hash.

        Raises:
            OSError: The content cannot be read. Unlike a damaged capture, the content may become readable later.
        """
        try:
            while self._error is None and self.read(_BLOCK):
                pass
        except Exception:
            pass
        if self._error is not None:
            raise OSError(str(self._error) or type(self._error).__name__)
        return self._hash.digest()


#: The files of a capture.
Files = Union[LocalFiles, RemoteFiles]


def files_at(capture: str | os.PathLike[str]) -> Files:
    """Returns the files of a capture at a path or a URL."""
    text = os.fspath(capture)
    return RemoteFiles(text) if is_url(text) else LocalFiles(text)
