"""``crossprof.lake.write`` writes the numbers of the profile exactly once."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import dying
import made_captures
import pytest

import crossprof
from crossprof import _native, lake

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq

from crossprof._profile import Profile
from crossprof.lake import _rows, _schema, _write
from crossprof.lake._store import Store

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
CAPTURES = [
    ROOT / "www" / "assets" / "examples" / "gpu-training.trace.json.gz",
    DATA / "jax-h100" / "train.xplane.pb.gz",
    DATA / "jax-cpu-mesh" / "plugins" / "profile" / "2026_11_21_02_00_07",
]


def rows(folder: Path, table: str, order: str = "ALL") -> list[dict[str, Any]]:
    result = lake.connect(folder).execute(f"SELECT * FROM {table} ORDER BY {order}")
    names = [column[0] for column in result.description]
    return [dict(zip(names, values)) for values in result.fetchall()]


def files(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture(scope="module", params=CAPTURES, ids=lambda path: path.name)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("lake")
    status = lake.write(request.param, folder, events=True)
    return request.param, folder, status


def whole(value: float | None) -> int | None:
    """Expected value for a time: converts microseconds to picoseconds."""
    return None if value is None else round(value * 1_000_000)


def test_the_numbers_are_those_of_the_profile(written: tuple[Path, Path, dict[str, Any]]) -> None:
    capture, folder, status = written
    report = crossprof.open(capture).report
    assert status["status"] == "written" and status["error"] is None
    assert status["events"] == report["metadata"]["num_events"]
    (row,) = rows(folder, "captures")
    for field in _schema.fields("captures"):
        section: Any = report
        for key in field.source:
            section = (section or {}).get(key)
        if field.source and field.unit == "ps":
            assert row[field.name] == whole(section), field
        elif field.source:
            assert row[field.name] == section, field
    assert row["avg_step_time_ps"] == whole(report["step_timing"]["avg_step_time_us"]) > 0
    steps = rows(folder, "steps", '"index"')
    assert [step["index"] for step in steps] == [step["index"] for step in report["steps"]]
    for step, truth in zip(steps, report["steps"]):
        for key, value in truth.items():
            name = key.replace("_us", "_ps")
            assert step[name] == (whole(value) if name != key else value), key
    parts = rows(folder, "step_parts", '"index"')
    assert [part["compute_ps"] for part in parts] == [whole(step["parts"]["compute_us"]) for step in report["step_breakdown"]["steps"]]
    devices = {row["device_name"]: row for row in rows(folder, "devices")}
    for device in report["multi_device"]["device_stats"]:
        row = devices.pop(device["device_name"])
        assert row["actual_busy_time_ps"] == whole(device["actual_busy_time_us"])
        assert row["median_step_ps"] == whole((device.get("steps") or {}).get("median_step_us"))
        assert row["caused_wait_ps"] == whole((device.get("arrivals") or {}).get("caused_wait_us"))
    assert not devices
    found = [(row["id"], row["severity"], row["message"]) for row in rows(folder, "findings", "id")]
    assert found == sorted((it["id"], it["severity"], it["message"]) for it in report["findings"])
    peaks = {row["device_name"]: row["peak_bytes"] for row in rows(folder, "memory") if row["class"] is None}
    assert peaks == {it["device_name"]: it.get("peak_bytes") for it in (report.get("memory") or {}).get("devices", [])}
    # The profile names a collective of a GPU after its kernel, the table after its instruction.
    columns = ("kind", "occurrences", "total_time_ps", "exposed_time_ps", "bytes", "group_size")
    collectives = [tuple(row[name] for name in columns) for row in rows(folder, "collectives")]
    for op in (report.get("communication") or {}).get("top_ops", []):
        times = whole(op["total_time_us"]), whole(op["exposed_time_us"])
        assert (op["kind"], op["count"], *times, op.get("bytes"), op.get("group_size")) in collectives


def test_ops_are_sums_of_those_of_the_profile(written: tuple[Path, Path, dict[str, Any]]) -> None:
    capture, folder, _ = written
    profile = crossprof.open(capture)
    ops, programs = rows(folder, "ops"), rows(folder, "op_programs")
    assert len({row["op_key"] for row in ops}) == len(ops) <= len(programs) == len(profile.table("ops"))
    truth = profile.report["op_statistics"]["op_time_us"]
    for table in (ops, programs):
        assert sum(row["self_time_ps"] for row in table) == pytest.approx(truth * 1e6, rel=1e-9)
    for key in {row["op_key"] for row in ops}:
        (merged,) = (row for row in ops if row["op_key"] == key)
        parts = [row for row in programs if row["op_key"] == key]
        for name in ("self_time_ps", "occurrences", "flops"):
            known = [row[name] for row in parts if row[name] is not None]
            assert merged[name] == (sum(known) if known else None), name
        assert merged["num_ops"] == len(parts)
    by_name = {(row["hlo_op_name"], row["fingerprint"]): row for row in programs}
    compared = 0
    for op in profile.report["step_ops"]["ops"]:
        row = by_name.get((op["name"], op.get("fingerprint")))
        if row is not None and op.get("instances", 1) == 1 and op.get("module") == row["hlo_module"]:
            assert row["self_time_ps"] / row["device_steps"] == pytest.approx(op["self_time_us"] * 1e6, abs=1)
            compared += 1
    assert compared > 0


def test_events_have_no_end_and_are_small(written: tuple[Path, Path, dict[str, Any]]) -> None:
    capture, folder, _ = written
    truth = crossprof.open(capture).table("events")
    events = rows(folder, "events", "process, line, start_ps, depth")
    assert len(events) == len(truth) > 0
    assert sorted((row["start_ps"], row["duration_ps"]) for row in events) == sorted(
        (whole(start), whole(duration)) for start, duration in zip(truth["start_us"], truth["duration_us"])
    )
    (path,) = folder.glob("schema=1/table=events/**/*.parquet")
    group = pq.ParquetFile(path).metadata.row_group(0)
    columns = {group.column(at).path_in_schema: group.column(at) for at in range(group.num_columns)}
    assert "DELTA_BINARY_PACKED" in columns["start_ps"].encodings and columns["start_ps"].compression == "ZSTD"
    assert not any("end" in name for name in columns)


def test_every_row_has_the_keys_and_every_column_a_definition(written: tuple[Path, Path, dict[str, Any]]) -> None:
    _, folder, status = written
    described = {(row["table_name"], row["column_name"]): row for row in rows(folder, "schema_fields")}
    assert all(row["definition"] and row["type"] and row["since"] for row in described.values())
    for table in _schema.TABLES:
        names = [field.name for field in _schema.fields(table)]
        assert len(set(names)) == len(names), table
        for path in folder.glob(f"schema=1/table={table}/**/*.parquet"):
            schema = pq.read_schema(path)
            assert schema.names == names and not any(pa.types.is_null(field.type) for field in schema)
            assert path.name == f"capture={status['capture_id']}.parquet"
            found = pq.ParquetFile(path).read()
            for name in ("capture_id", "run", "workload_key", "device_kind", "crossprof_version", "schema_version"):
                assert found[name].null_count == 0, (table, name)
            assert {(table, name) for name in names} <= set(described)
    # Definitions are those of the profile, not retyped.
    schema = json.loads(_native.profile_schema())["$defs"]["Step"]["properties"]
    assert described["steps", "duration_ps"]["definition"] == " ".join(schema["duration_us"]["description"].split())
    assert described["steps", "duration_ps"]["unit"] == "ps"


def test_a_second_write_changes_nothing_and_is_fast(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    capture = made_captures.capture(tmp_path / "logs", 1)
    first = lake.write(capture, folder)
    before = files(folder)
    seconds = []
    for _ in range(20):
        again = lake.write(capture, folder)
        seconds.append(again["seconds"])
        assert (again["status"], again["capture_id"], again["events"]) == ("unchanged", first["capture_id"], first["events"])
    assert files(folder) == before
    # Generous for a busy machine: it takes about 0.1 ms.
    assert min(seconds) < 1e-3
    # Files with other names and times, but the same contents, are the same capture.
    copied = tmp_path / "copies" / "plugins" / "profile" / "x"
    copied.mkdir(parents=True)
    for path in capture.iterdir():
        (copied / path.name).write_bytes(path.read_bytes())
    assert lake.write(copied, folder)["status"] == "unchanged"
    # A file that changed is another capture.
    sidecar = capture / "crossprof.json"
    sidecar.write_text(sidecar.read_text().replace('"batch_size": 16', '"batch_size": 32'))
    changed = lake.write(capture, folder)
    assert changed["status"] == "written" and changed["capture_id"] != first["capture_id"]
    assert [row["batch_size"] for row in rows(folder, "captures", "batch_size")] == [16, 32]


def test_keys_come_from_profile_and_sidecar(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    lake.write(made_captures.capture(tmp_path / "a", 3, commit="ab" * 20), folder)
    lake.write(made_captures.capture(tmp_path / "b", 4, seed=1), folder)
    lake.write(made_captures.capture(tmp_path / "c", 5, batch=32), folder)
    first, second, third = rows(folder, "captures", "captured_at")
    assert first["git_sha"] == "ab" * 20 and second["git_sha"] is None
    assert first["captured_at"].isoformat() == "2026-11-02T13:00:00+00:00"
    assert (first["jax_version"], first["libtpu_version"], first["cuda_version"]) == ("0.10.2", "0.0.40", None)
    assert first["workload_key"] == second["workload_key"] != third["workload_key"]
    assert first["month"] == "2026-11" and first["workload"] == first["workload_key"]
    # What was not measured is null.
    assert first["roofline_mfu_percent"] is None and first["total_params"] is None


def test_ops_of_another_build_have_the_same_key(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    capture = made_captures.capture(tmp_path / "a", 1)
    rebuilt = made_captures.capture(tmp_path / "b", 2)
    trace = rebuilt / "host0.trace.json"
    trace.write_text(trace.read_text().replace("fusion_dot.1", "fusion_dot.77").replace("layer_0", "layer_5"))
    lake.write(capture, folder)
    lake.write(rebuilt, folder)
    of_captures: dict[str, set[str]] = {}
    for row in rows(folder, "ops"):
        of_captures.setdefault(row["capture_id"], set()).add(row["op_key"])
    one, other = of_captures.values()
    assert one == other and len(one) == len(made_captures.OPS)
    scopes = {row["scope"] for row in rows(folder, "ops")}
    assert scopes == {"layer_*/attn", "layer_*/mlp", "opt"}


def test_a_bad_file_is_one_row(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    bad = tmp_path / "bad.xplane.pb"
    bad.write_bytes(b"no profile")
    for _ in range(2):
        status = lake.write(bad, folder)
        assert status["status"] == "failed" and "not a profile" in status["error"]
    (row,) = rows(folder, "imports")
    assert (row["status"], row["error"], row["capture_id"]) == ("failed", status["error"], status["capture_id"])
    assert rows(folder, "captures") == []
    # A path that does not exist yet.
    late = tmp_path / "late.trace.json"
    assert "No such file" in lake.write(late, folder)["error"]
    assert len(rows(folder, "imports")) == 2
    session = made_captures.capture(tmp_path / "logs", 1)
    late.write_bytes((session / "host0.trace.json").read_bytes())
    assert lake.write(late, folder)["status"] == "written"
    assert sorted(row["status"] for row in rows(folder, "imports")) == ["failed", "ok"]
    # A folder of several runs.
    made_captures.capture(tmp_path / "logs", 2)
    assert "contains 2 runs" in lake.write(tmp_path / "logs", folder)["error"]
    with pytest.raises(crossprof.ProfileError, match="there is no lake here"):
        lake.connect(tmp_path / "nothing")


def test_a_newer_version_replaces_what_an_older_one_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "lake"
    capture = made_captures.capture(tmp_path / "logs", 1)
    other = made_captures.capture(tmp_path / "logs", 2)
    # An older version: fewer columns, and another derivation of the workload.
    fields = _schema.fields

    def old(table: str) -> tuple[_schema.Field, ...]:
        return tuple(field for field in fields(table) if field.name not in ("num_kernels", "lag_ps", "libtpu_version"))

    with monkeypatch.context() as patch:
        patch.setattr(_schema, "fields", old)
        patch.setattr(_schema, "stamp", lambda: ("0.0.1", "old"))
        patch.setattr(_rows.Capture, "_workload", lambda self: "old")
        lake.write(capture, folder)
        lake.write(other, folder)
        assert lake.write(other, folder)["status"] == "unchanged"
    # Both versions are read together: new columns are null in old rows.
    assert all(row["num_kernels"] is None and row["lag_ps"] is None for row in rows(folder, "steps"))
    assert lake.write(capture, folder)["status"] == "replaced"
    assert lake.write(capture, folder)["status"] == "unchanged"
    steps = rows(folder, "steps")
    assert len(steps) == 2 * 8 and [row["num_kernels"] is None for row in steps].count(True) == 8
    assert {row["workload"] for row in steps} == {"old", steps[0]["workload_key"], steps[-1]["workload_key"]}
    (place,) = {path.parent for path in folder.rglob("capture=*.parquet") if "table=steps" in str(path) and "workload=old" not in str(path)}
    assert place.name == "month=2026-11"
    # The older version leaves what the newer one wrote.
    with monkeypatch.context() as patch:
        patch.setattr(_schema, "stamp", lambda: ("0.0.1", "old"))
        before = files(folder)
        assert lake.write(capture, folder)["status"] == "unchanged"
        assert files(folder) == before
    # Events are added, and not removed by a write without them.
    assert lake.write(capture, folder, events=True)["status"] == "replaced"
    assert lake.write(capture, folder)["status"] == "unchanged"
    assert len(rows(folder, "events")) == 48


def test_a_killed_write_leaves_no_half_and_no_double(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    capture = made_captures.capture(tmp_path / "logs", 1)

    def seen(folder: Path) -> dict[str, list[str]]:
        connection = lake.connect(folder)
        return {table: sorted(map(repr, connection.execute(f"SELECT * FROM {table}").fetchall())) for table in _schema.TABLES}

    lake.write(capture, tmp_path / "whole")
    truth = seen(tmp_path / "whole")
    moments = 0
    for moment in range(0, 100, 4):
        folder = tmp_path / f"lake{moment}"
        with monkeypatch.context() as patch:
            patch.setattr(_schema, "stamp", lambda: ("0.0.1", "old"))
            patch.setattr(_rows.Capture, "_workload", lambda self: "old")
            lake.write(capture, folder)
        status = dying.status("lake.write(sys.argv[2], sys.argv[3])", moment, capture, folder)
        # Readers see whole files, and no capture twice.
        between = seen(folder)
        assert all(len(between[table]) <= len(truth[table]) for table in truth), moment
        if status == 0:
            break
        assert status == 9
        moments += 1
        lake.write(capture, folder)
        assert seen(folder) == truth, moment
    assert moments > 5


def test_several_writers_of_one_capture_agree(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    capture = made_captures.capture(tmp_path / "logs", 1)
    program = "import sys; from crossprof import lake; print(lake.write(sys.argv[1], sys.argv[2])['status'])"
    processes = [subprocess.Popen([sys.executable, "-c", program, capture, folder], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert all(process.communicate()[0].strip() in ("written", "replaced", "unchanged") for process in processes)
    assert len(rows(folder, "captures")) == 1 and len(rows(folder, "steps")) == 8
    assert not [path for path in folder.rglob("*") if path.suffix == ".tmp"]


def test_workloads_made_of_digits_stay_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_rows.Capture, "_workload", lambda self: "0012345678901234")
    lake.write(made_captures.capture(tmp_path / "logs", 1), tmp_path / "lake")
    (row,) = rows(tmp_path / "lake", "captures")
    assert row["workload"] == row["workload_key"] == "0012345678901234"


def test_numbers_out_of_range_and_nothing_are_null(tmp_path: Path) -> None:
    report = crossprof.open(made_captures.capture(tmp_path / "logs", 1)).report
    for step, duration_us in zip(report["steps"], [0.0, 1.234567, 1e30]):
        step["duration_us"] = duration_us
    report["metadata"]["num_events"] = 2**63
    read = _rows.Capture(Profile(_native.of_document(json.dumps(report)), 0, ()), "c", "path")
    tables = {name: pq.read_table(io.BytesIO(file)).to_pylist() for name, file in read.files(["steps", "captures"]).items()}
    assert [row["duration_ps"] for row in tables["steps"]][:3] == [0, 1_234_567, None]
    (row,) = tables["captures"]
    assert (row["num_events"], row["path"]) == (None, "path")


def test_rows_that_are_merged_keep_their_paths() -> None:
    given = [{"path": path, "num_files": 1} for path in ("/home/jo/runs", "gs://bucket/runs")]
    table, counts = _rows.read("imports", [_rows.file("imports", [row], {}) for row in given] + [b"damaged"])
    assert table.select(["path", "num_files"]).to_pylist() == given
    assert counts == [1, 1, None]


def test_names_of_files_contain_their_folders() -> None:
    assert Store("x").place("steps", ["w", "2026-11"], "c") == "table=steps/workload=w/month=2026-11/capture=c.parquet"


def test_a_truncated_or_missing_file_is_named_and_written_again(tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    capture = made_captures.capture(tmp_path / "logs", 1)
    lake.write(capture, folder)
    (path,) = folder.glob("schema=1/table=steps/**/*.parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    with pytest.raises(duckdb.Error, match=path.name):
        lake.connect(folder).sql("FROM steps")
    with pytest.raises(crossprof.ProfileError, match=f"(?s){path.name}.*Import the captures again"):
        lake.export(folder)
    assert lake.write(capture, folder)["status"] == "replaced"
    assert path.read_bytes() == whole and len(rows(folder, "steps")) == 8
    path.unlink()
    assert rows(folder, "steps") == []
    assert lake.write(capture, folder)["status"] == "replaced"
    assert path.read_bytes() == whole
    # A state of another kind.
    (state,) = folder.glob("schema=1/state/captures/*/*.json")
    state.write_text("[]")
    assert lake.write(capture, folder)["status"] == "written"


def test_a_path_that_is_no_unicode_is_text_in_the_lake(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("needs a file system that accepts any bytes")
    made = made_captures.capture(tmp_path / "logs", 1)
    capture = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    shutil.copytree(made, capture)
    status = lake.write(capture, tmp_path / "lake")
    assert (status["status"], status["capture"]) == ("written", capture)
    for table in ("captures", "imports"):
        assert [row["path"] for row in rows(tmp_path / "lake", table)] == [f"{tmp_path}/caf\\udce9"]
    assert "No such file" in lake.write(f"{capture}.none", tmp_path / "lake")["error"]


def test_a_lake_has_any_path_unless_engines_would_misread_it(tmp_path: Path) -> None:
    capture = made_captures.capture(tmp_path / "logs", 1)
    for name in ("it's [a] l*k?", "zone=1/lake"):
        lake.write(capture, tmp_path / name)
        assert len(rows(tmp_path / name, "captures")) == 1, name
    for name in ("run=17/lake", "Workload=x"):
        with pytest.raises(crossprof.ProfileError, match="would replace a column"):
            lake.write(capture, tmp_path / name)


def test_a_table_without_files_has_all_columns_in_order(tmp_path: Path) -> None:
    lake.write(made_captures.capture(tmp_path / "logs", 1), tmp_path / "lake")
    connection = lake.connect(tmp_path / "lake")
    assert connection.sql("SELECT * FROM events WHERE workload = 'x' AND month = '2026-11'").fetchall() == []
    for table in _schema.TABLES:
        assert connection.sql(f"FROM {table}").columns == [*(field.name for field in _schema.fields(table)), "workload", "month"], table


def test_a_month_is_never_a_path(tmp_path: Path) -> None:
    report = crossprof.open(CAPTURES[1]).report
    for number, (timestamp, month) in enumerate([("../../x", "unknown"), ("2026-11-05T01:02:03", "2026-11"), ("2026-13-05", "unknown")]):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps({**report, "metadata": {**report["metadata"], "timestamp": timestamp}}))
        assert lake.write(path, tmp_path / "lake")["status"] == "written"
        assert [row["month"] for row in rows(tmp_path / "lake", "captures") if row["timestamp"] == timestamp] == [month]
    assert not [path for path in tmp_path.rglob("capture=*") if "month=" not in path.parent.name]


def test_a_writer_keeps_what_another_one_finished_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "lake"
    capture = made_captures.capture(tmp_path / "logs", 1)
    read = _write._Write._read

    def read_slowly(self: _write._Write, capture_id: str) -> _write.Rows:
        found = read(self, capture_id)
        monkeypatch.setattr(_write._Write, "_read", read)
        assert lake.write(capture, folder, events=True)["status"] == "written"
        return found

    monkeypatch.setattr(_write._Write, "_read", read_slowly)
    assert lake.write(capture, folder)["status"] == "unchanged"
    assert len(rows(folder, "events")) == 48
    assert [row["has_events"] for row in rows(folder, "imports")] == [True]


class PanicException(BaseException):
    """An exception with the name that a panic of the native library has."""


@pytest.mark.parametrize("mistake", [PanicException("overflow"), TypeError("no list"), MemoryError()])
def test_a_mistake_in_one_capture_is_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mistake: BaseException) -> None:
    capture = made_captures.capture(tmp_path / "logs", 1)

    def fail(*_: object) -> None:
        raise mistake

    with monkeypatch.context() as patch:
        patch.setattr(_rows, "Capture", fail)
        error = lake.write(capture, tmp_path / "lake")["error"]
    assert error == f"{capture}: " + ("the memory is full" if isinstance(mistake, MemoryError) else f"crossprof failed: {type(mistake).__name__}: {mistake}")
    assert [row["error"] for row in rows(tmp_path / "lake", "imports")] == [error]
    # Memory may become free. A newer version may read the others.
    assert lake.write(capture, tmp_path / "lake")["status"] == ("written" if isinstance(mistake, MemoryError) else "failed")
