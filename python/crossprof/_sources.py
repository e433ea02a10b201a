"""Sources that a caller can pass to be read: paths, URLs, bytes and opened files, alone or in lists."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Union

from ._errors import ProfileError
from ._paths import expanded

if TYPE_CHECKING:
    from . import _native

#: A path, a URL, the content of a file, or a file that was opened in binary mode.
Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, BinaryIO]
#: A source, or several sources.
Sources = Union[Source, Iterable[Source]]

_FILE = "file://"


def is_one(what: object) -> bool:
    """Returns False for a list of sources."""
    return isinstance(what, (str, os.PathLike, bytes, bytearray, memoryview)) or hasattr(what, "read")


def is_url(path: object) -> bool:
    """Returns True for a URL such as ``gs://bucket/run``. Returns False for paths, including ``file://`` URLs."""
    return isinstance(path, str) and "://" in path and not path.startswith(_FILE) and re.fullmatch(r"[A-Za-z][\w+.:-]+", path.split("://")[0]) is not None


def local(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Returns the path of a ``file://`` URL. Other paths are returned unchanged."""
    return path[len(_FILE) :] if isinstance(path, str) and path.startswith(_FILE) else path


class Gathered:
    """Sources in the form that the library reads."""

    def __init__(self, what: Iterable[object]) -> None:
        """
        Raises:
            ProfileError: A pattern matches nothing, or a URL cannot be read.
            TypeError: An argument is not a source.
        """
        self.files: list[Path] = []
        self.streams: list[_native.Streams] = []
        #: The files and URLs, from which the runs can be read again. Contents are not among them.
        self.names: list[Path | str] = []
        self._objects: list[Any] = []
        for number, each in enumerate(what):
            self._add(each, f"capture_{number}" if number else "capture")

    def _add(self, what: Any, name: str) -> None:
        """Adds one argument. ``name`` is used as the name of contents that have none. The name determines the run of the contents,
        but not their format."""
        if isinstance(what, (bytes, bytearray, memoryview)):
            self.streams.append((name, False, [(name, len(what), io.BytesIO(what))]))
        elif hasattr(what, "read"):
            if isinstance(what, io.TextIOBase):
                raise TypeError('the file was opened for reading text; open it with mode "rb"')
            own = getattr(what, "name", None)
            name = own if isinstance(own, str) and own else name
            self.streams.append((name, False, [(name, None, what)]))
        elif is_url(what):
            from . import _remote

            streams = _remote.streams(what)
            self.streams += streams
            self._objects += [content for _, _, contents in streams for _, _, content in contents]
            self.names.append(what)
        elif isinstance(what, (str, os.PathLike)):
            try:
                found = expanded(local(what))
            except ValueError as error:
                raise ProfileError(str(error)) from None
            self.files += found
            self.names += [file.absolute() for file in found]
        elif isinstance(what, Iterable):
            for number, each in enumerate(what):
                if not is_one(each):
                    raise TypeError(f"a list of paths is needed, not one with {each!r}")
                # The contents of a list are the hosts of one run.
                self._add(each, f"plugins/profile/{name}/host_{number}")
        else:
            raise TypeError(f"a path, or a list of paths, is needed, not {what!r}")

    def stop(self) -> None:
        """Ends reads that are still in progress, so that they do not continue in the background."""
        for content in self._objects:
            content.stop()
