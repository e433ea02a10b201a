"""A lake: the numbers of thousands of captures in Parquet files, which DuckDB, Spark and others query together.

Needs ``pip install crossprof[lake]``::

    from crossprof import lake

    status = lake.write("logs/run_17", "lake")       # once per capture; map it with any engine
    lake.connect("lake").sql("SELECT * FROM captures")

docs/fleet.md describes the tables.
"""

from __future__ import annotations

from importlib import import_module

#: Module of each public name. Importing this package imports neither pyarrow nor DuckDB.
_PLACES = {
    "write": "_write",
    "compact": "_compact",
    "connect": "_query",
    "regressions": "_regressions",
    "export": "_export",
    "captures": "_captures",
    "captures_below": "_paths",
    "ray": "_engines",
    "write_batch": "_engines",
    "spark": "_engines",
    "CrossprofSource": "_spark_source",
}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> object:
    module = _PLACES.get(name)
    if module is None:
        raise AttributeError(f"module 'crossprof.lake' has no attribute {name!r}")
    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
