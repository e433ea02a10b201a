"""Tests ``crossprof.open`` with contents in memory and with opened files, and captures without a folder."""

from __future__ import annotations

import glob
import gzip
import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import crossprof

DATA = Path(__file__).parents[2] / "tests" / "data"
SESSION = DATA / "jax-cpu-train/plugins/profile/2026_11_21_02_00_05"
XPLANE = SESSION / "host.xplane.pb"


def without_names(report: dict[str, Any]) -> dict[str, Any]:
    """Returns a report without the names of its files."""
    copy = json.loads(json.dumps(report))
    for key in ("run_name", "trace_file"):
        copy["metadata"].pop(key, None)
    for source in copy["provenance"]:
        source.pop("path")
    return copy


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, io.BytesIO])
def test_contents_give_the_same_report_as_their_file(kind: Callable[[bytes], Any]) -> None:
    profile = crossprof.open(kind(XPLANE.read_bytes()))
    assert without_names(profile.report) == without_names(crossprof.open(XPLANE).report)
    assert profile.name == "capture" and profile.paths == ()
    # The steps of the recorded program are numbered 0 to 5.
    assert [step["name"] for step in profile.report["steps"]] == list("012345")
    assert len(profile.table("ops")) == 14


def test_content_determines_the_format(tmp_path: Path) -> None:
    document = crossprof.open(XPLANE)
    document.save(tmp_path / "a.json")
    document.save(tmp_path / "a.html")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(XPLANE, "run/x.xplane.pb")
    for content, events in [
        ((SESSION / "host.trace.json.gz").read_bytes(), 2966),
        (gzip.compress(XPLANE.read_bytes()), 2966),
        (packed.getvalue(), 2966),
        ((tmp_path / "a.json").read_bytes(), 2966),
        ((tmp_path / "a.html").read_bytes(), 2966),
    ]:
        assert crossprof.open(content).report["metadata"]["num_events"] == events
    program = (DATA / "jax-cpu-memory/module_0016.jit_plain.cpu_after_optimizations.hlo.pb.gz").read_bytes()
    assert [program.name for program in crossprof.open(program).programs()] == ["jit_plain(16)"]


def test_an_opened_file_has_the_name_of_its_path() -> None:
    with open(XPLANE, "rb") as file:
        profile = crossprof.open(file)
    assert profile.report == crossprof.open(XPLANE).report
    with open(XPLANE, "rb") as file:
        assert crossprof.compare(file, XPLANE.read_bytes())["runs"]


def test_a_list_of_contents_is_one_run(tmp_path: Path) -> None:
    """The expected report comes from the same files on disk."""
    files = sorted((DATA / "megascale").rglob("*.xplane.pb.gz"))
    folder = tmp_path / "plugins/profile/capture"
    folder.mkdir(parents=True)
    for number, file in enumerate(files):
        (folder / f"host_{number}").write_bytes(file.read_bytes())
    sidecar = b'{"batch_size": 12, "seq_length": 7}'
    (folder / "crossprof.json").write_bytes(sidecar)
    profile = crossprof.open([*(file.read_bytes() for file in files), sidecar])
    expected = crossprof.open([*(folder / f"host_{number}" for number in range(2)), folder / "crossprof.json"])
    assert without_names(profile.report) == without_names(expected.report)
    assert profile.report["metadata"]["num_hosts"] == 2
    assert len(crossprof.open_all(XPLANE.read_bytes(), XPLANE.read_bytes())) == 2


def test_a_profile_of_contents_can_be_pickled() -> None:
    profile = crossprof.open(XPLANE.read_bytes())
    again = pickle.loads(pickle.dumps(profile))
    assert again.report == profile.report and again.digest() == profile.digest()


def test_wrong_contents() -> None:
    with pytest.raises(crossprof.ProfileError, match="capture: This is plain text, not a profile"):
        crossprof.open(b"hello")
    with pytest.raises(crossprof.ProfileError, match="capture"):
        crossprof.open(b"")
    with pytest.raises(TypeError, match='mode "rb"'):
        crossprof.open(io.StringIO("text"))

    class Broken(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise OSError("the cable is cut")

    with pytest.raises(crossprof.ProfileError, match="the cable is cut"):
        crossprof.open(Broken())
    with pytest.raises(TypeError, match="a path"):
        crossprof.open(3)


def test_a_file_url_is_a_path() -> None:
    assert crossprof.open(XPLANE.as_uri()).report == crossprof.open(XPLANE).report


IN_MEMORY = """
import glob, tempfile
before = set(glob.glob(tempfile.gettempdir() + "/crossprof-*"))
new = lambda: set(glob.glob(tempfile.gettempdir() + "/crossprof-*")) - before
"""


def test_a_trace_without_a_folder(run: Callable[..., str], tmp_path: Path) -> None:
    out = run(
        IN_MEMORY
        + """
with crossprof.trace(None, batch_size=8) as trace:
    for number in range(3):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            train_step(x).block_until_ready()
(folder,) = new()
profile = trace.profile()
assert profile is trace.profile()
assert not [path for path in glob.glob(folder + "/**", recursive=True) if os.path.isfile(path)]
print(json.dumps({"steps": [step["name"] for step in profile.report["steps"]], "batch": profile.report["model"]["batch_size"]
    if "model" in profile.report else None}))
assert len(profile.table("ops"))
del trace
assert not new(), new()
try:
    with crossprof.trace(None) as failed:
        jax.profiler.start_trace("elsewhere")
except RuntimeError:
    pass
with crossprof.trace(None, processes=0) as unread:
    train_step(x)
print("folder", *new())
""",
        TMPDIR=str(tmp_path),
    )
    assert '"steps": ["0", "1", "2"]' in out
    # The program ended without reading the last one.
    assert not glob.glob(f"{tmp_path}/crossprof-*")


def test_captures_without_a_folder(run: Callable[..., str], tmp_path: Path) -> None:
    out = run(
        """
with crossprof.capture(None, wait=2, active=2, repeat=2) as capture:
    for number in range(12):
        x = train_step(x)
        capture.step(x)
profiles = capture.profiles()
print([[step["name"] for step in profile.report["steps"]] for profile in profiles], capture.errors)
assert [id(profile) for profile in profiles] == [id(profile) for profile in capture.profiles()]
with crossprof.trace("kept") as trace:
    train_step(x).block_until_ready()
assert trace.profile().name == trace.captured.path.name and trace.captured.file.exists()
""",
        TMPDIR=str(tmp_path),
    )
    assert "[['3', '4'], ['8', '9']] []" in out
    assert not glob.glob(f"{tmp_path}/crossprof-*")
