"""Runs the scripts of a release and of the GitHub Action unchanged. Steps between these scripts that use GitHub's own actions are
simulated."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")
if os.name == "nt":
    pytest.skip("the scripts are for bash", allow_module_level=True)
if "CROSSPROF_WHEEL" not in os.environ:
    pytest.skip("CROSSPROF_WHEEL names no wheel", allow_module_level=True)

ROOT = Path(__file__).parents[2]
WHEEL = Path(os.environ["CROSSPROF_WHEEL"])
EXAMPLE = "www/assets/examples/jax-cpu-train.xplane.pb"


def steps(*path: str, file: str) -> list[dict[str, Any]]:
    """Returns the steps of a job."""
    found = yaml.safe_load((ROOT / file).read_text(encoding="utf-8"))
    for key in path:
        found = found[key]
    made: list[dict[str, Any]] = found["steps"]
    return made


def of_action(steps: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Returns the inputs of the only step that uses this GitHub action."""
    (found,) = [step for step in steps if step.get("uses", "").startswith(f"{name}@")]
    given: dict[str, Any] = found["with"]
    return given


def bash(script: str, folder: Path, **environment: str) -> str:
    """Runs a script as a job runs it."""
    call = ["bash", "-eo", "pipefail", "-c", script]
    done = subprocess.run(call, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns a PATH that starts with an empty Python environment."""
    environment = tmp_path_factory.mktemp("python") / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    return os.pathsep.join([str(environment / "bin"), os.environ["PATH"]])


def test_a_release_packs_the_page_tries_the_wheels_and_publishes_both(tmp_path: Path, path: str) -> None:
    def job(name: str) -> list[dict[str, Any]]:
        return steps("jobs", name, file=".github/workflows/release.yml")

    checkout, artifacts = tmp_path / "checkout", tmp_path / "artifacts"
    (checkout / "dist" / "assets").mkdir(parents=True)
    (checkout / "dist" / "index.html").write_text("the page")
    (checkout / "dist" / "assets" / "page.wasm").write_bytes(b"\0asm")
    build, pack = [step["run"] for step in job("page") if "run" in step]
    # The folder above replaces this step, which the `build` check runs.
    assert build == "cargo xtask build"
    bash(pack, checkout)
    page = of_action(job("page"), "actions/upload-artifact")
    artifact = artifacts / page["name"] / page["path"]
    artifact.parent.mkdir(parents=True)
    shutil.move(checkout / page["path"], artifact)

    wheels = job("wheels")
    unpack, smoke = [step["run"] for step in wheels if "run" in step]
    machine = tmp_path / "machine"
    (machine / EXAMPLE).parent.mkdir(parents=True)
    shutil.copy(ROOT / EXAMPLE, machine / EXAMPLE)
    assert of_action(wheels, "actions/download-artifact") == {"name": page["name"]}
    shutil.copy(artifact, machine)
    bash(unpack, machine)
    assert (machine / "dist" / "assets" / "page.wasm").read_bytes() == b"\0asm"
    words = of_action(wheels, "PyO3/maturin-action")["args"].split()
    assert (ROOT / words[words.index("--manifest-path") + 1]).is_file()
    built = machine / words[words.index("--out") + 1]
    built.mkdir()
    shutil.copy(WHEEL, built)
    said = bash(smoke, machine, PATH=path)
    assert said.splitlines()[-1] and f"crossprof {WHEEL.name.split('-')[1]}" in said and "Step time" in said
    kept = of_action(wheels, "actions/upload-artifact")
    for target in ("x86_64", "aarch64"):
        folder = artifacts / kept["name"].replace("${{ matrix.target }}", target)
        shutil.copytree(machine / kept["path"], folder)
        # Wheels for other machines have other names.
        (folder / WHEEL.name).rename(folder / f"{target}-{WHEEL.name}")

    # The job that may publish has the wheels and nothing else.
    publish = job("pypi")
    given = of_action(publish, "actions/download-artifact")
    assert given == {"pattern": "wheels-*", "path": "wheels", "merge-multiple": True} and len(publish) == 2
    assert of_action(publish, "pypa/gh-action-pypi-publish")["packages-dir"] == given["path"]
    published = {wheel.name for wheel in artifacts.glob(f"{given['pattern']}/*")}
    assert published == {f"x86_64-{WHEEL.name}", f"aarch64-{WHEEL.name}"}
    (release,) = [step["run"] for step in job("release") if "run" in step]
    assert of_action(job("release"), "actions/download-artifact") == {"path": "artifacts"}
    # Prints what it is asked to install.
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "gh").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (tools / "gh").chmod(0o755)
    variables = {"GITHUB_REF_NAME": "v1.2.3", "GITHUB_REPOSITORY": "owner/name"}
    asked = bash(release, tmp_path, PATH=f"{tools}:{os.environ['PATH']}", **variables).splitlines()
    assert asked[:5] == ["release", "create", "v1.2.3", "--repo", "owner/name"]
    files = [word for word in asked[5:] if not word.startswith("--")]
    assert {Path(file).name for file in files} == published | {page["path"]}
    assert all((tmp_path / file).is_file() for file in files)


def test_the_action_installs_the_tool_and_compares(tmp_path: Path, path: str) -> None:
    scripts = [step["run"] for step in steps("runs", file="action.yml") if "run" in step]
    folder = tmp_path / "job"
    folder.mkdir()
    environment = {
        "PATH": path,
        # Replaces PyPI.
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(WHEEL.parent),
        "VERSION": WHEEL.name.split("-")[1],
        "PROFILE": str(ROOT / EXAMPLE),
        "BUDGET": "",
        "BASELINE": str(ROOT / EXAMPLE),
        "FAIL_ON": "slower > 3 %",
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }
    for script in scripts:
        bash(script, folder, **environment)
    assert len(scripts) == 2 and "status=0" in (tmp_path / "output").read_text()
    kept = of_action(steps("runs", file="action.yml"), "actions/upload-artifact")["path"]
    assert (folder / kept / "comparison.html").is_file()
