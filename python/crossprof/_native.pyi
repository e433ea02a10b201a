"""The library in Rust."""

import os
from collections.abc import Callable, Sequence
from typing import Any

__version__: str

class Runs:
    def __len__(self) -> int: ...
    def problems(self) -> list[str]: ...
    def report(self, run: int) -> str: ...
    def html(self, run: int) -> str: ...
    def card(self, run: int) -> str: ...
    def digest(self, run: int, max_bytes: int, as_json: bool) -> str: ...
    def table(self, run: int, name: str, by: str, filter: str, sort: str | None, top: int | None) -> Columns: ...
    def programs(self, run: int) -> list[tuple[str, int, float | None]]: ...
    def hlo(
        self,
        run: int,
        *,
        program: str | None,
        op: str | None,
        radius: int,
        computation: str | None,
        by: str,
        open: Sequence[str],
        critical_path: bool,
        against: tuple[Runs, int] | None,
        against_program: str | None,
        format: str,
    ) -> str: ...
    def timeline(
        self,
        run: int,
        *,
        step: str | None,
        start: str | None,
        end: str | None,
        lines: Sequence[str],
        width: int,
        dark: bool,
        hosts: bool,
        output: str | os.PathLike[str] | None,
    ) -> tuple[bytes, list[str]]: ...

class Columns:
    @staticmethod
    def rebuilt(name: str, rows: int, columns: Sequence[tuple[tuple[str, str, str, str, str], list[Any]]]) -> Columns: ...
    def __len__(self) -> int: ...
    def about(self) -> list[tuple[str, str, str, str, str, bool]]: ...
    def part(self, start: int, step: int, count: int) -> Columns: ...
    def values(self, place: int, most: int) -> list[Any]: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

def read(
    paths: Sequence[str | os.PathLike[str]],
    watch: Callable[[int, int], object],
    *,
    num_steps: int | None = None,
    batch_size: int | None = None,
    seq_length: int | None = None,
    device: str | None = None,
    model_config: str | os.PathLike[str] | None = None,
    window: str | None = None,
) -> Runs: ...
def ask(tool: str, arguments: str) -> str: ...
def of_document(text: str) -> Runs: ...
def tables() -> list[tuple[str, str, list[str]]]: ...
def suggestion(word: str, known: Sequence[str]) -> str: ...
def compare(
    runs: Sequence[tuple[Runs, int, int | None, int | None]],
    *,
    names: Sequence[str],
    power: Sequence[float],
    price: Sequence[float],
    baseline: str | None,
    weak_scaling: bool | None,
    threshold: float | None,
    output: str | os.PathLike[str] | None,
) -> str: ...
def check(
    runs: Sequence[tuple[Runs, int, str]],
    *,
    budget: str | os.PathLike[str] | None,
    limits: Sequence[str],
    baseline: Sequence[tuple[Runs, int, str]] | None,
    baseline_run: str | None,
) -> str: ...
def main(arguments: Sequence[str]) -> int: ...
def peak_flops(device: str) -> float | None: ...
