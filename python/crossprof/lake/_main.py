"""``crossprof lake``: imports captures, and queries them."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from .._errors import ProfileError

_HELP = """\
  crossprof lake import 'gs-mirror/*/plugins/profile/*' --lake lake
  crossprof lake sql "SELECT run, typical_step_ps / 1e9 AS ms FROM captures ORDER BY captured_at"
  crossprof lake regressions --last 3 --against 10
  crossprof lake compact lake
  crossprof lake export --output trend.json.gz

Exit status: 0; 1 if a capture could not be read; 2 for invalid arguments; 3 if something became slower.
"""
#: The folder of the lake if ``--lake`` is not given.
_VARIABLE = "CROSSPROF_LAKE"


def main(arguments: list[str]) -> int:
    """Runs ``crossprof lake`` and returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="crossprof lake",
        description="Collect captures in Parquet files, query them with SQL, and find what became slower.",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, about: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
        made.add_argument(
            "--lake", default=os.environ.get(_VARIABLE, "lake"), metavar="DIR", help=f"folder or URL of the lake (%(default)s; or set {_VARIABLE})"
        )
        return made

    reading = command("import", "write captures to the lake")
    reading.add_argument("captures", nargs="+", metavar="GLOB", help="captures, folders with captures below them, URLs, or patterns")
    reading.add_argument("--jobs", type=_count, default=os.cpu_count() or 1, metavar="N", help="number of processes (%(default)s)")
    reading.add_argument("--events", action="store_true", help="also write every event")
    asking = command("sql", "print the result of a query")
    asking.add_argument("query", metavar="SQL", help="a query; the tables are those of docs/fleet.md")
    asking.add_argument("--format", choices=("table", "csv", "json"), default="table", help="form of the result (%(default)s)")
    finding = command("regressions", "list the workloads that became slower, with the cause and the first bad commit")
    finding.add_argument("--last", type=_count, default=3, metavar="N", help="number of captures that are compared (%(default)s)")
    finding.add_argument("--against", type=_count, default=10, metavar="N", help="number of captures before them (%(default)s)")
    finding.add_argument("--threshold", type=float, default=1.0, metavar="PERCENT", help="smallest relevant slow-down (%(default)s)")
    finding.add_argument("--record", action="store_true", help="also write the comparison of each workload to the table verdicts")
    finding.add_argument("--format", choices=("text", "json"), default="text", help="form of the result (%(default)s)")
    writing = command("export", "write the trend of each workload as JSON")
    merging = command("compact", "merge small files, so that queries over thousands of captures open a few files")
    for each in (writing, merging):
        each.add_argument("folder", nargs="?", metavar="LAKE", help="folder of the lake, instead of --lake")
    writing.add_argument("--output", metavar="FILE", help="file, compressed if its name ends in .gz (standard output)")
    call = parser.parse_args(arguments)
    try:
        run = {"import": _import, "sql": _sql, "regressions": _regressions, "export": _export, "compact": _compact}[call.command]
        return run(call)
    except ModuleNotFoundError as error:
        if error.name not in ("pyarrow", "duckdb", "numpy"):
            raise
        return _failed(f"{error.name} is not installed: pip install 'crossprof[lake]'.")
    except (ProfileError, OSError) as error:
        return _failed(str(error))


def _failed(message: str) -> int:
    print(f"crossprof: {message}", file=sys.stderr)
    return 2


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")
    return int(text)


def _import(call: argparse.Namespace) -> int:
    import pyarrow.parquet  # noqa: F401  Fails here rather than in each process.

    from ._captures import captures
    from ._compact import has_many_files
    from ._import import Bar, import_all

    try:
        paths = captures(call.captures)
    except ValueError as error:
        return _failed(str(error))
    bar = Bar(len(paths))
    failed: list[str] = []

    def watch(status: dict[str, Any]) -> None:
        bar(status)
        if status["status"] == "failed":
            failed.append(status["error"])

    try:
        counts = import_all(paths, call.lake, min(call.jobs, len(paths)), call.events, watch)
    finally:
        seconds = bar.close()
    for message in failed:
        print(f"crossprof: {message}", file=sys.stderr)
    words = ", ".join(f"{counts[status]} {status}" for status in ("written", "replaced", "unchanged", "failed") if status in counts)
    print(f"{len(paths)} captures in {seconds:.1f} s: {words}. {bar.events} events.")
    try:
        if has_many_files(call.lake):
            _merge(call.lake)
    except OSError as error:
        # The lake is complete without merged files.
        print(f"crossprof: small files were not merged: {error}", file=sys.stderr)
    return 1 if failed else 0


def _sql(call: argparse.Namespace) -> int:
    import duckdb

    from ._query import connect, remedy

    try:
        result = connect(call.lake).sql(call.query)
        if result is None:
            return 0
        if call.format == "table":
            print(result)
            return 0
        names, rows = result.columns, result.fetchall()
    except duckdb.Error as error:
        return _failed(f"{error}{remedy(error)}")
    if call.format == "json":
        print(json.dumps([dict(zip(names, row)) for row in rows], default=str, indent=1))
    else:
        import csv

        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)
    return 0


def _regressions(call: argparse.Namespace) -> int:
    from ._regressions import regressions

    found = regressions(call.lake, last=call.last, against=call.against, threshold=call.threshold, record=call.record)
    if call.format == "json":
        print(json.dumps(found, indent=1))
    else:
        print("\n".join(line for each in found for line in lines(each)) or "No workload became slower.")
    return 3 if found else 0


def _export(call: argparse.Namespace) -> int:
    from ._export import export, text_of, write_export

    document = export(call.folder or call.lake)
    if call.output:
        write_export(document, call.output)
    else:
        sys.stdout.write(text_of(document))
    return 0


def _compact(call: argparse.Namespace) -> int:
    _merge(call.folder or call.lake)
    return 0


def _merge(lake: str) -> None:
    from ._compact import compact

    done = compact(lake)
    print(f"Merged files repeat {done['files']} files and have {done['bytes'] / 1e6:.1f} MB: {done['merged']} written in {done['seconds']:.1f} s.")


def lines(found: dict[str, Any]) -> Iterator[str]:
    """Describes a regression as text."""
    devices = f"{found['num_devices']} x {found['device_kind']}"
    first, good = found["first_bad"], found["last_good"]
    yield (
        f"{found['program'] or first['run']} on {devices}: a step takes {_ms(found['after_us'])} instead of {_ms(found['before_us'])} "
        f"({found['percent']:+.1f} % ± {found['margin_percent'] or 0:.1f}). Workload {found['workload_key']}."
    )
    # Without a change point, these are only the neighbours of the two groups that were compared.
    words = ("First bad", "Last good") if found["is_change_point"] else ("First of the slower captures", "Last of the others")
    yield f"  {words[0]}: {_where(first)}. {words[1]}: {_where(good)}."
    for cause in found["because"]:
        scope = f" in {cause['scope']}" if cause.get("scope") else ""
        yield f"  {cause['kind'].capitalize()} {cause['name']}{scope}: {_ms(cause['slower_us'])} more ({cause['percent_of_slowdown']:.0f} % of it)."
    if found["least_provable_percent"] is not None:
        yield f"  These {sum(found['captures'])} captures would show a difference of {found['least_provable_percent']:.1f} %."


def _where(capture: dict[str, Any]) -> str:
    commit = f"commit {capture['git_sha'][:12]}" if capture["git_sha"] else capture["path"]
    return f"{commit} ({capture['captured_at']})"


def _ms(us: float) -> str:
    return f"{us / 1000:.4g} ms"
