"""Progress of a long read, in the style of tqdm. Uses tqdm if it is installed."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from typing import Any, TextIO

#: Reads that finish within this time show no bar.
_PATIENCE_S = 0.5
_WIDTH = 30


class Bar:
    """A bar on standard error. The bar is removed at the end."""

    def __init__(self, is_shown: bool | None = None, stream: TextIO | None = None) -> None:
        """
        Args:
            is_shown: Show a bar. If None, a bar is shown on a terminal and in a notebook, unless ``TQDM_DISABLE`` is set.
            stream: Output stream. By default, standard error.
        """
        self._stream = stream if stream is not None else sys.stderr
        if is_shown is None:
            is_shown = not os.environ.get("TQDM_DISABLE") and (self._stream.isatty() or "ipykernel" in sys.modules)
        self._is_shown = is_shown
        self._began = time.monotonic()
        self._of_tqdm: Any = None
        self._line = ""

    def __call__(self, done: int, total: int) -> None:
        """Reports that ``done`` bytes were read. ``total`` is 0 if it is unknown."""
        seconds = time.monotonic() - self._began
        if not self._is_shown or seconds < _PATIENCE_S:
            return
        if self._of_tqdm is None and importlib.util.find_spec("tqdm") is not None:
            from tqdm.auto import tqdm

            self._of_tqdm = tqdm(
                total=total or None, unit="B", unit_scale=True, desc="Reading", leave=False, file=self._stream, initial=0
            )
        if self._of_tqdm is not None:
            self._of_tqdm.total = total or None
            self._of_tqdm.update(done - self._of_tqdm.n)
        else:
            self._write(line(done, total, seconds))

    def _write(self, text: str) -> None:
        self._stream.write("\r" + text.ljust(len(self._line)))
        self._stream.flush()
        self._line = text

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._of_tqdm is not None:
            self._of_tqdm.close()
        elif self._line:
            self._write("")
            self._stream.write("\r")


def line(done: int, total: int, seconds: float) -> str:
    """Formats ``Reading:  45%|#############                 | 65.3M/145M [00:01<00:01, 52.1MB/s]``."""
    rate = done / seconds if seconds > 0 else 0.0
    speed = f"{size_text(rate)}B/s"
    if total <= 0:
        return f"Reading: {size_text(done)}B [{clock_text(seconds)}, {speed}]"
    part = min(done / total, 1.0)
    left = clock_text((total - done) / rate) if rate > 0 else "?"
    bar = ("#" * round(part * _WIDTH)).ljust(_WIDTH)
    return f"Reading: {part:4.0%}|{bar}| {size_text(done)}/{size_text(total)} [{clock_text(seconds)}<{left}, {speed}]"


def size_text(number: float) -> str:
    """Formats 65,300,000 as ``65.3M``."""
    for unit in ("", "k", "M", "G"):
        if number < 999.5:
            return f"{number:.3g}{unit}"
        number /= 1000
    return f"{number:.3g}T"


def clock_text(seconds: float) -> str:
    """Formats 75 seconds as ``01:15``."""
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    return f"{minutes:02}:{rest:02}"
