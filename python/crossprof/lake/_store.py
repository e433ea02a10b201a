"""Files of a lake, and what makes their writes safe.

::

    lake/schema=1/table=steps/workload=W/month=2026-11/capture=HASH.parquet    one file per table and capture
    lake/schema=1/table=verdicts/workload=W/month=2026-11/verdict=HASH.parquet one file per comparison that was recorded
    lake/schema=1/table=schema_fields/schema_fields.parquet                    every column, with its definition
    lake/schema=1/state/columns/HASH.json                                      versions of the tables that were written
    lake/schema=1/state/captures/HASH.json                                     where the files of a capture are
    lake/schema=1/state/verdicts/HASH.json                                     where the file of a comparison is
    lake/schema=1/state/sources/HASH.json                                      size and time of the files that were read from a path

Every file is written under a temporary name and then renamed, so that readers never see half a file. The name contains the hash of the
capture's contents, so that a second writer replaces a file with an equal one.

The state of a capture is written before its first table and after its last. If a writer is killed in between, the next import of the
capture finds the unfinished state, removes files that are elsewhere, and writes all tables again. The state also contains the sizes of the
files: an import writes a capture again if one of them is missing or truncated.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import ProfileError
from .._sources import is_url, local
from . import _schema

if TYPE_CHECKING:
    import pyarrow

_ROWS_OF_A_GROUP = 128 * 1024
_LEVEL = 3
#: Files with fewer rows are written in another way.
_FEW_ROWS = 256


class Store:
    """A lake in a folder."""

    def __init__(self, lake: str | os.PathLike[str]) -> None:
        """
        Raises:
            ProfileError: The lake is a URL, or engines would read a folder above it as a column.
        """
        if is_url(lake):
            raise ProfileError(f"{lake}: a lake is a folder. Mount the bucket, or write to a folder and copy it to the bucket.")
        above = Path(local(lake)).expanduser()
        for part in above.absolute().parts:
            if part.partition("=")[0].lower() in _schema.partitions() and "=" in part:
                raise ProfileError(f"{lake}: the name of the folder {part} would replace a column of the lake. Rename it, or use another folder.")
        self.root = above / f"schema={_schema.LAYOUT}"

    def place(self, table: str, place: Sequence[str], capture_id: str) -> Path:
        """Returns the file of a capture in a table. ``place`` is the workload and the month."""
        workload, month = place
        return self.root / f"table={table}" / f"workload={workload}" / f"month={month}" / f"capture={capture_id}.parquet"

    def size(self, path: Path) -> int | None:
        """Returns the size of a file. None if there is none."""
        try:
            return os.stat(path).st_size
        except OSError:
            return None

    def write_table(self, path: Path, table: pyarrow.Table) -> int:
        """Writes a table to a file of the lake, and returns its size."""
        import pyarrow as pa
        import pyarrow.parquet

        names = table.column_names
        options: dict[str, Any]
        if len(table) < _FEW_ROWS:
            # Most files have a few rows and many columns: dictionaries, statistics and the Arrow schema would be most of the file. Snappy
            # is as small as zstd for columns of a few values, and takes half the time.
            statistics = ["captured_at"] if "captured_at" in names else False
            options = {"compression": "snappy", "use_dictionary": False, "write_statistics": statistics}
        else:
            options = {
                "compression": "zstd",
                "compression_level": _LEVEL,
                "row_group_size": _ROWS_OF_A_GROUP,
                "use_dictionary": [field.name for field in table.schema if pa.types.is_string(field.type)],
            }
            if "depth" in names:
                options["column_encoding"] = dict.fromkeys(("start_ps", "duration_ps"), "DELTA_BINARY_PACKED")
        made = pa.BufferOutputStream()
        pyarrow.parquet.write_table(table, made, store_schema=False, **options)
        written = made.getvalue()
        # One call: the library writes a file of 20 kB in hundreds of parts.
        with replacing(path) as temporary, open(temporary, "wb") as file:
            file.write(written)
        return written.size

    def lay_schema(self) -> None:
        """Records the columns of this version, and writes the table of all columns unless this or a newer version has written it."""
        version, columns = _schema.stamp()
        if not self.state("columns", columns):
            self.set_state("columns", columns, {"crossprof": version})
        path = self.root / "table=schema_fields" / "schema_fields.parquet"
        state = self.state("lake", "schema_fields")
        if state and not _schema.is_older(state["stamp"]) and self.size(path) == state.get("size"):
            return
        import pyarrow as pa

        schema = pa.schema([(field.name, pa.string()) for field in _schema.SCHEMA_FIELDS])
        size = self.write_table(path, pa.Table.from_pylist(_schema.schema_rows(), schema))
        self.set_state("lake", "schema_fields", {"stamp": [version, columns], "size": size})

    def state(self, kind: str, name: str) -> dict[str, Any]:
        """Returns a state. Empty if there is none."""
        try:
            found = json.loads(self._state(kind, name).read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def set_state(self, kind: str, name: str, state: dict[str, Any]) -> None:
        """Writes a state."""
        with replacing(self._state(kind, name)) as temporary:
            Path(temporary).write_text(json.dumps(state, sort_keys=True), encoding="utf-8")

    def forget(self, kind: str, name: str) -> None:
        """Removes a state."""
        self._state(kind, name).unlink(missing_ok=True)

    def states(self, kind: str) -> set[str]:
        """Returns the names of all states of a kind."""
        return {path.stem for path in self.root.glob(f"state/{kind}/*/*.json")}

    def _state(self, kind: str, name: str) -> Path:
        return self.root / "state" / kind / name[:2] / f"{name}.json"

    def place_of_verdict(self, place: Sequence[str], name: str) -> Path:
        """Returns the file of a comparison. ``place`` is the workload and the month."""
        return self.place("verdicts", place, "").with_name(f"verdict={name}.parquet")

    def remove(self, capture_id: str, place: list[str], tables: Iterable[str]) -> None:
        """Removes files of a capture."""
        for table in tables:
            self.place(table, place, capture_id).unlink(missing_ok=True)

    def tables(self) -> list[str]:
        """Returns the tables that contain a file. A folder may be empty after a write was interrupted."""
        folders = (path for path in self.root.glob("table=*") if any(path.rglob("*.parquet")))
        return sorted(path.name.removeprefix("table=") for path in folders)


class replacing:
    """Gives a temporary name next to a file, and renames it to the file at the end. Removes it after an error."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Readers of a lake ignore names that begin with a dot or do not end in .parquet.
        self.temporary = path.with_name(f".{path.stem}.{uuid.uuid4().hex}.tmp")

    def __enter__(self) -> str:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return str(self.temporary)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            os.replace(self.temporary, self.path)
        else:
            self.temporary.unlink(missing_ok=True)
