"""The examples work unchanged, and crossprof reads the folders that other training programs write."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import sessions, step_numbers

import crossprof

EXAMPLES = Path(__file__).parents[1] / "examples"
TPU = Path(__file__).parents[2] / "www" / "assets" / "examples" / "tpu-training.trace.json.gz"


def run_example(name: str, folder: Path) -> str:
    """Runs an example in a folder, where it writes its ``profiles``. Returns its output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_", "CROSSPROF_"))}
    package = os.environ.get("CROSSPROF_PACKAGE", str(Path(__file__).parent.parent))
    done = subprocess.run(
        [sys.executable, EXAMPLES / name],
        cwd=folder,
        env={**environment, "PYTHONPATH": package, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def fetched_batches(session: Path) -> int:
    """Counts in the profile how often the program fetched the input of a step, using JAX's own reader."""
    import jax

    data = jax.profiler.ProfileData.from_file(str(next(session.glob("*.xplane.pb"))))
    return sum(event.name == "next_batch" for plane in data.planes for line in plane.lines for event in line.events)


def test_a_training_with_flax_optax_and_grain_is_captured(tmp_path: Path) -> None:
    for package in ("flax", "optax", "grain"):
        pytest.importorskip(package)
    run_example("flax_optax.py", tmp_path)
    (session,) = sessions(tmp_path / "profiles")
    assert step_numbers(next(session.glob("*.xplane.pb"))) == [11, 12, 13, 14]
    report = crossprof.open(tmp_path / "profiles").report
    # 16 * 64 + 64 for the first layer, 64 + 1 for the second.
    assert report["parameter_counts"]["total_params"] == 1153
    step_s = report["step_timing"]["avg_step_time_us"] / 1e6
    assert report["throughput"]["samples_per_sec"] == pytest.approx(32 / step_s)
    assert report["metadata"]["framework"] == "Flax"
    assert fetched_batches(session) == 4


def test_a_training_that_tf_data_feeds_is_captured(tmp_path: Path) -> None:
    # Does not import TensorFlow, because it takes seconds to start, and the example starts it anyway.
    if importlib.util.find_spec("tensorflow") is None:
        pytest.skip("tensorflow is not installed")
    # The model learns: always predicting zero gives a mean error of 16, the variance of the sum of 16 features.
    assert float(run_example("tf_data.py", tmp_path).removeprefix("loss ").split(",")[0]) < 1
    (session,) = sessions(tmp_path / "profiles")
    assert step_numbers(next(session.glob("*.xplane.pb"))) == [11, 12, 13, 14]
    report = crossprof.open(tmp_path / "profiles").report
    assert report["parameter_counts"]["total_params"] == 16 + 1
    assert fetched_batches(session) == 4
    # The whole capture, because the machine determines which of these very short steps are counted.
    whole = crossprof.open(tmp_path / "profiles", window="all").report
    assert 0 < whole["io_operations"]["io_total_time_us"] < whole["step_timing"]["total_time_us"]


@pytest.mark.parametrize(
    "layout",
    [
        # MaxText: base_output_directory/run_name/tensorboard. Each period of profile_periodically_period has its own folder.
        ["out/llama/tensorboard/plugins/profile/2026_01_05_10_00_00", "out/llama/tensorboard/plugins/profile/2026_01_05_11_00_00"],
        ["out/llama/tensorboard/step_100/plugins/profile/2026_01_05_10_00_00", "out/llama/tensorboard/step_200/plugins/profile/2026_01_05_11_00_00"],
        # Levanter: logs/run/profiler, with sessions named after their steps.
        ["logs/ab12/profiler/plugins/profile/steps-5-to-30", "logs/ab12/profiler/plugins/profile/steps-105-to-130"],
    ],
)
def test_the_folders_of_maxtext_and_levanter_are_read_as_they_are(tmp_path: Path, layout: list[str]) -> None:
    for folder in layout:
        (tmp_path / folder).mkdir(parents=True)
        # Two hosts of one run.
        for host in ("host-0", "host-1"):
            shutil.copy(TPU, tmp_path / folder / f"{host}.trace.json.gz")
    profiles = crossprof.open_all(tmp_path)
    assert profiles.problems == []
    assert [profile.name for profile in profiles] == sorted(folder.rsplit("/", 1)[1] for folder in layout)
    assert [profile.report["metadata"]["num_hosts"] for profile in profiles] == [2, 2]
    assert crossprof.open(tmp_path).name == max(folder.rsplit("/", 1)[1] for folder in layout)
