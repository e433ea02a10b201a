"""Profiles that were read: their report, their tables, their findings."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from . import _native
from ._progress import Bar


class ProfileError(ValueError):
    """A file is no profile, or there is no such run, table or column. The message says what to do."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    #: Name in files and in rows.
    key: str
    #: Heading for people.
    title: str
    #: Unit of its numbers; empty where they have none.
    unit: str
    #: What it means.
    description: str


class Table:
    """Rows under columns. Values that were not measured are None (in pandas and Arrow: missing)."""

    def __init__(self, name: str, columns: _native.Columns) -> None:
        self.name = name
        about = columns.about()
        #: What the columns mean, in their order.
        self.columns = [Column(*words) for *words, _ in about]
        self._has_values = [has_values for *_, has_values in about]
        self._places = {column.key: place for place, column in enumerate(self.columns)}
        self._native = columns

    def __len__(self) -> int:
        return len(self._native)

    def __getitem__(self, key: str) -> list[Any]:
        """The values of a column, by its key.

        Raises:
            KeyError: There is no such column.
        """
        return self._native.values(self._places[key], len(self))

    def rows(self) -> list[dict[str, Any]]:
        """Each row as a dict by the keys of the columns."""
        keys = [column.key for column in self.columns]
        return [dict(zip(keys, values)) for values in zip(*(self[key] for key in keys))]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def arrow(self) -> Any:
        """The table as ``pyarrow.Table``; nothing is copied. The metadata of each field are its title, unit and description.

        Raises:
            ImportError: pyarrow is not installed.
        """
        import pyarrow

        return pyarrow.table(self)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The table for whatever knows Arrow's interface, without a copy: ``polars.DataFrame(table)``, ``pyarrow.record_batch(table)``."""
        return self._native.__arrow_c_array__(requested_schema)

    def pandas(self) -> Any:
        """The table as ``pandas.DataFrame``, with the keys of the columns.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas

        return pandas.DataFrame({column.key: self[column.key] for column in self.columns})

    def __repr__(self) -> str:
        return f"<crossprof table {self.name}: {len(self)} rows, {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        """The first rows, for a notebook."""
        import html

        most = 20
        shown = [column for column, has_values in zip(self.columns, self._has_values) if has_values]
        head = "".join(
            f'<th title="{html.escape(column.description)}">{html.escape(column.title)}'
            f"{f' ({html.escape(column.unit)})' if column.unit else ''}</th>"
            for column in shown
        )
        rows = zip(*(self._native.values(self._places[column.key], most) for column in shown))
        body = "".join("<tr>" + "".join(f"<td>{html.escape(_shown(value))}</td>" for value in row) + "</tr>" for row in rows)
        more = f"<p>{len(self) - most} more rows</p>" if len(self) > most else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


class Profile:
    """One run."""

    def __init__(self, runs: _native.Runs, index: int, paths: tuple[Path, ...]) -> None:
        #: The files and folders that were read, this run's among them.
        self.paths = paths
        self._runs = runs
        self._index = index

    @cached_property
    def report(self) -> dict[str, Any]:
        """The unified profile: a dict with the names of its JSON Schema (``crossprof schema``). Times say their unit in their names."""
        made: dict[str, Any] = json.loads(self._runs.report(self._index))
        return made

    @property
    def name(self) -> str:
        """What the run is called: the name of its folder or file."""
        metadata = self.report["metadata"]
        return str(metadata.get("run_name") or metadata.get("trace_file") or "run")

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What is to be improved, the gravest first: each with ``id``, ``severity``, ``title``, ``message`` and ``remedy``."""
        found: list[dict[str, Any]] = self.report.get("findings", [])
        return found

    def table(self, name: str, *, by: str = "", filter: str = "", sort: str | None = None, top: int | None = None) -> Table:  # noqa: A002
        """A table of the run, as ``crossprof table`` has it.

        Args:
            name: ``ops``, ``kernels``, ``steps``, ...: an unknown one is answered with all of them.
            by: One of the table's forms (``op-tree`` by ``scope``).
            filter: Words that rows must hold; ``category:fusion -copy``, ``total_self_time_us>50``.
            sort: Key of a column; with ``-`` in front the largest first.
            top: At most so many rows.

        Raises:
            ProfileError: There is no such table, form or column.
        """
        try:
            return Table(name, self._runs.table(self._index, name, by, filter, sort, top))
        except ValueError as error:
            raise ProfileError(str(error)) from None

    def html(self) -> str:
        """The report of the run as an HTML page that fetches nothing."""
        return self._runs.html(self._index)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report: ``.html`` the page, anything else the profile's JSON, which crossprof reads like a profile."""
        text = self.html() if str(path).lower().endswith((".html", ".htm")) else self._runs.report(self._index)
        Path(path).write_text(text, encoding="utf-8")

    def __repr__(self) -> str:
        metadata = self.report["metadata"]
        return f"<crossprof profile {self.name}: {metadata.get('device_type', metadata.get('platform'))}>"

    def _repr_html_(self) -> str:
        """Headline figures, findings and one step's picture for a notebook, in a frame: its style and the notebook's do not meet."""
        import html

        return (
            f'<iframe title="{html.escape(self.name)}" sandbox srcdoc="{html.escape(self._runs.card(self._index))}" '
            'style="width: 100%; height: 36em; border: 1px solid #8888"></iframe>'
        )


class Profiles(Sequence[Profile]):
    """The runs of some files. What a single one of them is asked, the first answers."""

    def __init__(self, runs: _native.Runs, paths: tuple[Path, ...]) -> None:
        self._profiles = [Profile(runs, index, paths) for index in range(len(runs))]
        #: Files that could not be read, each as a sentence.
        self.problems: list[str] = runs.problems()

    def __len__(self) -> int:
        return len(self._profiles)

    def __getitem__(self, index: Any) -> Any:
        return self._profiles[index]

    def __repr__(self) -> str:
        return f"<crossprof profiles: {', '.join(profile.name for profile in self)}>"


def open_all(
    *paths: str | os.PathLike[str],
    num_steps: int | None = None,
    batch_size: int | None = None,
    seq_length: int | None = None,
    device: str | None = None,
    model_config: str | os.PathLike[str] | None = None,
    window: str | None = None,
    progress: bool | None = None,
) -> Profiles:
    """Reads every run below some files and folders; :func:`open` has the arguments and errors."""
    if not paths:
        raise ProfileError("There is nothing to read: give a file or a folder.")
    try:
        with Bar(progress) as bar:
            runs = _native.read(
                [os.fspath(path) for path in paths],
                bar,
                num_steps=num_steps,
                batch_size=batch_size,
                seq_length=seq_length,
                device=device,
                model_config=model_config,
                window=window,
            )
    except ValueError as error:
        raise ProfileError(str(error)) from None
    return Profiles(runs, tuple(Path(path).absolute() for path in paths))


def open(path: str | os.PathLike[str], **known: Any) -> Profile:  # noqa: A001
    """Reads a run: a profile, an archive, or a folder, of which the last run by name is taken (:func:`open_all` gives all).

    Args:
        path: ``*.xplane.pb``, ``*.trace.json.gz``, a log folder, a profile's JSON, a report.
        **known: What the file cannot know: ``batch_size`` and ``seq_length`` (samples per step over all devices, tokens per sample),
            ``num_steps``, ``device``, ``model_config`` (a file), ``window`` (``"steps:2-4"``). And ``progress``: whether a bar says how far a
            long read is; without it on a terminal and in a notebook.

    Raises:
        ProfileError: There is no run.
    """
    profiles = open_all(path, **known)
    latest: Profile = max(profiles, key=lambda profile: profile.name) if len(profiles) > 1 else profiles[0]
    return latest


def compare(*profiles: Profile) -> dict[str, Any]:
    """Compares runs with the first: the document of ``crossprof compare --format json`` (``crossprof schema comparison``).

    Raises:
        ProfileError: There are fewer than two.
    """
    if len(profiles) < 2:
        raise ProfileError("A comparison needs two runs or more.")
    made: dict[str, Any] = json.loads(_native.compare([(profile._runs, profile._index) for profile in profiles]))
    return made
