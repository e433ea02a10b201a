"""After ``crossprof lake compact``, queries return the same rows from fewer files, whatever other processes do meanwhile."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dying
import made_captures
import pytest

from crossprof import lake

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

from crossprof.lake import _compact, _main, _merged, _rows, _schema, _storage  # noqa: E402
from crossprof.lake._store import Store  # noqa: E402

TABLES = [*_schema.TABLES, "schema_fields"]
Rows = dict[str, list[str]]


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a compaction merge files that were just written. Tests can use a shorter wait, because the file system's clock ticks
    more often."""
    monkeypatch.setattr(_storage.Folder, "settled_s", 0.03)


def compacted(folder: Path) -> dict[str, Any]:
    time.sleep(0.05)
    return lake.compact(folder)


def seen(folder: Path, connection: Any = None) -> Rows:
    """Returns the rows of all views."""
    asked = connection or lake.connect(folder)
    return {table: sorted(map(repr, asked.execute(f"SELECT * FROM {table}").fetchall())) for table in TABLES}


def files_read(folder: Path, table: str = "steps") -> int:
    """Returns the number of files that a query opens."""
    found = _merged.sources(Store(folder), table)
    return len(found.small) + len(found.merged)


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("captures")
    made = [made_captures.capture(folder / "a", number, slower=0.03 if number >= 15 else 0.0, commit=f"{number:02x}" * 20) for number in range(20)]
    bad = folder / "bad.xplane.pb"
    bad.write_bytes(b"no profile")
    # Another workload, and another month.
    return [*made, made_captures.capture(folder / "b", 1000, batch=32), made_captures.capture(folder / "c", 1001, batch=64), bad]


@pytest.fixture(scope="module")
def original(captures: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("original") / "lake"
    for capture in captures:
        lake.write(capture, folder)
    lake.regressions(folder, record=True)
    lake.regressions(folder, record=True, last=4)
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    """Returns a lake with 22 captures, one file that could not be read, and 2 verdicts."""
    return Path(shutil.copytree(original, tmp_path / "lake"))


def test_every_answer_stays_the_same(folder: Path, captures: list[Path]) -> None:
    long = lake.connect(folder)
    before, exported, found = seen(folder), lake.export(folder), lake.regressions(folder)
    assert found and len(before["steps"]) == 22 * 8 and files_read(folder) == 22
    done = compacted(folder)
    assert done["merged"] > 8 and done["bytes"] > 0
    # One file for each month. A month with one file remains as it is.
    assert files_read(folder) == files_read(folder, "captures") == 2
    assert seen(folder) == seen(folder, long) == before
    assert lake.export(folder) == exported and lake.regressions(folder) == found
    # Other engines read the files of the captures.
    plain = "hive_partitioning = true, hive_types_autocast = false, union_by_name = true"
    (count,) = long.sql(f"SELECT count(*) FROM read_parquet('{folder}/schema=1/table=steps/**/*.parquet', {plain})").fetchall()
    assert count == (22 * 8,)
    assert [lake.write(capture, folder)["status"] for capture in captures] == [*["unchanged"] * 22, "failed"]
    # A condition on a folder reads the rows of the folder.
    (row,) = long.sql("SELECT count(DISTINCT month), count(DISTINCT workload), count(*) FROM steps WHERE month = '2026-12'").fetchall()
    assert row == (1, 2, 16)
    again = compacted(folder)
    assert (again["merged"], again["files"], again["bytes"]) == (0, done["files"], done["bytes"])
    assert seen(folder, long) == before


def test_a_capture_that_is_written_again_replaces_its_rows(folder: Path, captures: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    long = lake.connect(folder)
    compacted(folder)
    (before,) = long.execute("SELECT count(*), count(*) FILTER (workload = 'new') FROM steps").fetchall()
    assert before == (22 * 8, 0)
    with monkeypatch.context() as patch:
        patch.setattr(_schema, "stamp", lambda: ("99.0.0", "new"))
        patch.setattr(_rows.Capture, "_workload", lambda self: "new")
        for capture in captures[:5]:
            assert lake.write(capture, folder)["status"] == "replaced"
        for _ in range(2):
            (after,) = long.execute("SELECT count(*), count(*) FILTER (workload = 'new'), count(DISTINCT capture_id) FROM steps").fetchall()
            assert after == (22 * 8, 5 * 8, 22)
            truth = seen(folder)
            compacted(folder)
            assert seen(folder) == truth and files_read(folder) == 2
    # A file that was lost or damaged is read from the folder of the captures, as before.
    for path in folder.glob("schema=1/table=steps/workload=new/*/*.parquet"):
        path.unlink()
    assert long.execute("SELECT count(*) FROM steps").fetchall() == [(17 * 8,)]
    shutil.rmtree(folder / "schema=1/table=steps")
    assert long.execute("SELECT count(*) FROM steps").fetchall() == [(0,)]


def test_a_damaged_file_is_still_named(folder: Path) -> None:
    compacted(folder)
    path = next(iter(folder.glob("schema=1/table=steps/*/month=2026-11/*.parquet")))
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    with pytest.raises(Exception, match=path.name):
        lake.connect(folder).execute("SELECT sum(duration_ps) FROM steps").fetchall()
    compacted(folder)
    with pytest.raises(Exception, match=path.name):
        lake.connect(folder).execute("SELECT sum(duration_ps) FROM steps").fetchall()
    path.write_bytes(whole)
    assert lake.connect(folder).execute("SELECT count(*) FROM steps").fetchall() == [(22 * 8,)]


def test_a_file_with_another_type_remains_as_it_is(folder: Path) -> None:
    import pyarrow.parquet

    path = next(iter(folder.glob("schema=1/table=findings/*/month=2026-11/*.parquet")))
    rows = pyarrow.parquet.ParquetFile(path).read()
    at = rows.column_names.index("message")
    pyarrow.parquet.write_table(rows.set_column(at, "message", pyarrow.nulls(len(rows), pyarrow.int64())), path)
    truth = seen(folder)
    compacted(folder)
    assert seen(folder) == truth and files_read(folder, "findings") == 3


def test_a_damaged_or_lost_merged_file_is_not_needed(folder: Path) -> None:
    before = seen(folder)
    compacted(folder)
    for name in ("*.json", "*.parquet"):
        for path in folder.glob(f"schema=1/state/merged/*/{name}"):
            path.write_text("[]") if name == "*.json" else path.unlink()
        assert seen(folder) == before, name
        compacted(folder)
        assert seen(folder) == before and files_read(folder) == 2, name


def test_columns_of_newer_versions_stay(folder: Path, captures: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = seen(folder)
    fields = _schema.fields
    with monkeypatch.context() as patch:
        patch.setattr(_schema, "fields", lambda table: tuple(field for field in fields(table) if field.name not in ("num_kernels", "lag_ps", "libtpu_version")))
        patch.setattr(_schema, "stamp", lambda: ("0.0.1", "old"))
        extra = made_captures.capture(tmp_path / "old", 2)
        assert lake.write(extra, folder)["status"] == "written"
        old = seen(folder)
        compacted(folder)
        assert seen(folder) == old
    assert files_read(folder) == 2
    after = seen(folder)
    for table in before:
        assert set(before[table]) <= set(after[table]) or table == "schema_fields"
    assert len(after["steps"]) == 23 * 8


KILLED = """
_storage.Folder.settled_s = 0.03
# Half of a temporary file.
_compact._Writer._flush = dies(_compact._Writer._flush)
lake.compact(sys.argv[2])
"""


def test_a_killed_compaction_leaves_no_half_and_no_double(folder: Path, tmp_path: Path) -> None:
    # A few captures are enough. Some of them are merged already.
    for path in folder.glob("schema=1/table=*/*/*/capture=[2-6a-f]*.parquet"):
        path.unlink()
    late = sorted(folder.glob("schema=1/table=*/*/*/capture=[01]*.parquet"))
    kept = {path: path.read_bytes() for path in late}
    for path in late:
        path.unlink()
    compacted(folder)
    for path, whole in kept.items():
        path.write_bytes(whole)
    truth = seen(folder)
    time.sleep(0.05)
    killed = 0
    # Each month of a table has four such moments.
    for moment in range(0, 200, 5):
        copy = Path(shutil.copytree(folder, tmp_path / f"lake{moment}"))
        status = dying.status(KILLED, moment, copy)
        assert seen(copy) == truth, moment
        if status == 0:
            break
        assert status == 9
        killed += 1
        compacted(copy)
        assert seen(copy) == truth and files_read(copy) <= 2, moment
        shutil.rmtree(copy)
    assert killed > 8


WRITER = """
import sys
import time
from crossprof import lake
for capture in sys.argv[2:]:
    assert lake.write(capture, sys.argv[1])["error"] is None
    time.sleep(0.2)  # Compactions take place meanwhile, however fast the machine is.
"""


def test_captures_are_imported_and_queried_during_compactions(captures: list[Path], original: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lake"
    lake.write(captures[0], folder)
    long = lake.connect(folder)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, folder, *order]) for order in (captures[:20], captures[19::-1])]
    compactors = 0
    at_most = 0
    while any(writer.poll() is None for writer in writers):
        compactors += lake.compact(folder)["merged"] > 0
        for _ in range(3):
            found = long.execute("SELECT capture_id, count(*) FROM steps GROUP BY ALL").fetchall()
            assert all(count == 8 for _, count in found) and len(found) >= at_most
            at_most = len(found)
    assert all(writer.returncode == 0 for writer in writers) and compactors > 1
    compacted(folder)
    of_20 = seen(folder)["steps"]
    assert len(of_20) == 20 * 8 and set(of_20) < set(seen(original)["steps"]) and files_read(folder) == 1


def test_two_compactions_at_once_agree(folder: Path) -> None:
    before = seen(folder)
    time.sleep(0.05)
    program = "import sys; from crossprof import lake; from crossprof.lake import _storage; _storage.Folder.settled_s = 0.03; lake.compact(sys.argv[1])"
    both = [subprocess.Popen([sys.executable, "-c", program, folder]) for _ in range(2)]
    assert [each.wait() for each in both] == [0, 0]
    assert seen(folder) == before and files_read(folder) == 2


def merged(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.glob("schema=1/state/merged/*/*.parquet")}


def test_equal_lakes_have_equal_merged_files(folder: Path, captures: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compact, "_GRACE_S", 0)
    monkeypatch.setattr(_compact, "ROWS_OF_A_GROUP", 50)
    for number, capture in enumerate(reversed(captures)):
        lake.write(capture, tmp_path / "other")
        if number in (4, 5, 15):
            compacted(tmp_path / "other")
    for last in (3, 4):
        lake.regressions(tmp_path / "other", record=True, last=last)
    compacted(folder)
    compacted(tmp_path / "other")
    one, other = merged(folder), merged(tmp_path / "other")
    # Verdicts contain the time of the comparison.
    one, other = ({name: whole for name, whole in files.items() if "/verdicts/" not in name} for files in (one, other))
    assert one == other and len(one) > 8
    import pyarrow.parquet

    (steps,) = (name for name in one if "/steps/" in name and "H" not in name and pyarrow.parquet.ParquetFile(folder / name).metadata.num_rows > 20)
    groups = pyarrow.parquet.ParquetFile(folder / steps).metadata
    assert groups.num_row_groups > 2 and groups.row_group(0).column(0).compression == "ZSTD"


def test_random_histories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compares a lake with a dict after random writes, rewrites, moves, removals and compactions. Some compactions die, and others
    run at the same time as a writer."""
    monkeypatch.setattr(_compact, "_GRACE_S", 0)
    for seed in range(6):
        chance = random.Random(seed)
        folder = tmp_path / str(seed)
        store = Store(folder)
        store.lay_schema()
        model: dict[str, tuple[str, str, list[int]]] = {}

        def write(name: str) -> None:
            if name in model:
                store.remove(name, list(model[name][:2]), ["steps"])
                if chance.random() < 0.2:
                    del model[name]
                    return
            values = [chance.randrange(1000) for _ in range(chance.choice([1, 3, 300]))]
            workload, month = (model[name][:2] if name in model and chance.random() < 0.7 else (chance.choice("vw"), chance.choice(["2026-11", "unknown"])))
            rows = [{"index": at, "duration_ps": value} for at, value in enumerate(values)]
            # A path that could not be read has no identity.
            keys = {"capture_id": None if name.endswith("0") else name, "workload_key": workload}
            store.files.write(store.place("steps", [workload, month], name), _rows.file("steps", rows, keys))
            model[name] = (workload, month, values)

        def check(connection: Any) -> None:
            found = connection.execute('SELECT workload, month, workload_key, "index", duration_ps FROM steps').fetchall()
            truth = [(workload, month, workload, at, value) for workload, month, values in model.values() for at, value in enumerate(values)]
            assert sorted(found) == sorted(truth), seed

        write("c1")
        connection = lake.connect(folder)
        for _ in range(25):
            action = chance.random()
            if action < 0.5:
                for _ in range(chance.randrange(1, 5)):
                    write(f"c{chance.randrange(25)}")
            elif action < 0.7:
                compacted(folder)
            else:
                with monkeypatch.context() as patch:
                    _meets(patch, chance, write)
                    try:
                        compacted(folder)
                    except KeyboardInterrupt:
                        pass
            check(connection)
        compacted(folder)
        check(connection)
        check(lake.connect(folder))


def _meets(patch: pytest.MonkeyPatch, chance: random.Random, write: Callable[[str], None]) -> None:
    """Makes a writer run during the next compaction, or makes the compaction die, at a random call."""
    place, name = chance.choice([(_compact, "listing"), (_storage.Folder, "read_many"), (_storage.Folder, "write"), (_compact._Writer, "_flush"), (os, "replace")])
    real, left, dies = getattr(place, name), chance.randrange(3), chance.random() < 0.5
    # The writer uses some of these functions itself.
    is_inside = False

    def call(*arguments: Any, **named: Any) -> Any:
        nonlocal left, is_inside
        if not is_inside:
            left -= 1
        if left == -1 and not is_inside:
            if dies:
                raise KeyboardInterrupt
            is_inside = True
            for _ in range(3):
                write(f"c{chance.randrange(25)}")
            is_inside = False
        return real(*arguments, **named)

    patch.setattr(place, name, call)


def test_files_that_killed_writers_left_are_removed_after_a_day(folder: Path) -> None:
    temporaries = [folder / "schema=1" / place / f".x.{number}.tmp" for number, place in enumerate(["table=steps", "state/sources", "state/merged/ops", "table=steps"])]
    for path in temporaries:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half")
    old, young = time.time() - 25 * 3600, time.time() - 3600
    for path in temporaries[:3]:
        os.utime(path, (old, old))
    os.utime(temporaries[3], (young, young))
    # Not a file of a writer.
    other = folder / "schema=1" / "table=steps" / "notes.tmp"
    other.write_text("mine")
    os.utime(other, (old, old))
    assert compacted(folder)["removed"] == 3
    assert [path.exists() for path in temporaries] == [False, False, False, True] and other.exists()


def test_earlier_merged_files_remain_for_an_hour(folder: Path, captures: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compacted(folder)
    first = set(merged(folder))
    lake.write(made_captures.capture(tmp_path / "more", 5, seed=9), folder)
    assert compacted(folder)["removed"] == 0
    assert first < set(merged(folder))
    now = time.time
    monkeypatch.setattr(_compact.time, "time", lambda: now() + 3000)
    assert compacted(folder)["removed"] == 0
    monkeypatch.setattr(_compact.time, "time", lambda: now() + 4000)
    assert compacted(folder)["removed"] > 5
    named = {json.loads(path.read_text())["file"] for path in folder.glob("schema=1/state/merged/*/*.json")}
    assert {name.removeprefix("schema=1/") for name in merged(folder)} == named


def test_a_file_of_this_moment_is_merged_later(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_storage.Folder, "settled_s", 60.0)
    for path in folder.rglob("capture=*.parquet"):
        os.utime(path)
    lake.compact(folder)
    assert files_read(folder) == 22


def test_the_command_and_the_end_of_an_import(folder: Path, captures: list[Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    imported = [str(captures[0]), "--lake", str(folder), "--jobs", "1"]
    assert _main.main(["import", *imported]) == 0
    assert "Merged" not in capsys.readouterr().out and files_read(folder) == 22
    monkeypatch.setattr(_compact, "_MANY", 20)
    time.sleep(0.05)
    assert _main.main(["import", *imported]) == 0
    assert "Merged files repeat" in capsys.readouterr().out and files_read(folder) == 2
    assert _main.main(["import", *imported]) == 0
    assert "Merged" not in capsys.readouterr().out
    # A lake that cannot be merged is complete, too.
    with monkeypatch.context() as patch:
        patch.setattr(_compact, "compact", lambda lake: os.stat(folder / "no such file"))
        patch.setattr(_compact, "_MANY", 0)
        patch.setattr(_compact, "_MANY_OF_ALL", 0)
        assert _main.main(["import", *imported]) == 0
        assert "small files were not merged" in capsys.readouterr().err
    assert _main.main(["compact", str(folder)]) == 0
    assert "0 written" in capsys.readouterr().out
    assert _main.main(["compact", str(folder / "none")]) == 2
    assert "there is no lake here" in capsys.readouterr().err
