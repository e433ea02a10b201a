"""The logger ``crossprof``. Prints one line per log record to standard error, unless the program has its own handlers."""

from __future__ import annotations

import logging
import sys


class _StandardError(logging.Handler):
    """Prints a record if the program does not handle log records itself."""

    def emit(self, record: logging.LogRecord) -> None:
        if logging.root.handlers or log.handlers != [self]:
            return
        try:
            print(f"crossprof: {record.getMessage()}", file=sys.stderr, flush=True)
        except (OSError, ValueError, AttributeError):
            # Standard error is closed. The record is also in `errors`.
            pass


log = logging.getLogger("crossprof")
if log.level == logging.NOTSET:
    # Without this, the root logger's level (WARNING) would hide where a capture was saved. `setLevel(logging.ERROR)` still hides it.
    log.setLevel(logging.INFO)
log.addHandler(_StandardError())
