"""Provides programs that capture (each in its own process with JAX on the CPU) and buckets. The buckets are a server of the S3 API
on this machine (moto), and fsspec's file system in memory."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

#: Start of every program: defines a step that takes a while, on every device.
PRELUDE = """
import json, logging, os, signal, sys, time
import jax, jax.numpy as jnp
import crossprof
logging.basicConfig(level=logging.INFO)
if "JOB" in os.environ:
    # Must come before any other use of the devices.
    port, number = os.environ["JOB"].split()
    jax.distributed.initialize(f"127.0.0.1:{port}", 2, int(number))
@jax.jit
def train_step(x):
    return jnp.tanh(x @ x) / 10
x = jnp.ones((64, 64))
"""


class Program:
    """A program that is running or has ended."""

    def __init__(self, text: str, folder: Path, environment: dict[str, str]) -> None:
        package = os.environ.get("CROSSPROF_PACKAGE", str(Path(__file__).parent.parent))
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_", "CROSSPROF_"))}
        self.process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + textwrap.dedent(text)],
            cwd=folder,
            env={**clean, "PYTHONPATH": package, "JAX_PLATFORMS": "cpu", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, status: int = 0) -> tuple[str, str]:
        """Waits until the program ends, and returns its output and its log."""
        out, err = self.process.communicate(timeout=120)
        assert self.process.returncode == status, f"status {self.process.returncode}\n{out}\n{err}"
        return out, err


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Program]:
    """Starts a program in the test's folder. Keyword arguments become environment variables."""
    return lambda text, **environment: Program(text, tmp_path, environment)


@pytest.fixture
def run(program: Callable[..., Program]) -> Callable[..., str]:
    """Runs a program to its end. Returns its output and its log."""
    return lambda text, **environment: "".join(program(text, **environment).end())


@pytest.fixture(scope="session")
def s3() -> Iterator[Any]:
    """Starts a server of the S3 API. Returns an s3fs client for it."""
    s3fs = pytest.importorskip("s3fs")
    pytest.importorskip("moto.server")
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    logging.getLogger("werkzeug").disabled = True
    server.start()
    host, port = server.get_host_and_port()
    given = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    client = s3fs.S3FileSystem()
    client.mkdir("lab")
    yield client
    server.stop()
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.fixture(params=["memory", "s3"])
def bucket(request: pytest.FixtureRequest) -> Iterator[tuple[Any, str]]:
    """Returns a file system, and the URL of an empty bucket in it."""
    if request.param == "s3":
        fs = request.getfixturevalue("s3")
        yield fs, "s3://lab"
        for path in fs.find("lab"):
            fs.rm_file(path)
        fs.invalidate_cache()
    else:
        fs = pytest.importorskip("fsspec").filesystem("memory")
        yield fs, "memory://lab"
        fs.store.clear()
        fs.pseudo_dirs[:] = [""]


def sessions(folder: Path) -> list[Path]:
    """Returns the captures below a folder, sorted by name."""
    return sorted((folder / "plugins" / "profile").iterdir())


def step_numbers(xplane: Path) -> list[int]:
    """Returns the steps of a profile, as read by JAX's own reader."""
    import jax

    data = jax.profiler.ProfileData.from_file(str(xplane))
    found = [
        dict(event.stats).get("step_num")
        for plane in data.planes
        if plane.name == "/host:CPU"
        for line in plane.lines
        for event in line.events
        if event.name == "train"
    ]
    return sorted(int(number) for number in found if number is not None)
