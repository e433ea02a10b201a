"""The commands, queries and Python code in docs/fleet.md work, and so do the notebook and the dashboard."""

from __future__ import annotations

import importlib.util
import json
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

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, flags=re.DOTALL | re.MULTILINE)
    return [text for name, text in found if name == language]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with captures below ``runs``. The last captures are slower."""
    made = tmp_path_factory.mktemp("fleet")
    for number in range(14):
        made_captures.capture(made / "runs", number, seed=3, slower=0.03 if number >= 11 else 0.0, commit=f"{number:02x}" * 20)
    return made


@pytest.fixture(scope="module")
def imported(folder: Path) -> Path:
    """Returns the folder after its captures were written to its lake."""
    for capture in lake.captures(folder / "runs"):
        lake.write(capture, folder / "lake")
    return folder


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


def test_the_queries_have_rows(imported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(imported)
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


def test_the_export_has_the_fields_of_the_page(imported: Path) -> None:
    lake.regressions(imported / "lake", record=True)
    (command,) = (block.strip() for block in blocks("sh"))
    done = subprocess.run([sys.executable, "-m", *shlex.split(command)], cwd=imported, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and (imported / "trend.json.gz").is_file(), done.stderr
    found = lake.export(imported / "lake")
    described = dict(re.findall(r"^\| (`[a-z_`, ]+`) \| (.*) \|$", TEXT.split("## Trends")[1].split("## ")[0], flags=re.MULTILINE))
    assert [name for names in described for name in re.findall(r"`(\w+)`", names)] == list(found)
    for name in ("workloads", "captures"):
        assert {key for record in found[name] for key in record} <= set(re.findall(r"`(\w+)`", described[f"`{name}`"])), name


def test_the_notebook_runs(imported: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "examples" / "fleet.ipynb"
    monkeypatch.chdir(imported)
    if all(importlib.util.find_spec(name) for name in ("nbclient", "nbformat", "ipykernel")):
        import nbclient
        import nbformat

        notebook = nbformat.read(path, as_version=4)
        nbclient.NotebookClient(notebook, timeout=120).execute()
        out = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", ()))
    else:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        assert notebook["nbformat"] == 4 and not any(cell.get("outputs") for cell in notebook["cells"])
        names: dict[str, object] = {}
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), str(path), "exec"), names)  # noqa: S102
        out = capsys.readouterr().out
    # Commit 0b is the first slow one.
    assert f"% since {'0b' * 20}" in out and "op custom-call.2: " in out
    assert "layer_*/attn custom-call.2" in out


def test_the_dashboard_has_rows(imported: Path) -> None:
    import duckdb

    lake.regressions(imported / "lake", record=True)
    dashboard = json.loads((ROOT / "examples" / "grafana" / "fleet.json").read_text(encoding="utf-8"))
    variables = {each["name"]: each for each in dashboard["templating"]["list"]}
    assert list(variables) == ["datasource", "lake", "workload"]
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) == 5
    # Grafana reads the files without the views of `connect`.
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")

    def asked(query: str) -> list[dict[str, object]]:
        query = query.replace("${lake}", str(imported / "lake"))
        query = re.sub(r"\$__timeFilter\((\w+)\)", r"\1 >= '2026-11-02T00:00:00Z' AND \1 <= '2026-11-09T00:00:00Z'", query)
        assert "$" not in query.replace("${workload}", ""), query
        result = connection.execute(query.replace("${workload}", workload))
        columns = [column[0] for column in result.description or ()]
        return [dict(zip(columns, row)) for row in result.fetchall()]

    workload = ""
    (choice,) = asked(variables["workload"]["query"])
    workload = str(choice["__value"])
    truth = lake.connect(imported / "lake").sql("SELECT captured_at, median_step_time_ps, git_sha FROM captures ORDER BY captured_at").fetchall()
    found = {panel["title"]: asked(panel["targets"][0]["rawSql"]) for panel in panels}
    assert all(found.values()), {title: len(answer) for title, answer in found.items()}
    assert [(row["time"], row["median"]) for row in found["Step time"]] == [(time, ps / 1e9) for time, ps, _ in truth]
    assert [row["commit"] for row in found["Captures"]] == [sha[:12] for _, _, sha in reversed(truth)]
    (verdict,) = found["Verdicts"]
    assert (verdict["verdict"], verdict["first bad commit"], verdict["op"]) == ("slower", "0b" * 6, "custom-call.2")
