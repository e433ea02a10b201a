"""A lake in a bucket gives the same answers as a lake in a folder. A server of the S3 API runs on this machine (moto)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import made_captures
import pytest

from crossprof import lake

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

from crossprof.lake import _compact, _main, _rows, _schema  # noqa: E402
from crossprof.lake._store import Store  # noqa: E402


def seen(folder: Any) -> dict[str, list[str]]:
    connection = lake.connect(folder)
    return {table: sorted(map(repr, connection.execute(f"SELECT * FROM {table}").fetchall())) for table in [*_schema.TABLES, "schema_fields"]}


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("captures")
    made = [made_captures.capture(folder, number, seed=3, slower=0.03 if number >= 6 else 0.0, commit=f"{number:02x}" * 20) for number in range(9)]
    bad = folder / "bad.xplane.pb"
    bad.write_bytes(b"no profile")
    return [*made, bad]


@pytest.fixture(scope="module")
def local(captures: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("local") / "lake"
    for capture in captures:
        lake.write(capture, folder)
    return folder


def test_a_lake_in_a_bucket_is_that_of_a_folder(
    bucket: tuple[Any, str], captures: list[Path], local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs, url = bucket
    place = f"{url}/team/lake"
    with pytest.raises(ValueError, match="there is no lake here"):
        lake.connect(place)
    assert [lake.write(capture, place)["status"] for capture in captures] == [*["written"] * 9, "failed"]
    fs.invalidate_cache()
    names = [name for name in fs.find("lab/team/lake") if "/state/" not in name]
    files = [path.relative_to(local).as_posix() for path in local.rglob("*.parquet")]
    assert sorted(name.removeprefix("lab/team/lake/").removeprefix("/lab/team/lake/") for name in names) == sorted(files)
    truth, found = seen(local), lake.regressions(local)
    assert seen(place) == truth and len(truth["steps"]) == 9 * 8
    assert found and lake.regressions(place) == found and lake.export(place) == lake.export(local)
    # Again, nothing is written.
    before = {name: fs.cat_file(name) for name in fs.find("lab/team/lake")}
    assert [lake.write(capture, place)["status"] for capture in captures] == [*["unchanged"] * 9, "failed"]
    # A connection answers from the files that it has listed, and from merged files after a compaction.
    connection = lake.connect(place)
    count = "SELECT count(*), count(DISTINCT workload) FROM steps"
    assert connection.execute(count).fetchall() == [(72, 1)]
    done = lake.compact(place)
    assert done["merged"] > 7 and len({name for name in fs.find("lab/team/lake")} - set(before)) == 2 * done["merged"]
    assert connection.execute(count).fetchall() == [(72, 1)]
    from crossprof.lake import _merged

    sources = _merged.sources(Store(place), "steps")
    assert (len(sources.small), len(sources.merged)) == (0, 1)
    assert seen(place) == truth and lake.export(place) == lake.export(local) and lake.compact(place)["merged"] == 0
    # A newer version replaces the rows of a capture.
    with monkeypatch.context() as patch:
        patch.setattr(_schema, "stamp", lambda: ("99.0.0", "new"))
        patch.setattr(_rows.Capture, "_workload", lambda self: "new")
        assert lake.write(captures[0], place)["status"] == "replaced"
    assert lake.connect(place).execute(count).fetchall() == [(72, 2)]
    monkeypatch.setattr(_compact, "_GRACE_S", 0)
    assert lake.compact(place)["removed"] > 5
    assert lake.connect(place).execute(count).fetchall() == [(72, 2)]
    # The comparison is recorded.
    lake.regressions(place, record=True)
    assert len(seen(place)["verdicts"]) == 1


def test_the_commands_take_urls(s3: Any, captures: list[Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compact, "_MANY", 5)
    place = "s3://lab/commands"
    logs = str(captures[0].parents[3])
    # Two processes that import at the same time.
    both = [
        subprocess.Popen([sys.executable, "-m", "crossprof", "lake", "import", logs, "--lake", place, "--jobs", "2"], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in both:
        out, _ = process.communicate()
        assert process.returncode == 1 and "1 failed" in out
    query = "SELECT count(*) AS n, count(DISTINCT capture_id) AS captures FROM steps"
    assert _main.main(["import", logs, "--lake", place, "--jobs", "1"]) == 1
    out = capsys.readouterr().out
    assert "9 unchanged" in out and "Merged files repeat" in out
    assert _main.main(["sql", query, "--lake", place, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"n": 72, "captures": 9}]
    assert _main.main(["compact", place]) == 0
    assert _main.main(["export", place]) == 0
    assert len(json.loads(capsys.readouterr().out.partition("\n")[2])["captures"]) == 9
    assert _main.main(["regressions", "--lake", place]) == 3
    for path in s3.find("lab/commands"):
        s3.rm_file(path)


def test_a_bucket_that_fails_is_an_error(s3: Any, captures: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OSError):
        lake.write(captures[0], "s3://no-such-bucket/lake")
    assert _main.main(["sql", "SELECT 1", "--lake", "s3://no-such-bucket/lake"]) == 2
    assert "no-such-bucket" in capsys.readouterr().err
    with pytest.raises(ValueError, match="nosuch"):
        lake.connect("nosuch://bucket/lake")


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    assert _main.main(["sql", "SELECT 1", "--lake", "gs://bucket/lake"]) == 2
    assert 'pip install "crossprof[remote]" gcsfs' in capsys.readouterr().err
