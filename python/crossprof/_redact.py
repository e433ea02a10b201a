"""Removes secrets and home folders from sidecars, because sidecars and reports are shared.

``crates/input/src/model_config/arguments.rs`` does the same for older sidecars.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: Replaces a secret value.
HIDDEN = "***"

#: Names that contain one of these words have secret values.
_SECRET_WORDS = {"pass", "passcode", "pwd", "auth", "token", "bearer", "creds", "cookie", "dsn", "sas", "pat"}
#: Parts of such names, if their words are written without separators.
_SECRET_PARTS = ("secret", "passw", "passphrase", "credential", "apikey", "privatekey", "authtoken", "accesstoken")
#: Words that make a secret of the word ``key`` after them. The end of a name after ``key`` can do the same.
_KEY_KINDS = {"api", "access", "private", "signing", "encryption", "account", "storage", "ssh"}
#: Values that are secret under any name: tokens of well-known services, passwords in addresses, and long words of letters and digits.
_SECRET_VALUES = (
    re.compile(r"(?<![A-Za-z0-9_.-])(?:hf_|sk-|ghp_|gho_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|ya29\.|eyJ)[A-Za-z0-9_.-]{8,}"),
    re.compile(r"://[^/\s]*@"),
    re.compile(r"\A(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+=]{24,}\Z"),
)
#: A name inside a value: ``{"api_key": "x"}``, ``token=x``.
_NAME_INSIDE = re.compile(r"([\w.-]+)[\"' ]*[:=]")
_NAME = re.compile(r"[-+~]*[^\W\d][\w.\-\[\]@]*")
#: Home folders on any machine.
_HOMES = re.compile(r"(?<![\w.~@+-])(?:/(?:home|Users)/[\w.@+-]+|/root(?![\w.@+-])|[A-Za-z]:\\Users\\[\w.@+-]+)")


def arguments(words: Iterable[str], *, values: bool) -> list[str]:
    """Returns the arguments of a program without the values of its flags.

    Args:
        words: ``sys.argv``.
        values: If True, keep values that do not look like secrets.
    """

    def hides(name: str, value: str) -> bool:
        return not values or _is_secret_name(name) or _looks_secret(value)

    made: list[str] = []
    # The flag that the next values belong to. Empty if there is none.
    flag = ""
    # True if the previous word is the name of a secret: `token X`.
    is_named = False
    for word in words:
        name, equals, value = word.partition("=")
        if equals and _NAME.fullmatch(name):
            made.append(f"{name}={HIDDEN if hides(name, value) else value}")
            flag, is_named = "", False
        elif _is_flag(word):
            made.append(HIDDEN if _looks_secret(word) else word)
            flag, is_named = word, False
        else:
            hidden = is_named or _looks_secret(word) or (flag != "" and hides(flag, word))
            made.append(HIDDEN if hidden else word)
            is_named = not flag and _NAME.fullmatch(word) is not None and _is_secret_name(word)
    return made


def without_home(value: Any) -> Any:
    """Replaces home folders by ``~`` in all texts of a value. Home folders are this user's folder, and all paths that look like a
    home folder."""
    if isinstance(value, str):
        home = str(Path.home())
        if len(home) > 1:
            value = re.sub(rf"{re.escape(home)}(?![\w.@+-])", "~", value)
        return _HOMES.sub("~", value)
    if isinstance(value, dict):
        return {key: without_home(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_home(item) for item in value]
    return value


def _is_flag(word: str) -> bool:
    if len(word) < 2 or not word.startswith("-"):
        return False
    try:
        # A negative number is a value, not a flag.
        float(word)
    except ValueError:
        return True
    return False


def _is_secret_name(name: str) -> bool:
    lower = name.lower()
    if any(part in lower for part in _SECRET_PARTS):
        return True
    words = re.findall(r"[^\W\d_]+", lower)
    for place, word in enumerate(words):
        is_key = place + 1 == len(words) or (place > 0 and words[place - 1] in _KEY_KINDS)
        if word in _SECRET_WORDS or (word in ("key", "keys") and is_key):
            return True
    return False


def _looks_secret(value: str) -> bool:
    if any(secret.search(value) for secret in _SECRET_VALUES):
        return True
    return any(_is_secret_name(found.group(1)) for found in _NAME_INSIDE.finditer(value))
