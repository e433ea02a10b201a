"""The commands, queries and Python code in docs/fleet.md work."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import made_captures
import pytest

from crossprof import lake

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

TEXT = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text()


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, flags=re.DOTALL | re.MULTILINE)
    return [text for name, text in found if name == language]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with captures below ``runs``. The last ones are slower."""
    made = tmp_path_factory.mktemp("fleet")
    for number in range(14):
        made_captures.capture(made / "runs", number, seed=3, slower=0.03 if number >= 11 else 0.0, commit=f"{number:02x}" * 20)
    return made


def test_the_commands_lead_to_the_regression(folder: Path) -> None:
    (commands,) = ([line for line in block.splitlines() if line.startswith("crossprof ")] for block in blocks(""))
    outputs = []
    for command in commands:
        done = subprocess.run([sys.executable, "-m", *shlex.split(command)], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == (3 if " regressions " in command else 0), done.stderr
        outputs.append(done.stdout)
    assert len(outputs) == 3 and "14 written" in outputs[0] and "14" in outputs[1]
    # The page shows lines of this form.
    (example,) = (block for block in blocks("text") if "a step takes" in block)
    shape = lambda text: [re.sub(r"[^ ]*\d[^ ]*", "#", line).split(":")[0].split()[0] for line in text.splitlines()[1:]]  # noqa: E731
    assert shape(outputs[2]) == shape(example)
    assert "First bad: commit 0b0b0b0b0b0b" in outputs[2]


def test_the_python_code_runs(folder: Path) -> None:
    (program,) = blocks("python")
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "'name': 'custom-call.2'" in done.stdout


def test_the_queries_have_rows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    connection = lake.connect("lake")
    queries = blocks("sql")
    assert len(queries) == 4
    for query in queries:
        assert connection.sql(query).fetchall(), query


def test_the_tables_are_listed() -> None:
    from crossprof.lake import _schema

    listed = re.findall(r"^\| `(\w+)` \|", TEXT.split("## Tables")[1], flags=re.MULTILINE)
    assert listed == [*_schema.TABLES, "schema_fields"]
    (keys,) = re.findall(r"^Every row contains (.*?)\. ", TEXT, flags=re.DOTALL | re.MULTILINE)
    assert re.findall(r"`(\w+)`", keys) == [field.name for field in _schema.KEYS]
    (path,) = (block for block in blocks("text") if "table=steps" in block)
    assert re.fullmatch(r"lake/schema=1/table=steps/workload=[0-9a-f]{16}/month=2026-11/capture=[0-9a-f]{32}\.parquet\n", path)
