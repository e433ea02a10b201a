"""Lost captures are reported in one line on standard error, and in `errors`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import sessions, step_numbers

import crossprof

#: Most programs have no log handlers.
QUIET = "logging.getLogger().handlers.clear()\n"


def lines(err: str) -> list[str]:
    """Returns the lines that crossprof printed."""
    return [line for line in err.splitlines() if line.startswith("crossprof: ")]


def test_a_capture_says_when_it_starts_and_where_it_is(program, tmp_path: Path) -> None:
    _, err = program(
        QUIET
        + """
with crossprof.capture("my profiles", wait=2, warmup=1, active=3) as capture:
    for step in range(8):
        capture.step(train_step(x))
with crossprof.trace("block"):
    train_step(x)
"""
    ).end()
    (session,) = sessions(tmp_path / "my profiles")
    name = f"my profiles/plugins/profile/{session.name}"
    started, saved, *block = lines(err)
    assert started == f"crossprof: Recording steps 3 to 5 into {name}"
    assert saved.startswith(f"crossprof: Saved {name} (") and saved.endswith("To view it: crossprof view 'my profiles'")
    assert len(block) == 2


def test_programs_with_handlers_get_records_and_nothing_twice(program) -> None:
    _, err = program(
        """
        with crossprof.trace("block"):
            train_step(x)
        """
    ).end()
    assert lines(err) == [] and err.count("INFO:crossprof:Saved") == 1


@pytest.mark.parametrize(
    "loop, words",
    [
        ("wait=10, warmup=1", ["after 3 steps", "begins after 11", "wait=10", "Give a smaller wait"]),
        ("wait=1, warmup=5", ["after 3 steps", "begins after 6"]),
        ("wait=1, warmup=0, active=1, repeat=4", ["2 of 4 windows"]),
    ],
)
def test_a_training_that_is_too_short_is_said(program, loop: str, words: list[str]) -> None:
    out, err = program(
        QUIET
        + f"""
with crossprof.capture("profiles", {loop}) as capture:
    for step in range(3):
        capture.step(train_step(x))
print(json.dumps(capture.errors))
"""
    ).end()
    (error,) = json.loads(out)
    assert all(word in error for word in words), error
    assert f"crossprof: {error}" in lines(err)


def test_helpers_of_other_projects_say_it_too(program) -> None:
    text = """
    profiler = crossprof.Profiler(2, "traces", auto_enable_at_step=150)
    for step in range(5):
        profiler.begin_step(step)
        profiler.end_step(value=train_step(x))
        crossprof.maybe_profile(step)
    """
    _, err = program(text, PROFILE_ENABLED="1", PROFILE_START_STEP="100").end()
    assert "the program ended before step 150" in err
    assert "the program ended before step 100" in err
    assert "only on request" not in program('crossprof.capture("p", wait=None)').end()[1]


def test_a_stop_by_the_program_keeps_what_was_recorded(run, tmp_path: Path) -> None:
    run(
        """
        with crossprof.capture("profiles", wait=2, warmup=0, active=6) as capture:
            for step in range(12):
                capture.step(train_step(x))
                if step == 4:
                    jax.profiler.stop_trace()
        assert len(capture.errors) == 1 and "itself stopped JAX's profiler" in capture.errors[0], capture.errors
        assert capture.captures[0].steps == (2, 4), capture.captures
        # Must not stop the profiler that the program starts afterwards.
        with crossprof.trace("block") as made:
            jax.profiler.stop_trace()
            jax.profiler.start_trace("own")
        assert made.captured is not None and "itself stopped JAX's profiler" in made.error, made.error
        train_step(x)
        jax.profiler.stop_trace()
        """
    )
    (session,) = sessions(tmp_path / "profiles")
    assert json.loads((session / "crossprof.json").read_text())["capture"]["ended_by"] == "jax.profiler.stop_trace"
    assert step_numbers(next(session.glob("*.xplane.pb")))[:2] == [2, 3]
    assert list((tmp_path / "own").rglob("*.xplane.pb"))


def test_a_start_by_the_program_inside_a_window_is_explained(program, tmp_path: Path) -> None:
    _, err = program(
        """
        with crossprof.capture("profiles", wait=0, warmup=0, active=6) as capture:
            capture.step(train_step(x))
            jax.profiler.start_trace("own")
        """
    ).end(1)
    assert "The program itself started JAX's profiler inside a crossprof window" in err
    assert len(sessions(tmp_path / "profiles")) == 1


def test_a_failed_start_leaves_no_folder(run, tmp_path: Path) -> None:
    run(
        """
        jax.profiler.start_trace("own")
        with crossprof.trace("profiles") as made:
            train_step(x)
        jax.profiler.stop_trace()
        assert "records with jax.profiler itself" in made.error, made.error
        """
    )
    assert sessions(tmp_path / "profiles") == []


def test_overlapping_captures_name_each_other(run, tmp_path: Path) -> None:
    run(
        """
        first = crossprof.capture("first", wait=1, warmup=0, active=3)
        second = crossprof.capture("second", wait=2, warmup=0, active=3)
        for step in range(8):
            value = train_step(x)
            first.step(value)
            second.step(value)
        assert first.errors == [] and len(first.captures) == 1, first.errors
        assert len(second.errors) == 1 and "Another crossprof capture records into first" in second.errors[0], second.errors
        """
    )
    assert sessions(tmp_path / "second") == []


def test_a_handler_that_the_program_sets_later_does_not_lose_the_window(program, tmp_path: Path) -> None:
    text = """
    before = None
    def handler(number, frame):
        print("handled", flush=True)
        # Like programs that call the handler which they replaced.
        if callable(before):
            before(number, frame)
        sys.exit(9)
    with crossprof.capture("profiles", wait=1, warmup=0, active=1000000) as capture:
        for step in range(1000000):
            capture.step(train_step(x))
            if step == 5:
                before = signal.signal(signal.SIGTERM, handler)
            if step == 9:
                os.kill(os.getpid(), signal.SIGTERM)
    """
    out, _ = program(text).end(9)
    assert out == "handled\n"
    (session,) = sessions(tmp_path / "profiles")
    assert json.loads((session / "crossprof.json").read_text())["capture"]["ended_by"] == "SIGTERM"


def test_a_program_that_uses_sigusr1_is_told_of_the_file(run) -> None:
    run(
        """
        signal.signal(signal.SIGUSR1, lambda *_: print("mine"))
        capture = crossprof.capture("profiles", wait=None)
        assert len(capture.errors) == 1 and "handles SIGUSR1 itself" in capture.errors[0], capture.errors
        """
    )


def test_a_request_works_from_the_beginning_and_is_not_forgotten(run, tmp_path: Path) -> None:
    run(
        """
        capture = crossprof.capture("profiles", wait=None, warmup=0, active=2)
        os.system("touch profiles/capture-now")
        for step in range(200):
            capture.step(train_step(x))
            time.sleep(0.01)
            if capture.captures:
                break
        assert capture.captures and capture.errors == [], capture.errors
        capture.request(3)
        capture.end()
        assert capture.errors == [f"The program ended after {step + 1} steps, before the requested capture."], capture.errors
        for steps in (0, "2", True):
            try:
                capture.request(steps)
            except ValueError:
                continue
            raise AssertionError(steps)
        """
    )
    (session,) = sessions(tmp_path / "profiles")
    first, last = step_numbers(next(session.glob("*.xplane.pb")))
    assert session.name.endswith(f"_steps_{first:06}-{last:06}_requested")


def test_steps_of_several_threads_are_counted_and_told(run) -> None:
    run(
        """
        import threading
        capture = crossprof.capture("profiles", wait=100, warmup=0, active=50, triggers=False)
        def work():
            for _ in range(2000):
                capture.step(x)
        threads = [threading.Thread(target=work) for _ in range(4)]
        sys.setswitchinterval(1e-5)
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert capture._done == 8000, capture._done
        assert capture.captures[0].steps == (100, 149), capture.captures
        assert not capture.errors or (len(capture.errors) == 1 and "Several threads call step()" in capture.errors[0]), capture.errors
        """
    )


def test_tokens_of_steps_reach_the_sidecar(run, tmp_path: Path) -> None:
    run(
        """
        profiler = crossprof.Profiler(2, "traces", auto_enable_at_step=3, batch_size=4, seq_length=8)
        for step in range(8):
            profiler.begin_step(step)
            profiler.end_step(num_tokens=100 * step, value=train_step(x))
        assert profiler.errors == []
        """
    )
    (session,) = sessions(tmp_path / "traces")
    sidecar = json.loads((session / "crossprof.json").read_text())
    assert (sidecar["batch_size"], sidecar["seq_length"], sidecar["capture"]["tokens_per_step"]) == (4, 8, 350)


def test_wrong_folders_labels_and_steps_are_errors_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for folder, words in [(file, "cannot be created"), (file / "below", "cannot be created"), ("", "path of a folder"), ("a\0b", "path of a folder")]:
        with pytest.raises(ValueError, match=words):
            crossprof.capture(folder)
    for label in ("a/b", "a\\b", "a\nb", 7):
        with pytest.raises(ValueError, match="label"):
            with crossprof.trace(tmp_path / "x", label=label):
                pass
    for arguments, error in [
        ({"first_step": "a"}, TypeError),
        ({"first_step": -1}, ValueError),
        ({"first_step": True}, ValueError),
        ({"step_name": ""}, ValueError),
        ({"processes": [7]}, ValueError),
        ({"argv": "yes"}, TypeError),
        ({"memory": 1}, TypeError),
    ]:
        with pytest.raises(error):
            crossprof.capture(tmp_path / "x", **arguments)
    for arguments, error in [({"num_steps": 0}, ValueError), ({"auto_enable_at_step": "a"}, TypeError)]:
        with pytest.raises(error):
            crossprof.Profiler(log_dir=tmp_path / "x", **arguments)
    assert not (tmp_path / "x").exists()


def test_numbers_of_numpy_are_steps_too(run) -> None:
    run("import numpy; assert crossprof.capture('p', first_step=numpy.int64(7), wait=None)._first_step == 7")


def test_without_jax_the_error_names_it(tmp_path: Path) -> None:
    package = os.environ.get("CROSSPROF_PACKAGE", str(Path(__file__).parent.parent))
    if not package:
        pytest.skip("the package is installed beside JAX")
    code = "import crossprof; crossprof.capture('profiles')"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env={"PYTHONPATH": package}, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "ImportError: crossprof captures with JAX" in done.stderr, done.stderr
    assert not (tmp_path / "profiles").exists()
