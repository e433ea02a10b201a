"""Checks lakes that Ray and Spark write. The engines run on this machine. If they are not installed, the tests are skipped.

``cargo xtask test engines`` runs the tests in a separate environment. To run the tests by hand, install a Java runtime and ``pip
install "ray[data]" pyspark s3fs pyarrow``, then call ``pytest python/tests/test_engines.py``.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import crossprof
from crossprof import lake

pytest.importorskip("pyarrow")

DATA = Path(__file__).parents[2] / "tests" / "data"
#: Captures of the CPU, of GPUs and of several hosts.
KINDS = ["jax-cpu-train", "jax-cpu-mesh", "jax-cpu-steps", "megascale"]
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def ray_engine() -> Iterator[Callable[..., Rows]]:
    ray = pytest.importorskip("ray")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield lake.ray
    ray.shutdown()


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("could not find java, which Spark needs")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
    yield session
    session.stop()


@pytest.fixture(params=["ray", "spark"])
def engine(request: pytest.FixtureRequest) -> Callable[..., Rows]:
    """Returns a function that writes captures to a lake with an engine."""
    if request.param == "ray":
        found: Callable[..., Rows] = request.getfixturevalue("ray_engine")
        return found
    session = request.getfixturevalue("session")
    return lambda *arguments, **options: lake.spark(session, *arguments, **options)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Returns a folder with 12 captures: no two have the same content."""
    folder = tmp_path / "logs"
    for number in range(3):
        for kind in KINDS:
            session = folder / f"run{number}" / kind / f"plugins/profile/2026_01_01_00_00_0{number}"
            session.mkdir(parents=True)
            for file in (DATA / kind).rglob("*.xplane.pb*"):
                shutil.copy(file, session)
            (session / "crossprof.json").write_text(f'{{"batch_size": {number + 1}}}')
    return folder


def written(paths: Any, folder: Path) -> dict[str, bytes]:
    """Returns the files of a lake that this process writes."""
    for capture in lake.captures(paths):
        lake.write(capture, folder)
    return files(folder)


def files(folder: Path) -> dict[str, bytes]:
    """Returns the contents of all files of a lake, except files that a killed writer leaves behind. Readers never see such
    files."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_all_ways_write_the_same_lake(engine: Callable[..., Rows], logs: Path, tmp_path: Path) -> None:
    expected = written(logs, tmp_path / "expected")
    rows = engine(logs, str(tmp_path / "lake"))
    assert [row["capture"] for row in rows] == lake.captures(logs) and len(rows) == 12
    assert {row["status"] for row in rows} == {"written"} and all(row["events"] for row in rows)
    assert files(tmp_path / "lake") == expected and len(expected) > 100
    again = engine(logs, str(tmp_path / "lake"))
    assert {row["status"] for row in again} == {"unchanged"} and files(tmp_path / "lake") == expected


def test_a_bad_file_and_a_missing_file_are_rows(engine: Callable[..., Rows], logs: Path, tmp_path: Path) -> None:
    bad = logs / "bad.xplane.pb"
    bad.write_bytes(b"this is no profile")
    paths = lake.captures(logs)
    expected = written(paths, tmp_path / "expected")
    lost = Path(next(path for path in paths if "megascale" in path))
    lost.rename(tmp_path / "elsewhere")
    rows = engine(paths, str(tmp_path / "lake"))
    failed = {row["capture"]: row["error"] for row in rows if row["status"] == "failed"}
    assert set(failed) == {str(bad), str(lost)} and len(rows) == 13
    assert "not a profile" in failed[str(bad)] and "No such file" in failed[str(lost)]
    # The file is back.
    (tmp_path / "elsewhere").rename(lost)
    rows = engine(paths, str(tmp_path / "lake"))
    assert sorted(row["status"] for row in rows) == ["failed", *["unchanged"] * 11, "written"]
    assert files(tmp_path / "lake") == expected


def test_a_lake_that_cannot_be_written_is_an_error(engine: Callable[..., Rows], logs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Exception, match="Not a directory|NotADirectory"):
        engine(str(next(iter(lake.captures(logs)))), str(tmp_path / "file" / "lake"))


def workers(engine: str) -> list[int]:
    """Returns the processes that are writing captures now."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes() if process.name.isdigit() else b""
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1]) if words else 0
            of_parent = Path(f"/proc/{parent}/cmdline").read_bytes() if words else b""
        except OSError:
            continue
        is_of_spark = b"pyspark.daemon" in words and b"pyspark.daemon" in of_parent
        if (b"ray::" in words and b"write_batch" in words) if engine == "ray" else is_of_spark:
            found.append(int(process.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="could not find /proc")
def test_a_killed_worker_loses_nothing(
    engine: Callable[..., Rows], logs: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.params["engine"]
    expected = written(logs, tmp_path / "expected")
    killed: list[int] = []

    def kill() -> None:
        end = time.monotonic() + 60
        while not killed and time.monotonic() < end:
            if any((tmp_path / "lake").glob("schema=*/table=*/*/*/*.parquet")):
                for process in workers(name):
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)
            time.sleep(0.002)

    killer = threading.Thread(target=kill)
    killer.start()
    rows = engine(logs, str(tmp_path / "lake"))
    killer.join()
    assert killed
    assert len(rows) == 12 and not [row for row in rows if row["error"]]
    assert files(tmp_path / "lake") == expected
    assert {row["status"] for row in engine(logs, str(tmp_path / "lake"))} == {"unchanged"}
    assert files(tmp_path / "lake") == expected


@pytest.mark.parametrize("name", ["ray", "spark"])
def test_a_killed_driver_loses_nothing(name: str, logs: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray" if name == "ray" else "pyspark")
    expected = written(logs, tmp_path / "expected")
    program = {
        "ray": """
            import ray
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
            rows = lake.ray(sys.argv[1], sys.argv[2])
            """,
        "spark": """
            from pyspark.sql import SparkSession
            session = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").getOrCreate()
            rows = lake.spark(session, sys.argv[1], sys.argv[2])
            """,
    }[name]
    text = "import sys\nfrom crossprof import lake\n" + textwrap.dedent(program) + "print(*sorted({row['status'] for row in rows}))"

    def driver() -> subprocess.Popen[str]:
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "RAY_USAGE_STATS_ENABLED": "0", "SPARK_LOCAL_IP": "127.0.0.1"}
        call = [sys.executable, "-c", text, str(logs), str(tmp_path / "lake")]
        # A separate session, so that the test can end what the killed driver leaves.
        return subprocess.Popen(
            call, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )

    first = driver()
    while not any((tmp_path / "lake").glob("schema=*/table=imports/*/*/*.parquet")):
        assert first.poll() is None
        time.sleep(0.002)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    assert len(list((tmp_path / "lake").glob("schema=*/table=imports/*/*/*.parquet"))) < 12
    second = driver()
    out, _ = second.communicate(timeout=200)
    assert out == "unchanged written\n"
    assert files(tmp_path / "lake") == expected


def test_the_code_in_the_document_works(ray_engine: Any, session: Any, logs: Path, tmp_path: Path) -> None:
    text = (DATA.parents[1] / "docs/fleet-engines.md").read_text()
    programs = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    expected = written(logs, tmp_path / "expected")
    scope: dict[str, Any] = {}
    for number, program in enumerate(programs):
        folder = tmp_path / f"lake{number}"
        program = program.replace("gs://bucket/runs", str(logs)).replace("/mnt/lake", str(folder)).replace("ray.init()", "")
        exec(program, scope)
        assert ("/mnt/lake" in programs[number]) == folder.exists()
        assert not folder.exists() or files(folder) == expected
    assert len(programs) == 4 and len(scope["rows"]) == 12 and scope["steps"].count()


def test_spark_reads_captures_as_a_data_source(session: Any, logs: Path, tmp_path: Path) -> None:
    import pyarrow.dataset

    written(logs, tmp_path / "lake")
    session.dataSource.register(lake.CrossprofSource)
    for table in ["captures", "steps", "ops", "collectives"]:
        frame = session.read.format("crossprof").option("table", table).load(str(logs))
        stored = pyarrow.dataset.dataset(sorted(map(str, (tmp_path / "lake/schema=1").glob(f"table={table}/**/*.parquet")))).to_table()
        assert frame.columns == stored.column_names
        assert frame.count() == len(stored) > 0
    steps = session.read.format("crossprof").option("table", "steps").load(f"{logs}/run0/*/plugins/profile/*")
    taken = sorted(row["duration_ps"] for row in steps.where("counted").select("duration_ps").collect())
    profiles = [lake.captures(logs / "run0" / kind)[0] for kind in KINDS]
    expected = [step for path in profiles for step in crossprof.open(path).report.get("steps", []) if step["counted"]]
    assert taken == sorted(round(step["duration_us"] * 1e6) for step in expected) and taken

    (logs / "bad.xplane.pb").write_bytes(b"no profile")
    reader = session.read.format("crossprof")
    with pytest.raises(Exception, match="bad.xplane.pb"):
        reader.load(str(logs)).count()
    assert reader.option("ignoreCorruptFiles", "true").load(str(logs)).count() == 12
    with pytest.raises(Exception, match="There is no table 'none'"):
        reader.option("table", "none").load(str(logs)).count()


def test_there_must_be_captures(engine: Callable[..., Rows], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="There is no capture"):
        engine(str(tmp_path), str(tmp_path / "lake"))
