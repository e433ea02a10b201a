"""The logger ``crossprof``: one line on standard error, unless the program has handlers of its own."""

from __future__ import annotations

import logging
import sys


class _StandardError(logging.Handler):
    """Prints a record if the program handles no log records itself."""

    def emit(self, record: logging.LogRecord) -> None:
        if logging.root.handlers or log.handlers != [self]:
            return
        try:
            print(f"crossprof: {record.getMessage()}", file=sys.stderr, flush=True)
        except (OSError, ValueError, AttributeError):
            # Standard error is closed. The record is in `errors` too.
            pass


log = logging.getLogger("crossprof")
if log.level == logging.NOTSET:
    # Otherwise the root's level (WARNING) hides where a capture was saved. `setLevel(logging.ERROR)` hides it on purpose.
    log.setLevel(logging.INFO)
log.addHandler(_StandardError())
