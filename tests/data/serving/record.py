"""Record JAX on the CPU while it serves requests: `python record.py CASE OUT` writes OUT/CASE.xplane.pb.gz and
OUT/CASE.truth.json, with the passes as this script ran them: phase, batch, and time by its own clock.

vllm     passes named as in vLLM: two requests at first, then eight; a long prompt delays the others twice
sglang   the same in SGLang's names, where a pass either prefills or decodes
tpu      the same in tpu-inference's names, which do not separate prompts from next tokens
names    no spans: programs named `prefill` and `decode` alone
train    12 annotated steps of reinforcement learning with five forward passes each
"""
import glob
import gzip
import json
import os
import sys
import tempfile
import time

CASE, OUT = sys.argv[1], sys.argv[2]
# Ops run on one thread, so that an event lasts as long as its op.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(3)
WIDTH, CONTEXT, LAYERS = 256, 128, 3
weights = [jnp.asarray(rng.standard_normal((WIDTH, WIDTH), dtype="f4") / 16) for _ in range(LAYERS)]
cache = jnp.asarray(rng.standard_normal((8, CONTEXT, WIDTH), dtype="f4"))


@jax.jit
def prefill(weights, tokens):
    for weight in weights:
        tokens = jnp.tanh(tokens @ weight)
    return tokens.sum(0)


@jax.jit
def decode(weights, cache, tokens):
    for weight in weights:
        scores = jax.nn.softmax(jnp.einsum("bd,bcd->bc", tokens, cache))
        tokens = jnp.tanh(jnp.einsum("bc,bcd->bd", scores, cache) @ weight)
    return tokens


def prompt(length):
    return jnp.ones((length, WIDTH), "f4")


def names(prefills, prompt_tokens, decodes):
    if CASE == "vllm":
        return f"execute_context_{prefills}({prompt_tokens})_generation_{decodes}({decodes})"
    if CASE == "sglang":
        return f"step[EXTEND bs={prefills} toks={prompt_tokens}]" if prefills else f"step[DECODE bs={decodes}]"
    return f"execute_model: {prefills + decodes} reqs, {prompt_tokens + decodes} toks"


# (requests that prefill, prompt tokens, requests that decode) of each pass.
if CASE == "sglang":
    PASSES = [(2, 512, 0)] + [(0, 0, 2)] * 6 + [(6, 1536, 0)] + [(0, 0, 8)] * 10 + [(1, 4096, 0)] + [(0, 0, 8)] * 10
else:
    PASSES = [(2, 512, 0)] + [(0, 0, 2)] * 6 + [(6, 1536, 2)] + [(0, 0, 8)] * 10 + [(1, 4096, 7)] + [(0, 0, 8)] * 10
PASSES += [(0, 0, 3)] * 4


def compute(prefills, prompt_tokens, decodes):
    outputs = []
    if prefills:
        outputs.append(prefill(weights, prompt(prompt_tokens)))
    if decodes:
        outputs.append(decode(weights, cache[:decodes], cache[:decodes, 0]))
    jax.block_until_ready(outputs)


def serve():
    starts = []
    for batch in PASSES:
        starts.append(time.perf_counter())
        with jax.profiler.TraceAnnotation(names(*batch)):
            compute(*batch)
        # The scheduler of an engine.
        time.sleep(0.0003)
    return starts + [time.perf_counter()]


def by_names():
    starts = []
    for batch in PASSES:
        starts.append(time.perf_counter())
        compute(*batch)
    return starts + [time.perf_counter()]


def reinforcement():
    starts = []
    for step in range(12):
        starts.append(time.perf_counter())
        with jax.profiler.StepTraceAnnotation("update", step_num=step):
            for _ in range(5):
                with jax.profiler.TraceAnnotation("execute_context_0(0)_generation_8(8)"):
                    compute(0, 0, 8)
            compute(1, 4096, 0)
    return starts + [time.perf_counter()]


options = jax.profiler.ProfileOptions()
options.python_tracer_level = 0
run = {"names": by_names, "train": reinforcement}.get(CASE, serve)
run()
with tempfile.TemporaryDirectory() as folder:
    with jax.profiler.trace(folder, profiler_options=options):
        starts = run()
    os.makedirs(OUT, exist_ok=True)
    (xplane,) = glob.glob(f"{folder}/plugins/profile/*/*.xplane.pb")
    with open(xplane, "rb") as file, open(f"{OUT}/{CASE}.xplane.pb.gz", "wb") as packed:
        packed.write(gzip.compress(file.read(), 9, mtime=0))
passes = [
    {"prefill_requests": p, "prefill_tokens": t, "decode_requests": d, "time_us": round(1e6 * (end - start), 1)}
    for (p, t, d), start, end in zip(PASSES, starts, starts[1:])
]
with open(f"{OUT}/{CASE}.truth.json", "w") as file:
    json.dump({"passes": passes} if CASE != "train" else {"steps": len(starts) - 1}, file, indent=1)
    file.write("\n")
