"""``crossprof scale``: runs one program on different numbers of devices, with one process per run."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

#: Arrangement of a TPU host's chips for processes with this many chips.
_TPU_BOUNDS = {1: "1,1,1", 2: "1,2,1", 4: "2,2,1", 8: "2,4,1"}
_DEVICE_COUNT = "--xla_force_host_platform_device_count"

_HELP = """\
Each run is a process that sees only the given number of devices. A run ends before the next run starts. The program must capture
itself with crossprof.trace or crossprof.capture. Its captures are saved in FOLDER/<n>_devices, whichever folder the program
specifies.

  crossprof scale -n 1,2,4,8 -- python bench.py --steps 30
"""


def main(arguments: list[str]) -> int:
    """Runs ``crossprof scale`` and returns its exit status: 0 if every run was captured, 1 if a run failed, 2 for invalid
    arguments.
    """
    parser = argparse.ArgumentParser(
        prog="crossprof scale",
        description="Capture one program on several numbers of devices.",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-n", "--devices", required=True, type=_counts, metavar="N,N,...", help="numbers of devices")
    parser.add_argument("--output", default="profiles/scaling", metavar="FOLDER", type=Path, help="folder of the captures (%(default)s)")
    parser.add_argument("--platform", choices=("cpu", "gpu", "tpu"), help="platform of the devices (default: the one that JAX finds)")
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="the program, after --")
    call = parser.parse_args(arguments)
    platform = call.platform or _platform()
    if platform is None:
        print("crossprof: JAX finds no devices here. Name them with --platform.", file=sys.stderr)
        return 2
    folders = [call.output / f"{count}_devices" for count in call.devices]
    for folder in folders:
        if folder.exists():
            print(f"crossprof: {folder} exists already. Remove it, or give another --output.", file=sys.stderr)
            return 2
    failed = False
    for count, folder in zip(call.devices, folders):
        problem = _run(call.command, count, platform, folder)
        print(f"{count} devices: {problem or folder}", file=sys.stderr if problem else sys.stdout, flush=True)
        failed = failed or problem is not None
    if not failed:
        print(f"crossprof compare {' '.join(map(str, folders))}")
    return 1 if failed else 0


def _counts(text: str) -> list[int]:
    words = text.split(",")
    if not all(word.isdecimal() and int(word) > 0 for word in words) or len(set(words)) < len(words):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of different numbers of devices, such as 1,2,4,8")
    return [int(word) for word in words]


def _platform() -> str | None:
    """Returns JAX's platform. Uses a separate process, because a process that queries the devices occupies them until it ends."""
    probe = [sys.executable, "-c", "import jax; print(jax.default_backend())"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    found = done.stdout.split()[-1:] if done.returncode == 0 else []
    return {"cuda": "gpu", "rocm": "gpu"}.get(found[0], found[0]) if found else None


def device_variables(platform: str, count: int, before: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment variables that show a process this many devices.

    Raises:
        ValueError: The machine cannot be divided in this way.
    """
    if platform == "cpu":
        flags = re.sub(rf"{_DEVICE_COUNT}=\S*\s*", "", before.get("XLA_FLAGS", "")).strip()
        return {"XLA_FLAGS": f"{flags} {_DEVICE_COUNT}={count}".strip(), "JAX_PLATFORMS": "cpu"}
    if platform == "gpu":
        made = {}
        for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
            visible = before.get(name, "")
            devices = visible.split(",") if visible else [str(number) for number in range(count)]
            if len(devices) < count:
                raise ValueError(f"{name}={visible} has fewer than {count} devices.")
            made[name] = ",".join(devices[:count])
        # The one that the machine does not use has no effect.
        return made
    bounds = _TPU_BOUNDS.get(count)
    if bounds is None:
        raise ValueError(f"A TPU host is divided into {', '.join(map(str, _TPU_BOUNDS))} chips, not {count}.")
    return {
        "TPU_VISIBLE_CHIPS": ",".join(map(str, range(count))),
        "TPU_CHIPS_PER_PROCESS_BOUNDS": bounds,
        "TPU_PROCESS_BOUNDS": "1,1,1",
    }


def _run(command: list[str], count: int, platform: str, folder: Path) -> str | None:
    """Runs the program on this many devices. Returns the error, if any."""
    try:
        variables = device_variables(platform, count, os.environ)
    except ValueError as error:
        return str(error)
    environment = {**os.environ, **variables, "CROSSPROF_FOLDER": str(folder.absolute())}
    try:
        status = subprocess.run(command, env=environment, check=False).returncode
    except OSError as error:
        return f"{command[0]} does not start: {error}"
    if status:
        return f"the program ended with status {status}"
    sidecars = sorted(folder.glob("plugins/profile/*/crossprof.json"))
    if not sidecars:
        return f"the program captured nothing into {folder}: it must use crossprof.trace or crossprof.capture"
    for sidecar in sidecars:
        seen = json.loads(sidecar.read_text())["capture"]["devices"]["count"]
        if seen != count:
            return f"the program saw {seen} devices instead of {count} ({sidecar.parent})"
    return None
