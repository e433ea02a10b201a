"""Writes merged files, and removes merged files that are no longer needed."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from .._native import ROWS_OF_A_GROUP
from . import _rows, _schema
from ._merged import FOLDER, NUMBER, Manifest, listing, manifest, name_of, path_of, sources, state_of
from ._storage import Entry
from ._store import Store, options_of

if TYPE_CHECKING:
    import pyarrow

#: Larger files are not merged: reading them takes longer than opening them.
_MOST_BYTES = 128 << 10
#: Queries that began before a merged file was replaced have ended after this time.
_GRACE_S = 3600
#: Files that are read together.
_TOGETHER = 256
#: New captures, and their share of the lake, from which an import merges files. A query opens 256 files in about 0.1 s. A compaction writes
#: a whole month again, which is worth it only for many captures.
_MANY, _MANY_OF_ALL = 256, 0.05


def compact(lake: str | os.PathLike[str]) -> dict[str, Any]:
    """Merges the small files of a lake, so that queries over thousands of captures open a few files.

    The rows of :func:`connect` and the files of the captures stay the same. This function is safe to repeat, to kill, and to call
    while other processes write captures or query the lake. A compaction also removes temporary files that killed writers left
    behind more than a day ago.

    Returns:
        A dict: ``files`` (number of small files that the merged files now repeat), ``merged`` (number of merged files that were written),
        ``bytes`` (size of all merged files), ``removed`` (number of files that were removed) and ``seconds``.

    Raises:
        OSError: The lake cannot be written.
        ProfileError: There is no lake.
    """
    began = time.perf_counter()
    store = Store(lake)
    store.require()
    files, merged, size, removed = 0, 0, 0, store.files.sweep()
    for table in _schema.TABLES:
        months = listing(store, table)
        for month in sorted(months):
            made = _Month(store, table, month, months[month])
            merged += made.run()
            if made.now is not None:
                files += len(made.now.names)
                size += store.files.size(made.now.file) or 0
        removed += _remove_replaced(store, table)
    return {"files": files, "merged": merged, "bytes": size, "removed": removed, "seconds": time.perf_counter() - began}


def has_many_files(lake: str | os.PathLike[str]) -> bool:
    """Returns true if the number of captures that were written since the last compaction makes queries noticeably slower."""
    store = Store(lake)
    number = sum(map(len, listing(store, "captures").values()))
    return len(sources(store, "captures").small) >= max(_MANY, _MANY_OF_ALL * number)


class _Month:
    """Merges the small files of one month of a table."""

    def __init__(self, store: Store, table: str, month: str, files: dict[str, Entry]) -> None:
        self.store, self.table, self.month, self.files = store, table, month, files
        self.before = self.now = manifest(store, table, month)

    def run(self) -> bool:
        """Writes the merged file, unless it already contains the rows of all small files. Returns true if the merged file was
        written."""
        before = self.before
        known = dict(zip(before.names, before.states)) if before else {}
        kept = {name for name, entry in self.files.items() if known.get(name) == state_of(entry)}
        settled = self.store.files.settled()
        new = [name for name, entry in self.files.items() if name not in kept and entry.size <= _MOST_BYTES and entry.modified <= settled]
        if not new and len(kept) == len(known) or len(new) + len(kept) < 2:
            return False
        names = sorted([*kept, *new])
        schema = self._schema(new)
        with self.store.files.making(f"{FOLDER}/{self.table}") as made:
            writer = _Writer(made.file, self.month, schema)
            for name, table in self._tables(names, kept):
                writer.add(name, table)
            made.name = f"{writer.close()}.parquet"
        replaced = {**before.replaced, before.file: time.time()} if before else {}
        file = f"{FOLDER}/{self.table}/{made.name}"
        states = [state_of(self.files[name]) for name in writer.names]
        self.now = Manifest(file, writer.names, states, writer.rows, {old: at for old, at in replaced.items() if old != file})
        self.store.files.write(name_of(self.table, self.month), json.dumps(self.now._asdict()).encode())
        return True

    def _tables(self, names: list[str], kept: set[str]) -> Iterator[tuple[str, pyarrow.Table]]:
        """Yields the rows of each small file. Rows that the merged file contains come from the merged file, and other rows from the
        small file. Skips files that cannot be read."""
        new = self._read([name for name in names if name not in kept])
        before = self._before(kept)
        for name in names:
            table = next(before) if name in kept else next(new)
            if table is not None:
                yield name, table

    def _read(self, names: list[str]) -> Iterator[pyarrow.Table | None]:
        for start in range(0, len(names), _TOGETHER):
            some = names[start : start + _TOGETHER]
            contents = list(self.store.files.read_many([path_of(self.table, self.month, name) for name in some]))
            # A file that was replaced since it was listed is left to queries.
            whole = [content if content is not None and len(content) == self.files[name].size else b"" for name, content in zip(some, contents)]
            rows, counts = _rows.read(self.table, whole)
            at = 0
            for content, count in zip(whole, counts):
                yield self._of_other_version(content) if count is None else rows.slice(at, count)
                at += count or 0

    def _of_other_version(self, content: bytes) -> pyarrow.Table | None:
        """Returns the rows of a file that another version may have written. A damaged file is left to queries."""
        import pyarrow as pa
        import pyarrow.parquet

        try:
            table = pa.parquet.ParquetFile(pa.BufferReader(content)).read(use_threads=False)
        except (OSError, pa.ArrowException):
            return None
        own = {field.name: field.type for field in _rows.arrow_schema(self.table)}
        return table if all(own.get(field.name, field.type) == field.type for field in table.schema) else None

    def _before(self, kept: set[str]) -> Iterator[pyarrow.Table]:
        """Yields the rows of the kept files, in the order of the merged file."""
        import pyarrow as pa
        import pyarrow.parquet

        if not self.before or not kept:
            return
        with self.store.files.open(self.before.file) as file:
            batches = pa.parquet.ParquetFile(file).iter_batches(ROWS_OF_A_GROUP, use_threads=False)
            rest = None
            for name, rows in zip(self.before.names, self.before.rows):
                while rest is None or (len(rest) < rows):
                    more = pa.Table.from_batches([next(batches)]).drop_columns([*_schema.FOLDERS, NUMBER])
                    rest = more if rest is None else pa.concat_tables([rest, more])
                if name in kept:
                    yield rest.slice(0, rows)
                rest = rest.slice(rows)

    def _schema(self, new: list[str]) -> pyarrow.Schema:
        """Returns all columns of the small files. The columns of this version come first, and columns that only other versions have
        come last."""
        import pyarrow as pa
        import pyarrow.parquet

        schemas = [_rows.arrow_schema(self.table)]
        if self.before:
            with self.store.files.open(self.before.file) as file:
                schemas.append(pa.parquet.read_schema(file))
        if self.store.states("columns") != {_schema.stamp()[1]}:
            schemas += [table.schema for table in self._read(new) if table is not None]
        fields = {field.name: field for schema in reversed(schemas) for field in schema}
        own, own_names = schemas[0], set(schemas[0].names)
        others = [fields[name] for name in sorted(fields) if name not in own_names and name not in (*_schema.FOLDERS, NUMBER)]
        return pa.schema([*own, *others])


class _Writer:
    """Writes the rows of many small files to one file."""

    def __init__(self, file: BinaryIO, month: str, schema: pyarrow.Schema) -> None:
        import pyarrow as pa
        import pyarrow.parquet

        #: The small files that were written.
        self.names: list[str] = []
        self.rows: list[int] = []
        self._month, self._schema = month, schema
        #: Rows of the next row group, and the number of its first small file.
        self._waiting: list[pyarrow.Table] = []
        self._number_waiting, self._first = 0, 0
        self._file = _Hashing(file)
        own = [pa.field(name, pa.string()) for name in _schema.FOLDERS] + [pa.field(NUMBER, pa.int32())]
        self._all = pa.schema([*schema, *own])
        options = options_of(self._all)
        options["use_dictionary"].append(NUMBER)
        self._writer = pa.parquet.ParquetWriter(pa.PythonFile(self._file, "w"), self._all, store_schema=False, **options)

    def add(self, name: str, table: pyarrow.Table) -> None:
        """Adds the rows of a small file."""
        self.names.append(name)
        self.rows.append(len(table))
        self._waiting.append(table)
        self._number_waiting += len(table)
        if len(self._waiting) == _TOGETHER:
            # One table of many rows needs less memory than many tables of a few rows.
            self._waiting = [self._together()]
        if self._number_waiting >= ROWS_OF_A_GROUP:
            self._flush()

    def _together(self) -> pyarrow.Table:
        import pyarrow as pa

        # The bytes of a file must not depend on the chunks from which it is written.
        return pa.concat_tables(self._waiting, promote_options="default").combine_chunks()

    def _flush(self) -> None:
        import pyarrow as pa

        if not self._waiting:
            return
        numbers = range(self._first, len(self.names))
        rows = self._together()
        missing = [field for field in self._schema if field.name not in rows.column_names]
        for field in missing:
            rows = rows.append_column(field, pa.nulls(len(rows), field.type))
        columns = [*rows.select(self._schema.names).cast(self._schema).itercolumns()]
        workloads = [self.names[number].partition("/")[0].partition("=")[2] for number in numbers]
        for values, kind in ((workloads, pa.string()), ([self._month] * len(workloads), pa.string()), (list(numbers), pa.int32())):
            columns.append(pa.array([value for value, number in zip(values, numbers) for _ in range(self.rows[number])], kind))
        whole = pa.Table.from_arrays(columns, schema=self._all)
        self._writer.write_table(whole, row_group_size=max(len(whole), 1))
        self._waiting, self._number_waiting, self._first = [], 0, len(self.names)

    def close(self) -> str:
        """Writes the remaining rows, and returns the hash of the contents."""
        self._flush()
        self._writer.close()
        return self._file.digest()


class _Hashing:
    """A file whose contents are hashed while they are written."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def write(self, block: bytes) -> int:
        if self._file.closed:
            # After an error, the library ends a file that its caller has removed.
            return len(block)
        self._hash.update(block)
        return self._file.write(block)

    def tell(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """The caller closes the file."""

    def digest(self) -> str:
        """Returns the hash."""
        return self._hash.hexdigest()[:32]


def _remove_replaced(store: Store, table: str) -> int:
    """Removes merged files that no manifest names, after the grace period, and returns their number."""
    folder = f"{FOLDER}/{table}"
    there = dict(store.files.find(folder))
    months = (name.rpartition("/")[2].removesuffix(".json") for name in there if name.endswith(".json"))
    manifests = [found for month in months if (found := manifest(store, table, month)) is not None]
    current = {each.file for each in manifests}
    since = {name: at for each in manifests for name, at in each.replaced.items()}
    removed = 0
    for name, entry in there.items():
        if name.endswith(".parquet") and name not in current and time.time() - since.get(name, entry.modified) > _GRACE_S:
            store.files.remove(name)
            removed += 1
    return removed
