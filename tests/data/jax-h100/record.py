"""Records small captures of JAX on a GPU, each with numbers that the profiler did not measure.

    python record.py CASE OUT

The script writes the capture and `truth.json` into OUT. `truth.json` contains the step times without tracing, XLA's analysis of the
programs, and the numbers that follow from the case itself (bytes of copies, FLOPs of products, iterations). The fixtures were
recorded on an H100 with JAX 0.11.2 in a container with the host name `gpu-host`, from a copy of this file in /tmp/app.
"""

import functools
import json
import os
import sys
import time

CASE, OUT = sys.argv[1], sys.argv[2]
os.makedirs(OUT, exist_ok=True)
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
WITHOUT_GRAPHS = "--xla_gpu_enable_command_buffer="
FLAGS = {
    "graphs_off": WITHOUT_GRAPHS,
    "conv_off": WITHOUT_GRAPHS,
    "graphs_on": "--xla_enable_command_buffers_during_profiling=true --xla_gpu_graph_min_graph_size=1",
    # The thunks in `thunk_metadata.txt` are the truth of `instructions_in_order`.
    "train": f"--xla_dump_to={OUT}/dump --xla_dump_hlo_as_text --xla_dump_hlo_module_re=.*train_step.*",
}
if CASE in FLAGS:
    os.environ["XLA_FLAGS"] = FLAGS[CASE]

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

truth = {"jax": jax.__version__, "device": jax.devices()[0].device_kind}


def record(step, n=6, name="", blocked=False, warm=3, **advanced):
    """Measures `step(i)` without tracing, then captures `n` steps. `blocked` waits for each step."""
    for i in range(warm):
        jax.block_until_ready(step(i))
    single = []
    for i in range(8):
        start = time.perf_counter()
        jax.block_until_ready(step(i))
        single.append(time.perf_counter() - start)
    start = time.perf_counter()
    for i in range(16):
        out = step(i)
    jax.block_until_ready(out)
    stream = (time.perf_counter() - start) / 16
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    if advanced:
        options.advanced_configuration = advanced
    jax.profiler.start_trace(os.path.join(OUT, "capture" + name), profiler_options=options)
    traced = []
    whole = time.perf_counter()
    for i in range(n):
        start = time.perf_counter()
        with jax.profiler.StepTraceAnnotation("train", step_num=i):
            out = step(i)
            if blocked:
                jax.block_until_ready(out)
        traced.append(1e3 * (time.perf_counter() - start))
    jax.block_until_ready(out)
    whole = time.perf_counter() - whole
    jax.profiler.stop_trace()
    truth["run" + name] = {
        "untraced_blocked_ms": 1e3 * sorted(single)[4],
        "untraced_stream_ms": 1e3 * stream,
        "traced_host_ms": traced,
        "traced_total_ms": 1e3 * whole,
        "steps": n,
    }


def analyse(name, function, *arguments):
    """Notes XLA's own analysis of a program."""
    compiled = function.lower(*arguments).compile()
    memory, cost = compiled.memory_analysis(), compiled.cost_analysis() or {}
    sizes = {key: getattr(memory, key) for key in dir(memory) if key.endswith("_in_bytes")}
    truth.setdefault("programs", {})[name] = {key: cost.get(key) for key in ("flops", "bytes accessed")} | sizes


def key(seed=0):
    return jax.random.key(seed)


# A training step of a small language model.


def gpt_init(layers, d, vocab, t):
    keys = iter(jax.random.split(key(), 8 * layers + 8))

    def normal(*shape):
        return jax.random.normal(next(keys), shape, jnp.float32) * 0.02

    def layer():
        return {
            "qkv": normal(d, 3 * d),
            "out": normal(d, d),
            "up": normal(d, 4 * d),
            "down": normal(4 * d, d),
            "n1": jnp.ones(d),
            "n2": jnp.ones(d),
        }

    embeddings = {"embed": normal(vocab, d), "position": normal(t, d), "head": normal(d, vocab)}
    return embeddings | {"layers": [layer() for _ in range(layers)]}


def norm(x, scale):
    x32 = x.astype(jnp.float32)
    return (x32 * lax.rsqrt(jnp.mean(x32 * x32, -1, keepdims=True) + 1e-6) * scale).astype(x.dtype)


def gpt_loss(p, tokens, heads=8, dtype=jnp.bfloat16):
    with jax.named_scope("embed"):
        x = (p["embed"][tokens] + p["position"]).astype(dtype)
    for i, layer in enumerate(p["layers"]):
        with jax.named_scope(f"layer_{i}"):
            with jax.named_scope("attention"):
                h = norm(x, layer["n1"]) @ layer["qkv"].astype(dtype)
                b, t, _ = h.shape
                q, k, v = (a.reshape(b, t, heads, -1) for a in jnp.split(h, 3, -1))
                a = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")
                x = x + a.reshape(b, t, -1) @ layer["out"].astype(dtype)
            with jax.named_scope("mlp"):
                h = jax.nn.gelu(norm(x, layer["n2"]) @ layer["up"].astype(dtype))
                x = x + h @ layer["down"].astype(dtype)
    with jax.named_scope("head"):
        logits = (x @ p["head"].astype(dtype)).astype(jnp.float32)
    with jax.named_scope("loss"):
        labels = jnp.roll(tokens, -1, 1)[..., None]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels, -1))


def gpt(layers=4, d=512, b=8, t=512, vocab=8192):
    import optax

    params = gpt_init(layers, d, vocab, t)
    optimizer = optax.adamw(1e-3)
    state = [params, optimizer.init(params)]

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def train_step(params, moments, tokens):
        loss, gradients = jax.value_and_grad(gpt_loss)(params, tokens)
        with jax.named_scope("optimizer"):
            updates, moments = optimizer.update(gradients, moments, params)
            params = optax.apply_updates(params, updates)
        return params, moments, loss

    tokens = jax.random.randint(key(1), (b, t), 0, vocab)
    analyse("train_step", train_step, *state, tokens)
    # Products of the forward pass, three times for both passes. All pairs of causal attention are included.
    products = layers * (2 * b * t * d * 12 * d + 4 * b * t * t * d) + 2 * b * t * d * vocab
    truth["model_flops_per_step"] = 3 * products
    truth["tokens_per_step"] = b * t

    def step(_):
        *state[:], loss = train_step(*state, tokens)
        return loss

    return step


def train():
    record(gpt())


def counters():
    names = ["sm__cycles_active.avg", "sm__inst_executed.sum", "dram__bytes_read.sum", "dram__bytes_write.sum"]
    record(
        gpt(layers=2),
        n=4,
        gpu_pm_sample_counters=",".join(names),
        gpu_pm_sample_interval_us=500,
        gpu_pm_sample_buffer_size_per_gpu_mb=64,
    )


def attention():
    q = jax.random.normal(key(), (4, 2048, 16, 64), jnp.bfloat16)
    for implementation in ("cudnn", "xla"):

        def loss(q, k, v, implementation=implementation):
            out = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation=implementation)
            return out.astype(jnp.float32).sum()

        gradients = jax.jit(jax.grad(loss, (0, 1, 2)))
        analyse(implementation, gradients, q, q, q)
        record(lambda _: gradients(q, q, q), n=4, name="_" + implementation)  # noqa: B023


def conv():
    keys = jax.random.split(key(), 4)
    sizes = [(3, 3, 64, 64), (3, 3, 64, 128), (1, 1, 64, 128)]
    weights = [jax.random.normal(k, size, jnp.bfloat16) * 0.05 for k, size in zip(keys, sizes)]
    x = jax.random.normal(keys[3], (64, 56, 56, 64), jnp.bfloat16)

    def convolve(x, w, stride):
        numbers = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=numbers)

    def batch_norm(x):
        variance = x.astype(jnp.float32).var((0, 1, 2))
        return (x - x.mean((0, 1, 2))) * lax.rsqrt(variance + 1e-5).astype(x.dtype)

    @jax.jit
    def train_step(weights, x):
        def loss(weights):
            with jax.named_scope("block1"):
                h = jax.nn.relu(batch_norm(convolve(x, weights[0], 1)))
            with jax.named_scope("block2"):
                h = jax.nn.relu(batch_norm(convolve(h, weights[1], 2)) + convolve(h, weights[2], 2))
            return (h.astype(jnp.float32) ** 2).mean()

        return [w - 1e-3 * g for w, g in zip(weights, jax.grad(loss)(weights))]

    analyse("train_step", train_step, weights, x)
    first = 2 * 64 * 56 * 56 * 64 * 64 * 9
    others = 2 * 64 * 28 * 28 * 64 * 128 * (9 + 1)
    # The input of the first convolution needs no gradient.
    truth["model_flops_per_step"] = 2 * first + 3 * others
    state = [weights]

    def step(_):
        state[0] = train_step(state[0], x)
        return state[0]

    record(step)


conv_off = conv


def loop():
    x = jnp.ones((256, 256))
    run = jax.jit(lambda x: lax.fori_loop(0, 100, lambda _, y: jnp.cos(y) @ y * 0.01, x))
    analyse("loop", run, x)
    truth["loop_iterations"] = 100
    record(lambda _: run(x), n=4)


def input_bound():
    run = jax.jit(lambda w, x: jnp.tanh(x @ w).sum())
    w = jax.random.normal(key(), (4096, 4096))
    host = np.random.default_rng(0).random((2048, 4096), np.float32)

    def step(i):
        with jax.profiler.TraceAnnotation("load_batch"):
            time.sleep(0.010)
            batch = host * np.float32(i + 1)
        with jax.profiler.TraceAnnotation("to_device"):
            x = jax.device_put(batch)
        return run(w, x)

    truth["batch_bytes"] = host.nbytes
    record(step, blocked=True)


def decode():
    layers, d, vocab, context = 16, 1024, 4096, 256
    keys = jax.random.split(key(), 3)
    shapes = {"qkv": (layers, d, 3 * d), "mlp": (layers, d, d), "head": (d, vocab)}
    weights = {name: jax.random.normal(k, shapes[name], jnp.bfloat16) * 0.02 for k, name in zip(keys, shapes)}

    def decode_step(w, cache, x, position):
        new = []
        for i in range(layers):
            with jax.named_scope(f"layer_{i}"):
                q, k, v = jnp.split(x @ w["qkv"][i], 3, -1)
                c = lax.dynamic_update_slice(cache[i], jnp.stack([k, v])[:, :, None], (0, 0, position, 0))
                scores = (jnp.einsum("bd,btd->bt", q, c[0]) / 32).astype(jnp.float32)
                x = x + jnp.einsum("bt,btd->bd", jax.nn.softmax(scores).astype(x.dtype), c[1])
                x = x + jax.nn.silu(x @ w["mlp"][i])
                new.append(c)
        return new, x, jnp.argmax(x @ w["head"], -1)

    run = jax.jit(decode_step, donate_argnums=1)
    state = [
        [jnp.zeros((2, 8, context, d), jnp.bfloat16) for _ in range(layers)],
        jax.random.normal(key(3), (8, d), jnp.bfloat16),
    ]
    analyse("decode_step", run, weights, *state, 0)

    def step(i):
        *state[:], tokens = run(weights, *state, i)
        return tokens

    record(step)


graphs_on = graphs_off = decode


def zoo():
    x = jax.random.normal(key(), (2048, 2048))
    arrays = {
        "x": x,
        "b16": x.astype(jnp.bfloat16),
        "f16": x.astype(jnp.float16),
        "f8": x.astype(jnp.float8_e4m3fn),
        "i8": (x * 10).astype(jnp.int8),
        "idx": jax.random.randint(key(2), (65536,), 0, 2048),
        "spd": x[:512, :512] @ x[:512, :512].T + 600 * jnp.eye(512),
        "img": jax.random.normal(key(4), (16, 64, 64, 32)),
        "k3": jax.random.normal(key(5), (3, 3, 32, 32)),
        "groups": jnp.array([300, 700, 24, 1024], jnp.int32),
        "k9": jax.random.key_data(key(9)),
    }
    nhwc = "dimension_numbers=('NHWC', 'HWIO', 'NHWC')"
    ops = {
        "dot_bf16": "b16 @ b16",
        "dot_f32": "x @ x",
        "dot_f32_highest": "jnp.dot(x, x, precision='highest')",
        "dot_tf32": "jnp.dot(x, x, precision='TF32_TF32_F32')",
        "dot_f16": "f16 @ f16",
        "dot_f8": "lax.dot_general(f8, f8, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)",
        "dot_i8": "lax.dot(i8, i8, preferred_element_type=jnp.int32)",
        "ragged": "lax.ragged_dot(b16, jnp.stack([b16[:, :512]] * 4), groups)",
        "batched": "jnp.einsum('bij,bjk->bik', b16.reshape(64, 256, 256), b16.reshape(64, 256, 256))",
        "sort": "jnp.sort(x, -1)",
        "topk": "lax.top_k(x, 8)",
        "argsort": "jnp.argsort(x.reshape(-1))",
        "gather": "x[idx]",
        "scatter": "x.at[idx].add(1.0)",
        "cumsum": "jnp.cumsum(x, 0)",
        "fft": "jnp.fft.fft2(x)",
        "eigh": "jnp.linalg.eigh(spd)",
        "cholesky": "jnp.linalg.cholesky(spd)",
        "solve": "jnp.linalg.solve(spd, x[:512])",
        "qr": "jnp.linalg.qr(x[:512, :512])",
        "svd": "jnp.linalg.svd(x[:256, :256])",
        "normal": "jax.random.normal(jax.random.wrap_key_data(k9), (4096, 1024))",
        "softmax": "jax.nn.softmax(x)",
        "layer_norm": "(x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)",
        "transpose": "x.T + 0.0",
        "reduce_all": "x.sum()",
        "reduce_cols": "x.sum(0)",
        "conv": f"lax.conv_general_dilated(img, k3, (1, 1), 'SAME', {nhwc})",
        "conv_t": f"lax.conv_transpose(img, k3, (2, 2), 'SAME', {nhwc})",
        "max_pool": "lax.reduce_window(img, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'SAME')",
        "while": "lax.while_loop(lambda c: c[0] < 20, lambda c: (c[0] + 1, jnp.sin(c[1])), (0, x))[1]",
        "conditional": "lax.cond(x[0, 0] > 0, lambda y: y @ y, lambda y: jnp.sin(y), x)",
        "scan": "lax.scan(lambda c, r: (jnp.tanh(c + r), c.sum()), x[0], x[:64])",
        "concat": "jnp.concatenate([x, x * 2], 0)",
        "pad": "jnp.pad(x, 3)",
    }
    functions = {}
    for name, source in ops.items():

        def run(arrays, source=source):
            return eval(source, globals(), arrays)

        run.__name__ = "op_" + name
        functions[name] = jax.jit(run)
        jax.block_until_ready(functions[name](arrays))
    times = truth["untraced_stream_ms"] = {}
    for name, function in functions.items():
        start = time.perf_counter()
        for _ in range(20):
            out = function(arrays)
        jax.block_until_ready(out)
        times[name] = 1e3 * (time.perf_counter() - start) / 20
    record(lambda _: [function(arrays) for function in functions.values()], n=2, warm=1)


def pallas():
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    def kernel(x, out):
        e = jnp.exp(x[...] - x[...].max(-1, keepdims=True))
        out[...] = e / e.sum(-1, keepdims=True)

    x = jax.random.normal(key(), (4096, 1024))
    block = pl.BlockSpec((4, 1024), lambda i: (i, 0))

    @jax.jit
    def softmax(x):
        return pl.pallas_call(
            kernel,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            grid=(1024,),
            in_specs=[block],
            out_specs=block,
            compiler_params=triton.CompilerParams(num_warps=4),
            name="softmax_kernel",
        )(x)

    truth["error"] = float(jnp.abs(softmax(x) - jax.nn.softmax(x)).max())
    truth["bytes"] = 2 * x.nbytes
    record(lambda _: softmax(x), n=4)


def transfers():
    host = np.random.default_rng(0).random((8 << 20,), np.float32)
    device = jax.devices()[0]
    pinned = jax.sharding.SingleDeviceSharding(device, memory_kind="pinned_host")
    on_device = jax.sharding.SingleDeviceSharding(device, memory_kind="device")
    held = jax.device_put(host, pinned)
    kinds = ["host_to_device_pageable", "pinned_to_device", "device_to_pinned", "device_to_host"]
    truth["bytes"] = dict.fromkeys(kinds, host.nbytes)

    def step(_):
        a = jax.device_put(host, device)
        b = jax.device_put(held, on_device)
        jax.block_until_ready((a, b, jax.device_put(b, pinned)))
        np.asarray(a + 1)
        return b

    record(step, n=3)


def recompile():
    run = jax.jit(lambda x: (jnp.sin(x) @ x.T).sum())
    arrays = [jnp.ones((256 + 8 * i, 512)) for i in range(12)]
    jax.block_until_ready(run(arrays[0]))
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    jax.profiler.start_trace(os.path.join(OUT, "capture"), profiler_options=options)
    for i, x in enumerate(arrays[4:10]):
        with jax.profiler.StepTraceAnnotation("train", step_num=i):
            run(x).block_until_ready()
    jax.profiler.stop_trace()
    truth["compilations"] = 6


def memory():
    weights = jnp.ones((4096, 4096))
    state = [jnp.ones((2048, 4096)) for _ in range(4)]
    run = jax.jit(lambda w, x: jnp.tanh(w @ w @ x.T @ x))
    analyse("f", run, weights, state[0])
    truth["live_bytes"] = {"weights": weights.nbytes, "state": 4 * state[0].nbytes}
    stats = jax.devices()[0].memory_stats()
    truth["memory"] = {name: int(stats[name]) for name in ("bytes_in_use", "peak_bytes_in_use", "bytes_limit", "pool_bytes")}
    record(lambda i: run(weights, state[i % 4]), n=3)


try:
    globals()[CASE]()
finally:
    with open(os.path.join(OUT, "truth.json"), "w") as file:
        json.dump(truth, file, indent=1, default=float)
