"""Captures below folders, URLs and patterns."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Union

from .._errors import ProfileError
from .._paths import expanded
from .._sources import is_url, local
from ._paths import captures_below, is_profile, stem

#: Captures, folders, URLs or patterns.
Places = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]

_SESSION = re.compile(r"(.*?(?:^|/)plugins/profile/[^/]+)/")


def captures(paths: Places) -> list[str]:
    """Returns the captures at and below some paths, sorted, as absolute paths and URLs.

    Args:
        paths: Captures, folders that are searched for captures, URLs, or patterns of any of these.

    Raises:
        ProfileError: There are no captures, or a pattern or URL cannot be read.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    found = sorted({capture for each in given for capture in _below(each)})
    if not found:
        raise ProfileError(f"There is no capture below {', '.join(map(str, given)) or 'an empty list'}.")
    return found


def _below(path: str | os.PathLike[str]) -> list[str]:
    if is_url(path):
        from .. import _remote

        return sorted(_among(_remote.listed(str(path))))
    try:
        found = expanded(local(path))
    except ValueError as error:
        raise ProfileError(str(error)) from None
    all_below = (captures_below(each) if each.is_dir() else [each] for each in found)
    return [str(capture.absolute()) for below in all_below for capture in below]


def _among(names: Iterable[str]) -> set[str]:
    """Returns the captures among files: session folders, and profiles outside session folders."""
    profiles = [name for name in names if is_profile(name)]
    stems = {stem(name) for name in profiles if ".xplane." in name}
    found: set[str] = set()
    for name in profiles:
        session = _SESSION.match(name)
        if session:
            found.add(session.group(1))
        elif ".xplane." in name or stem(name) not in stems:
            found.add(name)
    return found
