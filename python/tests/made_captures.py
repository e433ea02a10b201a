"""Synthetic GPU captures with a known step time, as Chrome traces with the sidecar of the capture kit."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

#: Op, framework path and time in microseconds.
OPS = [
    ("gemm_fusion_dot.1", "layer_0/attn/dot_general", 2000),
    ("custom-call.2", "layer_0/attn/fmha", 1600),
    ("gemm_fusion_dot.2", "layer_1/mlp/dot_general", 2500),
    ("loop_gelu_fusion.1", "layer_1/mlp/gelu", 400),
    ("loop_multiply_fusion.9", "opt/mul", 350),
]
#: 2026-11-02 10:00 UTC.
START_NS = 1_793_613_600 * 10**9
HOUR_NS = 3600 * 10**9


def capture(
    folder: Path,
    number: int,
    *,
    seed: int = 0,
    steps: int = 8,
    noise: float = 0.004,
    slower: float = 0.0,
    batch: int = 16,
    commit: str | None = None,
    hosts: int = 1,
) -> Path:
    """Writes a capture and returns its folder.

    Args:
        folder: Log folder that contains the captures.
        number: Number of the capture. Captures are an hour apart.
        seed: Start of the random numbers.
        steps: Number of steps.
        noise: Standard deviation of the level of a capture, relative to its step.
        slower: Additional time of the op ``custom-call.2``, relative to the step.
        batch: Batch size in the sidecar.
        commit: Commit in the sidecar.
        hosts: Number of hosts, each with a file.
    """
    rng = random.Random(seed * 100_003 + number)
    session = folder / f"run_{number:03}" / "plugins" / "profile" / f"2026_11_02_{number:03}"
    session.mkdir(parents=True)
    level = 1 + rng.gauss(0, noise)
    durations = [[us * level * (1 + rng.gauss(0, 0.002)) for _, _, us in OPS] for _ in range(steps)]
    extra = slower * sum(us for _, _, us in OPS)
    for host in range(hosts):
        events: list[dict[str, Any]] = [
            {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
            {"ph": "M", "pid": 1, "tid": 13, "name": "thread_name", "args": {"name": "Stream #13(Compute)"}},
            {"ph": "M", "pid": 701, "name": "process_name", "args": {"name": "/host:CPU"}},
            {"ph": "M", "pid": 701, "tid": 4001, "name": "thread_name", "args": {"name": "python"}},
        ]
        at = 1000.0
        for step, times in enumerate(durations):
            begin = at
            for (op, scope, _), us in zip(OPS, times):
                took = us + (extra if op == "custom-call.2" else 0)
                path = f"jit(train_step)/{scope}"
                arguments = {"hlo_module": "jit_train_step", "hlo_op": op, "name": path, "tf_op": path}
                events.append(
                    {
                        "ph": "X",
                        "pid": 1,
                        "tid": 13,
                        "ts": round(at, 3),
                        "dur": round(took, 3),
                        "name": op.replace(".", "_"),
                        "args": arguments,
                    }
                )
                at += took + 1.5
            at += 20
            events.append(
                {
                    "ph": "X",
                    "pid": 701,
                    "tid": 4001,
                    "ts": round(begin, 3),
                    "dur": round(at - begin - 1, 3),
                    "name": "train",
                    "args": {"step_num": str(step)},
                }
            )
        (session / f"host{host}.trace.json").write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": [*events, {}]}))
    kit: dict[str, Any] = {"wall_clock_ns": START_NS + number * HOUR_NS, "versions": {"jax": "0.10.2", "libtpu": "0.0.40"}}
    if commit is not None:
        kit["git_commit"] = commit
    (session / "crossprof.json").write_text(json.dumps({"batch_size": batch, "seq_length": 128, "capture": kit}))
    return session
