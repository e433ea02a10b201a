"""Tables and columns of a lake.

Most columns are fields of the profile or columns of its tables. The columns are derived from the declarations in the native
library, so a new field becomes a new column with the field's definition. New versions only add columns.

A number keeps the name of its field, but times are converted to integer picoseconds (``duration_us`` becomes ``duration_ps``).
FLOPs and bytes are integers. A value that was not measured is null, never 0.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from .. import _native

#: Version of the layout. A lake with another version is in another folder.
LAYOUT = "1"

_INT, _FLOAT, _TEXT, _FLAG, _TIME = "int64", "double", "string", "bool", "timestamp"


class Field(NamedTuple):
    """A column of a lake table."""

    name: str
    #: ``int64``, ``double``, ``string``, ``bool`` or ``timestamp`` (UTC, microseconds).
    type: str
    unit: str
    definition: str
    since: str
    #: Path of the value in a record of the profile, or column of the native table.
    source: tuple[str, ...] = ()


def _own(name: str, kind: str, unit: str, definition: str) -> Field:
    return Field(name, kind, unit, definition, f"lake {LAYOUT}")


#: Columns that every row has.
KEYS = (
    _own("capture_id", _TEXT, "", "SHA-256 of the contents of the capture's files, as 32 hexadecimal digits."),
    _own("run", _TEXT, "", "Name of the run, as reports show it."),
    _own(
        "workload_key",
        _TEXT,
        "",
        "Hash of what a capture measures: name and argument types of the program with the most time, kind and number of devices, and "
        "batch size and sequence length if known. Builds of one program have the same key. If the capture contains no compiled "
        "program, the names of its modules stand for it.",
    ),
    _own("host", _TEXT, "", "Host of the row. For rows about several hosts, null."),
    _own("device_kind", _TEXT, "", "`metadata.device_type` of the profile."),
    _own(
        "captured_at",
        _TIME,
        "",
        "Start of the capture (UTC). Null if neither the profile nor the sidecar of the capture kit contains a time with a zone.",
    ),
    _own("git_sha", _TEXT, "", "Commit that the capture kit recorded (`metadata.environment.git_commit`)."),
    _own("jax_version", _TEXT, "", "Version of JAX that captured."),
    _own("libtpu_version", _TEXT, "", "Version of libtpu. Null for other devices."),
    _own("cuda_version", _TEXT, "", "Version of the CUDA driver's interface. Null for other devices."),
    _own("crossprof_version", _TEXT, "", "Version of crossprof that wrote the row."),
    _own("schema_version", _TEXT, "", "Version of the profile's schema."),
)


@functools.cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(_native.profile_schema())
    return schema


def _resolved(described: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Returns the name of the type of a property (``number``, or the name of a struct) and its definition, if it is a struct."""
    for one in (described, *described.get("anyOf", ())):
        if "$ref" in one:
            name = one["$ref"].rsplit("/", 1)[-1]
            target = _schema()["$defs"][name]
            return ("object" if "properties" in target else "string"), target
    kinds = described.get("type", "string")
    names = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]
    return names[0], {}


def _since(definition: str) -> str:
    added = re.search(r"Added in (\d+\.\d+\.\d+)", definition)
    return f"profile {added.group(1) if added else '1.0.0'}"


#: Units by the ending of a field's name.
_UNITS = {
    "_percent": "%",
    "_bytes": "bytes",
    "_gb_per_sec": "1e9 bytes/s",
    "_per_sec": "1/s",
    "_tflops": "1e12 FLOP/s",
    "_ratio": "",
}


def _unit(name: str) -> str:
    if name in ("flops", "bytes", "bytes_accessed"):
        return "FLOP" if name == "flops" else "bytes"
    return next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")


def field_of(name: str, kind: str, definition: str, source: tuple[str, ...]) -> Field:
    """Returns the column of a number, text or flag with this name and definition."""
    since = _since(definition)
    text = " ".join(definition.split())
    if name.endswith("_us"):
        return Field(f"{name.removesuffix('_us')}_ps", _INT, "ps", text, since, source)
    unit = _unit(name)
    types = {"number": _INT if unit in ("FLOP", "bytes") else _FLOAT, "integer": _INT, "boolean": _FLAG}
    return Field(name, types.get(kind, _TEXT), unit, text, since, source)


def fields_of(struct: str, *, nested: Iterable[str] = (), prefix: str = "", texts: Iterable[str] = ()) -> tuple[Field, ...]:
    """Returns the columns of a struct of the profile. Each number, text and flag of the struct and of its ``nested`` structs is a
    column, and so is each list in ``texts``, as JSON."""
    return tuple(_fields(_schema()["$defs"][struct], (), frozenset(nested), prefix, frozenset(texts)))


def _fields(described: dict[str, Any], at: tuple[str, ...], nested: frozenset[str], prefix: str, texts: frozenset[str]) -> Iterator[Field]:
    for name, each in described["properties"].items():
        kind, target = _resolved(each)
        if kind == "object" and name in nested:
            yield from _fields(target, (*at, name), nested, prefix, texts)
        elif kind in ("number", "integer", "boolean", "string") or name in texts:
            field = field_of(name, kind, each.get("description", ""), (*at, name))
            yield field._replace(name=prefix + field.name)


def columns_of(table: str, kinds: dict[str, str]) -> tuple[Field, ...]:
    """Returns the columns of a native table. ``kinds`` names the wanted columns with their types."""
    described = {key: (unit, definition) for key, unit, definition in _native.columns_of(table)}
    return tuple(field_of(key, kind, described[key][1], (key,)) for key, kind in kinds.items())


_N, _I, _S, _B = "number", "integer", "string", "boolean"

_OP_SUMS = {"total_self_time_us": _N, "total_time_us": _N, "occurrences": _I, "executions": _I, "flops": _N, "bytes_accessed": _N}
_OP_KEY = (
    _own(
        "op_key",
        _TEXT,
        "",
        "Hash of scope, category, opcode and shapes: equal in other builds of the program, which number their ops differently. An op "
        "without an HLO expression has its name without the number instead of opcode and shapes.",
    ),
)
_OP_PLACE = (
    _own("scope", _TEXT, "", "Scopes of the framework path, with all layers merged, and the pass (`layer_*/attention (backward)`)."),
    _own("opcode", _TEXT, "", "Opcode of the HLO instruction. Null if the profile contains no expression."),
    _own("shapes", _TEXT, "", "Hash of the shapes and data types of result and operands. Null if the profile contains no expression."),
    _own(
        "fingerprint",
        _TEXT,
        "",
        "Hash of the HLO expression, as in `step_ops.ops[].fingerprint`. In the table `ops`, that of the op with the most self time.",
    ),
)
_STEPS_OF_OPS = (
    _own(
        "device_steps",
        _INT,
        "",
        "Number of (step, device) pairs of the window (`step_ops.device_steps`). `self_time_ps / device_steps` is the self time per step.",
    ),
)


def _ops() -> tuple[Field, ...]:
    labels = columns_of("ops", {"category": _S, "family": _S})
    sums = columns_of("ops", _OP_SUMS)
    count = _own("num_ops", _INT, "", "Number of ops of all programs with this key.")
    name = columns_of("ops", {"hlo_op_name": _S, "hlo_module": _S})
    return (*_OP_KEY, *_OP_PLACE, *labels, count, *name, *_renamed(sums), *_STEPS_OF_OPS)


def _op_programs() -> tuple[Field, ...]:
    names = {"hlo_op_name": _S, "program_id": _S, "hlo_module": _S, "tf_op_name": _S, "source_info": _S, "data_type": _S, "num_devices": _I}
    return (*_OP_KEY, _OP_PLACE[-1], *columns_of("ops", names), *_renamed(columns_of("ops", _OP_SUMS)), *_STEPS_OF_OPS)


def _renamed(sums: tuple[Field, ...]) -> tuple[Field, ...]:
    """Renames self times to their names in the profile."""
    return tuple(field._replace(name=field.name.replace("total_self_time", "self_time")) for field in sums)


#: Typical step of the capture, from which ``regressions`` compares captures.
LEVEL = (
    _own(
        "typical_step_ps",
        _INT,
        "ps",
        "Mean of the middle half of the counted steps (trimmed by a quarter at both ends), by which `compare` compares runs. Null if "
        "the steps are unknown.",
    ),
    _own("typical_step_steps", _INT, "", "Number of steps of `typical_step_ps`."),
    _own("typical_step_variance_ps2", _FLOAT, "ps^2", "Variance of `typical_step_ps` if the steps were independent."),
    _own("typical_step_freedom", _FLOAT, "", "Degrees of freedom of that variance."),
    _own("typical_step_products", _FLOAT, "", "Sum over consecutive steps of the product of their relative distances from the mean."),
    _own("typical_step_squares", _FLOAT, "", "Sum of the squares of these distances."),
)

#: Sections of the profile whose numbers are columns of ``captures``: path, struct, prefix of the columns, nested structs.
_SECTIONS = (
    ("metadata", "Metadata", "", ()),
    ("model_config", "ModelConfig", "", ()),
    ("step_timing", "StepTiming", "", ()),
    ("throughput", "Throughput", "", ()),
    ("compute_utilization", "ComputeUtilization", "utilization_", ()),
    ("roofline", "Roofline", "roofline_", ()),
    ("goodput", "Goodput", "goodput_", ()),
    ("communication", "Communication", "communication_", ()),
    ("op_statistics", "OpStatistics", "ops_", ()),
    ("step_breakdown", "StepBreakdown", "breakdown_", ("parts",)),
    ("compilation", "Compilation", "compilation_", ()),
    ("multi_device", "MultiDevice", "devices_", ()),
    ("input_pipeline", "InputPipeline", "input_", ()),
    ("serving", "Serving", "serving_", ()),
    ("tracing", "Tracing", "tracing_", ()),
)


def _captures() -> tuple[Field, ...]:
    own = (
        _own("path", _TEXT, "", "Path of the capture, as given."),
        _own("program", _TEXT, "", "Name of the program with the most time."),
        _own("program_fingerprint", _TEXT, "", "Hash of the instructions of that program: it changes with every other build."),
        _own("environment", _TEXT, "", "`metadata.environment` of the profile as a JSON object: versions, flags, commit."),
        *_STEPS_OF_OPS,
    )
    keys = {field.name for field in KEYS}
    sections = (
        field._replace(source=(path, *field.source))
        for path, struct, prefix, nested in _SECTIONS
        for field in fields_of(struct, nested=nested, prefix=prefix)
        if field.name not in keys
    )
    return (*own, *LEVEL, *sections)


def _memory() -> tuple[Field, ...]:
    classes = [
        field._replace(name="class" if field.name == "class" else f"class_{field.name}", source=("class", *field.source))
        for field in fields_of("MemoryClass")
    ]
    return (*fields_of("DeviceMemory"), *classes)


def _events() -> tuple[Field, ...]:
    kinds = {"process": _S, "line": _S, "name": _S, "start_us": _N, "duration_us": _N, "self_us": _N, "depth": _I}
    return columns_of("events", kinds)


_COLLECTIVES = {
    "hlo_op_name": _S,
    "kind": _S,
    "occurrences": _I,
    "total_time_us": _N,
    "min_time_us": _N,
    "max_time_us": _N,
    "exposed_time_us": _N,
    "wait_time_us": _N,
    "transfer_time_us": _N,
    "bytes": _I,
    "algbw_gb_per_sec": _N,
    "busbw_gb_per_sec": _N,
    "group_size": _I,
    "replica_groups": _S,
    "data_type": _S,
    "channel_id": _I,
    "algorithm": _S,
    "protocol": _S,
    "tf_op_name": _S,
    "program_id": _S,
}


def _imports() -> tuple[Field, ...]:
    return (
        _own("path", _TEXT, "", "Path of the capture, as given."),
        _own("status", _TEXT, "", "`ok`, or `failed` if the capture could not be read."),
        _own("error", _TEXT, "", "Reason of the failure."),
        _own("num_files", _INT, "", "Number of files of the capture."),
        _own("size_bytes", _INT, "bytes", "Size of these files."),
        _own("num_events", _INT, "", "`metadata.num_events` of the profile."),
        _own("has_events", _FLAG, "", "True if the table `events` contains the capture."),
        _own("warnings", _TEXT, "", "Codes of the profile's warnings, separated by commas."),
    )


def _verdicts() -> tuple[Field, ...]:
    return (
        _own("metric", _TEXT, "", "Column of `captures` that was compared: `typical_step_ps`."),
        _own(
            "verdict",
            _TEXT,
            "",
            "`slower`, `faster`, `same` (the difference is below the threshold), `within_noise` (the noise could hide one), `unstable` "
            "(only a large difference could have been found) or `equal`, as in a comparison.",
        ),
        _own("before_ps", _INT, "ps", "Mean of the metric of the earlier captures."),
        _own("after_ps", _INT, "ps", "Mean of the metric of the later captures."),
        _own("change_percent", _FLOAT, "%", "`100 * (after / before - 1)`."),
        _own("margin_percent", _FLOAT, "%", "Half of the 95 % confidence interval of the change. Null if the noise is unknown."),
        _own(
            "least_provable_percent",
            _FLOAT,
            "%",
            "Smallest difference that such captures would show in four of five cases. Null if the noise is unknown.",
        ),
        _own("threshold_percent", _FLOAT, "%", "Smallest relevant difference, as given."),
        _own(
            "is_change_point",
            _FLAG,
            "",
            "True if the step time of the captures changes at one point. If false, the last captures were compared with those before "
            "them, and the change may be earlier than the first of the last captures.",
        ),
        _own("before_captures", _TEXT, "", "`capture_id` of the earlier captures in the order of their time, as a JSON list."),
        _own("after_captures", _TEXT, "", "`capture_id` of the later captures in the order of their time, as a JSON list."),
        _own("first_bad_capture_id", _TEXT, "", "First of the later captures. Null unless the verdict is `slower`."),
        _own("first_bad_git_sha", _TEXT, "", "Commit of `first_bad_capture_id`."),
        _own("last_good_capture_id", _TEXT, "", "Last of the earlier captures. Null unless the verdict is `slower`."),
        _own("last_good_git_sha", _TEXT, "", "Commit of `last_good_capture_id`."),
        _own("cause_part", _TEXT, "", "Part of the step that takes the most additional time. Null if none exceeds its noise."),
        _own("cause_scope", _TEXT, "", "Scope that takes the most additional time. Null if none exceeds its noise."),
        _own("cause_op", _TEXT, "", "Op that takes the most additional time. Null if none exceeds its noise."),
        _own("cause_op_key", _TEXT, "", "Its `op_key`."),
        _own("cause_host", _TEXT, "", "Host whose devices make the others wait longer. Null if none exceeds its noise."),
        _own("because", _TEXT, "", "All causes with their times, as `crossprof lake regressions --format json` prints them."),
        _own("created_at", _TIME, "", "Time of the comparison (UTC)."),
    )


class TableOf(NamedTuple):
    """A table of the lake."""

    fields: Callable[[], tuple[Field, ...]]
    #: Columns by which its rows are sorted.
    sort: tuple[str, ...]


TABLES: dict[str, TableOf] = {
    "captures": TableOf(_captures, ()),
    "hosts": TableOf(lambda: tuple(field for field in fields_of("HostStats", nested=("parts",)) if field.name != "host"), ("host",)),
    "devices": TableOf(
        lambda: tuple(field for field in fields_of("DeviceStats", nested=("gaps", "steps", "arrivals", "place")) if field.name != "host"),
        ("host", "device_name"),
    ),
    "steps": TableOf(lambda: fields_of("Step"), ("index",)),
    "step_parts": TableOf(lambda: fields_of("StepBreakdownStep", nested=("parts",)), ("index",)),
    "ops": TableOf(_ops, ("op_key",)),
    "op_programs": TableOf(_op_programs, ("hlo_module", "hlo_op_name", "program_id", "op_key")),
    "collectives": TableOf(lambda: columns_of("collectives", _COLLECTIVES), ("hlo_op_name", "program_id")),
    "findings": TableOf(lambda: fields_of("Finding", texts=("evidence",)), ("id",)),
    "memory": TableOf(_memory, ("device_name", "class")),
    "events": TableOf(_events, ("process", "line", "start_ps", "depth")),
    # Its keys are those of the last capture that was compared.
    "verdicts": TableOf(_verdicts, ()),
    "imports": TableOf(_imports, ()),
}


@functools.cache
def fields(table: str) -> tuple[Field, ...]:
    """Returns all columns of a table. The columns that every table has come first."""
    own = TABLES[table].fields()
    return (*KEYS, *own)


#: Columns that come from the names of folders.
FOLDERS = ("workload", "month")


@functools.cache
def partitions() -> frozenset[str]:
    """Returns the names that must not stand before a ``=`` in the name of a folder above a lake. The forbidden names are the names
    of columns, and of folders of the lake."""
    return frozenset({field.name for table in TABLES for field in fields(table)} | {"schema", "table", *FOLDERS})


#: Columns of ``schema_fields``.
SCHEMA_FIELDS = (
    # Readers of the folders add a column `table`.
    _own("table_name", _TEXT, "", "Name of a table."),
    _own("column_name", _TEXT, "", "Name of a column of the table."),
    _own("type", _TEXT, "", "Type of its values."),
    _own("unit", _TEXT, "", "Unit of its values. Empty if they have none, or if the name of the column contains it."),
    _own("definition", _TEXT, "", "Meaning of the column."),
    _own("since", _TEXT, "", "Version that added the column: of the profile's schema, or of the lake."),
)


def schema_rows() -> list[dict[str, str]]:
    """Returns the rows of ``schema_fields``: every column of every table."""
    described = [(table, field) for table in TABLES for field in fields(table)]
    described += [("schema_fields", field) for field in SCHEMA_FIELDS]
    return [
        {
            "table_name": table,
            "column_name": field.name,
            "type": field.type,
            "unit": field.unit,
            "definition": field.definition,
            "since": field.since,
        }
        for table, field in described
    ]


@functools.cache
def stamp() -> tuple[str, str]:
    """Returns the version of crossprof, and the hash of all columns. Captures that an older version wrote are written again."""
    text = json.dumps([[row["table_name"], row["column_name"], row["type"]] for row in schema_rows()])
    return _native.__version__, hashlib.sha256(text.encode()).hexdigest()[:16]


def is_older(then: Sequence[str]) -> bool:
    """Returns true if the stamp comes from an older version of crossprof, or from another build of this version that has other
    columns."""
    version, columns = stamp()
    theirs, own = _numbers(then[0]), _numbers(version)
    return theirs < own or (theirs == own and then[1] != columns)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split("+")[0].split("."))
