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

from .. import _native
from .._errors import ProfileError
from .._sources import is_url, local
from . import _rows, _schema
from ._storage import Folder

if TYPE_CHECKING:
    import pyarrow

    from ._bucket import Bucket

#: File of the table of all columns.
SCHEMA_FIELDS = "table=schema_fields/schema_fields.parquet"


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
        file = _rows.file("schema_fields", _schema.schema_rows(), {})
        self.files.write(path, file)
        self.set_state("lake", "schema_fields", {"stamp": [version, columns], "size": len(file)})

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


def encoded_events(table: pyarrow.Table) -> memoryview:
    """Returns events as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet

    made = pa.BufferOutputStream()
    pyarrow.parquet.write_table(table, made, store_schema=False, row_group_size=_native.ROWS_OF_A_GROUP, **options_of(table.schema))
    return memoryview(made.getvalue())


def options_of(schema: pyarrow.Schema) -> dict[str, Any]:
    """Returns the settings with which a file with many rows is written."""
    import pyarrow as pa

    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    options: dict[str, Any] = {"compression": "zstd", "compression_level": _native.ZSTD_LEVEL, "use_dictionary": texts}
    if "depth" in schema.names:
        options["column_encoding"] = dict.fromkeys(("start_ps", "duration_ps"), "DELTA_BINARY_PACKED")
    return options


def _state(kind: str, name: str) -> str:
    return f"state/{kind}/{name[:2]}/{name}.json"
