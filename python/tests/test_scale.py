"""``crossprof scale``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import sessions, step_numbers

from crossprof import _scale

BENCH = """
import jax, jax.numpy as jnp, crossprof
mesh = jax.make_mesh((jax.device_count(),), ("data",))
x = jax.device_put(jnp.ones((64, 64)), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data")))
step = jax.jit(lambda x: jnp.tanh(x @ x) / 10)
with crossprof.capture("elsewhere", wait=4, active=2, batch_size=64) as capture:
    for _ in range(10):
        x = step(x)
        capture.step(x)
"""


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "bench.py").write_text(BENCH)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.environ.get("CROSSPROF_PACKAGE", str(Path(__file__).parent.parent)))
    # A user's own flag is kept, but not one for the number of devices.
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=5 --xla_cpu_enable_fast_math=false")
    return tmp_path / "bench.py"


def test_each_number_of_devices_is_a_run_of_its_own(bench: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _scale.main(["-n", "1,4", "--platform", "cpu", "--output", "scaling", "--", sys.executable, str(bench)]) == 0
    for count in (1, 4):
        (session,) = sessions(bench.parent / "scaling" / f"{count}_devices")
        capture = json.loads((session / "crossprof.json").read_text())["capture"]
        assert capture["devices"]["count"] == count
        assert "--xla_cpu_enable_fast_math=false" in capture["environment"]["XLA_FLAGS"]
        assert step_numbers(next(session.glob("*.xplane.pb"))) == [5, 6]
    assert not (bench.parent / "elsewhere").exists()
    assert "crossprof compare scaling/1_devices scaling/4_devices\n" in capfd.readouterr().out
    # The whole folder is a scaling study. The batch size is that of each run.
    compared = subprocess.run([sys.executable, "-m", "crossprof", "compare", "scaling", "--format", "json"], capture_output=True, text=True, check=True)
    comparison = json.loads(compared.stdout)
    assert comparison["kind"] == "scaling" and comparison["scaling"]["mode_source"] == "batch_size"
    assert [run["name"] for run in comparison["runs"]] == ["1_devices", "4_devices"]
    assert [point["devices"] for point in comparison["scaling"]["points"]] == [1, 4]
    # Existing captures are kept.
    assert _scale.main(["-n", "1", "--platform", "cpu", "--output", "scaling", "--", sys.executable, str(bench)]) == 2
    assert "exists already" in capfd.readouterr().err


def test_what_goes_wrong_is_said(bench: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def scale(output: str, *command: str) -> str:
        assert _scale.main(["-n", "2", "--platform", "cpu", "--output", output, "--", *command]) == 1
        return capfd.readouterr().err

    assert "captured nothing" in scale("a", sys.executable, "-c", "pass")
    assert "ended with status 3" in scale("b", sys.executable, "-c", "raise SystemExit(3)")
    assert "does not start" in scale("c", "/no/such/program")
    fewer = f"import os; os.environ['XLA_FLAGS'] = ''; exec(open({str(bench)!r}).read())"
    assert "saw 1 devices instead of 2" in scale("d", sys.executable, "-c", fewer)
    for words in (["-n", "0"], ["-n", "1,1"], ["-n", "x"]):
        with pytest.raises(SystemExit):
            _scale.main([*words, "--", "true"])


def test_devices_are_chosen_from_those_that_are_visible() -> None:
    assert _scale.device_variables("gpu", 2, {"CUDA_VISIBLE_DEVICES": "3,5,7"})["CUDA_VISIBLE_DEVICES"] == "3,5"
    assert _scale.device_variables("gpu", 2, {})["HIP_VISIBLE_DEVICES"] == "0,1"
    with pytest.raises(ValueError, match="fewer than 4"):
        _scale.device_variables("gpu", 4, {"CUDA_VISIBLE_DEVICES": "3,5,7"})
    assert _scale.device_variables("tpu", 4, {})["TPU_CHIPS_PER_PROCESS_BOUNDS"] == "2,2,1"
    with pytest.raises(ValueError, match="not 3"):
        _scale.device_variables("tpu", 3, {})
