"""Captures in buckets and other places that fsspec reads: ``gs://``, ``s3://``, ``hf://``, ``memory://``, ...

Objects are read block by block, directly into the library. No object is written to disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from glob import has_magic
from typing import TYPE_CHECKING, Any

from . import _native
from ._errors import ProfileError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

#: Files of a folder that are read. Other files are not requested, because a bucket may also contain checkpoints.
_SUFFIXES = (".pb", ".json", ".html", ".prof", ".log", ".txt", ".zip", ".tar", ".tgz")
#: Files that show that a folder contains a capture. Model configurations are looked for in the folders above it.
_TRACES = (".xplane.pb", ".trace.json")
#: Model configurations, and the number of folders that are searched for them, as on the disk.
_CONFIGURATIONS = ("config.json", "crossprof.json")
_LEVELS = 7
_MOST_CONFIGURATION_BYTES = 4 << 20
#: The library detects the kind of a file from this many bytes.
_HEAD_BYTES = 64 << 10
#: Packages that fsspec needs, by the protocol of a URL.
_PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "hf": "huggingface_hub",
    "az": "adlfs",
    "abfs": "adlfs",
    "http": "aiohttp",
    "https": "aiohttp",
}
#: Values that change when an object is replaced, most reliable first.
VERSIONS = ("ETag", "etag", "generation", "md5Hash", "mtime")


def filesystem(url: str) -> tuple[AbstractFileSystem, str]:
    """Returns the file system of a URL, and the path in that file system. Credentials come from the environment and from fsspec's
    configuration.

    Raises:
        ProfileError: fsspec, or the package for this protocol, is not installed.
    """
    protocol = url.split("://")[0]
    driver = _PACKAGES.get(protocol)
    line = f'pip install "crossprof[remote]"{f" {driver}" if driver else ""}'
    try:
        from fsspec.core import url_to_fs

        fs, path = url_to_fs(url)
    except ImportError as error:
        missing = "fsspec" if (error.name or "").split(".")[0] == "fsspec" else driver or "a package"
        raise ProfileError(f"{url}: {missing} is needed to read {protocol}:// and is not installed: {line}") from None
    except ValueError as error:
        raise ProfileError(f"{url}: {error}") from None
    return fs, path.rstrip("/")


class Object:
    """An object that the library reads once, from its start to its end."""

    def __init__(self, fs: AbstractFileSystem, info: dict[str, Any], head: bytes | Exception) -> None:
        self._fs = fs
        self._info = info
        self._next: bytes | Exception | None = head
        self._done = 0
        self._is_stopped = False

    def read(self, number: int) -> bytes:
        """Returns the next bytes, at most ``number``. Returns no bytes at the end.

        Raises:
            Exception: The object cannot be read, or was replaced since its first bytes were read.
        """
        if self._is_stopped:
            raise OSError("the read was interrupted")
        block, self._next = self._next, None
        if isinstance(block, Exception):
            raise block
        if block is None:
            end = min(self._done + number, self._info["size"])
            if self._done >= end:
                return b""
            block = self._fs.cat_file(self._info["name"], start=self._done, end=end)
            if len(block) != end - self._done or (end == self._info["size"] and self._is_replaced()):
                raise OSError("the object was replaced while it was read; read it again")
        self._done += len(block)
        return block

    def _is_replaced(self) -> bool:
        name = self._info["name"]
        self._fs.invalidate_cache(self._fs._parent(name))
        now = self._fs.info(name)
        return any(key in now and now[key] != self._info[key] for key in ("size", *VERSIONS) if key in self._info)

    def stop(self) -> None:
        """Makes the next read fail."""
        self._is_stopped = True


def streams(url: str) -> list[_native.Streams]:
    """Returns the objects to read for a URL, which may be a pattern. For each match, returns its address, True if it is a folder,
    and the name, size and content of each object. Also returns the model configurations in the folders above the objects.

    Raises:
        ProfileError: There is nothing at this URL, or it cannot be read.
    """
    fs, path = filesystem(url)
    with _errors_of(url):
        found = _found(fs, url, path)
        objects = {info["name"]: (info, head) for info, head in _heads(fs, [info for _, infos in found for info in infos])}
        above = _configurations(fs, [match for match, _ in found if match["type"] == "directory"], objects)

    def content(info: dict[str, Any], head: bytes | Exception) -> _native.Stream:
        return _address(url, info["name"]), info["size"], Object(fs, info, head)

    made: list[_native.Streams] = []
    for match, infos in found:
        contents = [content(*objects[info["name"]]) for info in infos]
        made.append((_address(url, match["name"]), match["type"] == "directory", contents))
    if above:
        made.append((url, False, [content({"name": name, "size": len(text)}, text) for name, text in above.items()]))
    return made


def listed(url: str) -> list[str]:
    """Returns the addresses of all files at and below a URL, which may be a pattern.

    Raises:
        ProfileError: There is nothing at this URL, or it cannot be read.
    """
    fs, path = filesystem(url)
    with _errors_of(url):
        return [_address(url, info["name"]) for _, infos in _found(fs, url, path) for info in infos]


def versions(url: str) -> dict[str, tuple[int | None, str]]:
    """Returns the size and the version (such as the ETag) of each file at and below a URL, by its address.

    Raises:
        ProfileError: There is nothing at this URL, or it cannot be read.
    """
    fs, path = filesystem(url)
    with _errors_of(url):
        fs.invalidate_cache()
        infos = [info for _, infos in _found(fs, url, path) for info in infos]
    version = {info["name"]: next((str(info[key]) for key in VERSIONS if info.get(key)), "") for info in infos}
    return {_address(url, info["name"]): (info.get("size"), version[info["name"]]) for info in infos}


@contextmanager
def _errors_of(url: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise ProfileError(f"{url}: there is no such file or folder.") from None
    except ProfileError:
        raise
    except Exception as error:
        # Each backend has its own exceptions.
        raise ProfileError(f"{url}: cannot be read: {str(error) or type(error).__name__}") from None


def _address(url: str, name: str) -> str:
    return name if "://" in name else f"{url.split('://')[0]}://{name.lstrip('/')}"


def _found(fs: AbstractFileSystem, url: str, path: str) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Returns each match of a pattern, or the file or folder at a path, with the files to read."""
    if has_magic(path) and not fs.exists(path):
        matches = sorted(fs.glob(path, detail=True).values(), key=lambda info: info["name"])
        if not matches:
            raise ProfileError(f"{url}: no file or folder matches this pattern.")
    else:
        matches = [fs.info(path)]
    found = []
    for match in matches:
        infos = [match]
        if match["type"] == "directory":
            files = fs.find(match["name"], detail=True)
            infos = [files[name] for name in sorted(files) if name.removesuffix(".gz").endswith(_SUFFIXES)]
        found.append((match, infos))
    return found


def _heads(fs: AbstractFileSystem, infos: list[dict[str, Any]]) -> list[tuple[dict[str, Any], bytes | Exception]]:
    """Returns the first bytes of each object, or the exception that occurred. All objects are requested at the same time. An object
    without a known size is read completely."""
    sized = [info for info in infos if info.get("size")]
    names, ends = [info["name"] for info in sized], [min(info["size"], _HEAD_BYTES) for info in sized]
    read = iter(fs.cat_ranges(names, [0] * len(names), ends, on_error="return"))
    heads: list[tuple[dict[str, Any], bytes | Exception]] = []
    for info in infos:
        if info.get("size"):
            heads.append((info, next(read)))
        else:
            head = fs.cat_file(info["name"]) if info.get("size") is None else b""
            heads.append(({**info, "size": len(head)}, head))
    return heads


def _configurations(
    fs: AbstractFileSystem, roots: list[dict[str, Any]], objects: dict[str, tuple[dict[str, Any], bytes | Exception]]
) -> dict[str, bytes]:
    """Returns the model configurations that apply to the traces and are not among the objects. For each trace, the configurations
    come from the nearest folder that contains one. Searches the same folders that the library searches on disk."""
    known = {name: head for name, (_, head) in objects.items() if name.endswith(_CONFIGURATIONS) and isinstance(head, bytes)}
    above: dict[str, list[str]] = {name.rpartition("/")[0]: [] for name in objects if any(trace in name for trace in _TRACES)}
    for first, folders in above.items():
        folder = first
        while folder.strip("/") and len(folders) < _LEVELS and (not folders or not folders[-1].endswith("/checkpoints")):
            folders.append(folder)
            folder = folder.rpartition("/")[0]
    inside = tuple(f"{root['name']}/" for root in roots)
    # The objects contain all configurations of the given folders.
    unknown = {
        name: None
        for folders in above.values()
        if not any(_native.describes_model(known.get(f"{folders[0]}/{name}", b"")) for name in _CONFIGURATIONS)
        for name in (f"{folder}/{name}" for folder in folders for name in _CONFIGURATIONS)
        if name not in objects and not name.startswith(inside)
    }
    names = list(unknown)
    read = fs.cat_ranges(names, [0] * len(names), [_MOST_CONFIGURATION_BYTES] * len(names), on_error="return") if names else []
    known.update({name: text for name, text in zip(names, read) if isinstance(text, bytes)})
    chosen: dict[str, bytes] = {}
    for folders in above.values():
        for folder in folders:
            own = {name: known.get(f"{folder}/{name}", b"") for name in _CONFIGURATIONS}
            own = {f"{folder}/{name}": text for name, text in own.items() if _native.describes_model(text)}
            chosen.update({name: text for name, text in own.items() if name in unknown})
            if own:
                break
    return chosen
