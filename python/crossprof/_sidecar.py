"""The sidecar ``crossprof.json`` next to a capture: facts that are not in a trace.

The sidecar contains the fields that ``crossprof`` reads as a model configuration (``batch_size``, ``seq_length``, ``total_params``,
...). The field ``capture`` of the sidecar contains the settings and results of the capture itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from . import _redact

#: Packages whose versions help to explain a profile. Only installed ones are recorded.
_PACKAGES = ("crossprof", "jax", "jaxlib", "libtpu", "jax-cuda12-plugin", "jax-cuda13-plugin", "jax-rocm7-plugin", "flax", "optax", "numpy")
#: Environment variables that affect the program. No others are recorded, because they may contain secrets.
_VARIABLES = ("XLA_FLAGS", "LIBTPU_INIT_ARGS", "JAX_PLATFORMS", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "TPU_VISIBLE_CHIPS")


def environment(argv_values: bool) -> dict[str, Any]:
    """Returns facts that stay the same while the program runs. Includes the values of the program's flags if ``argv_values`` is
    true."""
    import jax

    devices = jax.devices()
    return {
        "python": sys.version.split()[0],
        "versions": {name: version for name in _PACKAGES if (version := _version(name))},
        "argv": _redact.arguments(sys.argv, values=argv_values),
        # If this is absent, readers remove the values, because older sidecars contain them.
        "argv_values": argv_values,
        "git_commit": git_commit(Path.cwd()),
        "framework": _framework(),
        "devices": {
            "platform": devices[0].platform,
            "kind": devices[0].device_kind,
            "count": len(devices),
            "local_count": jax.local_device_count(),
            "places": places(devices),
        },
        "processes": jax.process_count(),
        "environment": {name: value for name in _VARIABLES if (value := os.environ.get(name))},
    }


def places(devices: Iterable[Any]) -> list[str]:
    """Returns ``id slice x,y,z`` of each TPU chip, because traces contain neither slices nor positions. The text is empty for other
    devices."""
    positions = [(device, getattr(device, "coords", None)) for device in devices]
    return [f"{device.id} {getattr(device, 'slice_index', None) or 0} {','.join(map(str, at))}" for device, at in positions if at]


#: Libraries on top of JAX, by the module that programs import.
_FRAMEWORKS = {"paxml": "PAXml", "praxis": "PAXml", "flax": "Flax", "haiku": "Haiku"}


def _framework() -> str | None:
    return next((name for module, name in _FRAMEWORKS.items() if module in sys.modules), None)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def git_commit(folder: Path) -> str | None:
    """Returns the commit that is checked out in the folder or a folder above it. Reads git's own files. Returns None if there is no
    repository."""
    for above in (folder, *folder.parents):
        git = above / ".git"
        try:
            if git.is_file():
                # A worktree: "gitdir: <path>".
                git = above / git.read_text().removeprefix("gitdir:").strip()
            if not git.is_dir():
                continue
            head = (git / "HEAD").read_text().strip()
            if not head.startswith("ref: "):
                return head
            name = head.removeprefix("ref: ")
            common = git / "commondir"
            shared = git / common.read_text().strip() if common.is_file() else git
            for place in (git / name, shared / name):
                if place.is_file():
                    return place.read_text().strip()
            packed = (shared / "packed-refs").read_text().splitlines()
            return next((line.split()[0] for line in packed if line.endswith(f" {name}")), None)
        except OSError:
            return None
    return None
