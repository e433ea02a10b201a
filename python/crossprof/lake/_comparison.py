"""The comparison of two groups of captures."""

from __future__ import annotations

from typing import Any, NamedTuple


class Comparison(NamedTuple):
    """Two groups of captures of a workload, and the difference of their step times."""

    #: Rows about the captures, in the order of their time.
    before: list[dict[str, Any]]
    after: list[dict[str, Any]]
    is_change_point: bool
    before_us: float
    after_us: float
    margin_us: float | None
    least_provable_us: float | None
    verdict: str
    threshold_percent: float
    because: list[dict[str, Any]]

    @property
    def percent(self) -> float:
        """Change of the step time in percent."""
        return 100 * (self.after_us / self.before_us - 1)

    def relative(self, us: float | None) -> float | None:
        """Converts a time to a percentage of the earlier step time."""
        return None if us is None else 100 * us / self.before_us

    def regression(self) -> dict[str, Any]:
        """Returns the dict that :func:`regressions` describes."""
        first = self.after[0]
        return {
            "workload_key": first["workload_key"],
            "program": first["program"],
            "device_kind": first["device_kind"],
            "num_devices": first["num_devices"],
            "before_us": self.before_us,
            "after_us": self.after_us,
            "percent": self.percent,
            "margin_percent": self.relative(self.margin_us),
            "least_provable_percent": self.relative(self.least_provable_us),
            "captures": [len(self.before), len(self.after)],
            # If false, the change may be earlier than the first of the last captures.
            "is_change_point": self.is_change_point,
            "first_bad": _named(first),
            "last_good": _named(self.before[-1]),
            "because": self.because,
        }


def _named(row: dict[str, Any]) -> dict[str, Any]:
    at = row["taken_at"]
    return {
        "capture_id": row["capture_id"],
        "path": row["path"],
        "run": row["run"],
        "captured_at": None if at is None else at.isoformat(),
        "git_sha": row["git_sha"],
    }
