"""Checks that Python offers all functions of the command line."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

import crossprof

EXAMPLES = Path(__file__).parents[2] / "www" / "assets" / "examples"
TPU = EXAMPLES / "tpu-training.trace.json.gz"
GPU = EXAMPLES / "gpu-training.trace.json.gz"


def tool(*words: object, status: int = 0) -> str:
    """Returns the output of the command line."""
    done = subprocess.run([sys.executable, "-m", "crossprof", *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def profile() -> crossprof.Profile:
    return crossprof.open(GPU)


def test_tables_and_warnings_are_listed(profile: crossprof.Profile) -> None:
    assert profile.warnings == profile.report.get("warnings", [])
    assert profile.table("warnings")["code"] == [warning["code"] for warning in profile.warnings]
    listed = {row["table"] for row in json.loads(tool("table", "--columns", "--format", "json"))}
    tables = profile.tables()
    assert {table.name for table in tables} == listed and tables == crossprof.tables()
    for table in tables:
        assert table.description.endswith("."), table
        for form in table.forms or ("",):
            profile.table(table.name, by=form, top=1)


TRAIN = Path(__file__).parents[2] / "tests" / "data" / "jax-cpu-train"
MESH = Path(__file__).parents[2] / "tests" / "data" / "jax-cpu-mesh"


def test_programs_are_those_of_the_tool() -> None:
    run, other = crossprof.open(TRAIN), crossprof.open(MESH)
    programs = run.programs()
    assert "jit_train_step(4)" in [program.name for program in programs]
    assert programs[0].time_us > 0 and programs[0].instructions > 100
    assert run.hlo() == tool("hlo", TRAIN)
    assert run.hlo(4, format="node-data") == tool("hlo", TRAIN, "--program", 4, "--format", "node-data")
    svg = tool("hlo", TRAIN, "--op", "dot_general.1", "--radius", 2, "--format", "svg")
    assert run.hlo(op="dot_general.1", radius=2, format="svg") == svg
    for form in ("text", "json"):
        against = ("--against", MESH, "--against-program", "jit_train_step")
        difference = tool("hlo", TRAIN, "--program", "jit_train_step", *against, "--format", form)
        for given in (other, MESH):
            assert run.hlo("jit_train_step", against=given, against_program="jit_train_step", format=form) == difference
    # A run against itself, and two programs of one run.
    assert "No instruction differs" in run.hlo("jit_train_step", against=run)
    other_program = programs[-1].name
    pair = run.hlo("jit_train_step", against_program=other_program)
    assert pair == tool("hlo", TRAIN, "--program", "jit_train_step", "--against-program", other_program)
    assert crossprof.compare(run, other)["programs"] == json.loads(tool("compare", TRAIN, MESH, "--format", "json"))["programs"] != []


def test_an_unknown_program_is_a_sentence(profile: crossprof.Profile) -> None:
    run = crossprof.open(TRAIN)
    for arguments, words in [
        ({"program": "jit_train_stp(4)"}, "Did you mean jit_train_step"),
        ({"op": "no.such"}, "no program contains an instruction no.such"),
        ({"format": "png"}, "the values are text, dot, json"),
        ({"by": "nothing"}, "the values are layers, scopes"),
        ({"radius": -1}, "radius"),
        ({"format": "jax"}, "name the instruction"),
    ]:
        with pytest.raises(crossprof.ProfileError, match=words):
            run.hlo(**arguments)
    assert profile.programs() == []
    with pytest.raises(crossprof.ProfileError, match="no compiled program"):
        profile.hlo()


def test_columns_are_those_that_are_published(profile: crossprof.Profile) -> None:
    for name in ("ops", "kernels", "steps", "collectives"):
        published = json.loads(tool("table", "--columns", name, "--by", "" if name != "collectives" else "op", "--format", "json"))
        own = [(column.key, column.title, column.type) for column in profile.table(name).columns]
        assert own == [(column["key"], column["heading"], column["type"]) for column in published]


def test_limits_are_checked_as_by_the_tool(profile: crossprof.Profile, tmp_path: Path) -> None:
    rules = ["metadata.num_devices >= 1", "step_timing.avg_step_time_us < 1 us"]
    result = crossprof.check(profile, limits=rules)
    of_tool = json.loads(tool("check", GPU, *(word for rule in rules for word in ("--limit", rule)), "--format", "json", status=1))
    assert not result["holds"]
    assert [limit["status"] for limit in result["runs"][0]["limits"]] == [limit["status"] for limit in of_tool["runs"][0]["limits"]]
    assert crossprof.check(profile, limits=rules[0])["holds"]
    budget = tmp_path / "budget.toml"
    budget.write_text('limits = ["slower <= 3 %"]\n')
    assert crossprof.check(profile, budget, baseline=GPU)["holds"]
    assert crossprof.check([profile, TPU], budget, baseline=[profile])["runs"][0]["run_name"]
    for arguments, words in [
        ({"limits": "step_timing.avg_step_tim_us < 1 us"}, "avg_step_time_us"),
        ({"limits": "slower <= 3 %"}, "needs a baseline: give baseline=PROFILE"),
        ({}, "nothing to check"),
        ({"budget": tmp_path / "none.toml"}, "cannot be read"),
    ]:
        with pytest.raises(crossprof.ProfileError, match=words):
            crossprof.check(profile, **arguments)


def test_timelines_are_those_of_the_tool(profile: crossprof.Profile, tmp_path: Path) -> None:
    assert profile.timeline(step=3, width=800) == tool("timeline", GPU, "--step", 3, "--width", 800)
    svg, trace = tmp_path / "step.svg", tmp_path / "step.json.gz"
    drawn = profile.timeline(svg, start="1ms", end=2000.0, dark=True)
    assert svg.read_text() == drawn and drawn.startswith("<svg")
    assert profile.timeline(trace, step="3") == ""
    assert json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
    assert crossprof.open(trace).report["metadata"]["num_devices"] == profile.report["metadata"]["num_devices"]
    for arguments, words in [
        ({"step": 99}, "no step 99"),
        ({"start": "soon"}, "soon is not a time"),
        ({"width": 3}, "width must be a whole number from 400"),
        ({"step": 1, "end": 3}, "cannot be given with"),
        ({"lines": "NPU*"}, "NPU"),
    ]:
        with pytest.raises(crossprof.ProfileError, match=words):
            profile.timeline(**arguments)


def test_comparisons_take_what_the_tool_takes(profile: crossprof.Profile, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    made = crossprof.compare(profile, TPU, batch_size=32, seq_length=512, power=[700, 250], price=2.5, names=["a", "b"], baseline="b", output=page)
    words = ["--batch-size", 32, "--seq-length", 512, "--power", "700,250", "--price", "2.5", "--name", "a", "--name", "b", "--baseline", "b"]
    assert made == json.loads(tool("compare", GPU, TPU, *words, "--format", "json"))
    assert "<html" in page.read_text()
    # One number per run.
    rates = [metric for metric in crossprof.compare(profile, profile, batch_size=[8, 16])["metrics"] if "samples_per_sec" in metric["metric"]]
    assert rates[0]["values"][1] == pytest.approx(2 * rates[0]["values"][0])
    for arguments, words in [
        ({"batch_size": -3}, "batch_size must be a whole number, 1 or more, not -3"),
        ({"batch_size": [1, 2, 3]}, "3 values are given for 2 runs"),
        ({"power": [1, 2, 3]}, "power: 3 values"),
        ({"price": -1}, "price: a number above 0"),
        ({"scaling": "huge"}, '"strong" or "weak"'),
        ({"baseline": 7}, "there is no run 7"),
        ({"output": tmp_path / "report.pdf"}, "must end in"),
    ]:
        with pytest.raises(crossprof.ProfileError, match=words):
            crossprof.compare(profile, TPU, **arguments)
    with pytest.raises(crossprof.ProfileError, match="no_such_a.* cannot be read"):
        crossprof.compare("no_such_a", "no_such_b")
    with pytest.raises(crossprof.ProfileError, match="A profile or its path is needed, not 7"):
        crossprof.compare(profile, 7)


def test_files_are_given_as_lists_patterns_and_below_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, example in (("a", TPU), ("b", GPU)):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "host.trace.json.gz").write_bytes(example.read_bytes())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert len(crossprof.open_all("~/runs/*/*.json.gz")) == 2
    assert len(crossprof.open_all("~/runs/**/host.trace.json.gz")) == 2
    assert len(crossprof.open_all([TPU, str(GPU)])) == 2
    assert crossprof.open("~/runs/a").report["metadata"]["platform"] == "TPU"
    # A file whose name looks like a pattern is read as that file.
    odd = tmp_path / "run[1].json.gz"
    odd.write_bytes(TPU.read_bytes())
    assert crossprof.open(odd).report["metadata"]["platform"] == "TPU"
    with pytest.raises(crossprof.ProfileError, match="no file or folder matches"):
        crossprof.open("~/runs/*.nothing")
    with pytest.raises(crossprof.ProfileError, match="nothing to read"):
        crossprof.open([])
    with pytest.raises(TypeError, match="a list of paths"):
        crossprof.open([3])  # type: ignore[list-item]


def test_wrong_arguments_are_sentences(profile: crossprof.Profile) -> None:
    for arguments, words in [
        ({"batch_size": -3}, "batch_size must be a whole number, 1 or more, not -3"),
        ({"num_steps": 2.5}, "num_steps must be a whole number"),
        ({"device": "mi301x"}, "Did you mean mi300x"),
        ({"window": "soon"}, "A window is"),
    ]:
        with pytest.raises(crossprof.ProfileError, match=words):
            crossprof.open(GPU, **arguments)
    for arguments, words in [
        ({"top": -1}, "top must be a whole number, 0 or more, not -1"),
        ({"filter": "slef>1ms"}, "^filter: "),
        ({"sort": "total_self_time"}, "^sort: .*Did you mean total_self_time_us"),
    ]:
        with pytest.raises(crossprof.ProfileError, match=words):
            profile.table("ops", **arguments)
    with pytest.raises(crossprof.ProfileError, match="Did you mean kernels"):
        profile.table("kernel")
    with pytest.raises(crossprof.ColumnError, match="^The table ops has no column 'occurences'.*Did you mean occurrences") as caught:
        profile.table("ops")["occurences"]
    assert isinstance(caught.value, KeyError) and isinstance(caught.value, crossprof.ProfileError)


@pytest.mark.parametrize("command", ["scale", "lake"])
def test_the_tool_names_commands_in_python(command: str) -> None:
    listed = tool("--help")
    assert any(line.split()[:1] == [command] for line in listed.splitlines()), listed
    assert command in tool("completions", "bash")
