"""A data source of Spark that reads captures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from .._errors import ProfileError
from . import _rows, _schema
from ._captures import captures
from ._files import files_at

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType


class CrossprofSource(DataSource):
    """Reads the rows of captures in Spark, without a lake::

        spark.dataSource.register(lake.CrossprofSource)
        spark.read.format("crossprof").option("table", "steps").load("gs://bucket/runs")

    The path is a capture, a folder, a URL or a pattern. The option ``table`` is a table of the lake (``captures`` by default). The
    columns are the same as in a lake. A capture that cannot be read fails the query, unless the option ``ignoreCorruptFiles`` is
    ``true``.
    """

    @classmethod
    def name(cls) -> str:
        return "crossprof"

    def schema(self) -> StructType:
        """Returns the columns of the table, which do not depend on the captures."""
        return from_arrow_schema(_rows.arrow_schema(self._table()), prefer_timestamp_ntz=False)

    def reader(self, schema: StructType) -> DataSourceReader:
        path = self.options.get("path")
        if not path:
            raise ProfileError('Give the path of captures: spark.read.format("crossprof").load(path).')
        return _Reader(path, self._table(), self.options.get("ignoreCorruptFiles", "false").lower() == "true")

    def _table(self) -> str:
        table = self.options.get("table", "captures")
        known = [*_rows.OF_PROFILE, "events"]
        if table not in known:
            raise ProfileError(f"There is no table {table!r}; there are {', '.join(known)}.")
        return table


class _Reader(DataSourceReader):
    def __init__(self, path: str, table: str, skips: bool) -> None:
        self._path, self._table, self._skips = path, table, skips

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(capture) for capture in captures(self._path)]

    def read(self, partition: Any) -> Iterator[pyarrow.RecordBatch]:
        try:
            files = files_at(partition.value)
            capture_id = files.content_hash()
            read = _rows.Capture(files.profiles()[0], capture_id, partition.value)
            table = _rows.events(read) if self._table == "events" else self._rows_of(read)
        except (OSError, ValueError) as error:
            if self._skips:
                return
            raise ProfileError(f"{partition.value}: {error}") from None
        yield from table.to_batches()

    def _rows_of(self, read: _rows.Capture) -> pyarrow.Table:
        import pyarrow as pa
        import pyarrow.parquet

        files = read.files([self._table])
        if not files:
            return _rows.arrow_schema(self._table).empty_table()
        return pyarrow.parquet.read_table(pa.BufferReader(files[self._table]))
