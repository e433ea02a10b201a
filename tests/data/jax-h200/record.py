"""Records a capture of a GPU whose power limit slows some steps, with the power and clocks that `nvidia-smi` reports at the same time.

    PYTHONPATH=python python record.py OUT

All steps run the same program. In some steps, the program multiplies matrices of zeros, which takes little power, and in the other
steps matrices of random numbers. The script writes the capture and `truth.json` into OUT. For each step, `truth.json` contains the
length by the host's clock, and the means of the samples that `nvidia-smi` took during the step. The fixture was recorded on an H200
with JAX 0.11.2, from a copy of this file in /tmp/app. No setting of the GPU was changed.
"""

import datetime
import json
import os
import subprocess
import sys
import time

OUT = sys.argv[1]
os.makedirs(OUT, exist_ok=True)
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ["TZ"] = "UTC"

import crossprof  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

SIDE, LOOPS = 8192, 250
QUERY = "timestamp,power.draw.instant,clocks.sm,temperature.gpu"


@jax.jit
def train_step(x, w):
    return lax.fori_loop(0, LOOPS, lambda _, y: (y @ w) * jnp.bfloat16(0.125), x)


zeros = jnp.zeros((SIDE, SIDE), jnp.bfloat16)
x = jax.random.normal(jax.random.key(1), (SIDE, SIDE), jnp.bfloat16)
w = (jax.random.normal(jax.random.key(0), (SIDE, SIDE)) * (8 / SIDE**0.5)).astype(jnp.bfloat16)
inputs = [(zeros, zeros)] * 4 + [(x, w)] * 4 + [(zeros, zeros)] * 2 + [(x, w)] * 2
for data in inputs:
    jax.block_until_ready(train_step(*data))

rows = open(os.path.join(OUT, "nvidia_smi.csv"), "w+")
command = ["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader,nounits", "-lms", "20"]
smi = subprocess.Popen(command, stdout=rows, env={**os.environ, "TZ": "UTC"})
times = []
with crossprof.capture(OUT, wait=0, warmup=1, active=len(inputs), memory=False) as capture:
    jax.block_until_ready(train_step(zeros, zeros))
    capture.step()
    for data in inputs:
        begun = time.time()
        out = jax.block_until_ready(train_step(*data))
        times.append((begun, time.time()))
        capture.step(out)
smi.terminate()
smi.wait()
rows.seek(0)
samples = []
for row in rows.read().splitlines():
    at, power, clock, temperature = row.split(", ")
    at = datetime.datetime.strptime(at, "%Y/%m/%d %H:%M:%S.%f").replace(tzinfo=datetime.timezone.utc).timestamp()
    samples.append((at, float(power), float(clock), float(temperature)))


def mean(begun, ended, column):
    """Returns the mean of a column. A sample is valid until the next sample."""
    weighted = length = 0.0
    for sample, following in zip(samples, samples[1:]):
        inside = min(ended, following[0]) - max(begun, sample[0])
        if inside > 0:
            weighted, length = weighted + inside * sample[column], length + inside
    return weighted / length


def means(begun, ended):
    return {
        "seconds": ended - begun,
        "power_w": mean(begun, ended, 1),
        "sm_clock_mhz": mean(begun, ended, 2),
        "temperature_c": mean(begun, ended, 3),
    }


truth = {"device": jax.devices()[0].device_kind, "jax": jax.__version__, "flops_per_step": 2 * SIDE**3 * LOOPS}
truth["inputs"] = ["zeros" if data[0] is zeros else "random" for data in inputs]
truth["window"] = means(times[0][0], times[-1][1])
truth["steps"] = [means(*step) for step in times]
with open(os.path.join(OUT, "truth.json"), "w") as file:
    json.dump(truth, file, indent=1)
