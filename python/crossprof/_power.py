"""Samples power, clocks, temperature and memory of NVIDIA GPUs during a capture, because no trace contains them.

A separate thread calls NVML, the library behind ``nvidia-smi``. The program's own threads never wait for this thread.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from ._log import log

#: Seconds between two samples. NVML renews the values every 0.1 s, so this is the error of the time of a change.
_INTERVAL = 0.02
#: The thread sleeps at least this many times as long as the cheapest sample took, so that it uses less than 5 % of a core. The first
#: samples are much more expensive.
_SLEEP_PER_COST = 20
#: Above this number of samples, every second one is dropped and the interval doubles.
_MOST_SAMPLES = 1024

_SM, _MEMORY = 1, 2
_POWER_INSTANT = 186
_POWER_SCOPE_GPU = 0


class _FieldValue(ctypes.Structure):
    _fields_ = [
        ("field", ctypes.c_uint),
        ("scope", ctypes.c_uint),
        ("timestamp", ctypes.c_longlong),
        ("latency", ctypes.c_longlong),
        ("kind", ctypes.c_int),
        ("result", ctypes.c_int),
        ("value", ctypes.c_ulonglong),
    ]


class _MemoryInfo(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Nvml:
    """The functions of NVML that the sampler calls. Each function returns None if the driver or the GPU does not support it."""

    def __init__(self) -> None:
        """Loads the library.

        Raises:
            OSError: There is no NVIDIA driver.
        """
        self._library = ctypes.CDLL("libnvidia-ml.so.1")
        if self._library.nvmlInit_v2() != 0:
            raise OSError("NVML does not start")

    def device(self, name: str) -> ctypes.c_void_p | None:
        """Returns NVML's handle of the GPU with this index or UUID."""
        handle = ctypes.c_void_p()
        if name.isdecimal():
            failed = self._library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(int(name)), ctypes.byref(handle))
        else:
            failed = self._library.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(handle))
        return None if failed else handle

    def _number(self, name: str, handle: ctypes.c_void_p, *arguments: int, kind: Any = ctypes.c_uint) -> Any:
        function = getattr(self._library, name, None)
        value = kind()
        if function is None or function(handle, *map(ctypes.c_uint, arguments), ctypes.byref(value)) != 0:
            return None
        return value if isinstance(value, ctypes.Structure) else value.value

    def power_w(self, handle: ctypes.c_void_p) -> float | None:
        """Returns the current power. Drivers that do not measure the current power return its mean over the last second."""
        field = _FieldValue(field=_POWER_INSTANT, scope=_POWER_SCOPE_GPU)
        function = getattr(self._library, "nvmlDeviceGetFieldValues", None)
        if function is not None and function(handle, 1, ctypes.byref(field)) == 0 and field.result == 0:
            return (field.value & 0xFFFFFFFF) / 1e3
        mean = self._number("nvmlDeviceGetPowerUsage", handle)
        return None if mean is None else mean / 1e3

    def power_limit_w(self, handle: ctypes.c_void_p) -> float | None:
        limit = self._number("nvmlDeviceGetEnforcedPowerLimit", handle)
        return None if limit is None else limit / 1e3

    def sm_clock_mhz(self, handle: ctypes.c_void_p) -> int | None:
        return self._number("nvmlDeviceGetClockInfo", handle, _SM)

    def memory_clock_mhz(self, handle: ctypes.c_void_p) -> int | None:
        return self._number("nvmlDeviceGetClockInfo", handle, _MEMORY)

    def sm_clock_limit_mhz(self, handle: ctypes.c_void_p) -> int | None:
        return self._number("nvmlDeviceGetMaxClockInfo", handle, _SM)

    def temperature_c(self, handle: ctypes.c_void_p) -> int | None:
        return self._number("nvmlDeviceGetTemperature", handle, 0)

    def clock_reasons(self, handle: ctypes.c_void_p) -> int | None:
        """Returns the bits of the reasons why the clock is below its maximum."""
        reasons = self._number("nvmlDeviceGetCurrentClocksEventReasons", handle, kind=ctypes.c_ulonglong)
        if reasons is None:
            reasons = self._number("nvmlDeviceGetCurrentClocksThrottleReasons", handle, kind=ctypes.c_ulonglong)
        return reasons

    def memory_used_bytes(self, handle: ctypes.c_void_p) -> int | None:
        memory = self._number("nvmlDeviceGetMemoryInfo", handle, kind=_MemoryInfo)
        return None if memory is None else memory.used


#: Values of a sample. Each is a method of :class:`Nvml`.
_VALUES = ("power_w", "sm_clock_mhz", "memory_clock_mhz", "temperature_c", "clock_reasons", "memory_used_bytes")
_LIMITS = ("power_limit_w", "sm_clock_limit_mhz")


class Sampler:
    """Samples the GPUs of this process from its creation to :meth:`end`."""

    def __init__(self, nvml: Any, devices: list[tuple[int, Any]], clock: Callable[[], int] = time.time_ns) -> None:
        """``devices`` contains the number of each GPU in the trace, and the GPU's handle."""
        self._nvml = nvml
        self._devices = devices
        self._clock = clock
        self._start_ns = clock()
        self._samples: list[list[list[Any]]] = [[] for _ in devices]
        self._interval = _INTERVAL
        self._cost = float("inf")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="crossprof power", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                self._sample()
                # The first sample also loads parts of the driver.
                pause = _SLEEP_PER_COST * self._cost if len(self._samples[0]) > 1 else 0.0
                self._ended.wait(max(self._interval, pause))
            self._sample()
        except Exception as error:
            log.debug("The GPUs' power could not be sampled: %s", error)

    def _sample(self) -> None:
        begun = time.perf_counter()
        for (_, handle), samples in zip(self._devices, self._samples):
            at = self._clock()
            values = [getattr(self._nvml, name)(handle) for name in _VALUES]
            samples.append([(at + self._clock()) // 2 - self._start_ns, *values])
        self._cost = min(self._cost, time.perf_counter() - begun)
        if self._samples and len(self._samples[0]) > _MOST_SAMPLES:
            self._samples = [samples[::2] for samples in self._samples]
            self._interval *= 2

    def end(self) -> dict[str, Any] | None:
        """Stops the sampling, and returns the samples of each GPU, or None if there are no samples."""
        self._ended.set()
        self._thread.join(timeout=2.0)
        devices = []
        for (number, handle), samples in zip(self._devices, self._samples):
            columns = list(zip(*samples))
            if not columns:
                continue
            made: dict[str, Any] = {"device": number, "times_us": [time // 1000 for time in columns[0]]}
            made.update({name: list(column) for name, column in zip(_VALUES, columns[1:]) if None not in column})
            limits = {name: getattr(self._nvml, name)(handle) for name in _LIMITS}
            made.update({name: limit for name, limit in limits.items() if limit is not None})
            devices.append(made)
        return {"source": "NVML", "start_unix_ns": self._start_ns, "devices": devices} if devices else None


def begin() -> Sampler | None:
    """Starts a sampler for this process's GPUs. Returns None if there are no GPUs or if NVML is missing."""
    import jax

    if jax.default_backend() != "gpu":
        return None
    try:
        nvml = Nvml()
        local = [getattr(device, "local_hardware_id", device.id) for device in jax.local_devices()]
        names = [(number, _nvml_name(number)) for number in local if number is not None]
        handles = [(number, nvml.device(name)) for number, name in names if name is not None]
        found = [(number, handle) for number, handle in handles if handle is not None]
        return Sampler(nvml, found) if found else None
    except Exception as error:
        log.debug("The GPUs' power is not sampled: %s", error)
        return None


def _nvml_name(number: int) -> str | None:
    """Returns the index or UUID that NVML uses for the GPU with this ``number`` in this process. NVML ignores
    CUDA_VISIBLE_DEVICES."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return str(number)
    names = [name.strip() for name in visible.split(",")]
    # The clock of a part of a GPU (MIG) is that of the whole GPU, which other programs use as well.
    return names[number] if number < len(names) and not names[number].startswith("MIG") else None
