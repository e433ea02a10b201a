"""Profiles and tables can be pickled and sliced, and have the same types for every run."""

from __future__ import annotations

import gzip
import json
import pickle
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

import crossprof

EXAMPLES = Path(__file__).parents[2] / "www" / "assets" / "examples"
DATA = Path(__file__).parents[2] / "tests" / "data"
TPU = EXAMPLES / "tpu-training.trace.json.gz"
GPU = EXAMPLES / "gpu-training.trace.json.gz"


def ops_of(profile: crossprof.Profile) -> crossprof.Table:
    return profile.table("ops", top=3)


def test_tables_are_cut_and_walked() -> None:
    table = crossprof.open(TPU).table("ops")
    rows = table.rows()
    assert list(table) == rows and len(table) == len(rows)
    for cut in (slice(0, 10), slice(None, None, -1), slice(-3, None), slice(1, 9, 3), slice(5, 5), slice(0, 10**9)):
        part = table[cut]
        assert isinstance(part, crossprof.Table) and part.rows() == rows[cut] and len(part) == len(rows[cut])
    assert table[0] == rows[0] and table[-1] == rows[-1]
    assert table[2:][1]["rank"] == rows[3]["rank"]
    with pytest.raises(IndexError, match=f"there is no row {len(rows)}"):
        table[len(rows)]
    flags = crossprof.open(TPU).table("steps")
    assert flags[1:4]["counted"] == flags["counted"][1:4]


def test_profiles_and_tables_go_to_other_processes(tmp_path: Path) -> None:
    file = shutil.copy(TPU, tmp_path / "run.trace.json.gz")
    profile = crossprof.open(file, batch_size=32)
    table = profile.table("ops", top=5)
    assert pickle.loads(pickle.dumps(table)) == table != profile.table("ops", top=4)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(ops_of, profile).result() == ops_of(profile)
    packed = pickle.dumps(profile)
    again = pickle.loads(packed)
    assert again.report == profile.report and again.paths == profile.paths and again.name == profile.name
    assert again.table("ops") == profile.table("ops")
    # The file was replaced, so the pickled run falls back to its report.
    shutil.copy(GPU, file)
    changed = pickle.loads(packed)
    assert changed.report == profile.report
    assert changed.table("steps").rows() == profile.table("steps").rows()
    assert crossprof.compare(changed, profile)["metrics"]
    Path(file).unlink()
    assert pickle.loads(packed).table("steps").rows() == profile.table("steps").rows()
    several = pickle.loads(pickle.dumps(crossprof.open_all(TPU, GPU)))
    assert [one.name for one in several] == [one.name for one in crossprof.open_all(TPU, GPU)]


def runs() -> list[crossprof.Profile]:
    """Returns one run of every kind: a TPU, a GPU, a CPU, only hosts, a program without memory data, a report."""
    paths = [TPU, GPU, *(path for path in sorted(DATA.iterdir()) if path.is_dir() and path.name.startswith(("jax-", "host-only", "out-of")))]
    found: list[crossprof.Profile] = []
    for path in paths:
        try:
            found += crossprof.open_all(path)
        except crossprof.ProfileError:
            continue
    return found


def test_tables_of_different_runs_have_one_schema(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    crossprof.open(TPU).save(tmp_path / "profile.json")
    profiles = [*runs(), crossprof.open(tmp_path / "profile.json")]
    assert len(profiles) > 8
    joined = 0
    for table in crossprof.tables():
        for form in table.forms or ("",):
            arrows = [profile.table(table.name, by=form).arrow() for profile in profiles]
            whole = pyarrow.concat_tables(arrows)
            whole.validate(full=True)
            joined += whole.num_rows
            for field in whole.schema:
                assert str(field.type) in ("int64", "double", "large_string", "bool"), (table.name, field)
    assert joined > 1000


def test_a_number_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    trace = json.loads(gzip.decompress(GPU.read_bytes()))
    for event in trace["traceEvents"]:
        details = event.get("args", {}).get("kernel_details")
        if details:
            event["args"]["kernel_details"] = details.replace("regs:", "regs:99999999999999999", 1)
    path = tmp_path / "damaged.trace.json"
    path.write_text(json.dumps(trace))
    profile = crossprof.open(path)
    try:
        registers = profile.table("kernels")["registers_per_thread"]
    except crossprof.ProfileError as error:
        assert "registers_per_thread has the value" in str(error) and "int64" in str(error)
    else:
        assert all(number is None or 0 <= number < 2**63 for number in registers)


SCRIPT = """
    import pathlib
    from typing import Any
    import crossprof

    def best(profile: crossprof.Profile) -> str:
        table: crossprof.Table = profile.table("ops", filter="category:fusion", sort="-total_self_time_us", top=10)
        first: dict[str, Any] = table[0]
        times: list[float] = table["total_self_time_us"]
        rest: crossprof.Table = table[1:]
        names = [row["hlo_op_name"] for row in rest]
        return f"{first['hlo_op_name']} {sum(times)} {names} {table.columns[0].type}"

    profiles: crossprof.Profiles = crossprof.open_all("~/runs/*", batch_size=8)
    one: crossprof.Profile = profiles[0]
    some: list[crossprof.Profile] = profiles[:2]
    print([best(each) for each in profiles], len(some), one.warnings, [table.description for table in one.tables()])
    document: dict[str, Any] = crossprof.compare(one, pathlib.Path("b"), "c", power=[1.0, 2.0, 3], names=["a"])
    holds: bool = crossprof.check(one, limits="x < 1")["holds"]
    svg: str = one.timeline(step=3)
    with crossprof.capture("profiles", wait=10, active=5, batch_size=8) as capture:
        for step in range(3):
            capture.step(step)
    with crossprof.trace("profiles"):
        pass
    try:
        crossprof.open(["a", "b"])
    except crossprof.ProfileError as error:
        print(error)
"""


def mypy(script: Path) -> str:
    """Returns mypy's output for a script that uses the installed package."""
    call = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--cache-dir", "/dev/null", str(script)]
    done = subprocess.run(call, capture_output=True, text=True, check=False, cwd=script.parent)
    return done.stdout + done.stderr


def test_a_script_of_a_user_is_typed(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    assert "Success" in mypy(script), mypy(script)
    script.write_text(textwrap.dedent(SCRIPT).replace("top=10", 'top="ten"'))
    assert 'incompatible type "str"' in mypy(script)


def test_every_public_name_has_a_type() -> None:
    stub = (Path(crossprof.__file__).parent / "__init__.pyi").read_text()
    for name in crossprof.__all__:
        assert f" {name} as {name}," in stub, name
        assert getattr(crossprof, name) is not None
