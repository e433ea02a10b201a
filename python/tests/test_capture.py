"""Captures of real JAX programs."""

from __future__ import annotations

import gzip
import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from conftest import sessions, step_numbers

LOOP = """
with crossprof.capture("profiles", wait=6, warmup=1, active=3, **ARGUMENTS) as capture:
    for step in range(20):
        x = train_step(x)
        capture.step(x)
print(json.dumps(capture.errors))
"""


def loop(**arguments: object) -> str:
    return f"ARGUMENTS = {arguments!r}\n{LOOP}"


@pytest.mark.parametrize("devices", [1, 8])
def test_the_steps_of_the_window_are_recorded_and_described(run, tmp_path: Path, devices: int) -> None:
    flags = f"--xla_force_host_platform_device_count={devices}"
    text = """
    mesh = jax.make_mesh((len(jax.devices()),), ("data",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    x = jax.device_put(x, sharding)
    weights = {"frozen": jnp.ones((3, 5)), "trained": x}
    with crossprof.capture("profiles", wait=6, warmup=1, active=3, first_step=100, batch_size=16, tokens_per_step=2048, params=weights,
                           trainable={"frozen": False, "trained": True}) as capture:
        for step in range(20):
            # Longer than the pauses between steps on a busy machine.
            time.sleep(0.02)
            x = train_step(x)
            capture.step(x)
    assert capture.errors == [], capture.errors
    assert capture.captures[0].steps == (107, 109), capture.captures
    """
    run(text, XLA_FLAGS=flags)
    (session,) = sessions(tmp_path / "profiles")
    assert session.name.endswith("_steps_000107-000109")
    (xplane,) = session.glob("*.xplane.pb")
    assert step_numbers(xplane) == [107, 108, 109]
    sidecar = json.loads((session / "crossprof.json").read_text())
    capture = sidecar.pop("capture")
    assert sidecar == {
        "batch_size": 16,
        "seq_length": 128,
        "total_params": 64 * 64 + 15,
        "trainable_params": 64 * 64,
        "frozen_params": 15,
    }
    assert capture["devices"]["count"] == devices
    assert capture["environment"] == {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
    assert capture["steps"] == {"first": 107, "last": 109, "count": 3}
    assert capture["mesh"] == {"data": devices}
    assert capture["shardings"] == {"('data',)": 1, "SingleDeviceSharding": 1}
    # The machine may have been busy during the earlier steps.
    slowdown = capture["slowdown"]
    assert slowdown.get("ratio", 0) > 0 or "took longer" in slowdown["not_measured"], slowdown
    for name in capture["memory_profiles"]:
        assert gzip.decompress((session / name).read_bytes())
    assert len(capture["memory_profiles"]) == 2
    # No partial files and no warm-up are left.
    assert [path for path in (tmp_path / "profiles").rglob(".*")] == []


def test_the_capture_holds_the_sidecar_and_no_python_calls(run, tmp_path: Path) -> None:
    import jax

    run(loop(batch_size=7))
    (session,) = sessions(tmp_path / "profiles")
    (xplane,) = session.glob("*.xplane.pb")
    data = jax.profiler.ProfileData.from_file(str(xplane))
    planes = {plane.name: plane for plane in data.planes}
    # Older versions of JAX do not support metadata.
    if hasattr(jax._src.profiler, "set_metadata"):
        assert json.loads(dict(planes["/host:metadata"].stats)["crossprof"])["batch_size"] == 7
    assert not [line.name for line in planes["/host:CPU"].lines if line.name == "python" and any("$" in e.name for e in line.events)]


def test_the_slowdown_compares_steps_with_and_without_tracing(run, tmp_path: Path) -> None:
    run(
        """
        with crossprof.capture("profiles", wait=6, warmup=0, active=4) as capture:
            for step in range(12):
                time.sleep(0.05 if step >= 6 else 0.02)
                capture.step(train_step(x))
        """
    )
    (session,) = sessions(tmp_path / "profiles")
    slowdown = json.loads((session / "crossprof.json").read_text())["capture"]["slowdown"]
    assert (slowdown["untraced_steps"], slowdown["traced_steps"]) == (4, 4)
    assert slowdown["untraced_step_s"] >= 0.02
    assert slowdown["traced_step_s"] >= 0.05
    assert slowdown["ratio"] == pytest.approx(slowdown["traced_step_s"] / slowdown["untraced_step_s"])


def test_a_compilation_among_the_timed_steps_takes_the_slowdown_away(run, tmp_path: Path) -> None:
    run(
        """
        with crossprof.capture("profiles", wait=6, warmup=0, active=4) as capture:
            for step in range(12):
                capture.step(train_step(x[: 64 - (step == 8), : 64 - (step == 8)]))
        """
    )
    (session,) = sessions(tmp_path / "profiles")
    slowdown = json.loads((session / "crossprof.json").read_text())["capture"]["slowdown"]
    assert "ratio" not in slowdown and "compiled" in slowdown["not_measured"]


def test_captures_of_one_second_have_folders_of_their_own(run, tmp_path: Path) -> None:
    run(
        """
        for _ in range(4):
            with crossprof.trace("profiles", memory=False):
                train_step(x)
        """
    )
    assert len(sessions(tmp_path / "profiles")) == 4
    assert all(len(list(session.glob("*.xplane.pb"))) == 1 for session in sessions(tmp_path / "profiles"))


def test_two_processes_in_the_same_second_do_not_collide(program, tmp_path: Path) -> None:
    text = """
    train_step(x)
    open(f"ready-{os.getpid()}", "w").close()
    while sum(name.startswith("ready-") for name in os.listdir()) < 2:
        time.sleep(0.001)
    for _ in range(3):
        with crossprof.trace("profiles", label="both", memory=False) as made:
            train_step(x)
        assert made.error is None, made.error
    """
    both = [program(text), program(text)]
    for one in both:
        one.end()
    assert len(sessions(tmp_path / "profiles")) == 6
    for session in sessions(tmp_path / "profiles"):
        assert len(list(session.glob("*.xplane.pb"))) == 1


def test_processes_of_one_job_capture_into_one_folder(program, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    text = """
    # The second process reaches each window later.
    process = jax.process_index()
    with crossprof.capture("profiles", wait=5, warmup=1, active=2, repeat=2, batch_size=8) as capture:
        for step in range(20):
            time.sleep(0.01 + 0.6 * process * (step % 8 == 4))
            capture.step(train_step(x))
        # One process gets a request of its own, which the other process does not see.
        if process == 1:
            capture.request(2)
        for step in range(10):
            capture.step(train_step(x))
    assert capture.errors == [], capture.errors
    assert len(capture.captures) == 2 + process, capture.captures
    """
    jobs = [program(text, JOB=f"{port} {number}") for number in range(2)]
    for job in jobs:
        job.end()
    found = sessions(tmp_path / "profiles")
    assert len(found) == 3
    assert [path.name.split("_p")[-1] for path in found[2].glob("*.xplane.pb")] == ["001.xplane.pb"]
    assert (found[2] / "crossprof.json").exists()
    for session, first in zip(found, (6, 14)):
        names = sorted(path.name.split("_p")[-1] for path in session.glob("*.xplane.pb"))
        assert names == ["000.xplane.pb", "001.xplane.pb"]
        for xplane in session.glob("*.xplane.pb"):
            assert step_numbers(xplane) == [first, first + 1]
        capture = json.loads((session / "crossprof.json").read_text())["capture"]
        assert (capture["processes"], capture["process"]) == (2, 0)
        clocks = capture["clocks"]
        # Both processes run on this machine, which has one clock.
        assert clocks["offset_s"][0] == clocks["error_s"][0] == 0, clocks
        assert abs(clocks["offset_s"][1]) <= clocks["error_s"][1] < 0.1, clocks
        assert len(list(session.glob("*_p001.capture.json"))) == 1


def test_a_touched_file_asks_all_processes_and_the_folder_has_their_steps(program, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    text = """
    with crossprof.capture("profiles", wait=None, active=2) as capture:
        for step in range(400):
            capture.step(train_step(x))
            if step == 20 and jax.process_index() == 0:
                open("profiles/capture-now", "w").write("3")
            if capture.captures:
                break
            time.sleep(0.01)
    assert capture.errors == [], capture.errors
    """
    jobs = [program(text, JOB=f"{port} {number}") for number in range(2)]
    for job in jobs:
        job.end()
    (session,) = sessions(tmp_path / "profiles")
    xplanes = sorted(session.glob("*.xplane.pb"))
    assert [path.name.split("_p")[-1] for path in xplanes] == ["000.xplane.pb", "001.xplane.pb"]
    # The processes are not synchronised, so the name contains the steps of the first one.
    names = [f"_steps_{numbers[0]:06}-{numbers[-1]:06}_requested" for numbers in map(step_numbers, xplanes)]
    assert session.name.endswith(tuple(names)), (session.name, names)


def test_an_exception_inside_the_window_saves_it_and_goes_on(program, tmp_path: Path) -> None:
    text = """
    with crossprof.capture("profiles", wait=3, warmup=0, active=10) as capture:
        for step in range(20):
            capture.step(train_step(x))
            if step == 6:
                raise ArithmeticError("diverged")
    """
    _, err = program(text).end(1)
    assert "ArithmeticError: diverged" in err
    (session,) = sessions(tmp_path / "profiles")
    (xplane,) = session.glob("*.xplane.pb")
    # The interrupted step is not included.
    assert step_numbers(xplane) == [3, 4, 5, 6]
    capture = json.loads((session / "crossprof.json").read_text())["capture"]
    assert capture["ended_by"] == "ArithmeticError"
    assert capture["steps"] == {"first": 3, "last": 6, "count": 4}
    assert "before its last step" in capture["slowdown"]["not_measured"]


def test_the_end_of_the_program_saves_the_window(program, tmp_path: Path) -> None:
    text = """
    capture = crossprof.capture("profiles", wait=3, warmup=0, active=10)
    for step in range(6):
        capture.step(train_step(x))
    sys.exit(5)
    """
    program(text).end(5)
    (session,) = sessions(tmp_path / "profiles")
    assert json.loads((session / "crossprof.json").read_text())["capture"]["ended_by"] == "exit"


def test_sigterm_inside_the_window_saves_it_and_still_ends_the_program(program, tmp_path: Path) -> None:
    text = """
    with crossprof.capture("profiles", wait=3, warmup=0, active=1000000) as capture:
        for step in range(1000000):
            capture.step(train_step(x))
            if step == 10:
                print("inside", flush=True)
            time.sleep(0.001)
    """
    started = program(text)
    assert started.process.stdout.readline() == "inside\n"
    started.process.send_signal(signal.SIGTERM)
    started.end(-signal.SIGTERM)
    (session,) = sessions(tmp_path / "profiles")
    (xplane,) = session.glob("*.xplane.pb")
    assert len(step_numbers(xplane)) > 5
    assert json.loads((session / "crossprof.json").read_text())["capture"]["ended_by"] == "SIGTERM"


def test_the_programs_own_handler_of_sigterm_still_runs(program, tmp_path: Path) -> None:
    text = """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))
    with crossprof.capture("profiles", wait=1, warmup=0, active=1000000) as capture:
        for step in range(1000000):
            capture.step(train_step(x))
            if step == 5:
                os.kill(os.getpid(), signal.SIGTERM)
    """
    program(text).end(9)
    assert len(sessions(tmp_path / "profiles")) == 1


def full_disk(text: str, bytes_: int) -> str:
    """Returns the program with a limit on the size of its files."""
    return f"""
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
train_step(x)
resource.setrlimit(resource.RLIMIT_FSIZE, ({bytes_}, resource.RLIM_INFINITY))
{text}
"""


@pytest.mark.parametrize("bytes_", [0, 2000])
def test_a_full_disk_is_reported_and_the_training_goes_on(run, tmp_path: Path, bytes_: int) -> None:
    text = """
with crossprof.capture("profiles", wait=2, warmup=1, active=2, memory=False) as capture:
    for step in range(12):
        x = train_step(x)
        capture.step(x)
assert len(capture.errors) == 1, capture.errors
assert capture.captures == []
# Once there is space, captures work again.
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
with crossprof.trace("later") as made:
    train_step(x)
assert made.error is None, made.error
"""
    said = run(full_disk(text, bytes_))
    assert "No capture: " in said
    assert not list((tmp_path / "profiles").rglob("*.xplane.pb"))
    (session,) = sessions(tmp_path / "later")
    assert len(list(session.glob("*.xplane.pb"))) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
def test_a_small_disk_that_fills_is_reported(run, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("this machine mounts no disk here")
    try:
        said = run(
            """
            with crossprof.trace("disk", memory=False) as made:
                for _ in range(300):
                    x = train_step(x)
            assert made.captured is None
            assert "disk" in made.error or "space" in made.error, made.error
            """
        )
        assert "No capture: " in said
        assert not list(disk.rglob("*.xplane.pb"))
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_file_in_the_way_is_not_overwritten(run, tmp_path: Path) -> None:
    said = run(
        """
        from crossprof import _window
        _window.claim_session = lambda folder, label: "same"
        for _ in range(2):
            with crossprof.trace("profiles", memory=False) as made:
                train_step(x)
            print(made.error)
        """
    )
    assert "None\n" in said and "exists and is not overwritten." in said


def test_another_capture_that_runs_is_no_reason_to_fail(run) -> None:
    said = run(
        """
        jax.profiler.start_trace("other")
        with crossprof.trace("profiles") as made:
            x = train_step(x)
        jax.profiler.stop_trace()
        assert "already been started" in made.error, made.error
        """
    )
    assert "No capture: JAX's profiler does not start" in said


def test_sigusr1_and_a_touched_file_ask_for_a_capture(run, tmp_path: Path) -> None:
    run(
        """
        with crossprof.capture("profiles", wait=10**9, warmup=1, active=2) as capture:
            for step in range(3000):
                x = train_step(x)
                capture.step(x)
                if step == 20:
                    os.kill(os.getpid(), signal.SIGUSR1)
                if step == 60:
                    assert len(capture.captures) == 1, capture.captures
                    open("profiles/capture-now", "w").write("4")
                if step > 10 and len(capture.captures) < 2:
                    time.sleep(0.02)
        assert capture.errors == []
        first, second = capture.captures
        assert first.steps[1] - first.steps[0] == 1
        assert second.steps[1] - second.steps[0] == 3
        assert first.slowdown is not None
        """
    )
    first, second = sessions(tmp_path / "profiles")
    for session in (first, second):
        (xplane,) = session.glob("*.xplane.pb")
        numbers = step_numbers(xplane)
        assert session.name.endswith(f"_steps_{numbers[0]:06}-{numbers[-1]:06}_requested"), session


def test_repeats_follow_the_schedule(run, tmp_path: Path) -> None:
    run(
        """
        with crossprof.capture("profiles", wait=4, warmup=1, active=2, repeat=0, every=10, memory_every=1) as capture:
            for step in range(38):
                capture.step(train_step(x))
        assert [c.steps for c in capture.captures] == [(5, 6), (15, 16), (25, 26), (35, 36)], capture.captures
        """
    )
    first = sessions(tmp_path / "profiles")[0]
    assert len(list(first.glob("*.memory_step_*.prof"))) == 2


def test_only_the_chosen_processes_capture(run, tmp_path: Path) -> None:
    for processes in (1, [7]):
        text = f"""
        try:
            crossprof.capture("profiles", processes={processes})
        except ValueError as error:
            print(error)
        """
        assert "the processes of this job are 0 to 0" in run(text)
        assert not (tmp_path / "profiles").exists()
    run(loop(processes=[0]))
    assert len(sessions(tmp_path / "profiles")) == 1


def test_a_step_outside_of_the_window_takes_less_than_two_microseconds(run) -> None:
    said = run(
        """
        capture = crossprof.capture("profiles", wait=10**9)
        steps = 200_000
        best = 1.0
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(steps):
                capture.step(x)
            best = min(best, (time.perf_counter() - start) / steps)
        print(f"microseconds per step: {best * 1e6:.3f}")
        """
    )
    assert float(said.split("microseconds per step: ")[1].split()[0]) < 2


def test_wrong_arguments_are_refused_before_anything_starts() -> None:
    import crossprof

    for arguments, error, words in [
        ({"active": 0}, ValueError, "active must be a whole number"),
        ({"wait": 1.5}, ValueError, "wait must be a whole number"),
        ({"every": 3}, ValueError, "at least warmup"),
        ({"every": 30}, ValueError, "repeat"),
        ({"processes": "first"}, ValueError, "processes"),
        ({"batch_size": 0}, ValueError, "batch_size"),
        ({"batch_size": 3, "tokens_per_step": 10}, ValueError, "not a multiple"),
        ({"memory_every": 0}, ValueError, "memory_every"),
        ({"options": {"device_tracer_level": 1}}, ValueError, "has no effect"),
        ({"options": {"host_tracer_levle": 1}}, ValueError, "Did you mean host_tracer_level"),
        ({"options": {"host_tracer_level": "2"}}, TypeError, "must be int, not str"),
        ({"options": {"host_tracer_level": 9}}, ValueError, "0 (off) to 3"),
        ({"options": {"python_tracer_level": True}}, TypeError, "must be int, not bool"),
        ({"advanced": {"tpu_trace_mod": "X"}}, ValueError, "Did you mean tpu_trace_mode"),
        ({"advanced": {"tpu_trace_mode": "X"}}, ValueError, "TRACE_ONLY_XLA"),
    ]:
        with pytest.raises(error) as raised:
            crossprof.capture("/nowhere", **arguments)
        assert words in str(raised.value), raised.value
    with pytest.raises(ValueError, match="gs://bucket"):
        crossprof.capture("gs://bucket/profiles")
    assert not Path("/nowhere").exists()


def test_importing_takes_no_time_and_no_jax() -> None:
    import sys

    code = "import sys, time; t = time.perf_counter(); import crossprof; print(time.perf_counter() - t, 'jax' in sys.modules)"
    package = os.environ.get("CROSSPROF_PACKAGE", str(Path(__file__).parent.parent))
    best = 1.0
    for _ in range(3):
        out = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": package}, capture_output=True, text=True, check=True)
        seconds, has_jax = out.stdout.split()
        assert has_jax == "False"
        best = min(best, float(seconds))
    assert best < 0.05
