"""Merged files. A merged file contains the rows of many small files of a table, so that queries open fewer files.

A query over 10,000 captures would otherwise open 10,000 files. The small files remain, and only they determine what the lake
contains. A merged file repeats their rows. The manifest of a merged file names each small file, with the size and version that the
small file had. A query lists the small files. If a small file still has the size and version in the manifest, its rows come from
the merged file. Rows of other small files come from the small files themselves. A query therefore sees each row exactly once, even
while writers and compactions run.

A merged file never changes. A compaction writes a new merged file and replaces the manifest. The compaction keeps the earlier
merged file, because queries that are running may read that file.
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
    """The merged file of one month of a table, and the small files whose rows it contains. The small files have the same order as
    their rows."""

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
    """Set of files that together contain each row of a table once."""

    #: Small files.
    small: list[str]
    #: Merged files, with the numbers of the small files whose rows in it are outdated.
    merged: dict[str, list[int]]


def state_of(entry: Entry) -> str:
    """Returns a text that changes when a small file is replaced."""
    return f"{entry.size} {entry.version}"


def manifest(store: Store, table: str, month: str) -> Manifest | None:
    """Returns the manifest of a month. Returns None if the month has no merged file."""
    try:
        found = Manifest(**json.loads(store.files.read(name_of(table, month))))
    except (OSError, ValueError, TypeError):
        return None
    return found if store.files.size(found.file) is not None else None


def name_of(table: str, month: str) -> str:
    """Returns the name of a manifest."""
    return f"{FOLDER}/{table}/{month}.json"


def listing(store: Store, table: str) -> dict[str, dict[str, Entry]]:
    """Returns the small files of a table, first by month and then by name."""
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
    """Returns files that together contain each row of a table once."""
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
