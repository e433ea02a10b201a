"""``crossprof``: the command-line tool, and ``crossprof scale``."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Runs the tool with the arguments of this process and returns its exit status."""
    if sys.argv[1:2] == ["scale"]:
        from ._scale import main as scale

        return scale(sys.argv[2:])
    from . import _native

    # The tool never comes back to the interpreter, which would hear Ctrl+C only then.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main(sys.argv)
