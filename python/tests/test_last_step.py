"""The last step of a window has the same length as the other steps. The expected values come from the program's own clock."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROFILE = pytest.importorskip("crossprof._profile", reason="the extension module is not built")

#: The host takes most of each step, so a step that ended with its last op would be far too short.
STEP = """
import statistics
def work():
    time.sleep(0.05)
    return jax.block_until_ready(train_step(x))
train_step(x).block_until_ready()
times = []
def timed():
    start = time.perf_counter()
    value = work()
    times.append(1e6 * (time.perf_counter() - start))
    return value
"""


def report(folder: Path) -> dict:
    return PROFILE.open(folder).report


def step_us(folder: Path, steps: int) -> float:
    """Returns the mean step time of a capture with this many steps. Requires that all steps of the capture are counted."""
    timing = report(folder)["step_timing"]
    assert (timing["num_steps"], timing.get("num_steps_counted", 1)) == (steps, steps), timing
    return timing["avg_step_time_us"]


@pytest.mark.parametrize("memory_every", [None, 1])
def test_one_step_and_five_of_the_same_loop_agree(run, tmp_path: Path, memory_every: int | None) -> None:
    out = run(
        STEP
        + f"""
for active in (1, 5):
    times.clear()
    with crossprof.capture(f"of_{{active}}", wait=3, warmup=1, active=active, memory_every={memory_every}) as capture:
        for step in range(12):
            capture.step(timed())
    assert capture.errors == [], capture.errors
    first, last = capture.captures[0].steps
    print(statistics.fmean(times[first : last + 1]))
"""
    )
    truths = [float(line) for line in out.splitlines() if line.replace(".", "").isdigit()]
    for active, truth in zip((1, 5), truths):
        # A memory profile after each step takes time.
        assert step_us(tmp_path / f"of_{active}", active) == pytest.approx(truth, rel=0.2 if memory_every is None else 0.5), active
    if memory_every is None:
        compared = subprocess.run(
            [sys.executable, "-m", "crossprof", "compare", "of_1", "of_5", "--format", "json"],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        )
        (difference,) = json.loads(compared.stdout)["step_time"]
        # Other work on the machine slows down one of the two, also on the program's own clock.
        ratio = difference["step_time_us"] / difference["baseline_us"]
        assert ratio == pytest.approx(truths[1] / truths[0], rel=0.3), difference


def test_blocks_functions_and_the_environment_have_one_right_step(run, tmp_path: Path) -> None:
    out = run(
        STEP
        + """
with crossprof.trace("block"):
    timed()
with crossprof.ProfileContext("context"):
    timed()
function = crossprof.profile_function("function", warmup_steps=1)(timed)
for _ in range(3):
    function()
crossprof.run_with_jax_profiler(timed, "named", "runs")
for step in range(5):
    with crossprof.maybe_profile(step):
        timed()
print(json.dumps(times))
""",
        PROFILE_ENABLED="true",
        PROFILE_DIR="environment",
        PROFILE_START_STEP="2",
        PROFILE_DURATION="1",
    )
    times = json.loads(next(line for line in out.splitlines() if line.startswith("[")))
    # The recorded calls, in order.
    truths = {"block": times[0], "context": times[1], "function/timed": times[3], "runs/named": times[5], "environment": times[8]}
    for folder, truth in truths.items():
        assert step_us(tmp_path / folder, 1) == pytest.approx(truth, rel=0.2), folder


def test_a_block_of_several_steps_has_its_steps(run, tmp_path: Path) -> None:
    run(
        STEP
        + """
with crossprof.trace("block"):
    for _ in range(5):
        work()
"""
    )
    assert report(tmp_path / "block")["step_timing"]["num_steps"] == 5


def test_no_finding_blames_the_step_itself(run, tmp_path: Path) -> None:
    run(
        STEP
        + """
with crossprof.capture("plain", wait=2, warmup=0, active=5) as capture:
    for step in range(8):
        capture.step(work())
with crossprof.capture("named", wait=2, warmup=0, active=5) as capture:
    for step in range(8):
        with jax.profiler.TraceAnnotation("evaluate"):
            time.sleep(0.05)
        capture.step(jax.block_until_ready(train_step(x)))
"""
    )
    texts = [f"{finding['title']} {finding['message']}" for finding in report(tmp_path / "plain")["findings"]]
    assert texts and not [text for text in texts if "in train" in text], texts
    texts = [finding["title"] for finding in report(tmp_path / "named")["findings"]]
    assert [text for text in texts if "evaluate" in text], texts


def test_the_last_of_short_steps_counts(run, tmp_path: Path) -> None:
    # The time that Python takes between two annotations is more than a fiftieth of such a step.
    run(
        """
        with crossprof.capture("short", wait=20, warmup=1, active=5) as capture:
            for step in range(40):
                capture.step(jax.block_until_ready(train_step(x)))
        """
    )
    *_, last = PROFILE.open(tmp_path / "short").table("steps")
    assert last["counted"] and not last["partial"], last


def test_a_step_that_was_cut_short_is_none(run, tmp_path: Path) -> None:
    run(
        STEP
        + """
try:
    with crossprof.capture("cut", wait=2, warmup=0, active=9) as capture:
        for step in range(6):
            capture.step(timed())
        train_step(x)
        raise ArithmeticError
except ArithmeticError:
    pass
"""
    )
    timing = report(tmp_path / "cut")["step_timing"]
    assert (timing["num_steps"], timing["num_steps_counted"]) == (4, 4), timing
    assert timing["min_step_time_us"] > 50_000
