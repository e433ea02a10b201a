"""Tests the profiling helpers of other projects under their original names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import sessions, step_numbers

import crossprof


def test_profiler_records_the_steps_from_its_number_on(run, tmp_path: Path) -> None:
    run(
        """
        counter = crossprof.FlopCounter(1000, peak_flops=6e6, num_devices=4)
        profiler = crossprof.Profiler(num_steps=3, log_dir="logs", auto_enable_at_step=5, flop_counter=counter)
        for step in range(7, 20):  # continues from a checkpoint after step 5
            profiler.begin_step(step)
            x = train_step(x)
            profiler.end_step(num_tokens=100, value=x)
            assert profiler.is_profiling == (step < 9)
        assert profiler.avg_step_time > 0
        profiler.capture_async()
        for step in range(20, 30):
            profiler.begin_step(step)
            profiler.end_step(num_tokens=100, value=train_step(x))
        """
    )
    first, second = sessions(tmp_path / "logs")
    assert step_numbers(next(first.glob("*.xplane.pb"))) == [7, 8, 9]
    assert step_numbers(next(second.glob("*.xplane.pb"))) == [20, 21, 22]
    stats = json.loads((tmp_path / "logs" / "flop_stats.json").read_text())
    assert (stats["profiling_steps"], stats["total_tokens"], stats["flops_per_token"]) == (3, 300, 6000)
    # The peak is that of four devices, not of one.
    assert stats["mfu_percent"] == pytest.approx(100 * 6000 * 300 / stats["total_time_sec"] / 24e6)


def test_three_steps_are_three_steps(run, tmp_path: Path) -> None:
    run(
        """
        for step in range(40):
            crossprof.maybe_profile(step)
            x = train_step(x)
        """,
        PROFILE_ENABLED="1",
        PROFILE_DIR="logs",
        PROFILE_START_STEP="10",
        PROFILE_INTERVAL="20",
        PROFILE_DURATION="3",
    )
    folders = sorted((tmp_path / "logs").iterdir())
    assert [folder.name for folder in folders] == ["step_00000010", "step_00000030"]
    found = [step_numbers(next(session.glob("*.xplane.pb"))) for folder in folders for session in sessions(folder)]
    assert found == [[10, 11, 12], [30, 31, 32]]


def test_the_environment_is_off_by_default_and_checked(run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run("for step in range(300): crossprof.maybe_profile(step)")
    assert not (tmp_path / "profiles").exists()
    assert crossprof.get_profiling_config() == crossprof.ProfilingConfig(False, "./profiles", 100, 1000, 1, "tensorboard")
    for name, value in [("PROFILE_DURATION", "0"), ("PROFILE_INTERVAL", "x"), ("PROFILE_MODE", "nsys")]:
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            with pytest.raises(ValueError, match=name):
                crossprof.get_profiling_config()


def test_blocks_and_functions_are_recorded(run, tmp_path: Path) -> None:
    said = run(
        """
        with crossprof.ProfileContext("context"):
            train_step(x)
        with crossprof.profile_trace("traces", "one", create_perfetto_trace=True):
            with crossprof.profile_scope("my scope"):
                train_step(x)
        calls = []
        @crossprof.profile_function("functions", warmup_steps=2, profile_steps=1)
        def work(number):
            calls.append(number)
            return {"a": train_step(x)}
        for number in range(5):
            work(number)
        assert calls == [0, 1, 2, 3, 4], calls
        result, folder = crossprof.run_with_jax_profiler(lambda: train_step(x), "lcam_trace", "runs", "two qubits")
        assert folder == os.path.join("runs", "lcam_trace") and result.shape == (64, 64)
        crossprof.print_tensorboard_summary({"lcam": folder}, "runs")
        assert crossprof.create_profiled_test_function(lambda benchmark, n: x * n, None, 3)()[0, 0] == 3
        """
    )
    assert "crossprof view runs" in said
    for folder in ("context", "traces/one", "functions/work", "runs/lcam_trace"):
        (session,) = sessions(tmp_path / folder)
        assert list(session.glob("*.xplane.pb")), folder
    (one,) = sessions(tmp_path / "traces" / "one")
    assert (one / "perfetto_trace.json.gz").exists()
    with pytest.raises(ValueError, match="crossprof view"):
        with crossprof.profile_trace(tmp_path, create_perfetto_link=True):
            pass


def test_a_benchmark_waits_for_the_device_and_keeps_compilation_apart(run) -> None:
    out = run(
        """
        import jax, time
        def slow(x):
            time.sleep(0.02)
            return {"nested": train_step(x)}
        made = crossprof.benchmark_function(slow, x, num_iterations=5, warmup=1)
        assert 20 <= made["min"] <= made["median"] <= made["max"], made
        compiled = jax.jit(lambda x: jnp.linalg.inv(x @ x + 1))
        made = crossprof.benchmark_function(compiled, x, num_iterations=5, warmup=0)
        assert made["first_call"] > 3 * made["median"], made
        result, milliseconds = crossprof.time_jax_function(slow, x)
        assert milliseconds >= 20 and result["nested"].shape == (64, 64)
        print("done")
        """
    )
    assert "done" in out


def test_folders_are_called_as_they_were() -> None:
    assert crossprof.setup_tensorboard_logging(4, "20260101_120000") == "tensorboard_logs/4gpu_20260101_120000"


def test_utilisation_is_of_all_devices() -> None:
    counter = crossprof.FlopCounter(10**9, peak_flops=1e14, num_devices=8)
    # 6e9 FLOPs per token at 1e4 tokens per second: 6e13 of 8e14 FLOP/s.
    assert counter.mfu_percent(20_000, 2.0) == pytest.approx(7.5)
    with pytest.raises(ValueError):
        crossprof.FlopCounter(0, peak_flops=1.0, num_devices=1)
