"""Expands the paths that callers pass: single paths, lists, patterns, and the home folder."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Union

#: A path, or several paths.
Paths = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]


def expanded(what: Paths) -> list[Path]:
    """Returns the files and folders in order. ``~`` is the home folder. A text with ``*``, ``?`` or ``[`` is a pattern, unless a
    file has that name. ``**`` matches any number of folders.

    Raises:
        ValueError: A pattern matches no file.
        TypeError: An argument is not a path.
    """
    if isinstance(what, (str, os.PathLike)):
        return _one(what)
    if isinstance(what, (bytes, int)) or not isinstance(what, Iterable):
        raise TypeError(f"a path, or a list of paths, is needed, not {what!r}")
    found: list[Path] = []
    for each in what:
        if not isinstance(each, (str, os.PathLike)):
            raise TypeError(f"a list of paths is needed, not one with {each!r}")
        found += _one(each)
    return found


def _one(path: str | os.PathLike[str]) -> list[Path]:
    expanded_path = Path(path).expanduser()
    if not glob.has_magic(str(expanded_path)) or expanded_path.exists():
        return [expanded_path]
    found = sorted(glob.glob(str(expanded_path), recursive=True))
    if not found:
        raise ValueError(f"{path}: no file or folder matches this pattern.")
    return [Path(each) for each in found]
