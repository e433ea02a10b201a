"""Arguments of a capture, which are checked before the capture starts."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._names import local_folder, made_folder
from ._options import checked
from ._parameters import parameter_counts
from ._processes import check_processes


@dataclass(frozen=True)
class Workload:
    """Facts about the program that are not in a trace."""

    batch_size: int | None = None
    seq_length: int | None = None
    tokens_per_step: int | None = None
    params: Any = None
    trainable: Any = None
    model: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("batch_size", "seq_length", "tokens_per_step"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise ValueError(f"{name} must be a whole number, 1 or more, not {value!r}.")
        if self.tokens_per_step is not None and self.batch_size is not None:
            if self.seq_length is None and self.tokens_per_step % self.batch_size:
                raise ValueError(
                    f"tokens_per_step={self.tokens_per_step} is not a multiple of batch_size={self.batch_size}: give seq_length too."
                )
            if self.seq_length is not None and self.tokens_per_step != self.batch_size * self.seq_length:
                raise ValueError("tokens_per_step is not batch_size times seq_length: give two of the three.")

    def fields(self) -> dict[str, Any]:
        """Returns the fields that crossprof reads as a model configuration."""
        seq_length = self.seq_length
        if seq_length is None and self.tokens_per_step is not None and self.batch_size is not None:
            seq_length = self.tokens_per_step // self.batch_size
        counts = parameter_counts(self.params, self.trainable) if self.params is not None else {}
        given = {"batch_size": self.batch_size, "seq_length": seq_length, **counts, **self.model}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class Settings:
    """Constant settings of a capture."""

    folder: Path
    options: dict[str, Any]
    advanced: dict[str, Any]
    processes: str | int | Sequence[int]
    memory: bool
    workload: Workload
    perfetto: bool
    #: Also record the values of the program's flags.
    argv: bool = False
    #: Also sample the power and clocks of NVIDIA GPUs.
    power: bool = True
    #: The folder is removed when its captures have been read.
    is_temporary: bool = False


def settings(
    folder: str | os.PathLike[str] | None,
    processes: str | int | Sequence[int],
    memory: bool,
    options: dict[str, Any] | None,
    advanced: dict[str, Any] | None,
    workload: Workload,
    perfetto: bool,
    argv: bool,
    power: bool,
) -> Settings:
    """Checks the arguments and creates the folder. If ``folder`` is None, creates a temporary folder.

    Raises:
        ValueError, TypeError: An argument is invalid.
        ImportError: JAX is not installed.
    """
    if importlib.util.find_spec("jax") is None:
        raise ImportError("crossprof captures with JAX, which is not installed here: pip install jax")
    for name, value in (("memory", memory), ("perfetto", perfetto), ("argv", argv), ("power", power)):
        if type(value) is not bool:
            raise TypeError(f"{name} must be True or False, not {value!r}.")
    # `crossprof scale` collects the captures of its runs in this folder.
    chosen_folder = os.environ.get("CROSSPROF_FOLDER") or folder
    path = None if chosen_folder is None else local_folder(chosen_folder)
    in_force, extra = checked(options, advanced)
    check_processes(processes)
    made = Path(tempfile.mkdtemp(prefix="crossprof-")) if path is None else made_folder(path)
    return Settings(made, in_force, extra, processes, memory, workload, perfetto, argv, power, is_temporary=path is None)
