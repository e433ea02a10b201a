"""FLOPs and model FLOP utilisation, by tokens and parameters."""

from __future__ import annotations

from typing import Any

from ._parameters import parameter_counts

def peak_flops(device_kind: str) -> float | None:
    """The dense bf16 peak of one device in FLOP/s (fp16 where it has no bf16), by what JAX calls it
    (``jax.devices()[0].device_kind``); None for a device that is not known."""
    from . import _native

    return _native.peak_flops(device_kind)


_peak_of = peak_flops


class FlopCounter:
    """Tokens per second into FLOP/s and model FLOP utilisation: 6 FLOPs for each parameter and token of a training step."""

    def __init__(self, num_params: int, *, peak_flops: float | None = None, num_devices: int | None = None) -> None:
        """
        Args:
            num_params: Parameters that work on each token (of a mixture of experts: the active ones).
            peak_flops: Peak of one device in FLOP/s; that of the device JAX runs on, where it is known.
            num_devices: Devices that share the tokens; all that JAX sees.

        Raises:
            ValueError: A number is not positive.
        """
        if num_params < 1 or (peak_flops is not None and peak_flops <= 0) or (num_devices is not None and num_devices < 1):
            raise ValueError("Parameters, peak and devices are positive numbers.")
        self.num_params = num_params
        self.peak_flops = peak_flops
        self.num_devices = num_devices
        if peak_flops is None or num_devices is None:
            import jax

            self.num_devices = num_devices or jax.device_count()
            self.peak_flops = peak_flops or _peak_of(jax.devices()[0].device_kind)

    @property
    def flops_per_token(self) -> int:
        """Forward 2, backward 4 for each parameter."""
        return 6 * self.num_params

    def achieved_flops(self, tokens: float, seconds: float) -> float:
        """FLOP/s of all devices together."""
        return self.flops_per_token * tokens / seconds

    def mfu_percent(self, tokens: float, seconds: float) -> float | None:
        """Share of what all devices together could do, in percent; None where their peak is not known."""
        if self.peak_flops is None or self.num_devices is None:
            return None
        return 100 * self.achieved_flops(tokens, seconds) / (self.peak_flops * self.num_devices)


def create_flop_counter_from_model(params: Any, *, peak_flops: float | None = None, num_devices: int | None = None) -> FlopCounter:
    """The counter of a model, whose parameters (a pytree) are counted."""
    return FlopCounter(parameter_counts(params)["total_params"], peak_flops=peak_flops, num_devices=num_devices)
