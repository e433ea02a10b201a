"""The README's Python works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import sessions

ROOT = Path(__file__).parents[2]


def blocks(file: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / file).read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("file", ["README.md", "python/README.md"])
def test_every_block_of_python_runs(run, tmp_path: Path, file: str) -> None:
    texts = blocks(file)
    assert len(texts) >= 2
    # What the reader has already: a training, two captures of it, and a budget.
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
    # Not everybody has pandas.
    program = "\n".join(texts).replace(".pandas()", ".rows()")
    run(prelude + program)
    assert len(sessions(tmp_path / "profiles")) == 1


def test_the_first_command_is_pip_install() -> None:
    first = re.search(r"```\n(.*?)\n```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert first is not None and first.group(1) == "pip install crossprof"
