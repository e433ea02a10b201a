"""Queries of a lake with DuckDB."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import ProfileError
from . import _schema
from ._store import Store

if TYPE_CHECKING:
    import duckdb

_TYPES = {"int64": "BIGINT", "double": "DOUBLE", "string": "VARCHAR", "bool": "BOOLEAN", "timestamp": "TIMESTAMP WITH TIME ZONE"}


def connect(lake: str | os.PathLike[str]) -> duckdb.DuckDBPyConnection:
    """Returns a connection with a view for each table of a lake: ``captures``, ``steps``, ``ops``, ``schema_fields``, ...

    Each view has all columns of this version. In rows that an older version wrote, new columns are null. ``workload`` and ``month`` come
    from the names of the folders: conditions on them skip files.

    Raises:
        ProfileError: The folder contains no lake.
    """
    import duckdb

    store = Store(lake)
    there = set(store.tables())
    if not there:
        raise ProfileError(f"{os.fspath(lake)}: there is no lake here. crossprof lake import GLOB --lake DIR makes one.")
    connection = duckdb.connect()
    folders = "".join(f', "{name}" VARCHAR' for name in _schema.FOLDERS)
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET parquet_metadata_cache = true")
    # DuckDB must open every file to find its columns, unless all files have those of this version.
    differ = store.states("columns") != {_schema.stamp()[1]}
    for table in [*_schema.TABLES, "schema_fields"]:
        fields = _schema.SCHEMA_FIELDS if table == "schema_fields" else _schema.fields(table)
        columns = ", ".join(f'"{field.name}" {_TYPES[field.type]}' for field in fields)
        connection.execute(f'CREATE TEMP TABLE "no_{table}" ({columns}{"" if table == "schema_fields" else folders})')
        rows = f'SELECT * FROM "no_{table}"'
        if table in there:
            # A workload made of digits is a name, too.
            options = f"hive_partitioning = true, hive_types_autocast = false, union_by_name = {str(differ).lower()}"
            files = f"read_parquet('{_pattern(store.root / f'table={table}')}', {options})"
            rows += f' UNION ALL BY NAME SELECT * EXCLUDE ("schema", "table") FROM {files}'
        with readable(lake):
            connection.execute(f'CREATE TEMP VIEW "{table}" AS {rows}')
    return connection


def rows_of(connection: duckdb.DuckDBPyConnection, query: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """Returns the rows of a query as dicts."""
    result = connection.execute(query, list(parameters))
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, values)) for values in result.fetchall()]


def _pattern(folder: Path) -> str:
    """Returns the pattern of the files below a folder, for a string of SQL."""
    path = re.sub(r"[*?\[]", r"[\g<0>]", str(folder))
    return f"{path}/**/*.parquet".replace("'", "''")


@contextmanager
def readable(lake: str | os.PathLike[str]) -> Iterator[None]:
    """Names the remedy if a file of a lake cannot be read.

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
