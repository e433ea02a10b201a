"""Checks the options of the profiler, because JAX silently ignores misspelt options."""

from __future__ import annotations

import difflib
from typing import Any

#: Fields of ``jax.profiler.ProfileOptions`` that have an effect, with the default values of this package.
DEFAULTS: dict[str, Any] = {
    # The Python tracer makes calls ten times slower, so it would distort the measured times.
    "python_tracer_level": 0,
    "host_tracer_level": 2,
    "enable_hlo_proto": True,
}

_TYPES: dict[str, type] = {
    "python_tracer_level": int,
    "host_tracer_level": int,
    "enable_hlo_proto": bool,
    "include_dataset_ops": bool,
}

#: Fields that JAX accepts but ``start_trace`` ignores, each with a remedy.
_WITHOUT_EFFECT = {
    "device_tracer_level": "Device tracing is always on. To turn it off, give advanced={'device_tracer_level': 0}.",
    "duration_ms": "The capture ends with its steps: give active=...",
    "start_timestamp_ns": "The capture starts with its steps: give wait=...",
    "repository_path": "The folder is the first argument.",
    "session_id": "Session names are unique. To add to the name, give label=...",
    "override_hostname": "Files are named after the machine and the process.",
    "raise_error_on_start_failure": "It is always set.",
    "advanced_configuration": "Give advanced={...}.",
}

#: Keys of ``advanced_configuration`` that the TPU and GPU profilers read.
ADVANCED: dict[str, type] = {
    "device_tracer_level": int,
    "tpu_trace_mode": str,
    "tpu_num_sparse_cores_to_trace": int,
    "tpu_num_sparse_core_tiles_to_trace": int,
    "tpu_num_chips_to_profile_per_task": int,
    "tpu_perf_counters": bool,
    "tpu_power_trace_level": int,
    "tpu_enable_fw_pcie_utilization_event": bool,
    "tpu_e2e_enable_fw_throttle_event": bool,
    "tpu_e2e_enable_fw_power_level_event": bool,
    "tpu_e2e_enable_fw_thermal_event": bool,
    "tpu_circular_buffer_tracing": bool,
    "tpu_enable_periodic_counter_sampling": bool,
    "tpu_tc_perf_counter_sampling_options": str,
    "tpu_scs_perf_counter_sampling_options": str,
    "tpu_sctc_perf_counter_sampling_options": str,
    "tpu_sctd_perf_counter_sampling_options": str,
    "tpu_cmn_perf_counter_sampling_options": str,
    "tpu_icr_perf_counter_sampling_options": str,
    "tpu_cpu_perf_counter_profile_events": str,
    "max_trace_buffers": int,
    "enable_continuous_profiling": bool,
    "gpu_max_callback_api_events": int,
    "gpu_max_activity_api_events": int,
    "gpu_max_annotation_strings": int,
    "gpu_enable_nvtx_tracking": bool,
    "gpu_enable_cupti_activity_graph_trace": bool,
    "gpu_pm_sample_counters": str,
    "gpu_pm_sample_interval_us": int,
    "gpu_pm_sample_buffer_size_per_gpu_mb": int,
    "gpu_num_chips_to_profile_per_task": int,
    "gpu_dump_graph_node_mapping": bool,
}

_MODES = ("TRACE_ONLY_HOST", "TRACE_ONLY_XLA", "TRACE_COMPUTE", "TRACE_COMPUTE_AND_SYNC")


def checked(options: dict[str, Any] | None, advanced: dict[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the effective options: the options that were passed, and the defaults of all others.

    Raises:
        ValueError: An option does not exist, has no effect, or has an invalid value.
        TypeError: The value of an option has the wrong type.
    """
    chosen = {**DEFAULTS, **(options or {})}
    for name, value in chosen.items():
        if name in _WITHOUT_EFFECT:
            raise ValueError(f"The option {name} has no effect in JAX. {_WITHOUT_EFFECT[name]}")
        _check("option", name, value, _TYPES)
    if not 0 <= chosen["host_tracer_level"] <= 3:
        raise ValueError(f"host_tracer_level must be 0 (off) to 3 (everything), not {chosen['host_tracer_level']}.")
    if chosen["python_tracer_level"] not in (0, 1):
        raise ValueError(f"python_tracer_level must be 0 (off) or 1 (on), not {chosen['python_tracer_level']}.")
    extra = dict(advanced or {})
    for name, value in extra.items():
        _check("advanced option", name, value, ADVANCED)
    if extra.get("tpu_trace_mode", _MODES[0]) not in _MODES:
        raise ValueError(f"tpu_trace_mode must be one of {', '.join(_MODES)}, not {extra['tpu_trace_mode']!r}.")
    return chosen, extra


def _check(what: str, name: str, value: Any, types: dict[str, type]) -> None:
    expected = types.get(name)
    if expected is None:
        near = difflib.get_close_matches(name, types, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise ValueError(f"There is no {what} {name!r}.{hint} There are: {', '.join(sorted(types))}.")
    if type(value) is not expected:
        raise TypeError(f"The {what} {name} must be {expected.__name__}, not {type(value).__name__} ({value!r}).")


def profile_options(options: dict[str, Any], advanced: dict[str, Any]) -> Any:
    """Returns the checked options as a JAX object."""
    import jax

    made = jax.profiler.ProfileOptions()
    for name, value in options.items():
        setattr(made, name, value)
    made.raise_error_on_start_failure = True
    if advanced:
        made.advanced_configuration = advanced
    return made
