"""Tests parts of the capture code without a training program."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from crossprof import CaptureError, _processes, parameter_counts
from crossprof._names import claim_session, file_stem, publish
from crossprof._profiler import check_xspace
from crossprof._schedule import Schedule
from crossprof._sidecar import git_commit, places
from crossprof._window import Timing, slowdown


def test_windows_follow_each_other_or_their_period() -> None:
    assert [Schedule(10, 1, 5, 3).start(window) for window in range(4)] == [10, 26, 42, None]
    assert [Schedule(10, 1, 5, 0, 100).start(window) for window in range(3)] == [10, 110, 210]


def test_the_first_step_is_never_timed() -> None:
    assert Schedule(10, 1, 5).baseline_steps(0) == 5
    assert Schedule(3, 1, 5).baseline_steps(0) == 2
    assert Schedule(1, 1, 5).baseline_steps(0) == 0
    assert Schedule(0, 1, 5).baseline_steps(0) == 0
    # There are five steps between the end of one window at 16 and the start of the next at 21. The first of them is left out.
    assert Schedule(10, 1, 5, 0, 11).baseline_steps(1) == 4


def test_chips_have_a_slice_and_a_position_and_other_devices_have_none() -> None:
    chips = [SimpleNamespace(id=id, slice_index=slice, coords=[id, 0, 2]) for id, slice in [(4, 0), (5, 1)]]
    old = SimpleNamespace(id=6, coords=(0, 1, 0))
    assert places([*chips, old]) == ["4 0 4,0,2", "5 1 5,0,2", "6 0 0,1,0"]
    assert places([SimpleNamespace(id=0, slice_index=0), SimpleNamespace(id=1, coords=None)]) == []


def test_a_session_is_claimed_once(tmp_path: Path) -> None:
    names = [claim_session(tmp_path, "x") for _ in range(5)]
    assert len(set(names)) == 5
    assert all((tmp_path / "plugins" / "profile" / name).is_dir() for name in names)


def test_files_are_named_after_the_machine_and_the_process() -> None:
    assert file_stem(7, 16).endswith("_p007")
    assert "_p" not in file_stem(0, 1)


def test_publishing_never_takes_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("new")
    (tmp_path / "old").write_text("old")
    with pytest.raises(CaptureError, match="old exists and is not overwritten"):
        publish(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old").read_text() == "old"
    publish(tmp_path / "new", tmp_path / "other")
    assert not (tmp_path / "new").exists() and (tmp_path / "other").read_text() == "new"


@pytest.mark.parametrize("ahead_s", [0.0, 3.25, -86.5])
def test_clocks_that_differ_are_found_to_differ_by_that(ahead_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    # Two processes (here threads). The second one has a different clock and always reaches the barrier late.
    barrier, values, is_there = threading.Barrier(2), {}, threading.Condition()
    own = threading.local()

    class Connection:
        def wait_at_barrier(self, name: str, patience_ms: int) -> None:
            time.sleep(0.002 * own.process)
            barrier.wait(patience_ms / 1000)

        def key_value_set(self, key: str, value: str) -> None:
            with is_there:
                values[key] = value
                is_there.notify_all()

        def blocking_key_value_get(self, key: str, patience_ms: int) -> str:
            with is_there:
                assert is_there.wait_for(lambda: key in values, patience_ms / 1000)
                return values[key]

    clock = SimpleNamespace(time_ns=lambda: time.time_ns() + round(1e9 * ahead_s * own.process))
    monkeypatch.setattr(_processes, "client", Connection)
    monkeypatch.setattr(_processes, "time", clock)
    found: list[dict] = []

    def process(number: int) -> None:
        own.process = number
        found.append(_processes.clock_offsets("key", number, 2))

    threads = [threading.Thread(target=process, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1]
    (_, offset), (_, error) = found[0]["offset_s"], found[0]["error_s"]
    # The bounds hold however long the barrier takes.
    assert abs(offset - ahead_s) <= error + 1e-6 and 0 < error < 1


def xspace(*fields: tuple[int, bytes]) -> bytes:
    return b"".join(bytes([number << 3 | 2, len(value)]) + value for number, value in fields)


def test_a_cut_or_empty_profile_is_told_from_a_whole_one(tmp_path: Path) -> None:
    file = tmp_path / "a.xplane.pb"
    whole = xspace((1, b"plane"), (2, b"no GPU tracer"), (4, b"host"))
    file.write_bytes(whole)
    assert check_xspace(file) == ["no GPU tracer"]
    for end in range(len(whole)):
        file.write_bytes(whole[:end])
        if end in (0,):
            with pytest.raises(CaptureError, match="wrote nothing"):
                check_xspace(file)
        elif end not in (7, 22):
            with pytest.raises(CaptureError, match="truncated or damaged"):
                check_xspace(file)
    file.write_bytes(xspace((4, b"host")))
    with pytest.raises(CaptureError, match="no recorded data"):
        check_xspace(file)


def test_parameters_are_counted_by_mask() -> None:
    params = {"layers": [{"w": np.ones((3, 4)), "b": np.ones(4)}, {"w": np.ones((4, 5)), "b": np.ones(5)}], "scale": np.float32(1)}
    assert parameter_counts(params) == {"total_params": 42, "trainable_params": 42, "frozen_params": 0}
    # A prefix of the tree, as in optax.
    prefix = {"layers": [False, True], "scale": True}
    assert parameter_counts(params, prefix) == {"total_params": 42, "trainable_params": 26, "frozen_params": 16}
    by_path = parameter_counts(params, lambda path: path.endswith("/w"))
    assert by_path == {"total_params": 42, "trainable_params": 32, "frozen_params": 10}
    with pytest.raises(ValueError):
        parameter_counts(params, {"layers": True})


def test_the_commit_is_the_one_that_git_says(tmp_path: Path) -> None:
    def git(*words: str, folder: Path = tmp_path / "repository") -> str:
        folder.mkdir(exist_ok=True)
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    repository = tmp_path / "repository"
    assert git_commit(repository) is None
    git("commit", "-q", "--allow-empty", "-m", "one")
    (repository / "below").mkdir()
    assert git_commit(repository / "below") == git("rev-parse", "HEAD")
    git("worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    git("commit", "-q", "--allow-empty", "-m", "two", folder=tmp_path / "tree")
    assert git_commit(tmp_path / "tree") == git("rev-parse", "HEAD", folder=tmp_path / "tree")
    git("pack-refs", "--all")
    assert git_commit(repository) == git("rev-parse", "HEAD")
    git("checkout", "-q", "--detach")
    assert git_commit(repository) == git("rev-parse", "HEAD")
    assert git_commit(tmp_path) is None or tmp_path.is_relative_to("/work")


def test_a_slowdown_needs_both_times() -> None:
    traced = Timing(2, 4.0, False)
    assert slowdown(Timing(4, 4.0, False), traced)["ratio"] == 2
    assert "ratio" not in slowdown(None, traced)
    assert "ratio" not in slowdown(Timing(4, 4.0, True), traced)
    assert "ratio" not in slowdown(traced, None)
    # Tracing makes nothing faster.
    assert slowdown(Timing(4, 8.4, False), traced)["ratio"] == pytest.approx(2 / 2.1)
    assert "warmed up" in slowdown(Timing(4, 9.0, False), traced)["not_measured"]


def test_types_are_known_of_everything_public() -> None:
    import crossprof

    package = Path(__file__).parents[1] / "crossprof"
    stub = (package / "__init__.pyi").read_text()
    named = {line.split(" as ")[1].strip(",") for line in stub.splitlines() if " as " in line}
    assert named == set(crossprof.__all__)
    for name in crossprof.__all__:
        value = getattr(crossprof, name)
        assert isinstance(value, str) or value.__doc__, name
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        crossprof.nothing_of_this_name
    assert (package / "py.typed").exists()
