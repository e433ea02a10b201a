"""Errors about profiles."""

from __future__ import annotations

from collections.abc import Sequence


class ProfileError(ValueError):
    """A file is not a profile, or a run, table or column does not exist. The message explains what to do."""


class ColumnError(ProfileError, KeyError):
    """The table has no such column. The message suggests the nearest columns."""

    def __str__(self) -> str:
        # KeyError would add quotation marks.
        return str(self.args[0])


def sentence(error: ValueError) -> ProfileError:
    """Returns the error for a message from the library. Removes the dashes of flags, because flags are keyword arguments in
    Python."""
    return ProfileError(str(error).removeprefix("--"))


def checked_count(name: str, value: object, least: int = 1) -> None:
    """Checks a number from the caller.

    Raises:
        ProfileError: The value is neither None nor a whole number of at least ``least``.
    """
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= least):
        return
    raise ProfileError(f"{name} must be a whole number, {least} or more, not {value!r}.")


def checked_numbers(name: str, value: float | Sequence[float] | None) -> list[float]:
    """Returns a list with one number per run. A single number applies to all runs.

    Raises:
        ProfileError: A number is not above 0.
    """
    if value is None:
        return []
    values = [value] if isinstance(value, (int, float)) else list(value)
    for each in values:
        if isinstance(each, bool) or not isinstance(each, (int, float)) or not 0 < each <= 1e12:
            raise ProfileError(f"{name}: a number above 0 and at most 1e12 is needed, not {each!r}.")
    return [float(each) for each in values]
