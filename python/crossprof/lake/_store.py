"""Files of a lake, and the rules that make it safe to write them.

::

    lake/schema=1/table=steps/workload=W/month=2026-11/capture=HASH.parquet    one file per table and capture
    lake/schema=1/table=verdicts/workload=W/month=2026-11/verdict=HASH.parquet one file per comparison that was recorded
    lake/schema=1/table=schema_fields/schema_fields.parquet                    every column, with its definition
    lake/schema=1/state/columns/HASH.json                                      versions of the tables that were written
    lake/schema=1/state/captures/HASH.json                                     where the files of a capture are
    lake/schema=1/state/verdicts/HASH.json                                     where the file of a comparison is
    lake/schema=1/state/sources/HASH.json                                      size and time of the files that were read from a path
    lake/schema=1/state/merged/steps/2026-11.json                              files of a month whose rows are also in a merged file
    lake/schema=1/state/merged/steps/HASH.parquet                              these rows

Every file is written under a temporary name and then renamed, so that readers never see an incomplete file. The name contains the
hash of the capture's contents, so that a second writer replaces a file with an identical file.

The state of a capture is written before the capture's first table and again after its last table. If a writer is killed between
these two writes, the next import of the capture finds the unfinished state, removes files at other places, and writes all tables
again. The state also contains the sizes of the files, so that an import writes a capture again if one of its files is missing or
truncated.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import ProfileError
from .._sources import is_url, local
from . import _schema
from ._storage import Folder

if TYPE_CHECKING:
    import pyarrow

    from ._bucket import Bucket

ROWS_OF_A_GROUP = 128 * 1024
_LEVEL = 3
#: File of the table of all columns.
SCHEMA_FIELDS = "table=schema_fields/schema_fields.parquet"
#: Files with fewer rows are written in another way.
_FEW_ROWS = 256


class Store:
    """A lake in a folder or a bucket."""

    def __init__(self, lake: str | os.PathLike[str]) -> None:
        """
        Raises:
            ProfileError: Engines would read a folder above the lake as a column, or a package for this kind of bucket is missing.
        """
        self.given = os.fspath(lake)
        address = self.given.rstrip("/") if is_url(lake) else str(Path(local(lake)).expanduser().absolute())
        for part in re.split(r"[/\\]", address):
            if part.partition("=")[0].lower() in _schema.partitions() and "=" in part:
                raise ProfileError(f"{lake}: the name of the folder {part} would replace a column of the lake. Rename it, or use another folder.")
        #: Address that does not depend on the working folder.
        self.path = address
        #: Its files, by names relative to the folder of this layout.
        self.files = _files(address)

    def place(self, table: str, place: Sequence[str], capture_id: str) -> str:
        """Returns the name of the file of a capture in a table. ``place`` is the workload and the month."""
        workload, month = place
        return f"table={table}/workload={workload}/month={month}/capture={capture_id}.parquet"

    def write_table(self, name: str, table: pyarrow.Table) -> int:
        """Writes a table to a file of the lake, and returns its size."""
        return self.write_tables({name: table})[0]

    def write_tables(self, tables: dict[str, pyarrow.Table]) -> list[int]:
        """Writes tables to files of the lake, and returns their sizes."""
        written = {name: _encoded(table) for name, table in tables.items()}
        self.files.write_many(written)
        return list(map(len, written.values()))

    def lay_schema(self) -> None:
        """Records the columns of this version. Writes the table of all columns, unless this or a newer version has already written
        it."""
        version, columns = _schema.stamp()
        if not self.state("columns", columns):
            self.set_state("columns", columns, {"crossprof": version})
        path = SCHEMA_FIELDS
        state = self.state("lake", "schema_fields")
        if state and not _schema.is_older(state["stamp"]) and self.files.size(path) == state.get("size"):
            return
        import pyarrow as pa

        schema = pa.schema([(field.name, pa.string()) for field in _schema.SCHEMA_FIELDS])
        size = self.write_table(path, pa.Table.from_pylist(_schema.schema_rows(), schema))
        self.set_state("lake", "schema_fields", {"stamp": [version, columns], "size": size})

    def state(self, kind: str, name: str) -> dict[str, Any]:
        """Returns a state. The state is empty if there is none."""
        try:
            found = json.loads(self.files.read(_state(kind, name)))
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def set_state(self, kind: str, name: str, state: dict[str, Any]) -> None:
        """Writes a state."""
        self.files.write(_state(kind, name), json.dumps(state, sort_keys=True).encode())

    def forget(self, kind: str, name: str) -> None:
        """Removes a state."""
        self.files.remove(_state(kind, name))

    def states(self, kind: str) -> set[str]:
        """Returns the names of all states of a kind."""
        return {name.rpartition("/")[2].removesuffix(".json") for name, _ in self.files.find(f"state/{kind}")}

    def place_of_verdict(self, place: Sequence[str], name: str) -> str:
        """Returns the name of the file of a comparison. ``place`` is the workload and the month."""
        return self.place("verdicts", place, "").replace("capture=", f"verdict={name}")

    def remove(self, capture_id: str, place: list[str], tables: Iterable[str]) -> None:
        """Removes files of a capture."""
        for table in tables:
            self.files.remove(self.place(table, place, capture_id))

    def require(self) -> None:
        """
        Raises:
            ProfileError: There is no lake. A folder may be empty after a write was interrupted.
        """
        folders = (name for name in self.files.folders() if name.startswith("table="))
        if not any(name.endswith(".parquet") for folder in folders for name, _ in self.files.find(folder)):
            raise ProfileError(f"{self.given}: there is no lake here. crossprof lake import GLOB --lake DIR makes one.")


def _files(address: str) -> Folder | Bucket:
    if not is_url(address):
        return Folder(Path(address) / f"schema={_schema.LAYOUT}")
    # Reading a folder does not need fsspec.
    from ._bucket import Bucket

    return Bucket(f"{address}/schema={_schema.LAYOUT}")


def _encoded(table: pyarrow.Table) -> memoryview:
    """Returns a table as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet

    options: dict[str, Any]
    if len(table) < _FEW_ROWS:
        # Most files have a few rows and many columns: dictionaries, statistics and the Arrow schema would be most of the file. Snappy
        # is as small as zstd for columns of a few values, and takes half the time.
        statistics = ["captured_at"] if "captured_at" in table.column_names else False
        options = {"compression": "snappy", "use_dictionary": False, "write_statistics": statistics}
    else:
        options = {"row_group_size": ROWS_OF_A_GROUP, **options_of(table.schema)}
    made = pa.BufferOutputStream()
    pyarrow.parquet.write_table(table, made, store_schema=False, **options)
    return memoryview(made.getvalue())


def options_of(schema: pyarrow.Schema) -> dict[str, Any]:
    """Returns the settings with which a file with many rows is written."""
    import pyarrow as pa

    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    options: dict[str, Any] = {"compression": "zstd", "compression_level": _LEVEL, "use_dictionary": texts}
    if "depth" in schema.names:
        options["column_encoding"] = dict.fromkeys(("start_ps", "duration_ps"), "DELTA_BINARY_PACKED")
    return options


def _state(kind: str, name: str) -> str:
    return f"state/{kind}/{name[:2]}/{name}.json"
