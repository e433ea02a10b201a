"""The library in Rust."""

import os
from collections.abc import Sequence
from typing import Any

__version__: str

class Runs:
    def __len__(self) -> int: ...
    def problems(self) -> list[str]: ...
    def report(self, run: int) -> str: ...
    def html(self, run: int) -> str: ...
    def table(
        self, run: int, name: str, by: str, filter: str, sort: str | None, top: int | None
    ) -> tuple[int, list[tuple[Any, ...]]]: ...

def read(
    paths: Sequence[str | os.PathLike[str]],
    *,
    num_steps: int | None = None,
    batch_size: int | None = None,
    seq_length: int | None = None,
    device: str | None = None,
    model_config: str | os.PathLike[str] | None = None,
    window: str | None = None,
) -> Runs: ...
def compare(runs: Sequence[tuple[Runs, int]]) -> str: ...
def main(arguments: Sequence[str]) -> int: ...
def peak_flops(device: str) -> float | None: ...
