"""Runs scripts of `crossprof hlo --format jax` with JAX on the CPU, and compares them with the program, using XLA's own analysis.

For each instruction in the entry computation of each program in tests/data/hlo-text, the test makes a module with only this
instruction from XLA's text. The script must have the same result, opcodes and FLOPs as this module.
"""

from __future__ import annotations

import collections
import contextlib
import importlib
import json
import os
import re
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[2] / "tests" / "data" / "hlo-text" / "programs.tar.gz"

#: Opcodes that compute nothing, so they have no script.
NOTHING = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"}

#: Opcodes that move or shape values. XLA and JAX add and remove them freely.
SHAPING = NOTHING | {"broadcast", "reshape", "transpose", "copy", "convert", "call", "fusion", "iota", "bitcast-convert"}

NAME = r"%?([\w.\-]+)"
METADATA = re.compile(r', metadata=\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}')

#: Opcodes that JAX writes in another way, with the same work.
ALIASES = {
    # JAX turns a dynamic slice at constant indices into a slice.
    "dynamic-slice": "slice",
    "all-reduce-start": "all-reduce",
    "all-gather-start": "all-gather",
    "collective-permute-start": "collective-permute",
    "reduce-scatter-start": "reduce-scatter",
    "copy-start": "copy",
}


class Instruction:
    """One instruction of XLA's text."""

    def __init__(self, line: str) -> None:
        self.line = METADATA.sub("", line.strip().removeprefix("ROOT "))
        self.name, rest = self.line.split(" = ", 1)
        self.name = self.name.removeprefix("%")
        end = closing(rest) if rest.startswith("(") else rest.index(" ")
        self.shape, rest = rest[:end], rest[end:].lstrip()
        self.opcode = rest[: rest.index("(")]
        arguments = rest[len(self.opcode) : len(self.opcode) + closing(rest[len(self.opcode) :])]
        self.operands = re.findall(r"%([\w.\-]+)", arguments) if self.opcode != "constant" else []
        self.called = re.findall(r"=%([\w.\-]+)", rest) + [
            name for group in re.findall(r"(?:branch|called)_computations=\{([^}]*)\}", rest) for name in re.findall(r"%([\w.\-]+)", group)
        ]


def closing(text: str) -> int:
    """Returns the position after the bracket that closes the first bracket."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            return place + 1
    return len(text)


class Program:
    """A program in XLA's text."""

    def __init__(self, text: str) -> None:
        self.header = text.splitlines()[0]
        self.computations: dict[str, list[str]] = {}
        self.entry = ""
        name = ""
        for line in text.splitlines():
            if line.endswith("{") and not line.startswith((" ", "HloModule")):
                name = re.findall(NAME, line.removeprefix("ENTRY "))[0]
                self.computations[name] = []
                self.entry = name if line.startswith("ENTRY ") else self.entry
            elif line.startswith("  ") and name:
                self.computations[name].append(line)
            elif line == "}":
                name = ""
        self.text = text

    def instructions(self, computation: str) -> dict[str, Instruction]:
        found = [Instruction(line) for line in self.computations[computation]]
        return {it.name: it for it in found}

    def reachable(self, instruction: Instruction) -> list[str]:
        """Returns the computations that an instruction calls, callees first."""
        found: list[str] = []

        def visit(called: list[str]) -> None:
            for name in called:
                if name in self.computations and name not in found:
                    for inner in self.instructions(name).values():
                        visit(inner.called)
                    found.append(name)

        visit(instruction.called)
        return list(dict.fromkeys(found))

    def alone(self, instruction: Instruction) -> str:
        """Returns a module with only this instruction."""
        entry = self.instructions(self.entry)
        devices = "".join(re.findall(r", (?:replica_count|num_partitions)=\d+", self.header))
        out = [f"HloModule alone{devices}\n"]
        for name in self.reachable(instruction):
            lines = [re.sub(r", control-predecessors=\{[^}]*\}", "", METADATA.sub("", line)) for line in self.computations[name]]
            out.append(f"%{name} {{\n" + "\n".join(lines) + "\n}\n")
        out.append("ENTRY %alone_main {")
        for number, operand in enumerate(dict.fromkeys(instruction.operands)):
            out.append(f"  %{operand} = {entry[operand].shape} parameter({number})")
        line = re.sub(r", control-predecessors=\{[^}]*\}", "", instruction.line)
        out.append(f"  ROOT {line}\n}}\n")
        return "\n".join(out)


def kept(opcodes: collections.Counter[str]) -> collections.Counter[str]:
    return collections.Counter({opcode: count for opcode, count in opcodes.items() if opcode not in SHAPING})


def tool(*words: object) -> subprocess.CompletedProcess[str]:
    """Runs the command line."""
    return subprocess.run([sys.executable, "-m", "crossprof", *map(str, words)], capture_output=True, text=True, check=False)


def programs(folder: Path) -> dict[str, Program]:
    """Returns the programs of the fixture by name, and writes their texts into the folder."""
    found = {}
    with tarfile.open(DATA) as archive:
        for member in archive:
            if member.name.endswith(".txt") and not member.name.startswith(("long/", "dump/")):
                file = archive.extractfile(member)
                assert file is not None
                text = file.read().decode()
                name = member.name.removesuffix(".txt").replace("/", "-")
                (folder / f"{name}.txt").write_text(text)
                found[name] = Program(text)
    return found


def scripts(folder: Path) -> list[dict[str, Any]]:
    """Writes a script for each instruction of each entry computation."""
    tasks = []
    for name, program in programs(folder).items():
        for it in program.instructions(program.entry).values():
            if it.opcode not in NOTHING and not it.opcode.endswith(("-done", "async-update", "reduce-scatter-update")):
                tasks.append((name, program, it))

    def make(task: tuple[str, Program, Instruction]) -> dict[str, Any]:
        name, program, it = task
        file = folder / f"{name}-{it.name}.py"
        done = tool("hlo", folder / f"{name}.txt", "--op", it.name, "--format", "jax", "--output", file)
        assert done.returncode == 0 or len(done.stderr.splitlines()) == 1, done.stderr
        return {
            "op": f"{name} {it.name}",
            "opcode": it.opcode,
            "target": "".join(re.findall(r'custom_call_target="([^"]*)"', it.line)),
            "script": str(file) if done.returncode == 0 else "",
            "error": done.stderr.strip(),
            "alone": program.alone(it),
        }

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(make, tasks))


def compare(task: dict[str, Any]) -> dict[str, Any]:
    """Runs a script in this process, and compares it with the module that contains only the instruction."""
    import jax

    jax.config.update("jax_enable_x64", False)
    script: dict[str, Any] = {"__name__": "script"}
    exec(compile(Path(task["script"]).read_text(), task["script"], "exec"), script)
    arguments, function = script["operands"](), script["jitted"]()
    script["check"](jax.block_until_ready(function(*arguments)))
    module = function.lower(*arguments).compiler_ir("hlo").as_hlo_module()
    found = analysis(module)
    try:
        alone = parsed(task["alone"])
    except jax.errors.JaxRuntimeError:
        # An older XLA does not know the notation of groups by the axes of a mesh.
        assert "=mesh[" in task["alone"]
        return {"found": found, "expected": found, "layouts": {"found": [], "expected": []}}
    expected = analysis(alone)
    if found != expected:
        # JAX drops dead code and folds constants when it lowers.
        with contextlib.suppress(jax.errors.JaxRuntimeError):
            expected = analysis(simplified(alone))
    layouts: dict[str, list[list[int]]] = {"found": [], "expected": []}
    if "Format(" in Path(task["script"]).read_text():
        compiled = function.lower(*arguments).compile()
        formats = jax.tree.leaves((compiled.input_formats[0], compiled.output_formats))
        layouts["found"] = [list(it.layout.major_to_minor) for it in formats]
        # The comments of operands and results have the program's layouts.
        shapes = re.findall(r"# .*?\w+\[([\d,]*)\](?:\{([\d,]*)\S*\})?$", Path(task["script"]).read_text(), re.MULTILINE)
        orders = [(sizes.split(","), [int(it) for it in order.split(",") if it][::-1]) for sizes, order in shapes]
        layouts["expected"] = [order for _, order in orders]
        for found_order, (sizes, order) in zip(layouts["found"], orders, strict=True):
            # Dimensions of size 1 may be anywhere.
            for list_ in (found_order, order):
                list_[:] = [it for it in list_ if sizes[it] != "1"]
    return {"found": found, "expected": expected, "layouts": layouts}


def jaxlib_hlo() -> Any:
    """Returns the module of jaxlib that reads HLO. The name of this module depends on the version."""
    with contextlib.suppress(ModuleNotFoundError):
        return importlib.import_module("jaxlib._hlo")
    return importlib.import_module("jaxlib._jax")


def parsed(text: str) -> Any:
    """Parses a text as a module."""
    return jaxlib_hlo().hlo_module_from_text(text)


def simplified(module: Any) -> Any:
    """Returns the module without dead code, as the conversion from StableHLO leaves it."""
    from jaxlib import _jax

    computation = jaxlib_hlo().XlaComputation(module.as_serialized_hlo_module_proto())
    stablehlo = _jax.mlir.xla_computation_to_mlir_module(computation)
    return _jax.mlir.mlir_module_to_xla_computation(stablehlo, use_tuple_args=False, return_tuple=False).as_hlo_module()


def analysis(module: Any) -> dict[str, Any]:
    """Returns the FLOPs by XLA's analysis, and the opcodes."""
    import jax
    from jaxlib import _jax

    flops = _jax.hlo_module_cost_analysis(jax.devices("cpu")[0].client, module).get("flops", 0.0)
    program = Program(module.to_string())
    opcodes: collections.Counter[str] = collections.Counter()
    compared: set[str] = set()
    for name in program.computations:
        compared.update(called for it in program.instructions(name).values() if it.opcode == "sort" for called in it.called)
    for name in program.computations:
        for it in program.instructions(name).values():
            if "custom_call_target=" in it.line and re.search(r'target="(Sharding|LayoutConstraint|SPMD\w+|xla\.sdy\.\w+)"', it.line):
                # XLA counts -1 for a call that it does not know.
                flops += 1
            # JAX compares in its own way.
            elif name not in compared:
                opcodes[ALIASES.get(it.opcode, it.opcode)] += 1
    return {"flops": flops, "opcodes": kept(opcodes)}


def run_all() -> None:
    """Reads tasks from standard input and compares each."""
    for line in sys.stdin:
        task = json.loads(line)
        try:
            print(json.dumps(compare(task)), flush=True)
        except Exception as error:
            print(json.dumps({"failure": f"{type(error).__name__}: {error}"}), flush=True)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Returns one task per instruction. A task with a script has the result of `compare`."""
    found = scripts(tmp_path_factory.mktemp("scripts"))
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    environment = {**clean, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    runnable = [task for task in found if task["script"]]
    parts = [runnable[first::2] for first in range(2)]

    def run(part: list[dict[str, Any]]) -> None:
        lines = "".join(json.dumps(task) + "\n" for task in part)
        done = subprocess.run([sys.executable, __file__], input=lines, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        for task, result in zip(part, done.stdout.splitlines(), strict=True):
            task.update(json.loads(result))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, parts))
    return found


def difference(task: dict[str, Any]) -> tuple[set[str], set[str], float]:
    """Returns the opcodes that only the program has, the opcodes that only the script has, and the additional FLOPs."""
    found, expected = (collections.Counter(task[side]["opcodes"]) for side in ("found", "expected"))
    return set(expected - found), set(found - expected), task["found"]["flops"] - task["expected"]["flops"]


#: How JAX writes some opcodes: what is missing, what is there instead, and the additional FLOPs if they are known.
INSTEAD: dict[str, tuple[set[str], set[str], float | None]] = {
    # JAX keeps the index of a branch in bounds.
    "conditional": (set(), {"clamp"}, 1),
    # One call per operand.
    "all-reduce": (set(), {"add", "all-reduce"}, 0),
    # JAX has one operand, and the program one per device.
    "all-to-all": (set(), {"concatenate", "slice"}, 0),
    # The place along an axis of the mesh.
    "partition-id": (set(), {"divide", "remainder"}, None),
    "replica-id": ({"replica-id"}, {"partition-id", "divide", "remainder"}, None),
    # Written out, or calls of a library.
    "logistic": ({"logistic"}, {"negate", "exponential", "add", "divide"}, None),
    "map": ({"map"}, set(), 0),
    "ragged-dot": ({"ragged-dot"}, {"add", "reduce-window", "slice", "concatenate", "compare", "and", "select", "dot"}, None),
    "cholesky": ({"cholesky"}, {"custom-call", "compare", "select"}, None),
    "triangular-solve": ({"triangular-solve"}, {"custom-call"}, None),
    # Libraries of GPUs and CPUs, which XLA does not count.
    "__cublas$gemm": ({"custom-call"}, {"dot"}, None),
    "__cublas$lt$matmul": ({"custom-call"}, {"dot"}, None),
    "__cublas$lt$matmul$f8": ({"custom-call"}, {"dot"}, None),
    "__cudnn$convForward": ({"custom-call"}, {"convolution"}, None),
    "__cudnn$convBackwardInput": ({"custom-call"}, {"convolution", "reverse"}, None),
    "__cudnn$convBackwardFilter": ({"custom-call"}, {"convolution"}, None),
    "__gpu$TopK": ({"custom-call"}, {"topk"}, None),
    "TopK": ({"custom-call", "compare", "xor", "select"}, {"topk"}, None),
    # JAX also marks failures in the result.
    "lapack_spotrf_ffi": (set(), {"compare", "select"}, None),
    "lapack_ssyevd_ffi": (set(), {"compare", "select"}, None),
    "cusolver_getrf_ffi": (set(), {"add", "compare", "select", "gather", "scatter", "subtract", "while"}, None),
}

#: Instructions without a script, with words of the reason.
REFUSED = {
    "jit_callback pure_callback.1": "Python code that the program runs on the host (JAX name: jit(<lambda>)/pure_callback)",
    "hlo-batch_norms train": "batch-norm-training",
    "hlo-batch_norms infer": "batch-norm-inference",
    "hlo-batch_norms grad": "batch-norm-grad",
    "hlo-collectives armax": "does not record the groups of devices",
    "hlo-feeds in": "infeed",
    "hlo-feeds out": "outfeed",
    "hlo-feeds send": "send",
    "hlo-feeds recv": "recv",
    "hlo-library_attention full": "different head dimensions",
    "hlo-library_attention causal": "different head dimensions",
    "hlo-library_attention window": "different head dimensions",
    "hlo-library_attention back": "different head dimensions",
    "hlo-library_attention te": "Transformer Engine",
    "hlo-library_attention triton": "a Triton kernel",
    "hlo-library_attention scaled": "does not record the scales",
    "hlo-library_calls fmha": "does not record the configuration",
    "hlo-library_calls unsaid": "not part of JAX",
    "hlo-random get": "rng-get-and-update-state",
    "hlo-scatter_gather multi": "a scatter with several operands",
}

#: Scripts that XLA's CPU backend does not compile.
NOT_ON_CPU = {"hlo-dots int4"}


def test_each_op_has_the_results_opcodes_and_flops_of_the_program(tasks: list[dict[str, Any]]) -> None:
    exact, instead, wrong = 0, 0, []
    for task in tasks:
        if not task["script"]:
            continue
        failure = task.get("failure", "")
        if failure:
            if task["op"] not in NOT_ON_CPU:
                wrong.append(f"{task['op']}: {failure}")
            continue
        missing, more, flops = difference(task)
        allowed = INSTEAD.get(task["target"] or task["opcode"])
        if task["layouts"]["found"] != task["layouts"]["expected"]:
            wrong.append(f"{task['op']}: layouts {task['layouts']}")
        elif not missing and not more and flops == 0:
            exact += 1
        elif allowed and missing <= allowed[0] and more <= allowed[1] and allowed[2] in (None, flops):
            instead += 1
        else:
            wrong.append(f"{task['op']}: lacks {missing}, has also {more}, {flops} more FLOPs")
    assert not wrong, "\n".join(wrong)
    assert exact >= 460 and instead <= 30, (exact, instead)


def test_an_op_without_a_call_has_a_reason(tasks: list[dict[str, Any]]) -> None:
    refused = {task["op"]: task["error"] for task in tasks if not task["script"]}
    assert refused.keys() == REFUSED.keys()
    for op, words in REFUSED.items():
        assert refused[op].startswith("crossprof: --format jax: ") and words in refused[op], refused[op]


def test_a_script_runs_alone(tasks: list[dict[str, Any]], tmp_path: Path) -> None:
    script = next(task["script"] for task in tasks if task["op"] == "jit_dot ynn_fusion")
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env={**os.environ, "JAX_PLATFORMS": "cpu"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^time +[\d.]+ us per call", done.stdout, re.MULTILINE) and "float32[8, 4]" in done.stdout, done.stdout
    collective = next(task["script"] for task in tasks if task["op"] == "jit_psum psum.7")
    done = subprocess.run(
        [sys.executable, collective], env={**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "needs 8 devices" in done.stderr, done.stderr


if __name__ == "__main__":
    run_all()
