"""Capture, view and analyse JAX profiles.

Capturing (needs JAX)::

    with crossprof.trace("profiles"):
        ...
    with crossprof.capture("profiles", wait=10, active=5) as capture:
        for batch in data:
            state = train_step(state, batch)
            capture.step(state)

Analysing::

    profile = crossprof.open("profiles")
    profile.report["step_timing"]["avg_step_time_us"]
    profile.table("ops", sort="-total_self_time_us", top=10).pandas()
    profile.hlo(op="fusion.273")
    print(profile.digest(max_bytes=2000))
    profile.hlo("jit_step", against="new")
    crossprof.compare("main", "new", price=2.5)["summary"]
    crossprof.check(profile, limits="step_timing.avg_step_time_us < 150 ms")["holds"]

Many captures (needs ``crossprof[lake]``)::

    crossprof.lake.write("logs/run_17", "lake")
    crossprof.lake.connect("lake").sql("SELECT * FROM captures")

Importing this package is fast. The import does not import JAX.
"""

from __future__ import annotations

from importlib import import_module

#: Module of each public name.
_PLACES = {
    "_native": ("__version__",),
    "_capture": ("Capture", "capture"),
    "_trace": ("Trace", "trace"),
    "_names": ("CaptureError",),
    "_compare": ("check", "compare"),
    "_errors": ("ColumnError", "ProfileError"),
    "_profile": ("Profile", "Profiles", "Program", "ask", "open", "open_all", "tables"),
    "_table": ("Column", "Table", "TableInfo"),
    "_parameters": ("parameter_counts",),
    "_show": ("Shown", "show"),
    "_window": ("Captured",),
    "_environment": ("ProfilingConfig", "get_profiling_config", "maybe_profile"),
    "_step_profiler": ("Profiler", "add_arguments", "from_args"),
    "_timing": ("benchmark_function", "time_jax_function"),
    "_originals": (
        "ProfileContext",
        "create_profiled_test_function",
        "print_tensorboard_summary",
        "profile_function",
        "profile_methods",
        "profile_scope",
        "profile_trace",
        "run_with_jax_profiler",
        "setup_tensorboard_logging",
    ),
    "_flops": ("FlopCounter", "create_flop_counter_from_model"),
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names}

__all__ = sorted([*_MODULES, "lake"])


def __getattr__(name: str) -> object:
    if name == "lake":
        return import_module(".lake", __name__)
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'crossprof' has no attribute {name!r}")
    value = getattr(import_module(f".{module}", __name__), name)
    # Later accesses find the name without this function.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
