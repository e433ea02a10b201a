"""Records a run on JAX's CPU backend, removes the events of ops (JAX before 0.7 wrote none), and writes the truth about all other
events.

    python host_only.py OUT
    python host_only.py OUT --truth

writes OUT/host.trace.json.gz and OUT/truth.json; with --truth, it writes only truth.json, for the existing trace. If a span is
inside another span with the same name on its thread, it is part of the outer span. The truth is computed only from the events. Self
time is computed by a sweep over the starts and ends of a thread's events. Between two such times, the time belongs to the running
event that started last.
"""

import collections
import glob
import gzip
import json
import os
import sys
import tempfile


def record(folder):
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(x):
        return jnp.tanh(x @ x)

    @jax.jit
    def init(key):
        return jax.random.normal(key, (256, 256))

    x = init(jax.random.key(0)).block_until_ready()
    options = jax.profiler.ProfileOptions()
    options.host_tracer_level = 1
    options.python_tracer_level = 0
    jax.profiler.start_trace(folder, profiler_options=options)
    for _ in range(20):
        x = step(x)
    init(jax.random.key(1)).block_until_ready()
    x.block_until_ready()
    jax.profiler.stop_trace()
    [path] = glob.glob(folder + "/plugins/profile/*/*.trace.json.gz")
    return json.load(gzip.open(path))


def truth(events):
    threads = collections.defaultdict(list)
    for event in events:
        if event.get("ph") == "X":
            threads[event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["name"]))
    own, total, count = collections.Counter(), collections.Counter(), collections.Counter()
    calls, call_time = collections.Counter(), collections.Counter()
    for spans in threads.values():
        spans.sort(key=lambda span: (span[0], -span[1]))
        moments = sorted({moment for start, end, _ in spans for moment in (start, end)})
        for first, second in zip(moments, moments[1:]):
            running = [span for span in spans if span[0] <= first and span[1] >= second]
            if running:
                own[running[-1][2]] += second - first
        ends = {}
        for start, end, name in spans:
            if end <= ends.get(name, -1):
                continue
            ends[name] = end
            count[name] += 1
            total[name] += end - start
            if name.startswith("PjitFunction("):
                calls[name[13:-1]] += 1
                call_time[name[13:-1]] += end - start
    spans = [[name, count[name], round(total[name], 6), round(time, 6)] for name, time in own.most_common(12)]
    programs = [[name, calls[name], round(call_time[name], 6)] for name, _ in call_time.most_common()]
    return {"threads": len(threads), "events": sum(len(spans) for spans in threads.values()), "spans": spans, "calls": programs}


def main(out, *options):
    if options == ("--truth",):
        with gzip.open(out + "/host.trace.json.gz") as file:
            return write(out, json.load(file)["traceEvents"])
    with tempfile.TemporaryDirectory() as folder:
        trace = record(folder)
    kept = [event for event in trace["traceEvents"] if "hlo_op" not in (event.get("args") or {})]
    trace["traceEvents"] = kept
    os.makedirs(out, exist_ok=True)
    with gzip.GzipFile(out + "/host.trace.json.gz", "wb", mtime=0) as file:
        file.write(json.dumps(trace).encode())
    write(out, kept)


def write(out, events):
    with open(out + "/truth.json", "w") as file:
        json.dump(truth(events), file, indent=1)
        file.write("\n")


main(*sys.argv[1:])
