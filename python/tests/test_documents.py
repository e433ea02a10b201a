"""Checks what the documents of other projects state about arguments, environment variables, results and files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from conftest import sessions, step_numbers

import crossprof

MAYBE = """
for step in range(8):
    with crossprof.maybe_profile(step):
        train_step(x).block_until_ready()
"""
ARGUMENTS = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--checkpoint_dir")
crossprof.add_arguments(parser)
arguments = parser.parse_args({words})
profiler = crossprof.from_args(arguments)
for step in range(30):
    profiler.begin_step(step)
    profiler.end_step(value=train_step(x))
    {then}
assert profiler.errors == {errors}, profiler.errors
"""


@pytest.mark.parametrize(
    "environment, folders",
    [
        ({"PROFILE_ENABLED": "true", "PROFILE_START_STEP": "3", "PROFILE_INTERVAL": "0"}, {"step_00000003": [3]}),
        ({"PROFILE_ENABLED": "on", "PROFILE_START_STEP": "2", "PROFILE_INTERVAL": "3"}, {"step_00000002": [2], "step_00000005": [5]}),
        ({"PROFILER_CAPTURE_STEP": "4", "PROFILE_DURATION": "2"}, {"step_00000004": [4, 5]}),
        ({"PROFILER_CAPTURE_STEP": "4", "PROFILE_ENABLED": "false"}, {}),
        ({"PROFILE_ENABLED": "0"}, {}),
    ],
)
def test_the_environment_profiles_steps_as_blocks(run, tmp_path: Path, environment: dict[str, str], folders: dict[str, list[int]]) -> None:
    said = run(MAYBE, **environment)
    found = {folder.name: folder for folder in (tmp_path / "profiles").glob("*")}
    assert set(found) == set(folders)
    for name, steps in folders.items():
        (session,) = sessions(found[name])
        assert step_numbers(next(session.glob("*.xplane.pb"))) == steps
        assert f"into profiles/{name}/plugins/profile/{session.name}" in said


def test_files_are_where_the_documents_look_for_them(run, tmp_path: Path) -> None:
    run(MAYBE, PROFILE_ENABLED="1", PROFILE_START_STEP="3", PROFILE_MODE="perfetto")
    assert list(tmp_path.glob("profiles/step_*/plugins/profile/*/perfetto_trace.json.gz"))
    sizes = [path.stat().st_size for path in tmp_path.glob("profiles/step_*/plugins/profile/*/*.json.gz")]
    assert sizes and min(sizes) > 500


def test_a_switch_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROFILE_ENABLED", "maybe")
    with pytest.raises(ValueError, match="PROFILE_ENABLED=maybe: must be 1 or 0, true or false"):
        crossprof.get_profiling_config()


@pytest.mark.parametrize(
    "words, then, steps",
    [
        (["--enable_profiling", "--profiler_start_step", "10", "--profiler_num_steps", "3"], "pass", [10, 11, 12]),
        (["--enable_profiling", "--profiler_start_step", "-1"], "profiler.capture_async() if step == 7 else None", [8, 9, 10, 11, 12]),
        (["--profiler_start_step", "10"], "profiler.capture_async()", None),
    ],
)
def test_the_command_line_of_the_documents(run, tmp_path: Path, words: list[str], then: str, steps: list[int] | None) -> None:
    run(ARGUMENTS.format(words=[*words, "--checkpoint_dir", "checkpoints/a"], then=then, errors=[]))
    folder = tmp_path / "checkpoints" / "a" / "profiler_traces"
    if steps is None:
        assert not folder.exists()
        return
    (session,) = sessions(folder)
    assert step_numbers(next(session.glob("*.xplane.pb"))) == steps


def test_the_default_start_is_behind_a_short_training(run) -> None:
    said = run(ARGUMENTS.format(words=["--enable_profiling"], then="pass", errors=[]))
    assert "No capture: the program ended before step 150." in said


def test_results_have_time_success_and_trace(run, tmp_path: Path) -> None:
    run(
        """
        def fails():
            raise ArithmeticError("diverged")
        methods = {"unitary_grad_lcam": lambda: train_step(x), "unitary_grad_tad": fails}
        logs = crossprof.setup_tensorboard_logging(4, "20241201_143022")
        results = crossprof.profile_methods(methods, logs, "results.json")
        crossprof.print_tensorboard_summary(results, logs)
        """
    )
    results = json.loads((tmp_path / "results.json").read_text())
    good, bad = results["unitary_grad_lcam"], results["unitary_grad_tad"]
    assert good.pop("execution_time") > 0
    assert good == {"success": True, "tensorboard_trace": "tensorboard_logs/4gpu_20241201_143022/unitary_grad_lcam_trace"}
    assert bad == {"execution_time": None, "success": False, "tensorboard_trace": None, "error": "ArithmeticError: diverged"}
    assert list((tmp_path / good["tensorboard_trace"]).rglob("*.xplane.pb"))


def test_a_trace_json_beside_a_sidecar_has_time_device_and_library(run, tmp_path: Path) -> None:
    opened = pytest.importorskip("crossprof._profile", reason="the extension module is not built")
    run("with crossprof.capture('p', wait=1, warmup=0, active=3) as c:\n    for _ in range(6): c.step(train_step(x))")
    (session,) = sessions(tmp_path / "p")
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(next(session.glob("*.trace.json.gz")), alone)
    sidecar = json.loads((session / "crossprof.json").read_text())
    capture = sidecar["capture"]
    capture.update(wall_clock_ns=1_779_266_702_889_805_563, framework="Flax")
    (alone / "crossprof.json").write_text(json.dumps(sidecar))
    metadata = opened.open(alone).report["metadata"]
    assert metadata["timestamp"] == "2026-05-20T08:45:02.889Z"
    assert metadata["framework"] == "Flax"
    assert not {"wall_clock_ns", "framework", "device_kind"} & set(metadata["environment"])
