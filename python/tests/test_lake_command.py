"""``crossprof lake``: import, sql and regressions."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import made_captures
import pytest

import crossprof
from crossprof import _native, lake

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

from crossprof.lake import _import, _regressions, _schema  # noqa: E402
from crossprof.lake._main import main  # noqa: E402


def tool(*words: object, status: int = 0) -> tuple[str, str]:
    """Returns what the command line writes to standard output and standard error."""
    done = subprocess.run([sys.executable, "-m", "crossprof", "lake", *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr


def test_folders_and_patterns_are_imported_by_processes(tmp_path: Path) -> None:
    logs, folder = tmp_path / "logs", tmp_path / "lake"
    for number in range(6):
        made_captures.capture(logs, number)
    (logs / "broken.trace.json").write_text("[]")
    out, err = tool("import", logs, "--lake", folder, "--jobs", 2, status=1)
    assert out.startswith("7 captures in ") and out.endswith("6 written, 1 failed. 288 events.\n")
    assert "broken.trace.json" in err
    out, _ = tool("import", logs / "run_*", "--lake", folder, "--jobs", 2)
    assert "6 unchanged" in out
    out, _ = tool(
        "sql",
        "SELECT count(*) AS n, sum(num_events)::BIGINT AS events FROM imports WHERE status = 'ok'",
        "--lake",
        folder,
        "--format",
        "json",
    )
    assert json.loads(out) == [{"n": 6, "events": 288}]
    out, _ = tool("sql", "SELECT run, num_steps FROM captures ORDER BY run LIMIT 1", "--lake", folder, "--format", "csv")
    assert out == "run,num_steps\n2026_11_02_000,8\n"
    assert "num_steps" in tool("sql", "SELECT num_steps FROM captures", "--lake", folder)[0]


def test_captures_are_found_below_folders(tmp_path: Path) -> None:
    session = made_captures.capture(tmp_path / "logs", 1, hosts=2)
    other = tmp_path / "logs" / "other"
    other.mkdir()
    for name in ("a.xplane.pb", "a.trace.json.gz", "b.trace.json", "config.json"):
        (other / name).touch()
    found = [session, other / "a.xplane.pb", other / "b.trace.json"]
    assert sorted(lake.captures_below(tmp_path)) == sorted(found)
    assert list(lake.captures_below(session)) == [session]
    assert lake.captures([str(tmp_path / "*"), str(session)]) == sorted(map(str, found))


def test_wrong_calls_are_sentences(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(tmp_path / "lake")
    lake.write(made_captures.capture(tmp_path / "logs", 1), folder)
    for words, sentence in [
        (["import", str(tmp_path / "no*"), "--lake", folder], "no file or folder matches"),
        (["import", str(tmp_path / "lake"), "--lake", folder], "There is no capture below"),
        (["sql", "SELECT", "--lake", folder], "Parser Error"),
        (["sql", "SELECT 1", "--lake", str(tmp_path / "none")], "there is no lake here"),
        (["regressions", "--lake", folder, "--threshold", "-1"], "a percentage from 0 to 100"),
    ]:
        assert main(words) == 2
        assert sentence in capsys.readouterr().err, words
    with pytest.raises(SystemExit):
        main(["regressions", "--last", "0"])
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert main(["sql", "SELECT 1", "--lake", folder]) == 2
    assert "pip install 'crossprof[lake]'" in capsys.readouterr().err


def test_a_damaged_lake_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "lake"
    for number in range(2):
        lake.write(made_captures.capture(tmp_path / "logs", number), folder)
    # The columns come from one file. Only a query reads the other one.
    for path in sorted(folder.glob("schema=1/table=captures/**/*.parquet")):
        whole = path.read_bytes()
        path.write_bytes(whole[:50])
        for words in (["sql", "SELECT sum(num_steps) FROM captures"], ["regressions"]):
            assert main([*words, "--lake", str(folder)]) == 2
            said = capsys.readouterr().err
            assert path.name in said and "Import the captures again" in said
        path.write_bytes(whole)


def test_the_bar_shows_files_events_errors_and_the_time_left() -> None:
    assert _import.line(450, 1000, 12_300_000, 2, 10.0) == (
        "Importing:  45%|###########             | 450/1000 captures, 12.3M events, 2 errors [00:10<00:12]"
    )
    stream = io.StringIO()
    bar = _import.Bar(2, stream)
    bar({"events": 5, "status": "written"})
    bar({"events": None, "status": "failed"})
    assert (bar.events, bar.errors, stream.getvalue()) == (5, 1, "")


def _ends(path: Path, folder: str, *, events: bool) -> dict[str, Any]:
    """Writes a capture, but ends the process for some captures."""
    if "run_002" in str(path):
        os._exit(9)
    return lake.write(path, folder, events=events)


def test_a_capture_that_ends_its_process_is_one_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_import, "write", _ends)
    # Processes started with spawn import this module by its name.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    paths = [made_captures.capture(tmp_path / "logs", number) for number in range(4)]
    statuses: list[dict[str, Any]] = []
    counts = _import.import_all(paths, str(tmp_path / "lake"), 2, False, statuses.append)
    assert counts["failed"] == 1 and sum(counts.values()) == 4
    (failed,) = (status for status in statuses if status["status"] == "failed")
    assert "the process ended" in failed["error"] and "run_002" in failed["capture"]
    found = lake.connect(tmp_path / "lake").sql("SELECT count(*) FILTER (status = 'ok'), count(*) FROM imports").fetchall()
    assert found == [(3, 4)]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a lake with two workloads of 20 captures each. In one workload, the last 5 captures are 3 % slower, and the other did
    not change."""
    folder = tmp_path_factory.mktemp("planted")
    for number in range(20):
        paths = [
            made_captures.capture(folder / "a", number, seed=5, slower=0.03 if number >= 15 else 0.0, commit=f"{number:02x}" * 20),
            made_captures.capture(folder / "b", number, seed=6, batch=64),
        ]
        assert all(lake.write(path, folder / "lake")["status"] == "written" for path in paths)
    return folder / "lake"


def test_a_planted_slowdown_is_found_and_named(planted: Path) -> None:
    (found,) = lake.regressions(planted)
    assert found["percent"] == pytest.approx(3, abs=0.6) and found["least_provable_percent"] < 1.5
    # Commit 0f is the sixteenth.
    assert (found["first_bad"]["git_sha"], found["last_good"]["git_sha"]) == ("0f" * 20, "0e" * 20)
    assert found["is_change_point"] and found["captures"] == [8, 5]
    by_kind = {cause["kind"]: cause for cause in found["because"]}
    assert by_kind["op"]["name"] == "custom-call.2" and by_kind["scope"]["name"] == "layer_*/attn"
    assert by_kind["part"]["name"] == "compute" and "host" not in by_kind
    extra = 0.03 * sum(us for _, _, us in made_captures.OPS)
    assert by_kind["op"]["slower_us"] == pytest.approx(extra, rel=0.15)
    out, _ = tool("regressions", "--lake", planted, status=3)
    assert "First bad: commit 0f0f0f0f0f0f" in out and "Op custom-call.2 in layer_*/attn" in out
    assert json.loads(tool("regressions", "--lake", planted, "--format", "json", status=3)[0]) == [found]
    # A larger threshold than the change.
    assert tool("regressions", "--lake", planted, "--threshold", 10)[0] == "No workload became slower.\n"
    with pytest.raises(crossprof.ProfileError, match="last must be a whole number"):
        lake.regressions(planted, last=0)


def test_the_statistics_are_those_of_compare(planted: Path) -> None:
    series = _regressions.series_of(lake.connect(planted), 13)
    captures = next(rows for rows in series.values() if rows[0]["git_sha"])
    before, after = captures[:8], captures[8:]
    group = lambda name, rows: ["--group", f"{name}={','.join(row['path'] for row in rows)}"]  # noqa: E731
    words = [sys.executable, "-m", "crossprof", "compare", *group("old", before), *group("new", after), "--format", "json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    (truth,) = json.loads(done.stdout)["step_time"]
    (found,) = lake.regressions(planted)
    assert truth["verdict"] == "slower"
    for key, us in [("baseline_typical_us", found["before_us"]), ("typical_us", found["after_us"])]:
        assert truth[key] == pytest.approx(us, abs=1e-3), truth
    assert truth["margin_us"] == pytest.approx(found["margin_percent"] * found["before_us"] / 100, rel=1e-6)
    assert truth["least_provable_us"] == pytest.approx(found["least_provable_percent"] * found["before_us"] / 100, rel=1e-6)


def test_captures_without_a_change_rarely_alarm(tmp_path: Path) -> None:
    # 40 captures are read, and give 28 windows.
    for number in range(40):
        lake.write(made_captures.capture(tmp_path / "logs", number, seed=7, noise=0.01, steps=6), tmp_path / "lake")
    assert lake.regressions(tmp_path / "lake") == []
    (captures,) = _regressions.series_of(lake.connect(tmp_path / "lake"), 40).values()
    # Series of 200 captures with the noise of these, from the same levels.
    alarms, windows = 0, 0
    for seed in range(20):
        rng = random.Random(seed)
        series = [{**rng.choice(captures), "us": 7000 * (1 + rng.gauss(0, 0.01))} for _ in range(200)]
        for end in range(13, 201):
            windows += 1
            found = _regressions.compared(series[end - 13 : end], 3, 1.0)
            alarms += found is not None and found[-1][-1] == "slower"
    assert alarms <= 0.05 * windows, f"{alarms} of {windows}"
    assert alarms > 0


def test_comparisons_are_recorded_once(planted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "lake"
    shutil.copytree(planted, folder)
    query = "SELECT * EXCLUDE (workload, month) FROM verdicts ORDER BY change_percent"
    out, _ = tool("sql", query, "--lake", folder, "--format", "json")
    assert json.loads(out) == []
    (found,) = lake.regressions(folder, record=True)
    assert [found] == lake.regressions(planted)
    other, slower = json.loads(tool("sql", query, "--lake", folder, "--format", "json")[0])
    truth = sorted(lake.connect(folder).sql("SELECT git_sha, capture_id, captured_at FROM captures WHERE git_sha IS NOT NULL").fetchall())
    ids = [capture for _, capture, _ in truth]
    # The keys are those of the last capture.
    assert (slower["git_sha"], slower["capture_id"], slower["captured_at"]) == ("13" * 20, ids[19], str(truth[19][2]))
    assert slower["verdict"] == "slower" and slower["metric"] == "typical_step_ps" and slower["is_change_point"] is True
    assert json.loads(slower["before_captures"]) == ids[7:15] and json.loads(slower["after_captures"]) == ids[15:]
    assert (slower["first_bad_capture_id"], slower["first_bad_git_sha"]) == (ids[15], "0f" * 20)
    assert (slower["last_good_capture_id"], slower["last_good_git_sha"]) == (ids[14], "0e" * 20)
    assert (slower["cause_part"], slower["cause_scope"], slower["cause_op"]) == ("compute", "layer_*/attn", "custom-call.2")
    assert slower["cause_host"] is None and json.loads(slower["because"]) == found["because"]
    assert slower["before_ps"] == pytest.approx(found["before_us"] * 1e6, abs=1)
    assert slower["after_ps"] == pytest.approx(found["after_us"] * 1e6, abs=1)
    for name, key in [("change_percent", "percent"), ("margin_percent", "margin_percent"), ("least_provable_percent", "least_provable_percent")]:
        assert slower[name] == found[key], name
    # Workloads that did not become slower are recorded, too.
    assert other["verdict"] in ("same", "within_noise", "unstable") and other["first_bad_capture_id"] is None and other["because"] == "[]"
    assert len(json.loads(other["after_captures"])) == 3
    # A second time changes nothing. Other captures or another threshold are another comparison.
    tool("regressions", "--record", "--lake", folder, status=3)
    assert [other, slower] == json.loads(tool("sql", query, "--lake", folder, "--format", "json")[0])
    lake.regressions(folder, record=True, threshold=2)
    lake.regressions(folder, record=True, last=4)
    assert lake.connect(folder).sql("SELECT verdict, count(*) FROM verdicts GROUP BY ALL ORDER BY ALL").fetchall()[-1] == ("slower", 3)
    # A newer version replaces it, also if it names the workload in another way.
    before = sorted(folder.rglob("verdict=*.parquet"))
    with monkeypatch.context() as patch:
        patch.setattr(_schema, "stamp", lambda: ("99.0.0", "new"))
        series = _regressions.series_of
        patch.setattr(
            _regressions,
            "series_of",
            lambda *given: {name: [{**row, "workload_key": "new"} for row in rows] for name, rows in series(*given).items()},
        )
        lake.regressions(folder, record=True)
    after = sorted(folder.rglob("verdict=*.parquet"))
    assert len(after) == len(before) and len([path for path in after if "workload=new" in str(path)]) == 2


def test_a_slower_host_is_named(planted: Path) -> None:
    side = [{"capture_id": name} for name in ("a", "b", "c")], [{"capture_id": name} for name in ("d", "e", "f")]
    connection = lake.connect(planted)
    for table, values in [
        ("captures", [(name, 2, None) for name in "abcdef"]),
        (
            "hosts",
            [(name, host, 10, 10_000_000 * (5 if host == "h2" and name in "def" else 1)) for name in "abcdef" for host in ("h1", "h2")],
        ),
    ]:
        columns = "capture_id, num_devices, breakdown_compute_ps" if table == "captures" else "capture_id, host, num_steps, caused_wait_ps"
        connection.execute(f"INSERT INTO no_{table} ({columns}) VALUES {', '.join(map(repr, values)).replace('None', 'NULL')}")
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {table} AS SELECT * FROM no_{table}")
    (cause,) = _regressions._causes(connection, side, 2.0)
    assert (cause["kind"], cause["name"]) == ("host", "h2") and cause["slower_us"] == pytest.approx(2.0)


def test_one_implementation_finds_changes() -> None:
    level = lambda us: (us, 20, 1e-6, 9.0, None)  # noqa: E731
    assert _native.changes_of_level([level(us) for us in (10.0, 10.01, 9.99, 11.0, 11.01, 10.99)]) == ([3], [])
    before, after, found = _regressions.split([level(us) for us in (10.0, 10.01, 9.99, 11.0, 11.01)], 3)
    assert (before, after, found) == ([0, 1, 2], [3, 4], True)
    assert _regressions.split([level(10.0 + at / 1e3) for at in range(5)], 3) == ([0, 1], [2, 3, 4], False)
