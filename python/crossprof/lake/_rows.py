"""Makes the rows of a capture for each table of the lake."""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .. import _native
from . import _schema
from ._schema import Field

if TYPE_CHECKING:
    import pyarrow

    from .._profile import Profile


class Capture:
    """A capture that was read, with the values that all of its rows have."""

    def __init__(self, profile: Profile, capture_id: str, path: str) -> None:
        self.profile = profile
        self.report = profile.report
        self.path = path
        metadata = self.report["metadata"]
        environment = metadata.get("environment", {})
        programs = self.report.get("programs", [])
        #: The program with the most time.
        self.program: dict[str, Any] = programs[0] if programs else {}
        self.hosts: list[dict[str, Any]] = (self.report.get("multi_device") or {}).get("hosts", [])
        self.captured_at = _captured_at(metadata)
        #: Month for the name of the folder. Without a zone, that of the local time.
        self.month = _month(self.captured_at, metadata)
        self.keys: dict[str, Any] = {
            "capture_id": capture_id,
            "run": _native.run_name(profile._runs, profile._index),
            "workload_key": self._workload(),
            "host": self.hosts[0].get("host") if len(self.hosts) == 1 else None,
            "device_kind": metadata["device_type"],
            "captured_at": self.captured_at,
            "git_sha": environment.get("git_commit"),
            "jax_version": environment.get("jax_version"),
            "libtpu_version": environment.get("libtpu_version"),
            "cuda_version": environment.get("cuda_version"),
            "crossprof_version": _native.__version__,
            "schema_version": metadata.get("schema_version"),
        }

    def _workload(self) -> str:
        metadata, model = self.report["metadata"], self.report["model_config"]
        ops = (self.report.get("step_ops") or {}).get("ops", [])
        program = [self.program.get("name"), self.program.get("parameter_fingerprint"), self.program.get("num_partitions")]
        modules = sorted({op["module"] for op in ops if op.get("module")}) if not self.program else []
        device = [metadata["device_type"], metadata["num_devices"]]
        return _hash(program, modules, device, model.get("batch_size"), model.get("seq_length"))

    @functools.cached_property
    def op_rows(self) -> list[dict[str, Any]]:
        """Rows about ops, from which the tables of ops are made."""
        return list(_op_rows(self))

    def rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Returns the rows of a table that come from the profile, without the values that all rows have."""
        return OF_PROFILE[table](self)


def _hash(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _captured_at(metadata: dict[str, Any]) -> datetime.datetime | None:
    """Returns the start of a capture in UTC, from the profile or the sidecar of the capture kit."""
    timestamp = metadata.get("timestamp") or ""
    if timestamp.endswith("Z"):
        # Python before 3.11 reads neither Z nor fractions of other lengths.
        seconds, _, fraction = timestamp.removesuffix("Z").partition(".")
        try:
            at = datetime.datetime.fromisoformat(f"{seconds}+00:00")
        except ValueError:
            return None
        digits = re.match(r"\d*", fraction)
        return at.replace(microsecond=int((digits.group() if digits else "").ljust(6, "0")[:6]))
    clock = metadata.get("environment", {}).get("wall_clock_ns", "")
    if clock.isdecimal() and len(clock) < 20:
        return datetime.datetime.fromtimestamp(int(clock) // 1000 / 1e6, datetime.timezone.utc)
    return None


def _month(captured_at: datetime.datetime | None, metadata: dict[str, Any]) -> str:
    if captured_at is not None:
        return captured_at.strftime("%Y-%m")
    found = re.match(r"\d{4}-(0[1-9]|1[0-2])(?=-|$)", metadata.get("timestamp") or "", flags=re.ASCII)
    return found.group() if found else "unknown"


def _of_list(table: str, path: tuple[str, ...]) -> Callable[[Capture], Iterator[dict[str, Any]]]:
    """Returns a function that makes rows from a list in the profile."""

    def make(capture: Capture) -> Iterator[dict[str, Any]]:
        found: Any = capture.report
        for key in path:
            found = (found or {}).get(key)
        fields = _schema.fields(table)
        for record in found or ():
            row = _schema.values(fields, record)
            # Rows about a host or device belong to its host.
            yield {**row, "host": record["host"]} if record.get("host") else row

    return make


def _captures(capture: Capture) -> Iterator[dict[str, Any]]:
    row = _schema.values(_schema.fields("captures"), capture.report)
    row |= {
        "path": capture.path,
        "program": capture.program.get("name"),
        "program_fingerprint": capture.program.get("fingerprint"),
        "environment": json.dumps(capture.report["metadata"].get("environment", {}), sort_keys=True),
        "device_steps": _device_steps(capture),
    }
    level = _native.typical_step(capture.profile._runs, capture.profile._index)
    if level is not None:
        mean_us, steps, variance_us2, freedom, sums = level
        row |= {
            "typical_step_ps": round(mean_us * 1e6),
            "typical_step_steps": steps,
            "typical_step_variance_ps2": None if variance_us2 is None else variance_us2 * 1e12,
            "typical_step_freedom": freedom,
        }
        if sums is not None:
            row |= {"typical_step_products": sums[0], "typical_step_squares": sums[1]}
    yield row


def _memory(capture: Capture) -> Iterator[dict[str, Any]]:
    """Yields a row for each device, and a row for each class of the device's buffers. Sums are meaningful only over rows of one of
    these two kinds."""
    fields = _schema.fields("memory")
    of_class = tuple(field for field in fields if field.source[:1] == ("class",))
    of_device = tuple(field for field in fields if field.source[:1] not in ((), ("class",)))
    for device in (capture.report.get("memory") or {}).get("devices", ()):
        yield _schema.values(of_device, device)
        for one in device.get("by_class", ()):
            yield {"device_name": device["device_name"], **_schema.values(of_class, {"class": one})}


def _device_steps(capture: Capture) -> int | None:
    found: int | None = (capture.report.get("step_ops") or {}).get("device_steps")
    return found


_SUMS = ("self_time_ps", "total_time_ps", "occurrences", "executions", "flops", "bytes_accessed")


def _op_rows(capture: Capture) -> Iterator[dict[str, Any]]:
    """Yields a row for each op of each program, with the parts of the op's key."""
    table = capture.profile.table("ops")
    fields = tuple(field for name in ("ops", "op_programs") for field in _schema.fields(name) if field.source)
    by_name = {field.name: field for field in fields}
    columns = {name: [_schema.converted(value, field) for value in table[field.source[0]]] for name, field in by_name.items()}
    steps = _device_steps(capture)
    names = list(columns)
    for expression, values in zip(table["hlo_op_expression"], zip(*columns.values())):
        row = dict(zip(names, values))
        opcode, shapes, fingerprint = (expression and _native.instruction(expression)) or (None, None, None)
        row["scope"] = _native.scope(row["tf_op_name"] or "")
        identity = (opcode, shapes) if opcode else re.sub(r"[.\d]+(?:\.remat\d*)?$", "", row["hlo_op_name"])
        row["op_key"] = _hash(row["scope"], row["category"], identity)
        yield {**row, "opcode": opcode, "shapes": shapes, "fingerprint": fingerprint, "device_steps": steps}


def _op_programs(capture: Capture) -> Iterator[dict[str, Any]]:
    return iter(capture.op_rows)


def _ops(capture: Capture) -> Iterator[dict[str, Any]]:
    """Yields a row for each key, with the sums over its ops. The names come from the op with the most self time."""
    merged: dict[str, dict[str, Any]] = {}
    # The table is sorted by self time.
    for row in capture.op_rows:
        so_far = merged.setdefault(row["op_key"], {**row, "num_ops": 0, **dict.fromkeys(_SUMS)})
        so_far["num_ops"] += 1
        for name in _SUMS:
            if row[name] is not None:
                so_far[name] = (so_far[name] or 0) + row[name]
    return iter(merged.values())


def _collectives(capture: Capture) -> Iterator[dict[str, Any]]:
    fields = [field for field in _schema.fields("collectives") if field.source]
    table = capture.profile.table("collectives", by="op")
    if not len(table):
        return iter(())
    columns = [[_schema.converted(value, field) for value in table[field.source[0]]] for field in fields]
    names = [field.name for field in fields]
    return (dict(zip(names, values)) for values in zip(*columns))


#: Makers of the rows of each table that comes from the profile.
OF_PROFILE: dict[str, Callable[[Capture], Iterator[dict[str, Any]]]] = {
    "captures": _captures,
    "hosts": _of_list("hosts", ("multi_device", "hosts")),
    "devices": _of_list("devices", ("multi_device", "device_stats")),
    "steps": _of_list("steps", ("steps",)),
    "step_parts": _of_list("step_parts", ("step_breakdown", "steps")),
    "ops": _ops,
    "op_programs": _op_programs,
    "collectives": _collectives,
    "findings": _of_list("findings", ("findings",)),
    "memory": _memory,
}


def arrow_schema(table: str) -> pyarrow.Schema:
    """Returns the Arrow types of a table's columns, which are the same for every capture."""
    schema, _ = _types_of(_schema.fields(table))
    return schema


@functools.cache
def _types_of(fields: tuple[Field, ...]) -> tuple[pyarrow.Schema, pyarrow.StructType]:
    """Returns the Arrow types of the columns, and of a row."""
    import pyarrow as pa

    types = {
        "int64": pa.int64(),
        "double": pa.float64(),
        "string": pa.string(),
        "bool": pa.bool_(),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }
    found = [pa.field(field.name, types[field.type]) for field in fields]
    return pa.schema(found), pa.struct(found)


def arrow(table: str, rows: list[dict[str, Any]], keys: dict[str, Any]) -> pyarrow.Table:
    """Returns sorted rows as an Arrow table. Values that a row lacks come from ``keys``, or else are null."""
    import pyarrow as pa

    for name in reversed(_schema.TABLES[table].sort):
        rows = sorted(rows, key=lambda row: (row.get(name) is not None, row.get(name)) if row.get(name) is not None else (False, 0))
    schema, row_type = _types_of(_schema.fields(table))
    # One call for all columns: most tables have a few rows and many columns.
    structs = pa.array([{**keys, **row} for row in rows], row_type)
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(structs)], schema)


def events(capture: Capture) -> pyarrow.Table:
    """Returns all events of a capture, sorted by process, line and start."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = capture.profile.table("events").arrow()
    schema, columns = arrow_schema("events"), []
    for field in _schema.fields("events"):
        kind = schema.field(field.name).type
        if not field.source:
            columns.append(pa.repeat(pa.scalar(capture.keys[field.name], kind), len(found)))
            continue
        column = found[field.source[0]]
        if field.unit == "ps":
            column = pc.round(pc.multiply(column, 1e6))
        columns.append(column.cast(kind))
    table = pa.table(columns, schema=schema)
    return table.sort_by([(name, "ascending") for name in _schema.TABLES["events"].sort])
