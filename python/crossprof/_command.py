"""``crossprof``: the command line, including the commands that are written in Python."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Runs the command line with the arguments of this process and returns its exit status."""
    if sys.argv[1:2] == ["scale"]:
        from ._scale import main as scale

        return scale(sys.argv[2:])
    if sys.argv[1:2] == ["lake"]:
        from .lake._main import main as lake

        return lake(sys.argv[2:])
    from . import _native

    # The native command line does not return to the interpreter, which would notice Ctrl+C only then.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main(sys.argv)
