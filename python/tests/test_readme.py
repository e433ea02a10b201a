"""The Python code in the documents works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import sessions

ROOT = Path(__file__).parents[2]


def blocks(files: str) -> list[str]:
    texts = [(ROOT / file).read_text() for file in files.split()]
    return re.findall(r"```python\n(.*?)```", "\n".join(texts), flags=re.DOTALL)


@pytest.mark.parametrize("files", ["README.md", "docs/capture.md docs/read.md docs/compare.md docs/agents.md", "python/README.md"])
def test_every_block_of_python_runs(run, tmp_path: Path, files: str) -> None:
    texts = blocks(files)
    assert texts
    # The reader has a training program, two captures of it, and a budget.
    text = """
    open("budget.toml", "w").write('limits = ["step_timing.avg_step_time_us < 60 s"]')
    state = params = jnp.ones((64, 64))
    data = range(30)
    def train_step(state, batch):
        return jnp.tanh(state @ state) / 10
    for folder in ("main", "new"):
        with crossprof.capture(folder, wait=2, active=3) as capture:
            for _ in range(8):
                capture.step(jax.block_until_ready(train_step(state, 0)))
    """
    prelude = "\n".join(line[4:] for line in text.splitlines())
    # pandas may be missing.
    program = "\n".join(texts).replace(".pandas()", ".rows()")
    run(prelude + program)
    captures = re.findall(r"crossprof\.(?:capture|trace)\(\"profiles\"", program)
    assert captures and len(sessions(tmp_path / "profiles")) == len(captures)


def test_the_first_command_is_pip_install() -> None:
    first = re.search(r"```\n(.*?)\n```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert first is not None and first.group(1) == "pip install crossprof"
