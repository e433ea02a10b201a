"""Secrets and home folders do not get into shared files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PRELUDE, sessions

from crossprof import _redact

PROGRAM = """
with crossprof.capture(sys.argv[1], wait=2, warmup=0, active=2, ARGV) as capture:
    for step in range(6):
        capture.step(train_step(x))
assert capture.errors == [], capture.errors
"""
WORDS = ["--wandb_api_key=SECRET123", "--token", "SECRET123", "--lr", "0.125", "run.yaml", "HF_TOKEN=SECRET123"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Returns a home folder with a program in it."""
    folder = tmp_path / "jo"
    folder.mkdir()
    return folder


def captured(home: Path, argv: str) -> Path:
    """Runs the program with secrets in its arguments. Returns the folder of the capture."""
    (home / "train.py").write_text(PRELUDE + PROGRAM.replace("ARGV", argv))
    package = os.environ.get("CROSSPROF_PACKAGE", str(Path(__file__).parent.parent))
    words = [sys.executable, str(home / "train.py"), str(home / "profiles"), *WORDS]
    environment = {"PYTHONPATH": package, "JAX_PLATFORMS": "cpu", "HOME": str(home), "PATH": os.environ["PATH"]}
    environment["XLA_FLAGS"] = f"--xla_dump_to={home}/dump"
    subprocess.run(words, env=environment, check=True, capture_output=True)
    (session,) = sessions(home / "profiles")
    return session


def test_no_file_of_a_capture_holds_a_secret(home: Path) -> None:
    session = captured(home, "argv=False")
    capture = json.loads((session / "crossprof.json").read_text())["capture"]
    hidden = ["--wandb_api_key=***", "--token", "***", "--lr", "***", "***", "HF_TOKEN=***"]
    assert capture["argv"] == ["~/train.py", "~/profiles", *hidden]
    assert capture["environment"]["XLA_FLAGS"] == "--xla_dump_to=~/dump"
    for path in session.iterdir():
        assert b"SECRET123" not in path.read_bytes(), path
    assert str(home) not in (session / "crossprof.json").read_text()


def test_values_are_recorded_if_asked_for_and_secrets_never(home: Path) -> None:
    session = captured(home, "argv=True")
    capture = json.loads((session / "crossprof.json").read_text())["capture"]
    kept = ["--wandb_api_key=***", "--token", "***", "--lr", "0.125", "run.yaml", "HF_TOKEN=***"]
    assert capture["argv"] == ["~/train.py", "~/profiles", *kept]


def test_a_report_of_an_old_sidecar_holds_no_value_and_no_home(home: Path, tmp_path: Path) -> None:
    crossprof = pytest.importorskip("crossprof._profile")
    session = captured(home, "argv=False")
    (xplane,) = session.glob("*.xplane.pb")
    old = tmp_path / "old"
    old.mkdir()
    # A trace JSON has no embedded sidecar.
    (trace_json,) = session.glob("*.trace.json.gz")
    (old / "vm.trace.json.gz").write_bytes(trace_json.read_bytes())
    argv = ["/home/jo/train.py", "--config=/home/jo/c.yaml", *WORDS]
    (old / "crossprof.json").write_text(json.dumps({"capture": {"argv": argv}}))
    profile = crossprof.open(old)
    shown = profile.report["metadata"]["environment"]["argv"]
    assert shown == "~/train.py --config=*** --wandb_api_key=*** --token *** --lr *** *** HF_TOKEN=***"
    assert "SECRET123" not in profile.html() and "/home/jo" not in profile.html()
    # The source lines of ops are in the home folder too.
    (tmp_path / "new").mkdir()
    data = xplane.read_bytes()
    assert str(home).encode() in data
    (tmp_path / "new" / "a.xplane.pb").write_bytes(data.replace(str(home).encode(), b"/home/".ljust(len(str(home)), b"j")))
    report = crossprof.open(tmp_path / "new").html()
    assert "~/train.py:" in report and "/home/j" not in report


@pytest.mark.parametrize(
    "words, hidden, kept",
    [
        (["a.py", "--lr", "0.1", "-x", "-3"], "a.py --lr *** -x ***", "a.py --lr 0.1 -x -3"),
        (["a.py", "optimizer.lr=0.2", "c.yaml"], "a.py optimizer.lr=*** c.yaml", "a.py optimizer.lr=0.2 c.yaml"),
        (["--keys", "S1", "S2", "--n=5"], "--keys *** *** --n=***", "--keys *** *** --n=5"),
        (["hf_abcdefghijklm", "password", "x"], "*** password ***", "*** password ***"),
        (['--c={"api_key": "z"}'], "--c=***", "--c=***"),
        (["s3://u:p@h/x", "0123456789abcdef0123456789abcdef"], "*** ***", "*** ***"),
        (["--num_tokens=5", "--key_dim=64"], "--num_tokens=*** --key_dim=***", "--num_tokens=5 --key_dim=64"),
    ],
)
def test_arguments_are_told_apart(words: list[str], hidden: str, kept: str) -> None:
    assert " ".join(_redact.arguments(words, values=False)) == hidden
    assert " ".join(_redact.arguments(words, values=True)) == kept


def test_homes_become_a_tilde() -> None:
    texts = ["/root", "/rootfs", "--a=/root/b", "/home/jo/x:/home/al", "C:\\Users\\Jo\\x", "/data/home/jo"]
    assert _redact.without_home(texts) == ["~", "/rootfs", "--a=~/b", "~/x:~", "~\\x", "/data/home/jo"]
    assert _redact.without_home({"a": [str(Path.home() / "b")]}) == {"a": ["~/b"]}
