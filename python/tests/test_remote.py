"""Reads captures from buckets: from a server of the S3 API on this machine (moto), and from fsspec's file system in memory."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import crossprof

pytest.importorskip("fsspec")

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
TRAIN = DATA / "jax-cpu-train"
SESSION = "plugins/profile/2026_11_21_02_00_05"


def put(fs: Any, folder: Path, path: str) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            fs.pipe_file(f"{path}/{file.relative_to(folder).as_posix()}", file.read_bytes())
    fs.invalidate_cache()


def reports(what: Any, root: str) -> list[str]:
    """Returns the sorted reports of all runs, with ``ROOT`` for the folder."""
    profiles = crossprof.open_all(what)
    return sorted(json.dumps(profile.report).replace(root, "ROOT") for profile in profiles) + [
        problem.replace(root, "ROOT") for problem in profiles.problems
    ]


@pytest.mark.parametrize(
    "name", ["jax-cpu-train", "jax-cpu-steps", "jax-cpu-memory", "megascale", "archives", "tpu-counters", "out-of-memory", "host-only"]
)
def test_a_folder_gives_the_same_reports_as_on_the_disk(bucket: tuple[Any, str], name: str) -> None:
    fs, url = bucket
    put(fs, DATA / name, f"lab/{name}")
    found = reports(f"{url}/{name}", f"{url}/{name}")
    assert found == reports(DATA / name, str(DATA / name)) and found


def test_files_patterns_and_lists(bucket: tuple[Any, str]) -> None:
    fs, url = bucket
    put(fs, TRAIN, "lab/runs/a")
    put(fs, DATA / "jax-cpu-mesh", "lab/runs/b")
    # A folder whose name starts with that of another.
    put(fs, DATA / "jax-cpu-async", "lab/runs/aa")
    fs.pipe_file("lab/runs/a/checkpoints/weights.npz", b"x" * 1000)
    fs.invalidate_cache()
    profile = crossprof.open(f"{url}/runs/a")
    assert profile.paths == (f"{url}/runs/a",)
    assert profile.report["provenance"][0]["path"] == f"{url}/runs/a/{SESSION}/host.xplane.pb"
    assert crossprof.open(f"{url}/runs/a/").report == profile.report
    assert crossprof.open(f"{url}/runs/a/{SESSION}/host.xplane.pb").name == "2026_11_21_02_00_05"
    assert len(crossprof.open_all(f"{url}/runs/*")) == 3
    assert len(crossprof.open_all(f"{url}/runs/**/*.xplane.pb")) == 2
    assert len(crossprof.open_all([f"{url}/runs/a", f"{url}/runs/b"], TRAIN)) == 3
    comparison = crossprof.compare(f"{url}/runs/a", f"{url}/runs/b")
    assert len(comparison["runs"]) == 2


def test_model_configurations_apply_as_on_the_disk(bucket: tuple[Any, str], tmp_path: Path) -> None:
    fs, url = bucket
    files = {
        "config.json": {"hidden_size": 1, "num_hidden_layers": 99, "vocab_size": 10},
        # Not a model: the search continues above it.
        "run/plugins/crossprof.json": {"something": "else"},
        "run/crossprof.json": {"batch_size": 12, "seq_length": 7},
    }
    put(fs, TRAIN, "lab/top/run")
    for path in TRAIN.rglob("*.*"):
        copy = tmp_path / "top/run" / path.relative_to(TRAIN)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    for name, fields in files.items():
        fs.pipe_file(f"lab/top/{name}", json.dumps(fields).encode())
        (tmp_path / "top" / name).write_text(json.dumps(fields))
    fs.invalidate_cache()
    for part in ["run", f"run/{SESSION}", f"run/{SESSION}/host.xplane.pb", "run/plugins/profile"]:
        found = reports(f"{url}/top/{part}", f"{url}/top")
        assert found == reports(tmp_path / "top" / part, str(tmp_path / "top")), part
        assert "batch_size" in found[0] and '"path": "ROOT/run/crossprof.json"' in found[0], part


def test_an_object_that_changes_is_an_error(bucket: tuple[Any, str], monkeypatch: pytest.MonkeyPatch) -> None:
    fs, url = bucket
    # Longer than the first request.
    content = (TRAIN / SESSION / "host.xplane.pb").read_bytes()
    path = "lab/x.xplane.pb"
    fs.pipe_file(path, content)
    fs.invalidate_cache()
    from crossprof import _remote

    (_, _, [(_, size, read)]), *_ = _remote.streams(f"{url}/x.xplane.pb")
    assert size == len(content) and len(read.read(1 << 20)) == 64 << 10
    fs.pipe_file(path, content[:-1])
    with pytest.raises(OSError, match="replaced"):
        read.read(1 << 20)
    (_, _, [(_, _, read)]), *_ = _remote.streams(f"{url}/x.xplane.pb")
    read.stop()
    with pytest.raises(OSError, match="interrupted"):
        read.read(10)


def test_an_object_of_the_same_size_that_changes_is_an_error(s3: Any) -> None:
    content = (TRAIN / SESSION / "host.xplane.pb").read_bytes()
    s3.pipe_file("lab/same.xplane.pb", content)
    from crossprof import _remote

    (_, _, [(_, _, read)]), *_ = _remote.streams("s3://lab/same.xplane.pb")
    read.read(1)
    s3.pipe_file("lab/same.xplane.pb", content[:-1] + b"\0")
    with pytest.raises(OSError, match="replaced"):
        read.read(1 << 20)


def test_large_objects_are_read_in_blocks(bucket: tuple[Any, str], monkeypatch: pytest.MonkeyPatch) -> None:
    fs, url = bucket
    content = next((DATA / "tpu-counters").rglob("*.xplane.pb*")).read_bytes()
    # A field that readers skip.
    padding = 20 << 20
    length = bytes([padding & 127 | 128, padding >> 7 & 127 | 128, padding >> 14 & 127 | 128, padding >> 21])
    content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    fs.pipe_file("lab/big.xplane.pb", content + b"\xfa\x7f" + length + b"\0" * padding)
    fs.invalidate_cache()
    asked: list[int] = []
    real = fs.cat_file

    def recorded(path: str, start: int, end: int) -> bytes:
        asked.append(end - start)
        return real(path, start=start, end=end)

    monkeypatch.setattr(fs, "cat_file", recorded)
    profile = crossprof.open(f"{url}/big.xplane.pb")
    assert profile.report["metadata"]["num_events"] == crossprof.open(content).report["metadata"]["num_events"]
    assert max(asked) <= 8 << 20 and len(asked) >= 3


def test_a_lake_of_captures_in_a_bucket(bucket: tuple[Any, str], tmp_path: Path) -> None:
    """The expected lake, except for the paths, comes from the same captures on disk."""
    pytest.importorskip("pyarrow")
    import pyarrow.dataset

    from crossprof import lake

    fs, url = bucket
    for name, folder in {"train": TRAIN / SESSION, "megascale": DATA / "megascale", "async": DATA / "jax-cpu-async"}.items():
        put(fs, folder, f"lab/logs/{name}/plugins/profile/1")
        shutil.copytree(folder, tmp_path / "logs" / name / "plugins/profile/1")
    fs.pipe_file("lab/logs/bad.xplane.pb", b"no profile")
    fs.invalidate_cache()
    (tmp_path / "logs/bad.xplane.pb").write_bytes(b"no profile")
    remote, local = lake.captures(f"{url}/logs"), lake.captures(tmp_path / "logs")
    assert [path.removeprefix(url) for path in remote] == [path.removeprefix(str(tmp_path)) for path in local] and len(remote) == 4
    statuses = [[lake.write(path, tmp_path / place) for path in paths] for place, paths in [("a", remote), ("b", local)]]
    assert [row["status"] for row in statuses[0]] == ["written", "failed", "written", "written"]
    assert [row["capture_id"] for row in statuses[0]] == [row["capture_id"] for row in statuses[1]]
    for table in ("captures", "steps", "ops", "findings", "imports"):
        found, expected = (
            pyarrow.dataset.dataset(sorted(map(str, (tmp_path / place).glob(f"schema=1/table={table}/**/*.parquet")))).to_table()
            for place in ("a", "b")
        )
        columns = [name for name in expected.column_names if name not in ("path", "trace_file", "error")]
        assert found.select(columns).equals(expected.select(columns)) and len(found)
    # Nothing is read again, until another host's file arrives.
    capture = next(path for path in remote if "megascale" in path)
    assert lake.write(capture, tmp_path / "a")["status"] == "unchanged"
    more = (TRAIN / SESSION / "host.xplane.pb").read_bytes()
    fs.pipe_file("lab/logs/megascale/plugins/profile/1/other.xplane.pb", more)
    fs.pipe_file("lab/logs/megascale/plugins/profile/1/host.hlo_proto.pb", b"derived")
    fs.invalidate_cache()
    assert lake.write(capture, tmp_path / "a")["status"] == "written"
    assert len(list((tmp_path / "a").glob("schema=1/table=captures/**/*.parquet"))) == 3
    fs.pipe_file("lab/logs/megascale/plugins/profile/1/x.op_stats.pb", b"derived")
    fs.invalidate_cache()
    assert lake.write(capture, tmp_path / "a")["status"] == "unchanged"
    with pytest.raises(crossprof.ProfileError, match="would replace a column"):
        lake.write(capture, f"{url}/month=1/lake")
    gone = lake.write(f"{url}/logs/gone.xplane.pb", tmp_path / "a")
    assert gone["status"] == "failed" and "no such file or folder" in gone["error"]


def test_errors_name_the_url(bucket: tuple[Any, str]) -> None:
    fs, url = bucket
    fs.pipe_file("lab/text.xplane.pb", b"hello")
    fs.invalidate_cache()
    for name, message in [("none", "no such file or folder"), ("none*", "matches this pattern"), ("text.xplane.pb", "not a profile")]:
        with pytest.raises(crossprof.ProfileError, match=message) as error:
            crossprof.open(f"{url}/{name}")
        assert f"{url}/{name}".rstrip("*") in str(error.value)


def test_a_server_that_is_gone(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    s3.clear_instance_cache()
    with pytest.raises(crossprof.ProfileError, match="s3://lab/x: cannot be read: .*connect"):
        crossprof.open("s3://lab/x")
    s3.clear_instance_cache()


@pytest.mark.parametrize(
    ("missing", "url", "message"),
    [
        ("fsspec", "gs://b/x", 'fsspec is needed to read gs:// and is not installed: pip install "crossprof[remote]" gcsfs'),
        ("s3fs", "s3://b/x", 's3fs is needed to read s3:// and is not installed: pip install "crossprof[remote]" s3fs'),
        ("gcsfs", "gs://b/x", 'gcsfs is needed to read gs:// and is not installed: pip install "crossprof[remote]" gcsfs'),
        ("none", "nosuch://b/x", "nosuch"),
    ],
)
def test_a_missing_package_is_one_error(missing: str, url: str, message: str) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None\nimport crossprof\n"
        f"try: crossprof.open({url!r})\nexcept crossprof.ProfileError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=dict(os.environ))
    assert message in said.stdout


def test_fsspec_is_imported_only_for_urls() -> None:
    program = f"import sys, crossprof; crossprof.open({str(TRAIN)!r}); print('fsspec' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"
