"""Writes captures to a lake on a cluster, with Ray or Spark.

The engine distributes paths and collects rows about the outcome. crossprof itself writes the files, so a job is safe to repeat. If
an engine wrote the files and overwrote partitions, it would remove the captures of earlier jobs.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ._captures import Places, captures
from ._store import Store
from ._write import write

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

#: Columns of the rows about the outcome, in the type names of Arrow and of Spark.
_STATUS = {
    "capture": ("string", "string"),
    "capture_id": ("string", "string"),
    "status": ("string", "string"),
    "events": ("int64", "bigint"),
    "seconds": ("double", "double"),
    "error": ("string", "string"),
}
#: More tasks cost more time than they save.
_MOST_TASKS = 10_000


def write_batch(batch: pyarrow.Table, lake: str, events: bool = False) -> pyarrow.Table:
    """Writes the captures in the column ``capture`` to a lake, for engines that map Arrow tables.

    Returns:
        A table with the outcome of each capture: see :func:`write`. A capture that cannot be read is a row with the status
        ``failed``.

    Raises:
        OSError: The lake cannot be written. The engine should then repeat the task.
    """
    import pyarrow as pa

    rows = [write(capture, lake, events=events) for capture in batch["capture"].to_pylist()]
    # The engine may send the tasks of one job to workers of several versions.
    schema = pa.schema([(name, getattr(pa, kind if kind != "double" else "float64")()) for name, (kind, _) in _STATUS.items()])
    return pa.Table.from_pylist(rows, schema)


def ray(paths: Places, lake: str | os.PathLike[str], *, events: bool = False, **options: Any) -> list[dict[str, Any]]:
    """Writes captures to a lake with Ray Data.

    Args:
        paths: Captures, folders that are searched for captures, URLs or patterns of these. The workers must be able to reach these
            paths.
        lake: Folder of the lake, which all workers must reach, or its URL.
        events: Also write every event.
        **options: Other arguments of ``map_batches``, such as ``num_cpus=2`` or ``memory=8 << 30`` for large captures.

    Returns:
        A dict for each capture: see :func:`write`.

    Raises:
        ImportError: Ray is not installed.
        ProfileError: There are no captures.
    """
    import ray.data
    from ray.data import DataContext

    found = captures(paths)
    context = DataContext.get_current().copy()
    # By default, Ray repeats a task if its worker died, but not if the task raised an error.
    context.retried_map_errors = True
    context.max_map_retries = 3
    with DataContext.current(context):
        tasks = ray.data.from_items([{"capture": each} for each in found], override_num_blocks=min(len(found), _MOST_TASKS))
        mapped = tasks.map_batches(
            write_batch, batch_format="pyarrow", batch_size=None, fn_kwargs={"lake": _absolute(lake), "events": events}, **options
        )
        return sorted(mapped.take_all(), key=lambda row: row["capture"])


def spark(session: SparkSession, paths: Places, lake: str | os.PathLike[str], *, events: bool = False) -> list[dict[str, Any]]:
    """Writes captures to a lake with Spark. The arguments and the result are the same as for :func:`ray`.

    Spark tries a task up to ``spark.task.maxFailures`` times (once in ``local[2]``, and 4 times in ``local[2,4]``).

    Raises:
        ProfileError: There are no captures.
    """
    found = captures(paths)
    frame = session.createDataFrame([(each,) for each in found], "capture string").repartition(min(len(found), _MOST_TASKS))
    columns = ", ".join(f"{name} {kind}" for name, (_, kind) in _STATUS.items())
    task = functools.partial(_write_batches, lake=_absolute(lake), events=events)
    return sorted((row.asDict() for row in frame.mapInArrow(task, columns).collect()), key=lambda row: row["capture"])


def _absolute(lake: str | os.PathLike[str]) -> str:
    """Returns the absolute path of a lake, because workers have other working folders."""
    return Store(lake).path


def _write_batches(batches: Iterable[pyarrow.RecordBatch], lake: str, events: bool) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow as pa

    for batch in batches:
        # One capture at a time, so that a large batch needs no more memory.
        yield from write_batch(pa.Table.from_batches([batch]), lake, events).to_batches()
