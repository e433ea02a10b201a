"""Tests the sampler of power and clocks with a device that reports known values."""

from __future__ import annotations

import time

import pytest
from crossprof import _power


class Device:
    """Reports a power that grows by 1 W with each sample, and no temperature."""

    def __init__(self) -> None:
        self.samples = 0

    def power_w(self, handle: str) -> float:
        self.samples += 1
        return 100.0 + self.samples

    def sm_clock_mhz(self, handle: str) -> int:
        return 1980

    def clock_reasons(self, handle: str) -> int:
        return 4

    def power_limit_w(self, handle: str) -> float:
        return 700.0

    def memory_clock_mhz(self, handle: str) -> None:
        return None

    temperature_c = memory_used_bytes = sm_clock_limit_mhz = memory_clock_mhz


def test_samples_have_the_times_of_the_clock_and_only_known_values() -> None:
    device = Device()
    begun = time.time_ns()
    sampler = _power.Sampler(device, [(3, "gpu")])
    time.sleep(0.2)
    made = sampler.end()
    ended = time.time_ns()
    assert made is not None and made["source"] == "NVML"
    (gpu,) = made["devices"]
    assert gpu["device"] == 3 and gpu["power_limit_w"] == 700.0
    assert {"temperature_c", "memory_clock_mhz", "sm_clock_limit_mhz"}.isdisjoint(gpu)
    count = device.samples
    assert 3 <= count <= 12, "one every 20 ms, and one at the end"
    assert gpu["power_w"] == [101.0 + index for index in range(count)]
    assert gpu["sm_clock_mhz"] == [1980] * count and gpu["clock_reasons"] == [4] * count
    times = [made["start_unix_ns"] + 1000 * at for at in gpu["times_us"]]
    assert times == sorted(times) and begun - 1000 <= times[0] and times[-1] <= ended


def test_long_captures_keep_a_bounded_number_of_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_power, "_INTERVAL", 0.001)
    monkeypatch.setattr(_power, "_MOST_SAMPLES", 20)
    device = Device()
    sampler = _power.Sampler(device, [(0, "gpu")])
    deadline = time.time() + 10
    while device.samples < 60 and time.time() < deadline:
        time.sleep(0.01)
    made = sampler.end()
    assert made is not None
    (gpu,) = made["devices"]
    assert device.samples >= 60 and len(gpu["times_us"]) <= 21
    assert gpu["power_w"][0] == 101.0 and gpu["power_w"] == sorted(gpu["power_w"])


def test_visible_devices_are_found_by_index_and_uuid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert _power._nvml_name(2) == "2"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5, GPU-ab12,MIG-cd34")
    assert [_power._nvml_name(number) for number in range(4)] == ["5", "GPU-ab12", None, None]


def test_a_machine_without_gpus_has_no_sampler() -> None:
    assert _power.begin() is None
