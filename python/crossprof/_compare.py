"""Compares runs with each other, and checks runs against limits."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from . import _native
from ._errors import ProfileError, checked_count, checked_numbers, sentence
from ._profile import Profile, Runs, profiles_of


def compare(
    *profiles: Runs,
    names: Sequence[str] = (),
    batch_size: int | Sequence[int | None] | None = None,
    seq_length: int | Sequence[int | None] | None = None,
    power: float | Sequence[float] | None = None,
    price: float | Sequence[float] | None = None,
    baseline: int | str | None = None,
    scaling: str | None = None,
    threshold: float | None = None,
    output: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Compares runs with the first run. Returns the document of ``crossprof compare --format json`` (``crossprof schema
    comparison``).

    Args:
        *profiles: Profiles, or paths. Each path is read as by :func:`open`.
        names: Names of the runs, in order. Runs for which ``names`` has no entry keep their own names.
        batch_size: Samples per step over all devices: a list with one number per run, or one number for all runs.
        seq_length: Tokens per sample, given in the same way.
        power: Power of one device in watts, given in the same way. If power is given, the comparison includes work per joule.
        price: Price of one device in dollars per hour, given in the same way. If a price is given, the comparison includes work per
            dollar.
        baseline: Index or name of the run with which all other runs are compared.
        scaling: ``"strong"`` or ``"weak"``: how the work grows with the number of devices. By default, this is derived from the
            batch sizes.
        threshold: Smallest difference between two runs that matters, in percent. Smaller differences are ignored, even if they are
            certain.
        output: Also write the comparison to this file. The extension of the file selects the format: ``.html``, ``.md``, ``.json``
            or ``.txt``.

    Raises:
        ProfileError: There are fewer than two runs, a file is not a profile, or an argument does not fit.
    """
    runs = profiles_of(profiles)
    if len(runs) < 2:
        raise ProfileError(f"A comparison needs two runs or more, not {len(runs)}.")
    if scaling not in (None, "strong", "weak"):
        raise ProfileError(f'scaling must be "strong" or "weak", not {scaling!r}.')
    if threshold is not None and not 0 <= threshold <= 100:
        raise ProfileError(f"threshold must be a percentage from 0 to 100, not {threshold!r}.")
    batches = _of_each("batch_size", batch_size, len(runs))
    lengths = _of_each("seq_length", seq_length, len(runs))
    try:
        made = _native.compare(
            [(run._runs, run._index, batch, length) for run, batch, length in zip(runs, batches, lengths)],
            names=[names] if isinstance(names, str) else list(names),
            power=checked_numbers("power", power),
            price=checked_numbers("price", price),
            baseline=None if baseline is None else str(baseline),
            weak_scaling=None if scaling is None else scaling == "weak",
            threshold=None if threshold is None else threshold / 100,
            output=None if output is None else os.fspath(Path(output).expanduser()),
        )
    except ValueError as error:
        raise sentence(error) from None
    document: dict[str, Any] = json.loads(made)
    return document


def _of_each(name: str, value: int | Sequence[int | None] | None, runs: int) -> list[int | None]:
    values = [value] * runs if value is None or isinstance(value, int) else list(value)
    if len(values) != runs:
        raise ProfileError(f"{name}: {len(values)} values are given for {runs} runs; give one, or one per run.")
    for each in values:
        checked_count(name, each)
    return values


def check(
    runs: Runs,
    budget: str | os.PathLike[str] | None = None,
    *,
    limits: str | Iterable[str] = (),
    baseline: Runs | None = None,
    baseline_run: str | None = None,
) -> dict[str, Any]:
    """Checks runs against limits. Returns the document of ``crossprof check --format json``. The field ``holds`` is true if all
    limits hold.

    Args:
        runs: A profile, several profiles, or paths.
        budget: A file of limits in TOML (docs/budgets.md).
        limits: Limits in addition to the limits in the file: ``"step_timing.avg_step_time_us < 150 ms"``.
        baseline: Baseline of the limits. Replaces the baseline in the budget.
        baseline_run: Run of the baseline, selected by its name or a pattern.

    Raises:
        ProfileError: The limits are invalid, or need a baseline that was not passed.
    """
    rules = [limits] if isinstance(limits, str) else list(limits)
    if budget is None and not rules:
        raise ProfileError("There is nothing to check: give a budget file or limits.")
    try:
        made = _native.check(
            [_named(run) for run in profiles_of(runs)],
            budget=None if budget is None else os.fspath(Path(budget).expanduser()),
            limits=rules,
            baseline=None if baseline is None else [_named(run) for run in profiles_of(baseline)],
            baseline_run=baseline_run,
        )
    except ValueError as error:
        raise sentence(error) from None
    document: dict[str, Any] = json.loads(made)
    return document


def _named(run: Profile) -> tuple[_native.Runs, int, str]:
    return run._runs, run._index, str(run.paths[0]) if run.paths else run.name
