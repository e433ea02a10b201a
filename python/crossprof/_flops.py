"""FLOPs and model FLOP utilisation, computed from tokens and parameters."""

from __future__ import annotations

from typing import Any

from ._parameters import parameter_counts

def peak_flops(device_kind: str) -> float | None:
    """Returns the dense bf16 peak of one device in FLOP/s (fp16 if it has no bf16). ``device_kind`` is JAX's name of the device
    (``jax.devices()[0].device_kind``). Returns None for an unknown device."""
    from . import _native

    return _native.peak_flops(device_kind)


_peak_of = peak_flops


class FlopCounter:
    """Converts tokens per second to FLOP/s and model FLOP utilisation. Assumes 6 FLOPs per parameter per token in a training step."""

    def __init__(self, num_params: int, *, peak_flops: float | None = None, num_devices: int | None = None) -> None:
        """
        Args:
            num_params: Parameters used for each token (for a mixture of experts: the active ones).
            peak_flops: Peak of one device in FLOP/s. By default, the peak of JAX's device, if it is known.
            num_devices: Number of devices that share the tokens. By default, all devices that JAX sees.

        Raises:
            ValueError: A number is not positive.
        """
        if num_params < 1 or (peak_flops is not None and peak_flops <= 0) or (num_devices is not None and num_devices < 1):
            raise ValueError("num_params, peak_flops and num_devices must be positive.")
        self.num_params = num_params
        self.peak_flops = peak_flops
        self.num_devices = num_devices
        if peak_flops is None or num_devices is None:
            import jax

            self.num_devices = num_devices or jax.device_count()
            self.peak_flops = peak_flops or _peak_of(jax.devices()[0].device_kind)

    @property
    def flops_per_token(self) -> int:
        """FLOPs per token: 2 per parameter in the forward pass, and 4 per parameter in the backward pass."""
        return 6 * self.num_params

    def achieved_flops(self, tokens: float, seconds: float) -> float:
        """Returns the FLOP/s that all devices achieve together."""
        return self.flops_per_token * tokens / seconds

    def mfu_percent(self, tokens: float, seconds: float) -> float | None:
        """Returns the FLOP/s that all devices achieve, in percent of their total peak. Returns None if the peak is unknown."""
        if self.peak_flops is None or self.num_devices is None:
            return None
        return 100 * self.achieved_flops(tokens, seconds) / (self.peak_flops * self.num_devices)


def create_flop_counter_from_model(params: Any, *, peak_flops: float | None = None, num_devices: int | None = None) -> FlopCounter:
    """Returns a counter for a model. Counts the parameters in ``params``, a pytree."""
    return FlopCounter(parameter_counts(params)["total_params"], peak_flops=peak_flops, num_devices=num_devices)
