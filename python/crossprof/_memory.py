"""Captures that are kept in memory. The profiler writes files, which are removed after they have been read."""

from __future__ import annotations

import os
import shutil
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._settings import Settings
from ._window import Captured

if TYPE_CHECKING:
    from ._profile import Profile


class Reader:
    """Reads the captures of a folder. Each capture is read only once."""

    def __init__(self) -> None:
        self._profiles: dict[Captured, Profile] = {}
        self._is_temporary = False

    def use(self, settings: Settings) -> None:
        """A temporary folder is removed when this object is gone or the program ends."""
        self._is_temporary = settings.is_temporary
        if settings.is_temporary:
            weakref.finalize(self, _remove, settings.folder, os.getpid())

    def profiles(self, captures: Sequence[Captured]) -> list[Profile]:
        """Returns the profiles of the captures. If the folder is temporary, removes the files of the captures.

        Raises:
            ProfileError: The files of a capture cannot be read.
        """
        for each in captures:
            if each not in self._profiles:
                self._profiles[each] = each.profile()
                if self._is_temporary:
                    shutil.rmtree(each.path, ignore_errors=True)
        return [self._profiles[each] for each in captures]


def _remove(folder: os.PathLike[str], process: int) -> None:
    # A forked process has a copy of the object.
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
