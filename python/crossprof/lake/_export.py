"""Exports the trend of each workload as one JSON document, which a page can read without an engine."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _native
from . import _schema
from ._query import connect, readable, rows_of
from ._storage import replacing

if TYPE_CHECKING:
    import duckdb

#: Name and version of the format. A field that is added does not change the version.
FORMAT, VERSION = "crossprof-lake", 1
#: Most findings of a capture.
_MOST_FINDINGS = 3
_PREFIX = "breakdown_"

_TIME = 'coalesce(strftime(captured_at, \'%Y-%m-%dT%H:%M:%SZ\'), "timestamp")'

_CAPTURES = f"""
WITH quartiles AS (
    SELECT capture_id, quantile_cont(duration_ps, 0.25) AS p25, quantile_cont(duration_ps, 0.75) AS p75
    FROM steps WHERE counted GROUP BY capture_id
)
SELECT workload_key, program, device_kind, num_devices, batch_size, seq_length, capture_id, run, path, {_TIME} AS time, git_sha,
       typical_step_ps, median_step_time_ps, round(p25)::BIGINT AS p25_step_time_ps, round(p75)::BIGINT AS p75_step_time_ps,
       num_steps_counted, {{parts}}
FROM captures LEFT JOIN quartiles USING (capture_id)
ORDER BY program, device_kind, num_devices, workload_key, time, capture_id
"""

_FINDINGS = """
SELECT capture_id, id, severity FROM findings WHERE severity IN ('critical', 'warning')
QUALIFY row_number() OVER (PARTITION BY capture_id ORDER BY severity, time_at_stake_percent DESC NULLS LAST, id) <= ?
ORDER BY capture_id, severity, time_at_stake_percent DESC NULLS LAST, id
"""

# Later comparisons repeat the others.
_VERDICTS = f"""
SELECT workload_key, capture_id, {_TIME.replace('"timestamp"', "NULL")} AS time, verdict, before_ps, after_ps, change_percent,
       margin_percent, least_provable_percent, threshold_percent, is_change_point,
       regexp_extract(after_captures, '"([^"]+)"', 1) AS first_capture_id, first_bad_capture_id, last_good_capture_id, cause_part,
       cause_scope, cause_op, cause_host
FROM verdicts
QUALIFY verdict IN ('slower', 'faster') OR row_number() OVER (PARTITION BY workload_key ORDER BY created_at DESC, after_captures) = 1
ORDER BY workload_key, created_at, after_captures, threshold_percent
"""

#: Fields of a workload.
_OF_WORKLOAD = ("workload_key", "program", "device_kind", "num_devices", "batch_size", "seq_length")


def export(lake: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the trend of each workload: its captures with their step times, and the changes that ``regressions`` recorded.
    docs/fleet.md describes the document. Lakes with the same contents give the same document.

    Raises:
        ProfileError: There is no lake.
    """
    connection = connect(lake)
    with readable(lake):
        return _document(connection)


def _document(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    parts = [field.name for field in _schema.fields("captures") if field.source[:2] == ("step_breakdown", "parts")]
    rows = rows_of(connection, _CAPTURES.format(parts=", ".join(f'"{name}"' for name in parts)))
    findings: dict[str, list[dict[str, str]]] = {}
    for row in rows_of(connection, _FINDINGS, [_MOST_FINDINGS]):
        findings.setdefault(row.pop("capture_id"), []).append(row)
    workloads: list[dict[str, Any]] = []
    # Index of each workload.
    places: dict[str, int] = {}
    captures = []
    for row in rows:
        about = {name: row.pop(name) for name in _OF_WORKLOAD}
        if about["workload_key"] not in places:
            places[about["workload_key"]] = len(workloads)
            workloads.append(_known(about))
        of_step = {name: row.pop(name) for name in parts}
        capture = {"workload": places[about["workload_key"]], **row}
        capture["parts"] = _known({name.removeprefix(_PREFIX): value for name, value in of_step.items()})
        capture["findings"] = findings.get(row["capture_id"], [])
        captures.append(_known(capture))
    verdicts = []
    for row in rows_of(connection, _VERDICTS):
        place = places.get(row.pop("workload_key"))
        if place is not None:
            verdicts.append(_known({"workload": place, **row}))
    return {
        "format": FORMAT,
        "version": VERSION,
        "crossprof_version": _native.__version__,
        "workloads": workloads,
        "captures": captures,
        "verdicts": verdicts,
    }


def _known(record: dict[str, Any]) -> dict[str, Any]:
    """Returns only the fields that were measured. Other fields are absent, because null must not be read as 0."""
    return {name: value for name, value in record.items() if value is not None}


def text_of(document: dict[str, Any]) -> str:
    """Returns the document as JSON with one record per line."""

    def compact(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"))

    def value_text(value: Any) -> str:
        return "[\n" + ",\n".join(map(compact, value)) + "\n]" if isinstance(value, list) and value else compact(value)

    return "{\n" + ",\n".join(f"{compact(name)}:{value_text(value)}" for name, value in document.items()) + "\n}\n"


def write_export(document: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Writes the document to a file. The file is compressed if its name ends in ``.gz``."""
    made = text_of(document).encode()
    with replacing(str(Path(path).expanduser())) as file:
        file.write(gzip.compress(made, mtime=0) if os.fspath(path).endswith(".gz") else made)
