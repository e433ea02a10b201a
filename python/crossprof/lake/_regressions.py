"""Finds workloads that became slower.

The captures of a workload are a series in time. The statistics come from ``compare`` and its trends. The noise is the variation
among captures, but at least the variation of their steps. If the trend finds a change, the captures after the last change are
compared with the captures of the level before it. If the trend finds no change, the last captures are compared with the captures
before them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .. import _native
from .._errors import ProfileError, checked_count
from ._comparison import Comparison
from ._query import connect, readable, rows_of
from ._store import Store
from ._verdicts import write_verdict

if TYPE_CHECKING:
    import duckdb

#: Fewest captures of a comparison: fewer do not show how captures vary.
_FEWEST = 4
#: Smallest share of a slow-down that an explanation must have.
_LEAST_SHARE = 0.05
#: Most explanations of one kind.
_MOST = 3

_CAPTURES = """
SELECT workload_key, capture_id, run, path, captured_at, git_sha, device_kind, num_devices, program,
       typical_step_ps / 1e6 AS us, typical_step_steps, typical_step_variance_ps2 / 1e12 AS variance, typical_step_freedom,
       typical_step_products, typical_step_squares, host, jax_version, libtpu_version, cuda_version, schema_version, coalesce(captured_at, try_cast("timestamp" AS TIMESTAMP WITH TIME ZONE)) AS taken_at
FROM captures
WHERE typical_step_ps IS NOT NULL AND taken_at IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY workload_key ORDER BY taken_at DESC, capture_id DESC) <= ?
ORDER BY workload_key, taken_at, capture_id
"""

_OPS = """
SELECT capture_id, op_key, any_value(scope) AS scope, any_value(hlo_op_name) AS name, sum(self_time_ps / device_steps / 1e6) AS us
FROM ops WHERE capture_id IN (SELECT unnest(?)) AND device_steps > 0 AND self_time_ps IS NOT NULL GROUP BY ALL ORDER BY ALL
"""

_HOSTS = """
SELECT hosts.capture_id, hosts.host, hosts.caused_wait_ps / hosts.num_steps / captures.num_devices / 1e6 AS us
FROM hosts JOIN captures USING (capture_id)
WHERE hosts.capture_id IN (SELECT unnest(?)) AND hosts.host IS NOT NULL AND hosts.caused_wait_ps IS NOT NULL
  AND hosts.num_steps > 0 AND captures.num_devices > 0
ORDER BY ALL
"""


def regressions(
    lake: str | os.PathLike[str], *, last: int = 3, against: int = 10, threshold: float = 1.0, record: bool = False
) -> list[dict[str, Any]]:
    """Returns the workloads whose steps became slower, largest slow-down first.

    Args:
        lake: Folder of the lake, or its URL.
        last: Number of captures that are compared with earlier captures.
        against: Number of earlier captures to compare with.
        threshold: Smallest slow-down that matters, in percent.
        record: Also write the comparison of each workload to the table ``verdicts``, unless it contains one of the same captures.

    Returns:
        For each workload, a dict with ``before_us`` and ``after_us`` (means of the typical steps), ``percent``, ``margin_percent`` (half
        of the 95 % confidence interval), ``least_provable_percent`` (the smallest difference that such captures would show in four
        of five cases), ``first_bad`` and ``last_good`` (captures with their commits), and ``because``: the parts of the step, scopes,
        ops and hosts that take more time, beyond their noise.

    Raises:
        ProfileError: There is no lake, or an argument is invalid.
        OSError: The lake cannot be written.
    """
    checked_count("last", last)
    checked_count("against", against)
    if not 0 <= threshold <= 100:
        raise ProfileError(f"threshold must be a percentage from 0 to 100, not {threshold!r}.")
    connection = connect(lake)
    with readable(lake):
        series = series_of(connection, last + against)
        found = [each for captures in series.values() if (each := _compared(connection, captures, last, threshold)) is not None]
    if record:
        for each in found:
            write_verdict(Store(lake), each)
    slower = (each.regression() for each in found if each.verdict == "slower")
    return sorted(slower, key=lambda each: (-each["percent"], each["workload_key"]))


def series_of(connection: duckdb.DuckDBPyConnection, most: int) -> dict[str, list[dict[str, Any]]]:
    """Returns the last captures of each workload, in the order of their time."""
    series: dict[str, list[dict[str, Any]]] = {}
    for row in rows_of(connection, _CAPTURES, [most]):
        series.setdefault(row["workload_key"], []).append(row)
    return series


def _level(row: dict[str, Any]) -> tuple[float, int, float | None, float, tuple[float, float, float] | None]:
    sums = (row["typical_step_products"], row["typical_step_squares"], float(row["typical_step_steps"]))
    correlation = None if sums[0] is None or sums[1] is None else sums
    return row["us"], row["typical_step_steps"], row["variance"], row["typical_step_freedom"], correlation


def split(levels: list[Any], last: int) -> tuple[list[int], list[int], bool]:
    """Returns the indices of the captures before and after the change, and true if the trend found the change."""
    firsts, outliers = _native.changes_of_level(levels)
    if firsts:
        start, change = (firsts[-2] if len(firsts) > 1 else 0), firsts[-1]
    else:
        start, change = 0, max(len(levels) - last, 0)
    kept = [at for at in range(start, len(levels)) if at not in outliers]
    return [at for at in kept if at < change], [at for at in kept if at >= change], bool(firsts)


def compared(captures: list[dict[str, Any]], last: int, threshold: float) -> tuple[list[int], list[int], bool, Any] | None:
    """Returns the captures before and after the change, true if the trend found the change, and the difference. Returns None if
    there are too few captures."""
    levels = [_level(row) for row in captures]
    before, after, is_change = split(levels, last)
    if not before or not after or len(before) + len(after) < _FEWEST:
        return None
    difference = _native.group_difference([levels[at] for at in after], [levels[at] for at in before], threshold / 100)
    return None if difference is None else (before, after, is_change, difference)


def _compared(
    connection: duckdb.DuckDBPyConnection, captures: list[dict[str, Any]], last: int, threshold: float
) -> Comparison | None:
    found = compared(captures, last, threshold)
    if found is None:
        return None
    before, after, is_change, (after_us, before_us, margin_us, least_us, verdict) = found
    sides = [captures[at] for at in before], [captures[at] for at in after]
    because = _causes(connection, sides, after_us - before_us) if verdict == "slower" else []
    return Comparison(*sides, is_change, before_us, after_us, margin_us, least_us, verdict, threshold, because)


def _causes(
    connection: duckdb.DuckDBPyConnection, sides: tuple[list[dict[str, Any]], list[dict[str, Any]]], slower_us: float
) -> list[dict[str, Any]]:
    """Returns the parts of the step, the scopes, the ops and the hosts that take more time per step and device, largest first."""
    ids = [[row["capture_id"] for row in side] for side in sides]
    both = [*ids[0], *ids[1]]
    ops = rows_of(connection, _OPS, [both])
    names = {row["op_key"]: row for row in ops}
    hosts = rows_of(connection, _HOSTS, [both])
    kinds: list[tuple[str, dict[str, dict[str, float]]]] = [
        ("part", _parts(connection, both)),
        ("scope", _sums(ops, "scope")),
        ("op", _sums(ops, "op_key")),
        ("host", _sums(hosts, "host") if len({row["host"] for row in hosts}) > 1 else {}),
    ]
    found: list[dict[str, Any]] = []
    for kind, values in kinds:
        # A capture without any value did not record this kind.
        known = {capture for of_captures in values.values() for capture in of_captures}
        grown: list[dict[str, Any]] = []
        for name, of_captures in values.items():
            before, after = ([of_captures.get(capture, 0.0) for capture in side if capture in known] for side in ids)
            margin = _native.margin_of_values(after, before)
            if margin is None or not before or not after:
                continue
            delta = sum(after) / len(after) - sum(before) / len(before)
            if delta > margin and delta > _LEAST_SHARE * slower_us:
                cause: dict[str, Any] = {"kind": kind, "name": name, "slower_us": delta, "percent_of_slowdown": 100 * delta / slower_us}
                if kind == "op":
                    cause |= {"name": names[name]["name"], "op_key": name, "scope": names[name]["scope"]}
                grown.append(cause)
        grown.sort(key=lambda cause: (-cause["slower_us"], cause["name"]))
        found += grown[:_MOST]
    return found


def _sums(rows: Iterable[dict[str, Any]], key: str) -> dict[str, dict[str, float]]:
    """Returns the time of each name in each capture."""
    sums: dict[str, dict[str, float]] = {}
    for row in rows:
        if row[key]:
            of_captures = sums.setdefault(row[key], {})
            of_captures[row["capture_id"]] = of_captures.get(row["capture_id"], 0.0) + row["us"]
    return sums


def _parts(connection: duckdb.DuckDBPyConnection, captures: list[str]) -> dict[str, dict[str, float]]:
    """Returns the time of each part of the mean step in each capture."""
    from . import _schema

    names = [field.name for field in _schema.fields("captures") if field.source[:2] == ("step_breakdown", "parts")]
    columns = ", ".join(f'"{name}" / 1e6 AS "{name}"' for name in names)
    rows = rows_of(connection, f"SELECT capture_id, {columns} FROM captures WHERE capture_id IN (SELECT unnest(?))", [captures])
    parts = {
        name.removeprefix("breakdown_").removesuffix("_ps"): {row["capture_id"]: row[name] for row in rows if row[name] is not None}
        for name in names
    }
    return parts
