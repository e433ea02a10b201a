"""Profiles that were read: their reports, tables and findings."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Union, cast, overload

from . import _native
from ._errors import ProfileError, checked_count, checked_numbers, sentence
from ._log import log
from ._progress import Bar
from ._sources import Gathered, Sources, is_one
from ._table import Table, TableInfo


class Program(NamedTuple):
    """A compiled program of a run."""

    #: Name with the number of the program: ``jit_step(17)``.
    name: str
    #: Number of instructions. ``None`` for an earlier stage of a dump.
    instructions: int | None
    #: Self time of its ops in the measured window. ``None`` if none ran there.
    time_us: float | None


class Profile:
    """One run."""

    def __init__(self, runs: _native.Runs, index: int, paths: tuple[Path | str, ...], known: dict[str, Any] | None = None) -> None:
        #: All files, folders and URLs that were read. This run comes from some of them. Empty if only contents were read.
        self.paths = paths
        self._loaded: _native.Runs | None = runs
        self._index = index
        self._known = known or {}

    @property
    def _runs(self) -> _native.Runs:
        if self._loaded is None:
            self._loaded = self._read_again()
        return self._loaded

    def _read_again(self) -> _native.Runs:
        """Restores a pickled run from its files, if the files still give the same report. If the files give another report,
        restores the run from the pickled report."""
        document = json.dumps(self.report)
        try:
            runs = _read(Gathered(self.paths), False, self._known)
            if self._index < len(runs) and json.loads(runs.report(self._index)) == self.report:
                return runs
        except ValueError:
            pass
        self._index = 0
        return _native.of_document(document)

    def __getstate__(self) -> dict[str, Any]:
        return {"paths": self.paths, "index": self._index, "known": self._known, "report": self.report}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.paths, self._index, self._known = state["paths"], state["index"], state["known"]
        self._loaded = None
        self.__dict__["report"] = state["report"]

    @cached_property
    def report(self) -> dict[str, Any]:
        """The unified profile, as a dict whose keys are the names in its JSON Schema (``crossprof schema``). The names of times
        contain the unit."""
        made: dict[str, Any] = json.loads(self._runs.report(self._index))
        return made

    @property
    def name(self) -> str:
        """Name of the run: the name of its folder or file."""
        metadata = self.report["metadata"]
        return str(metadata.get("run_name") or metadata.get("trace_file") or "run")

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Findings, most severe first. Each finding has ``id``, ``severity``, ``title``, ``message`` and ``remedy``."""
        found: list[dict[str, Any]] = self.report.get("findings", [])
        return found

    @property
    def warnings(self) -> list[dict[str, Any]]:
        """Warnings about lost, damaged or unusual data. Each warning has ``code``, ``severity`` and ``message``."""
        found: list[dict[str, Any]] = self.report.get("warnings", [])
        return found

    def tables(self) -> list[TableInfo]:
        """Returns the tables that :meth:`table` can return, each with a one-line description. For some tables, the run may have no
        rows."""
        return tables()

    def table(self, name: str, *, by: str = "", filter: str = "", sort: str | None = None, top: int | None = None) -> Table:  # noqa: A002
        """Returns a table of the run, like ``crossprof table``.

        Args:
            name: ``ops``, ``kernels``, ``steps``, ... The error for an unknown name lists all tables.
            by: One of the table's forms (``op-tree`` by ``scope``).
            filter: Words that rows must contain, such as ``category:fusion -copy`` or ``total_self_time_us>50``.
            sort: Key of the column to sort by. A ``-`` in front of the key puts the largest value first.
            top: Maximum number of rows.

        Raises:
            ProfileError: The table, form or column does not exist, the filter does not fit the table, or ``top`` is negative.
        """
        checked_count("top", top, least=0)
        if not isinstance(name, str):
            raise ProfileError(f"The name of a table is needed, not {name!r}: tables() lists the names.")
        try:
            return Table(name, self._runs.table(self._index, name, by, filter, sort, top))
        except ValueError as error:
            raise sentence(error) from None

    def digest(self, max_bytes: int = 2000, *, format: str = "text") -> str:  # noqa: A002
        """Returns a summary of the run for an agent, like ``crossprof digest``.

        Args:
            max_bytes: Largest size in bytes, at least 800. Items that do not fit are left out and counted.
            format: ``"text"``, or ``"json"`` for one line of JSON (``crossprof schema digest``).

        Raises:
            ProfileError: An argument is invalid.
        """
        checked_count("max_bytes", max_bytes, least=800)
        if format not in ("text", "json"):
            raise ProfileError(f'format is "text" or "json", not {format!r}.')
        return self._runs.digest(self._index, max_bytes, format == "json")

    def timeline(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        step: str | int | None = None,
        start: str | float | None = None,
        end: str | float | None = None,
        lines: Iterable[str] = (),
        width: int = 1600,
        dark: bool = False,
        hosts: bool = False,
    ) -> str:
        """Returns the timeline of a step or a range as an SVG, like ``crossprof timeline``.

        Args:
            path: Also write the timeline to this file: an SVG, or a Chrome trace of the range if the name ends with ``.json`` or
                ``.json.gz``.
            step: Draw the step with this name, or with this index if no step has the name.
            start: Start at this time, measured from the start of the capture: ``"1.2s"``, ``"15ms"``, or a number of microseconds.
            end: End at this time.
            lines: Draw only the tracks with these names: ``"GPU:0/Stream*"``.
            width: Width in pixels, 400 to 20,000.
            dark: Draw on a dark background.
            hosts: Also draw host threads if the run has devices.

        Returns:
            The SVG. The text is empty if a Chrome trace was written.

        Raises:
            ProfileError: The step, range or track does not exist, or the profile is a document without events.
        """
        if step is not None and (start is not None or end is not None):
            raise ProfileError("step cannot be given with start and end.")
        if isinstance(width, bool) or not isinstance(width, int) or not 400 <= width <= 20_000:
            raise ProfileError(f"width must be a whole number from 400 to 20000, not {width!r}.")
        try:
            content, left_out = self._runs.timeline(
                self._index,
                step=None if step is None else str(step),
                start=None if start is None else str(start),
                end=None if end is None else str(end),
                lines=[lines] if isinstance(lines, str) else list(lines),
                width=width,
                dark=dark,
                hosts=hosts,
                output=None if path is None else os.fspath(path),
            )
        except ValueError as error:
            raise sentence(error) from None
        for problem in left_out:
            log.warning("%s", problem)
        if path is not None:
            Path(path).expanduser().write_bytes(content)
            if str(path).endswith((".json", ".json.gz")):
                return ""
        return content.decode()

    def programs(self) -> list[Program]:
        """Returns the compiled programs of the run, most device time first. The list is empty if the run's files contain no
        programs (HLO)."""
        return [Program(name, instructions, time) for name, instructions, time in self._runs.programs(self._index)]

    def hlo(
        self,
        program: str | int | None = None,
        *,
        op: str | None = None,
        radius: int = 1,
        computation: str | None = None,
        by: str = "layers",
        open: Iterable[str] = (),  # noqa: A002
        critical_path: bool = False,
        against: Profile | Sources | None = None,
        against_program: str | int | None = None,
        format: str = "text",  # noqa: A002
    ) -> str:
        """Returns a compiled program of the run, like ``crossprof hlo``: its text with the time of each instruction, its graph, or its
        difference from another program.

        Args:
            program: Name with or without the number (``"jit_step(17)"``), number or fingerprint. Not needed if there is only one
                program, or if only one program contains the op.
            op: Return the neighbourhood of this instruction.
            radius: Number of steps from ``op`` to the farthest operands and users.
            computation: Return this computation.
            by: Groups of a graph: ``"layers"``, ``"scopes"`` or ``"computations"``.
            open: Paths of groups of a graph to open (``"forward/layer_*"``), or ``"all"``.
            critical_path: Return the chain of dependent instructions with the most device time.
            against: A profile or its path. Return the instructions that are new, gone or changed in the program of ``against``.
            against_program: The program of ``against``. By default, the program with the same name. If there is no ``against``, a
                program of this run.
            format: ``"text"``, ``"json"`` (for Model Explorer; for a difference, all its instructions), ``"node-data"``, ``"dot"``,
                ``"svg"`` or ``"jax"`` (a script that runs ``op`` alone).

        Raises:
            ProfileError: There is no such program, op or computation, or an argument is invalid.
        """
        checked_count("radius", radius, least=0)
        other = None if against is None else _profile(against)
        try:
            return self._runs.hlo(
                self._index,
                program=None if program is None else str(program),
                op=op,
                radius=radius,
                computation=computation,
                by=by,
                open=[open] if isinstance(open, str) else list(open),
                critical_path=critical_path,
                against=None if other is None else (other._runs, other._index),
                against_program=None if against_program is None else str(against_program),
                format=format,
            )
        except ValueError as error:
            raise sentence(error) from None

    def html(self) -> str:
        """Returns the report of the run as a self-contained HTML page."""
        return self._runs.html(self._index)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report. The extension of the path selects the format: ``.html`` gives the HTML page. Any other extension gives
        the profile's JSON, which crossprof can read like a profile.
        """
        text = self.html() if str(path).lower().endswith((".html", ".htm")) else self._runs.report(self._index)
        Path(path).expanduser().write_text(text, encoding="utf-8")

    def __repr__(self) -> str:
        metadata = self.report["metadata"]
        return f"<crossprof profile {self.name}: {metadata.get('device_type', metadata.get('platform'))}>"

    def _repr_html_(self) -> str:
        """Shows headline figures, findings and a picture of one step in a notebook. The output is in a frame, so that its style
        does not affect the notebook."""
        import html

        return (
            f'<iframe title="{html.escape(self.name)}" sandbox srcdoc="{html.escape(self._runs.card(self._index))}" '
            'style="width: 100%; height: 36em; border: 1px solid #8888"></iframe>'
        )


def ask(tool: str, capture: str | os.PathLike[str] | None = None, *, question: str | None = None, **arguments: Any) -> dict[str, Any]:
    """Calls a tool for agents and returns its answer, like ``crossprof ask``.

    Args:
        tool: ``open``, ``digest``, ``table``, ``range``, ``op`` or ``compare``. docs/agents.md describes them.
        capture: Path of the capture.
        question: For ``open``: what the capture should answer (``"collectives"``).
        **arguments: Other arguments of the tool: ``table="ops"``, ``limit=5``, ``baseline="main"``, ``max_bytes=2000``.

    Raises:
        ProfileError: There is no such tool, an argument is wrong, or the capture cannot be read.
    """
    given = {"capture": None if capture is None else os.fspath(capture), "for": question, **arguments}
    asked = {name: value for name, value in given.items() if value is not None}
    try:
        answer: dict[str, Any] = json.loads(_native.ask(tool, json.dumps(asked, default=os.fspath)))
    except ValueError as error:
        raise sentence(error) from None
    return answer


class Profiles(Sequence[Profile]):
    """The runs of some files. The attributes of :class:`Profile` return the values of the first run."""

    def __init__(self, runs: _native.Runs, paths: tuple[Path | str, ...], known: dict[str, Any] | None = None) -> None:
        self._profiles = [Profile(runs, index, paths, known) for index in range(len(runs))]
        #: Files that could not be read, one sentence each.
        self.problems: list[str] = runs.problems()

    def __len__(self) -> int:
        return len(self._profiles)

    @overload
    def __getitem__(self, index: int) -> Profile: ...

    @overload
    def __getitem__(self, index: slice) -> list[Profile]: ...

    def __getitem__(self, index: int | slice) -> Profile | list[Profile]:
        return self._profiles[index]

    def __repr__(self) -> str:
        return f"<crossprof profiles: {', '.join(profile.name for profile in self)}>"


def tables() -> list[TableInfo]:
    """Returns all tables that :meth:`Profile.table` can return, each with a one-line description."""
    return [TableInfo(name, description, tuple(forms)) for name, description, forms in _native.tables()]


def open_all(
    *paths: Sources,
    num_steps: int | None = None,
    batch_size: int | None = None,
    seq_length: int | None = None,
    device: str | None = None,
    model_config: str | os.PathLike[str] | None = None,
    window: str | None = None,
    price: float | None = None,
    progress: bool | None = None,
) -> Profiles:
    """Reads every run of some sources. See :func:`open` for arguments and errors."""
    for name, value in (("num_steps", num_steps), ("batch_size", batch_size), ("seq_length", seq_length)):
        checked_count(name, value)
    gathered = Gathered(paths)
    if not gathered.files and not gathered.streams:
        raise ProfileError("There is nothing to read: give a file or a folder.")
    known: dict[str, Any] = {
        "num_steps": num_steps,
        "batch_size": batch_size,
        "seq_length": seq_length,
        "device": device,
        "model_config": None if model_config is None else os.fspath(Path(model_config).expanduser()),
        "window": window,
        "price": next(iter(checked_numbers("price", price)), None),
    }
    return Profiles(_read(gathered, progress, known), tuple(gathered.names), known)


def _read(gathered: Gathered, progress: bool | None, known: dict[str, Any]) -> _native.Runs:
    try:
        with Bar(progress) as bar:
            return _native.read([os.fspath(path) for path in gathered.files], gathered.streams, bar, **known)
    except ValueError as error:
        raise sentence(error) from None
    finally:
        gathered.stop()


def open(  # noqa: A001
    path: Sources,
    *,
    num_steps: int | None = None,
    batch_size: int | None = None,
    seq_length: int | None = None,
    device: str | None = None,
    model_config: str | os.PathLike[str] | None = None,
    window: str | None = None,
    price: float | None = None,
    progress: bool | None = None,
) -> Profile:
    """Reads a run from a profile, an archive or a folder. If a folder contains several runs, returns the last run by name
    (:func:`open_all` returns all runs).

    Args:
        path: ``*.xplane.pb``, ``*.trace.json.gz``, a log folder, a profile's JSON, a report, a list of these (the files of several
            hosts), or a pattern (``"~/runs/*/profiles"``). Also the URL of one of these (``"gs://bucket/runs/*"``; needs
            ``crossprof[remote]``), the bytes of a file, or a file that was opened in binary mode.
        num_steps: Number of steps in the capture. This number replaces the number that is found in the capture.
        batch_size: Samples per step over all devices.
        seq_length: Tokens per sample.
        device: The device whose peak rates are used.
        model_config: A file that describes the model.
        window: Part of the capture to measure, such as ``"steps:2-4"``.
        price: Price of one device in dollars per hour. With a price, ``profile.report["goodput"]`` contains the price of lost time.
        progress: Show a progress bar for long reads. By default, a bar is shown on a terminal and in a notebook.

    Raises:
        ProfileError: There is no run, or an argument is invalid.
    """
    profiles = open_all(
        path,
        num_steps=num_steps,
        batch_size=batch_size,
        seq_length=seq_length,
        device=device,
        model_config=model_config,
        window=window,
        price=price,
        progress=progress,
    )
    for problem in profiles.problems:
        log.warning("%s", problem)
    return max(profiles, key=lambda profile: profile.name) if len(profiles) > 1 else profiles[0]


def _profile(run: Profile | Sources) -> Profile:
    """Returns a run. Reads the run's file if needed.

    Raises:
        ProfileError: The file contains no run.
    """
    return run if isinstance(run, Profile) else profiles_of(run)[0]


#: A run, the runs of some files, or sources.
Runs = Union[Profile, Profiles, Sources]


def profiles_of(runs: Runs | Iterable[Runs]) -> list[Profile]:
    """Returns the runs that a caller passes, and reads files if needed.

    Raises:
        ProfileError: A file contains no run.
    """
    if isinstance(runs, Profile):
        return [runs]
    if isinstance(runs, Profiles):
        return list(runs)
    if not is_one(runs) and isinstance(runs, Iterable):
        return [profile for each in runs for profile in profiles_of(cast(Runs, each))]
    try:
        return [open(cast(Sources, runs))]
    except TypeError:
        raise ProfileError(f"A profile or its path is needed, not {runs!r}.") from None
