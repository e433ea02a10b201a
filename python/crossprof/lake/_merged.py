"""Merged files: the rows of many small files of a table in one file, from which queries read them.

A query over 10,000 captures would otherwise open 10,000 files. The small files remain, and alone decide what the lake contains: a merged
file only repeats them. Its manifest names each small file with the size and version that it had. A query reads the listing of the small
files, takes the rows of a file from the merged file if the manifest has it unchanged, and otherwise from the file itself. So it sees each
row once, whatever writers and compactions do meanwhile.

A merged file never changes. A compaction writes another one, replaces the manifest, and leaves the earlier file to queries that are running.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from ._storage import Entry
from ._store import Store

#: Column of a merged file: the number of the small file in the manifest.
NUMBER = "_file"
FOLDER = "state/merged"


class Manifest(NamedTuple):
    """The merged file of a month of a table, and the small files that it repeats, in the order of their rows."""

    #: Name of the merged file.
    file: str
    #: Small files, as ``workload=W/capture=HASH.parquet``.
    names: list[str]
    #: Size and version of each small file.
    states: list[str]
    #: Number of rows of each small file.
    rows: list[int]
    #: Earlier merged files, with the time when they were replaced.
    replaced: dict[str, float]


class Sources(NamedTuple):
    """Files that contain each row of a table once."""

    #: Small files.
    small: list[str]
    #: Merged files, with the numbers of the small files whose rows in it are outdated.
    merged: dict[str, list[int]]


def state_of(entry: Entry) -> str:
    """Returns the text that changes when a small file is replaced."""
    return f"{entry.size} {entry.version}"


def manifest(store: Store, table: str, month: str) -> Manifest | None:
    """Returns the manifest of a month. None if the month has no merged file."""
    try:
        found = Manifest(**json.loads(store.files.read(name_of(table, month))))
    except (OSError, ValueError, TypeError):
        return None
    return found if store.files.size(found.file) is not None else None


def name_of(table: str, month: str) -> str:
    """Returns the name of a manifest."""
    return f"{FOLDER}/{table}/{month}.json"


def listing(store: Store, table: str) -> dict[str, dict[str, Entry]]:
    """Returns the small files of a table by month and name."""
    months: dict[str, dict[str, Entry]] = {}
    for name, entry in small_files(store, table):
        _, workload, month, file = name.split("/")
        months.setdefault(month.partition("=")[2], {})[f"{workload}/{file}"] = entry
    return months


def small_files(store: Store, table: str) -> Iterator[tuple[str, Entry]]:
    """Yields the small files of a table."""
    for name, entry in store.files.find(f"table={table}"):
        if name.endswith(".parquet") and name.count("/") == 3:
            yield name, entry


def path_of(table: str, month: str, name: str) -> str:
    """Returns the name of a small file in the lake."""
    workload, _, file = name.partition("/")
    return f"table={table}/{workload}/month={month}/{file}"


def sources(store: Store, table: str) -> Sources:
    """Returns the files that contain each row of a table once."""
    found = Sources([], {})
    for month, files in sorted(listing(store, table).items()):
        known = manifest(store, table, month)
        if known is not None:
            outdated = []
            for number, (name, state) in enumerate(zip(known.names, known.states)):
                entry = files.get(name)
                if entry is not None and state_of(entry) == state:
                    del files[name]
                else:
                    outdated.append(number)
            if len(outdated) < len(known.names):
                found.merged[known.file] = outdated
        found.small.extend(path_of(table, month, name) for name in sorted(files))
    return found
