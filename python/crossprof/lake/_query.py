"""Queries a lake with DuckDB."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .._errors import ProfileError
from . import _schema
from ._merged import NUMBER, Sources, sources
from ._store import SCHEMA_FIELDS, Store

if TYPE_CHECKING:
    import duckdb

_TYPES = {"int64": "BIGINT", "double": "DOUBLE", "string": "VARCHAR", "bool": "BOOLEAN", "timestamp": "TIMESTAMP WITH TIME ZONE"}
_FIELDS = "schema_fields"
#: Function that returns the query for the rows of a table.
_ROWS = "rows_of_lake"


def connect(lake: str | os.PathLike[str]) -> duckdb.DuckDBPyConnection:
    """Returns a connection with a view for each table of a lake: ``captures``, ``steps``, ``ops``, ``schema_fields``, ...

    Each view has all columns of this version. In rows that an older version wrote, new columns are null. ``workload`` and ``month``
    come from the names of folders, so a condition on them lets DuckDB skip files.

    If the lake is in a bucket, the first query on each table lists the files of the table. To see captures that were written later,
    connect again.

    Raises:
        ProfileError: There is no lake, or a package for this kind of bucket is missing.
    """
    import duckdb

    # DuckDB needs it to call a function of Python.
    import numpy  # noqa: F401

    store = Store(lake)
    store.require()
    connection = duckdb.connect()
    folders = "".join(f', "{name}" VARCHAR' for name in _schema.FOLDERS)
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET parquet_metadata_cache = true")
    store.files.register(connection)
    is_made = False
    known: dict[str, str] = {}

    def rows(table: str) -> str:
        if not is_made:
            return f'SELECT * FROM "no_{table}"'
        if table not in known or not store.files.is_remote:
            known[table] = _text(store, table)
        return known[table]

    # Each query calls this function once for each of its tables, so that it sees one state of the files.
    connection.create_function(_ROWS, rows, ["VARCHAR"], "VARCHAR")
    for table in [*_schema.TABLES, _FIELDS]:
        fields = _schema.SCHEMA_FIELDS if table == _FIELDS else _schema.fields(table)
        columns = ", ".join(f'"{field.name}" {_TYPES[field.type]}' for field in fields)
        connection.execute(f'CREATE TEMP TABLE "no_{table}" ({columns}{"" if table == _FIELDS else folders})')
        connection.execute(f"CREATE TEMP VIEW \"{table}\" AS SELECT * FROM query({_ROWS}('{table}'))")
    is_made = True
    return connection


def _text(store: Store, table: str) -> str:
    """Returns the query for the rows of a table."""
    parts = [f'SELECT * FROM "no_{table}"']
    names = [field.name for field in (_schema.SCHEMA_FIELDS if table == _FIELDS else _schema.fields(table))]
    if table == _FIELDS:
        found = Sources([SCHEMA_FIELDS], {}) if store.files.size(SCHEMA_FIELDS) is not None else Sources([], {})
    else:
        found = sources(store, table)
    if found.small:
        # DuckDB must open every file to find its columns, unless all files have those of this version.
        differ = store.states("columns") != {_schema.stamp()[1]}
        # A workload made of digits is a name, too.
        options = f"hive_partitioning = true, hive_types_autocast = false, union_by_name = {str(differ).lower()}"
        parts.append(f'SELECT * EXCLUDE ("schema", "table") FROM read_parquet({_list(store, found.small)}, {options})')
    current = [name for name, outdated in found.merged.items() if not outdated]
    if current:
        parts.append(_of_merged(store, current))
    for name, outdated in found.merged.items():
        if outdated:
            parts.append(f'{_of_merged(store, [name])} WHERE "{NUMBER}" NOT IN ({", ".join(map(str, outdated))})')
    # Files of newer versions have other columns, too.
    columns = ", ".join(f'"{name}"' for name in (names if table == _FIELDS else [*names, *_schema.FOLDERS]))
    return f"SELECT {columns} FROM ({' UNION ALL BY NAME '.join(parts)})"


def _of_merged(store: Store, names: list[str]) -> str:
    return f'SELECT * EXCLUDE ("{NUMBER}") FROM read_parquet({_list(store, names)}, union_by_name = true, hive_partitioning = false)'


def _list(store: Store, names: list[str]) -> str:
    """Returns the names of files as a list in SQL. DuckDB treats each name as a pattern."""
    paths = (re.sub(r"[*?\[]", r"[\g<0>]", store.files.address(name)).replace("'", "''") for name in names)
    return "[" + ", ".join(f"'{path}'" for path in paths) + "]"


def rows_of(connection: duckdb.DuckDBPyConnection, query: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """Returns the rows of a query as dicts."""
    result = connection.execute(query, list(parameters))
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, values)) for values in result.fetchall()]


@contextmanager
def readable(lake: str | os.PathLike[str]) -> Iterator[None]:
    """Adds a remedy to the error if a file of a lake cannot be read.

    Raises:
        ProfileError: The file cannot be read.
    """
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise ProfileError(f"{os.fspath(lake)}: {error}{remedy(error)}") from None


def remedy(error: Exception) -> str:
    """Returns the remedy for an error of a query, if a file of the lake is the reason."""
    return "\nImport the captures again: that replaces files that are truncated." if ".parquet'" in str(error) else ""
