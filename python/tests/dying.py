"""Programs that end as if they were killed, at a chosen moment while they write to a lake."""

from __future__ import annotations

import subprocess
import sys

_DIES = """
import os, sys
from crossprof import lake
from crossprof.lake import _compact, _storage
left = int(sys.argv[1])
def dies(function):
    def call(*arguments, **named):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return function(*arguments, **named)
    return call
os.replace, _storage.Path.unlink = dies(os.replace), dies(_storage.Path.unlink)
"""


def status(program: str, moment: int, *arguments: object) -> int:
    """Runs a program that ends with status 9 before the file operation with this number, and returns its status.

    The program may call ``dies(function)`` to count further functions. The arguments of the program begin at ``sys.argv[2]``.
    """
    words = [sys.executable, "-c", _DIES + program, str(moment), *map(str, arguments)]
    return subprocess.run(words, check=False).returncode
