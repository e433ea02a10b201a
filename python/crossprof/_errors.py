"""Errors about profiles."""

from __future__ import annotations

from collections.abc import Sequence


class ProfileError(ValueError):
    """A file is no profile, or there is no such run, table or column. The message says what to do."""


class ColumnError(ProfileError, KeyError):
    """A table has no such column. The message names the nearest ones."""

    def __str__(self) -> str:
        # A KeyError would quote it.
        return str(self.args[0])


def sentence(error: ValueError) -> ProfileError:
    """The error about what the library refuses. Flags have no dashes here."""
    return ProfileError(str(error).removeprefix("--"))


def checked_count(name: str, value: object, least: int = 1) -> None:
    """Checks a number that a caller may give.

    Raises:
        ProfileError: It is neither None nor a whole number from ``least`` on.
    """
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= least):
        return
    raise ProfileError(f"{name} is a whole number from {least} on, not {value!r}.")


def checked_numbers(name: str, value: float | Sequence[float] | None) -> list[float]:
    """A number of all runs, or one of each, as a list.

    Raises:
        ProfileError: One of them is no number above 0.
    """
    if value is None:
        return []
    values = [value] if isinstance(value, (int, float)) else list(value)
    for each in values:
        if isinstance(each, bool) or not isinstance(each, (int, float)) or not 0 < each <= 1e12:
            raise ProfileError(f"{name}: a number above 0, and of at most 1e12, is needed, not {each!r}.")
    return [float(each) for each in values]
