"""Names and folders of captures. Names are unique, no file is overwritten, and each file is either complete or absent."""

from __future__ import annotations

import errno
import os
import re
import socket
import time
from pathlib import Path


class CaptureError(RuntimeError):
    """A capture failed or is incomplete. The message names the file and explains what to do."""


def local_folder(folder: str | os.PathLike[str]) -> Path:
    """Returns the folder as a path.

    Raises:
        ValueError: The path is a bucket or another place that is not a local folder.
    """
    text = os.fspath(folder)
    if not isinstance(text, str) or not text or "\0" in text:
        raise ValueError(f"folder must be the path of a folder, not {folder!r}.")
    if "://" in text:
        raise ValueError(
            f"{text} is not a folder on this machine. Capture into a local or mounted folder, then copy it there."
        )
    # A quoted `~` is not expanded by the shell.
    return Path(text).expanduser()


def made_folder(folder: Path) -> Path:
    """Creates the folder. Errors then appear before the training starts, and ``touch <folder>/capture-now`` works from the
    beginning.

    Raises:
        ValueError: The folder cannot be created or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"The folder {folder} cannot be created: {error.strerror or error}.") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(f"The folder {folder} cannot be written.")
    return folder


def check_label(label: str) -> None:
    """Checks a label that is to be added to the name of a capture.

    Raises:
        ValueError: The label contains characters that file names cannot have.
    """
    if not isinstance(label, str) or len(label.encode()) > 150 or any(sign in label for sign in "/\\\0\n\r"):
        raise ValueError(f"label becomes part of a folder's name, so it must have no slashes and at most 150 bytes, not {label!r}.")


def claim_session(folder: Path, label: str = "") -> str:
    """Creates a folder for one session below ``folder/plugins/profile`` and returns its name.

    The name is the local time in seconds, followed by the label. If a session of that name already exists, a number is appended.
    Another process may have created that session, or this process may have created it within the same second.
    """
    name = time.strftime("%Y_%m_%d_%H_%M_%S") + (f"_{label}" if label else "")
    sessions = folder / "plugins" / "profile"
    sessions.mkdir(parents=True, exist_ok=True)
    for number in range(1, 10_000):
        unique = name if number == 1 else f"{name}_{number}"
        try:
            # If several processes try, exactly one succeeds.
            (sessions / unique).mkdir()
        except FileExistsError:
            continue
        return unique
    raise CaptureError(f"{sessions} contains 10,000 sessions named {name}: has the clock of this machine stopped?")


def session_folder(folder: Path, session: str) -> Path:
    """Returns the folder of a session. Creates the folder if it is missing."""
    path = folder / "plugins" / "profile" / session
    path.mkdir(parents=True, exist_ok=True)
    return path


def file_stem(process: int, processes: int) -> str:
    """Returns the name of this process's files: the machine's name, and the process number if there are several."""
    host = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname().split(".")[0]) or "host"
    return host if processes == 1 else f"{host}_p{process:03}"


def publish(source: Path, target: Path) -> None:
    """Renames a finished file to its final name in one step.

    Raises:
        CaptureError: A file with that name exists. The existing file is not changed.
    """
    try:
        # Unlike renaming, linking never replaces an existing file.
        os.link(source, target)
    except FileExistsError:
        raise CaptureError(f"{target} exists and is not overwritten.") from None
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EACCES, errno.EMLINK):
            raise
        # Some mounted buckets do not support links.
        if target.exists():
            raise CaptureError(f"{target} exists and is not overwritten.") from None
        os.rename(source, target)
        return
    os.unlink(source)


def write_text(target: Path, text: str) -> None:
    """Writes a small file completely or not at all. Replaces an existing file."""
    part = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
