"""Finds the files that belong to a capture, and the captures below a folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

#: Endings of files that contain a profile.
_PROFILES = (".xplane.pb", ".xplane.pb.gz", ".trace.json", ".trace.json.gz", ".xplane.riegeli", ".pt.trace.json", ".pt.trace.json.gz")
_SIDECAR = "crossprof.json"
_CHUNK = 1 << 20


def files_of(capture: Path) -> list[Path]:
    """Returns the files of a capture: all files in its folder, or the file itself. If the capture is a single file, the sidecar of
    the capture kit next to it belongs to the capture too."""
    if capture.is_dir():
        found = (Path(folder) / name for folder, _, names in os.walk(capture) for name in names)
        return sorted(path for path in found if path.is_file())
    sidecar = capture.parent / _SIDECAR
    return [capture, sidecar] if sidecar.is_file() and sidecar != capture else [capture]


def content_hash(paths: list[Path]) -> str:
    """Returns the hash of the contents of some files, independent of their names and order.

    Raises:
        OSError: A file cannot be read.
    """
    hashes = []
    for path in paths:
        one = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                one.update(chunk)
        hashes.append(one.digest())
    return hashlib.sha256(b"".join(sorted(hashes))).hexdigest()[:32]


def captures_below(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """Yields the captures below a folder: each session folder of the profiler (``plugins/profile/<session>``), and each profile
    outside a session folder. If a profile was also exported as a trace JSON, yields only the profile."""
    for name, below, files in os.walk(folder):
        below.sort()
        at = Path(name)
        if at.absolute().parts[-3:-1] == ("plugins", "profile"):
            below.clear()
            if any(is_profile(file) for file in files):
                yield at
            continue
        stems = {stem(file) for file in files if ".xplane." in file}
        for file in sorted(files):
            if is_profile(file) and (".xplane." in file or stem(file) not in stems):
                yield at / file


def is_profile(name: str) -> bool:
    """Returns true if a file with this name contains a profile."""
    return name.endswith(_PROFILES)


def stem(name: str) -> str:
    """Returns the name of a profile without its ending."""
    return next((name.removesuffix(ending) for ending in sorted(_PROFILES, key=len, reverse=True) if name.endswith(ending)), name)
