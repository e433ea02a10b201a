"""``crossprof lake export`` writes the numbers of the captures."""

from __future__ import annotations

import gzip
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import made_captures
import pytest

import crossprof
from crossprof import lake

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

from crossprof.lake._main import main  # noqa: E402

DATA = Path(__file__).parents[2] / "tests" / "data"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with captures of real programs and two workloads. One workload became slower."""
    made = tmp_path_factory.mktemp("export")
    paths = [DATA / "jax-h100" / "train.xplane.pb.gz", DATA / "jax-cpu-mesh" / "plugins" / "profile" / "2026_11_21_02_00_07"]
    for number in range(14):
        paths += [
            made_captures.capture(made / "a", number, seed=3, slower=0.03 if number >= 11 else 0.0, commit=f"{number:02x}" * 20),
            made_captures.capture(made / "b", number, seed=6, batch=64),
        ]
    for path in paths:
        assert lake.write(path, made / "lake")["status"] == "written"
    assert len(lake.regressions(made / "lake", record=True)) == 1
    return made / "lake"


def picoseconds(us: float) -> int:
    return round(us * 1e6)


def test_the_numbers_are_those_of_the_profiles(folder: Path) -> None:
    found = lake.export(folder)
    assert (found["format"], found["version"], found["crossprof_version"]) == ("crossprof-lake", 1, crossprof.__version__)
    assert len(found["captures"]) == 30 and len(found["workloads"]) == 4
    with_findings = 0
    for capture in found["captures"]:
        profile = crossprof.open(capture["path"])
        report = profile.report
        workload = found["workloads"][capture["workload"]]
        assert workload["device_kind"] == report["metadata"]["device_type"]
        assert workload.get("batch_size") == report["model_config"].get("batch_size")
        durations = [step["duration_us"] for step in report["steps"] if step["counted"]]
        first, _, third = statistics.quantiles(durations, n=4, method="inclusive")
        assert capture["num_steps_counted"] == len(durations)
        assert capture["p25_step_time_ps"] == pytest.approx(picoseconds(first), abs=1)
        assert capture["p75_step_time_ps"] == pytest.approx(picoseconds(third), abs=1)
        assert capture["median_step_time_ps"] == pytest.approx(picoseconds(statistics.median(durations)), abs=1)
        parts = {name.replace("_us", "_ps"): picoseconds(us) for name, us in report["step_breakdown"]["parts"].items() if us is not None}
        assert capture["parts"] == parts
        serious = [{"id": it["id"], "severity": it["severity"]} for it in report["findings"] if it["severity"] in ("critical", "warning")]
        assert len(capture["findings"]) == min(len(serious), 3) and all(it in serious for it in capture["findings"])
        with_findings += bool(serious)
    assert with_findings > 0


def test_captures_are_in_the_order_of_their_time_and_verdicts_name_captures(folder: Path) -> None:
    found = lake.export(folder)
    ((key,),) = lake.connect(folder).sql("SELECT DISTINCT workload_key FROM captures WHERE git_sha IS NOT NULL").fetchall()
    place = [workload["workload_key"] for workload in found["workloads"]].index(key)
    captures = [capture for capture in found["captures"] if capture["workload"] == place]
    assert [capture["git_sha"] for capture in captures] == [f"{number:02x}" * 20 for number in range(14)]
    assert captures[0]["time"] == "2026-11-02T10:00:00Z"
    (verdict,) = (verdict for verdict in found["verdicts"] if verdict["workload"] == place)
    assert verdict["verdict"] == "slower" and verdict["first_bad_capture_id"] == captures[11]["capture_id"]
    assert verdict["last_good_capture_id"] == captures[10]["capture_id"] and verdict["cause_op"] == "custom-call.2"
    assert verdict["first_capture_id"] == captures[11]["capture_id"]
    (other,) = (verdict for verdict in found["verdicts"] if verdict["workload"] != place)
    assert other["verdict"] != "slower" and "first_bad_capture_id" not in other and "because" not in other
    result = lake.connect(folder).execute("SELECT * FROM verdicts")
    names = [column[0] for column in result.description or ()]
    for row in result.fetchall():
        values = dict(zip(names, row))
        (same,) = (verdict for verdict in found["verdicts"] if verdict["capture_id"] == values["capture_id"])
        assert same["first_capture_id"] == json.loads(values["after_captures"])[0]
        assert all(values[name] == value for name, value in same.items() if name not in ("workload", "time", "first_capture_id"))


def test_equal_lakes_give_equal_files_which_are_small(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    outputs = []
    for words in ([folder], ["--lake", tmp_path / "copy"]):
        done = subprocess.run(
            [sys.executable, "-m", "crossprof", "lake", "export", *map(str, words)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1] and json.loads(outputs[0]) == lake.export(folder)
    # One record per line.
    assert len([line for line in outputs[0].splitlines() if line.startswith('{"')]) == 30 + 4 + 2
    for name in ("trend.json", "trend.json.gz"):
        assert main(["export", str(folder), "--output", str(tmp_path / name)]) == 0
    assert (tmp_path / "trend.json").read_text() == outputs[0]
    packed = (tmp_path / "trend.json.gz").read_bytes()
    assert gzip.decompress(packed).decode() == outputs[0]
    assert len(packed) < 200 * 30


def test_a_lake_without_steps_or_captures_is_a_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(tmp_path)]) == 2
    assert "there is no lake here" in capsys.readouterr().err
    bad = tmp_path / "bad.xplane.pb"
    bad.write_bytes(b"no profile")
    lake.write(bad, tmp_path / "lake")
    found = lake.export(tmp_path / "lake")
    assert (found["workloads"], found["captures"], found["verdicts"]) == ([], [], [])
