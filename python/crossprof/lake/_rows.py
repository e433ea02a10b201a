"""Makes the rows of a capture for each table of the lake."""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _native
from . import _schema

if TYPE_CHECKING:
    import pyarrow

    from .._profile import Profile


#: Parts of a profile.
_PARTS = ("metadata", "model_config", "multi_device", "programs", "warnings")
#: Tables of a lake that come from a profile. The table ``events`` is written only on request.
OF_PROFILE = ("captures", "hosts", "devices", "steps", "step_parts", "ops", "op_programs", "collectives", "findings", "memory")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)


class Capture:
    """A capture that was read, with the values that all of its rows have."""

    def __init__(self, profile: Profile, capture_id: str, path: str) -> None:
        self.profile = profile
        self._native = _native.LakeCapture(profile._runs, profile._index)
        #: The parts of the profile from which the keys and the row of ``imports`` are made.
        self.report: dict[str, Any] = json.loads(self._native.parts(_PARTS))
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
        program = [self.program.get("name"), self.program.get("parameter_fingerprint"), self.program.get("num_partitions")]
        modules = sorted(set(self._native.modules())) if not self.program else []
        device = [metadata["device_type"], metadata["num_devices"]]
        return _hash(program, modules, device, model.get("batch_size"), model.get("seq_length"))

    def files(self, tables: Sequence[str]) -> dict[str, bytes]:
        """Returns the Parquet file of each of these tables for which the capture has rows."""
        return dict(self._native.files(_tables(), tables, _native_values(self.keys), self._own()))

    def _own(self) -> dict[str, Any]:
        """Returns the values of the row of ``captures`` that are not in the profile."""
        own = {
            "path": self.path,
            "program": self.program.get("name"),
            "program_fingerprint": self.program.get("fingerprint"),
            "environment": json.dumps(self.report["metadata"].get("environment", {}), sort_keys=True),
            "device_steps": self._native.device_steps,
        }
        level = _native.typical_step(self.profile._runs, self.profile._index)
        if level is None:
            return own
        mean_us, steps, variance_us2, freedom, sums = level
        own |= {
            "typical_step_ps": round(mean_us * 1e6),
            "typical_step_steps": steps,
            "typical_step_variance_ps2": None if variance_us2 is None else variance_us2 * 1e12,
            "typical_step_freedom": freedom,
        }
        if sums is not None:
            own |= {"typical_step_products": sums[0], "typical_step_squares": sums[1]}
        return own


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


def arrow_schema(table: str) -> pyarrow.Schema:
    """Returns the Arrow types of a table's columns, which are the same for every capture."""
    return _types_of(_schema.fields(table))


@functools.cache
def _types_of(fields: tuple[_schema.Field, ...]) -> pyarrow.Schema:
    import pyarrow as pa

    types = {
        "int64": pa.int64(),
        "double": pa.float64(),
        "string": pa.string(),
        "bool": pa.bool_(),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }
    return pa.schema([pa.field(field.name, types[field.type]) for field in fields])


@functools.cache
def _tables_of(_stamp: tuple[str, str]) -> _native.LakeTables:
    """Returns the tables of this version for the native library."""
    described = {
        table: {"fields": [field._asdict() for field in _schema.fields(table)], "sort": _schema.TABLES[table].sort} for table in _schema.TABLES
    }
    described["schema_fields"] = {"fields": [field._asdict() for field in _schema.SCHEMA_FIELDS], "sort": ()}
    return _native.LakeTables(json.dumps(described))


def _tables() -> _native.LakeTables:
    return _tables_of(_schema.stamp())


def file(table: str, rows: Sequence[dict[str, Any]], keys: dict[str, Any]) -> bytes:
    """Returns sorted rows as a Parquet file. Values that a row lacks come from ``keys``, or else are null."""
    return _tables().file(table, [_native_values({**keys, **row}) for row in rows])


def read(table: str, files: Sequence[bytes]) -> tuple[pyarrow.Table, list[int | None]]:
    """Reads files of a table. Returns the rows of all files in order, and the number of rows in each file. The number is None for a
    file that is damaged, or that another version wrote: its rows are missing."""
    import pyarrow as pa

    columns, counts = _tables().read(table, files)
    return pa.table(pa.record_batch(columns)).cast(arrow_schema(table)), counts


def _native_values(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a row with its times as microseconds since 1970."""
    return {name: (value - _EPOCH) // _MICROSECOND if isinstance(value, datetime.datetime) else value for name, value in row.items()}


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
