"""Removes secrets and the home folder from what a sidecar records: sidecars and reports are shared."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: Stands for a value that is left out.
HIDDEN = "***"

#: Parts of names whose values are never recorded.
_SECRET_NAME = re.compile(
    r"(?:^|[^a-z])(?:api|access|private|secret|signing|encryption|account|storage|ssh|auth)[_.-]*key"
    r"|secret|passw|passphrase|(?:^|[^a-z])pass(?:$|[^a-z])|(?:^|[^a-z])pwd(?:$|[^a-z])|credential|bearer|(?:^|[^a-z])auth(?:$|[^a-z])|apikey"
    r"|(?:^|[^a-z])(?:access|auth|api|hf|id|refresh|session|github|wandb|user|security)?[_.-]*token(?:$|[^a-z])"
    r"|(?:^|[^a-z])(?:key|sas|dsn|cookie)$",
    re.IGNORECASE,
)
#: Values that are secrets whatever their name: tokens of well-known services, and passwords in addresses.
_SECRET_VALUE = re.compile(
    r"(?:^|[^A-Za-z0-9])(?:hf_|sk-|ghp_|gho_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|ya29\.|eyJ)[A-Za-z0-9_\-.]{8,}"
    r"|://[^/\s@]+@"
)
#: A long word of letters and digits alone: a key that has no name.
_RANDOM_WORD = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+=]{24,}\Z")
#: A name inside a value: ``{"api_key": "x"}``, ``token=x``.
_NAMED_INSIDE = re.compile(r"([A-Za-z][\w.-]*)[\"']?\s*[:=]")
#: Home folders of any machine.
_HOMES = re.compile(r"(?<![\w.~])(?:/(?:home|Users)/[^/\s:,;\"']+|/root(?=$|[/\s:,;\"'])|[A-Za-z]:\\Users\\[^\\\s:,;\"']+)")


def arguments(words: Iterable[str], *, values: bool) -> list[str]:
    """Returns the arguments of a program without the values of its flags.

    Args:
        words: ``sys.argv``.
        values: Keep values, except those that look like secrets.
    """
    made: list[str] = []
    # The flag whose values come next; empty if none do.
    name = ""
    # The word before is the name of a secret: `token X`.
    is_named = False
    for word in words:
        flag, equals, value = word.partition("=")
        if equals and _is_name(flag):
            made.append(f"{flag}={_value(flag, value, values)}")
            name, is_named = "", False
        elif _is_flag(word):
            made.append(HIDDEN if _looks_secret(word) else word)
            name, is_named = word, False
        else:
            hidden = is_named or _looks_secret(word) or (name and _value(name, word, values) == HIDDEN)
            made.append(HIDDEN if hidden else word)
            is_named = not name and _is_name(word) and _SECRET_NAME.search(word) is not None
    return made


def without_home(value: Any) -> Any:
    """Returns the value with ``~`` for home folders in all its texts: those of this user, and those that look like one."""
    if isinstance(value, str):
        home = str(Path.home())
        if len(home) > 1:
            value = re.sub(rf"{re.escape(home)}(?![\w.-])", "~", value)
        return _HOMES.sub("~", value)
    if isinstance(value, dict):
        return {without_home(key): without_home(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_home(item) for item in value]
    return value


def _is_flag(word: str) -> bool:
    # A negative number is a value.
    return word.startswith("-") and len(word) > 1 and not re.fullmatch(r"-[\d.]+(e[-+]?\d+)?", word, re.IGNORECASE)


def _is_name(text: str) -> bool:
    """True for what may stand before ``=``: ``--lr``, ``optimizer.lr``, ``+model``, ``KEY``; not for an address or a path."""
    return re.fullmatch(r"[-+~]*[A-Za-z_][\w.\-\[\]@]*", text) is not None


def _value(name: str, value: str, values: bool) -> str:
    keep = values and not _SECRET_NAME.search(name) and not _looks_secret(value)
    return value if keep else HIDDEN


def _looks_secret(value: str) -> bool:
    if _SECRET_VALUE.search(value) or _RANDOM_WORD.match(value):
        return True
    return any(_SECRET_NAME.search(found.group(1)) for found in _NAMED_INSIDE.finditer(value))
