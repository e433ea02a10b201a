"""Starts and stops JAX's profiler. A capture is either complete or reported as incomplete."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, BinaryIO

from ._log import log
from ._names import CaptureError, publish
from ._options import profile_options

#: Folder of the current recording, for the error message of a second one.
_recorded_folder: Path | None = None


class Recording:
    """One recording, from the start of the profiler to its stop. The files get their final names when they are complete."""

    def __init__(self, folder: Path, stem: str) -> None:
        self._folder = folder
        self._stem = stem
        # In the same folder as the result, so that renaming copies nothing.
        self._part = folder / f".{stem}.{os.getpid()}.part"
        # JAX's own session. None if this version of JAX does not expose it.
        self._session: Any = None

    def start(self, options: dict[str, Any], advanced: dict[str, Any], *, perfetto: bool = False) -> None:
        """Starts the profiler.

        Raises:
            CaptureError: The profiler does not start, because another capture is running in this process or a file is in the way.
        """
        import jax

        final = self._folder / f"{self._stem}.xplane.pb"
        if final.exists():
            raise CaptureError(f"{final} exists and is not overwritten.")
        self._part.mkdir(parents=True)
        try:
            jax.profiler.start_trace(
                self._part, create_perfetto_trace=perfetto, profiler_options=profile_options(options, advanced)
            )
        except BaseException as error:
            shutil.rmtree(self._part, ignore_errors=True)
            if isinstance(error, Exception):
                raise CaptureError(f"JAX's profiler does not start: {error}{_other_recording(error)}") from error
            raise
        global _recorded_folder
        _recorded_folder = self._folder
        self._session = _jax_session()

    @property
    def is_running(self) -> bool:
        """Returns False if the program has stopped JAX's profiler since the start."""
        return self._session is None or _jax_session() is self._session

    def stop(self) -> Path:
        """Stops the profiler and returns the file that it wrote.

        Raises:
            CaptureError: The file is missing, empty or truncated.
        """
        try:
            self._end()
            written = sorted(self._part.rglob("*.xplane.pb"))
            if len(written) != 1:
                raise CaptureError(f"JAX's profiler wrote {len(written)} files *.xplane.pb below {self._part}.")
            for message in check_xspace(written[0]):
                log.warning("The profiler reported: %s", message)
            for other in sorted(written[0].parent.iterdir()):
                # <host>.trace.json.gz next to it, if JAX writes one.
                suffix = ".trace.json.gz"
                if other.name == "perfetto_trace.json.gz":
                    publish(other, self._folder / other.name)
                elif other.name.endswith(suffix):
                    publish(other, self._folder / f"{self._stem}{suffix}")
            final = self._folder / f"{self._stem}.xplane.pb"
            publish(written[0], final)
            return final
        finally:
            shutil.rmtree(self._part, ignore_errors=True)

    def discard(self) -> None:
        """Stops the profiler and deletes its output."""
        try:
            self._end()
        finally:
            shutil.rmtree(self._part, ignore_errors=True)

    def _end(self) -> None:
        global _recorded_folder
        _recorded_folder = None
        # Must not stop a profile that the program has started in the meantime.
        if self.is_running:
            _stop_profiler()


def is_foreign_start(error: BaseException | None) -> bool:
    """Returns True if the error means that the program started JAX's profiler while crossprof was recording."""
    return isinstance(error, RuntimeError) and "already been started" in str(error)


def _other_recording(error: Exception) -> str:
    if not is_foreign_start(error):
        return ""
    if _recorded_folder is not None:
        return f" Another crossprof capture records into {_recorded_folder}. Do not let the two overlap."
    return " The program, or a library that it uses, records with jax.profiler itself."


def _jax_session() -> Any:
    try:
        from jax._src import profiler

        return profiler._profile_state.profile_session
    except (ImportError, AttributeError):
        return None


def _stop_profiler() -> None:
    import jax

    try:
        jax.profiler.stop_trace()
    except Exception as error:
        _forget_session()
        raise CaptureError(f"JAX's profiler could not save the capture: {error}") from error


def _forget_session() -> None:
    """Resets JAX's state after the profiler could not be stopped. Otherwise, JAX would assume that a capture is still running, and
    would not start another."""
    try:
        from jax._src import profiler

        profiler._profile_state.reset()
    except (ImportError, AttributeError):
        log.warning("This version of JAX cannot start another capture after one that could not be saved.")


def mark(name: str) -> None:
    """Writes a mark into the running capture. ``crates/metrics/src/step/steps/kit_marks.rs`` reads it."""
    import jax

    with jax.profiler.TraceAnnotation(name):
        pass


def add_metadata(key: str, value: str) -> None:
    """Writes a text into the running capture, if this version of JAX supports it."""
    try:
        from jax._src import profiler

        profiler.set_metadata(key, value)
    except (ImportError, AttributeError):
        log.debug("This version of JAX writes no metadata into captures.")


def check_xspace(path: Path) -> list[str]:
    """Scans the fields of a written profile and returns the profiler's own error messages.

    Raises:
        CaptureError: The file is empty, truncated, or contains no recorded data.
    """
    size = path.stat().st_size
    if size == 0:
        # A trace of more than 2 GB, which protobuf cannot write, looks like this.
        raise CaptureError(
            f"The profiler wrote nothing to {path.name}: the disk is full, or the capture is larger than 2 GB. "
            "Record fewer steps."
        )
    messages: list[str] = []
    planes = 0
    with open(path, "rb") as file:
        while (position := file.tell()) < size:
            tag, length = _varint(file), _varint(file)
            if tag is None or length is None or tag & 7 != 2 or file.tell() + length > size:
                raise CaptureError(
                    f"The profile {path.name} is truncated or damaged at byte {position} of {size}: is the disk full?"
                )
            planes += tag >> 3 == 1
            if tag >> 3 in (2, 3) and len(messages) < 20:
                messages.append(file.read(length)[:500].decode("utf-8", "replace"))
            else:
                file.seek(length, os.SEEK_CUR)
    if planes == 0:
        raise CaptureError(f"The profile {path.name} contains no recorded data.")
    return messages


def _varint(file: BinaryIO) -> int | None:
    value = 0
    for shift in range(0, 70, 7):
        byte = file.read(1)
        if not byte:
            return None
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return value
    return None


def wait_for_devices(value: Any = None) -> None:
    """Waits until the devices of this process have finished ``value`` or, if it is None, every existing array. Errors on a device
    are not raised here, but later, when the program uses the result."""
    import jax

    try:
        if value is not None:
            jax.block_until_ready(value)
        else:
            for array in jax.live_arrays():
                if not array.is_deleted():
                    array.block_until_ready()
        jax.effects_barrier()
    except Exception as error:
        log.debug("Waiting for the devices: %s", error)
