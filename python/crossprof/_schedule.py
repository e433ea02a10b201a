"""Computes from step numbers which steps a capture records."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """Steps are counted from 0: first ``wait`` steps without recording, then ``warmup`` steps that are recorded and discarded, then
    ``active`` steps that are kept. This sequence is repeated ``repeat`` times (without end if 0), either immediately or every
    ``every`` steps. If ``wait`` is None, there are no scheduled windows."""

    wait: int | None = 10
    warmup: int = 1
    active: int = 5
    repeat: int = 1
    every: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("wait", 0), ("warmup", 0), ("active", 1), ("repeat", 0)):
            value = getattr(self, name)
            if name == "wait" and value is None:
                continue
            if type(value) is not int or value < least:
                raise ValueError(f"{name} must be a whole number of steps, {least} or more, not {value!r}.")
        if self.every is not None:
            if type(self.every) is not int or self.every < self.warmup + self.active:
                raise ValueError(
                    f"every must be a whole number of steps, at least warmup + active = {self.warmup + self.active}, "
                    f"not {self.every!r}."
                )
            if self.repeat == 1:
                raise ValueError("every needs repeat=N, or repeat=0 to continue until the program ends.")

    def start(self, window: int) -> int | None:
        """Returns the step at which window number ``window`` begins, including its warm-up. Returns None if there is no such
        window."""
        if self.wait is None or (self.repeat and window >= self.repeat):
            return None
        period = self.every if self.every is not None else self.wait + self.warmup + self.active
        return self.wait + window * period

    def baseline_steps(self, window: int) -> int:
        """Returns the number of untraced steps before the window that are timed for comparison. If the program has enough steps
        before the window, the number equals the number of steps in the window. The first step of the program is never included,
        because it compiles.
        """
        start = self.start(window)
        if start is None:
            return 0
        first = 1
        if window > 0:
            # The step after a window pays for the cleanup of the profiler.
            first = (self.start(window - 1) or 0) + self.warmup + self.active + 1
        return max(0, min(self.active, start - first))
