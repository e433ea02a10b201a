#!/usr/bin/env python3
"""Makes programs.tar.gz: HLO text, as XLA prints it, next to the serialised module that it was printed from.

    pip install jax==0.10.2
    python make.py

* jit_NAME.txt, jit_NAME.pb   programs that JAX compiled for CPUs, and their modules
* jit_NAME.json               FLOPs, bytes and memory of the executable by XLA
* hlo/NAME.txt, hlo/NAME.pb   the modules of ../hlo
* long/NAME.txt               the same without `%`, with operand shapes and with large constants
* dump/...                    a folder of --xla_dump_to, as text, and dump.pb/...: the same as protos

and jit_loop.txt: a program of the dump with its buffer assignment and lifetimes in one file, for fuzzing.
"""
import glob
import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile

if '--dump' not in sys.argv:
    os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=8'

import jax
import jax.numpy as jnp
from jax import lax
from jaxlib import _hlo

HERE = os.path.dirname(os.path.abspath(__file__))
# Removes the local folder from the paths of source files.
jax.config.update('jax_hlo_source_file_canonicalization_regex', '.*/')

F32, BF16, S32 = jnp.float32, jnp.bfloat16, jnp.int32


def arg(*shape, dtype=F32, sharding=None):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


def layers(params, x):
    for index, (weight, bias) in enumerate(params):
        with jax.named_scope('layer_%d' % index):
            x = jnp.tanh(x @ weight + bias)
    return jnp.mean(x * x)


def train(params, x):
    loss, gradients = jax.value_and_grad(layers)(params, x)
    with jax.named_scope('optimizer'):
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss


PARAMS = [(arg(16, 16), arg(16))] * 3


def loop(x, w):
    return lax.scan(lambda carry, _: (jnp.tanh(carry @ w), carry.sum()), x, None, length=5)


def search(x):
    return lax.while_loop(lambda state: state[0].sum() < 100, lambda state: (state[0] * 2, state[1] + 1), (x, 0))


def branches(index, x):
    return lax.switch(index, [jnp.sin, jnp.cos, lambda y: y @ y], x)


def convolve(dimensions, strides=(1, 1), padding='SAME', **options):
    return lambda x, w: lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=dimensions, **options)


def pooled(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID').sum()


def attention(q, k, v):
    with jax.named_scope('attention'):
        scores = jnp.einsum('bshd,bthd->bhst', q, k) / 8
        return jnp.einsum('bhst,bthd->bshd', jax.nn.softmax(scores), v)


def quoted(x):
    with jax.named_scope('a "quoted\\name", {with} (brackets), é'):
        return jnp.exp(x) + 1


def programs():
    auto = jax.sharding.AxisType.Auto
    mesh = jax.make_mesh((8,), ('d',), axis_types=(auto,))
    grid = jax.make_mesh((4, 2), ('x', 'y'), axis_types=(auto, auto))
    spec = jax.sharding.PartitionSpec

    def on(mesh, *axes):
        return jax.sharding.NamedSharding(mesh, spec(*axes))

    def mapped(function, out, mesh=mesh, into=spec('d')):
        return jax.shard_map(function, mesh=mesh, in_specs=into, out_specs=out, check_vma=False)

    rows = arg(64, 8, sharding=on(mesh, 'd'))
    yield 'dot', lambda a, b: a @ b, (arg(8, 16), arg(16, 4))
    yield 'dot_batch', lambda a, b: jnp.einsum('bik,bkj->bij', a, b), (arg(3, 8, 16), arg(3, 16, 4))
    yield 'dot_highest', lambda a, b: jnp.dot(a, b, precision='highest'), (arg(8, 16), arg(16, 4))
    yield 'bf16', lambda a, b: (a @ b).astype(F32), (arg(16, 32, dtype=BF16), arg(32, 8, dtype=BF16))
    yield 'int8', lambda a, b: lax.dot(a, b, preferred_element_type=S32), (
        arg(16, 32, dtype=jnp.int8), arg(32, 8, dtype=jnp.int8))
    yield 'float8', lambda a: a.astype(jnp.float8_e4m3fn).astype(F32), (arg(16, 32),)
    yield 'complex', lambda a: (a * a.conj()).real, (arg(16, dtype=jnp.complex64),)
    yield 'convolution', convolve(('NHWC', 'HWIO', 'NHWC'), (2, 2)), (arg(2, 15, 17, 3), arg(3, 3, 3, 8))
    yield 'convolution_nchw', convolve(('NCHW', 'OIHW', 'NCHW'), padding=((1, 0), (2, 1))), (
        arg(2, 3, 15, 17), arg(8, 3, 3, 3))
    yield 'convolution_groups', convolve(('NHWC', 'HWIO', 'NHWC'), feature_group_count=4), (
        arg(2, 9, 9, 8), arg(3, 3, 2, 8))
    yield 'convolution_dilated', convolve(
        ('NHWC', 'HWIO', 'NHWC'), padding=((1, 1), (2, 0)), rhs_dilation=(2, 1), lhs_dilation=(1, 2)), (
        arg(1, 9, 9, 2), arg(3, 3, 2, 4))
    yield 'convolution_gradient', jax.grad(lambda w, x: convolve(('NHWC', 'HWIO', 'NHWC'))(x, w).sum()), (
        arg(3, 3, 3, 8), arg(2, 8, 8, 3))
    yield 'scan', loop, (arg(16, 16), arg(16, 16))
    yield 'while', search, (arg(4),)
    yield 'fori', lambda x: lax.fori_loop(0, 7, lambda i, y: y * i + 1, x), (arg(4),)
    yield 'cond', lambda p, x: lax.cond(p, jnp.exp, lambda y: y * y + 1, x), (arg(dtype=jnp.bool_), arg(64))
    yield 'switch', branches, (arg(dtype=S32), arg(8, 8))
    yield 'sort', lambda x: jnp.sort(x, axis=0), (arg(33, 4),)
    yield 'sort_pairs', lambda k, v: lax.sort_key_val(k, v), (arg(33), arg(33, dtype=S32))
    yield 'top_k', lambda x: lax.top_k(x, 5), (arg(4, 50),)
    yield 'argmax', lambda x: jnp.argmax(x, axis=0), (arg(50, 7),)
    yield 'gather', lambda x, i: x[i], (arg(100, 8), arg(12, dtype=S32))
    yield 'gather_pairs', lambda x, i, j: x[i, :, j], (arg(10, 8, 6), arg(12, dtype=S32), arg(12, dtype=S32))
    yield 'scatter_add', lambda x, i, u: x.at[i].add(u), (arg(100, 8), arg(12, dtype=S32), arg(12, 8))
    yield 'scatter_max', lambda x, i, u: x.at[:, i].max(u), (arg(8, 100), arg(12, dtype=S32), arg(8, 12))
    yield 'reduce', lambda x: (x.sum(), x.max(1), x.prod(0)), (arg(8, 9),)
    yield 'cumsum', lambda x: jnp.cumsum(x, axis=1), (arg(8, 100),)
    yield 'pool_gradient', jax.grad(pooled), (arg(2, 8, 8, 3),)
    yield 'slices', lambda x: (x[1:7:2, ::3], x[::-1], jnp.pad(x, ((1, 2), (0, 3)))), (arg(8, 9),)
    yield 'dynamic_slice', lambda x, i: lax.dynamic_slice(x, (i, 0), (4, 8)) * 2, (arg(64, 8), arg(dtype=S32))
    yield 'dynamic_update', lambda x, u, i: lax.dynamic_update_slice(x * 2, u + 1, (i, 0)), (
        arg(64, 8), arg(4, 8), arg(dtype=S32))
    yield 'transpose', lambda x: (jnp.transpose(x, (2, 0, 1)), x.reshape(-1), jnp.broadcast_to(x, (5, 2, 3, 4))), (
        arg(2, 3, 4),)
    yield 'concatenate', lambda a, b: jnp.concatenate([a, b, a], 1), (arg(3, 4), arg(3, 2))
    yield 'fft', lambda x: jnp.abs(jnp.fft.fft2(x)), (arg(16, 32),)
    yield 'irfft', lambda x: jnp.fft.irfft(jnp.fft.rfft(x)), (arg(4, 32),)
    yield 'cholesky', jnp.linalg.cholesky, (arg(8, 8),)
    yield 'eigh', jnp.linalg.eigh, (arg(8, 8),)
    yield 'qr', jnp.linalg.qr, (arg(8, 6),)
    yield 'solve', lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True), (arg(8, 8), arg(8, 2))
    yield 'random', lambda key: jax.random.normal(key, (16, 8)), (arg(2, dtype=jnp.uint32),)
    yield 'threefry_bits', lambda key: jax.random.randint(key, (7,), 0, 10), (arg(2, dtype=jnp.uint32),)
    yield 'layer_norm', lambda x: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5), (
        arg(8, 64),)
    yield 'attention', attention, (arg(2, 12, 3, 8), arg(2, 20, 3, 8), arg(2, 20, 3, 8))
    yield 'remat', jax.grad(lambda x: jax.checkpoint(lambda y: jnp.sin(jnp.sin(y @ y)))(x).sum()), (arg(8, 8),)
    yield 'train', train, (PARAMS, arg(4, 16))
    yield 'train_donated', jax.jit(train, donate_argnums=0), (PARAMS, arg(4, 16))
    yield 'constants', lambda x: (x + jnp.arange(40.0), x[0] * 1e-8, x[1] * jnp.inf, x > 0.1, x.astype(S32) + 7), (
        arg(40),)
    yield 'quoted', quoted, (arg(8),)
    yield 'callback', lambda x: jax.pure_callback(lambda y: y, arg(8), x), (arg(8),)
    yield 'psum', mapped(lambda x: lax.psum(x * 2, 'd'), spec()), (rows,)
    yield 'all_gather', mapped(lambda x: lax.all_gather(x, 'd'), spec()), (rows,)
    yield 'reduce_scatter', mapped(lambda x: lax.psum_scatter(x, 'd', tiled=True), spec('d')), (rows,)
    yield 'all_to_all', mapped(lambda x: lax.all_to_all(x, 'd', 1, 0), spec('d')), (rows,)
    yield 'permute', mapped(lambda x: lax.ppermute(x, 'd', [(i, (i + 1) % 8) for i in range(8)]), spec('d')), (rows,)
    yield 'psum_of_one_axis', mapped(lambda x: lax.psum(x, 'x'), spec(None, 'y'), grid, spec('x', 'y')), (
        arg(8, 8, sharding=on(grid, 'x', 'y')),)
    yield 'sharded_dot', lambda a, b: a @ b, (
        arg(16, 32, sharding=on(grid, 'x', 'y')), arg(32, 8, sharding=on(grid, 'y', None)))
    yield 'constraint', lambda a: lax.with_sharding_constraint(a * 2, on(grid, 'y', 'x')) @ a.T, (
        arg(16, 32, sharding=on(grid, 'x', None)),)


def memory(compiled):
    analysis = compiled.memory_analysis()
    names = ['argument_size_in_bytes', 'output_size_in_bytes', 'alias_size_in_bytes', 'temp_size_in_bytes',
             'peak_memory_in_bytes']
    return {name: getattr(analysis, name) for name in names}


def dump():
    """Compiles two programs, whose dump is part of the fixtures."""
    jax.jit(loop).lower(arg(16, 16), arg(16, 16)).compile()
    jax.jit(train, donate_argnums=0).lower(PARAMS, arg(4, 16)).compile()


def dumped(folder, *flags):
    with tempfile.TemporaryDirectory() as into:
        environment = {**os.environ, 'XLA_FLAGS': ' '.join(('--xla_dump_to=' + into,) + flags)}
        subprocess.run([sys.executable, __file__, '--dump'], env=environment, check=True)
        for path in sorted(glob.glob(into + '/*')):
            if os.path.isfile(path) and not path.endswith(('.ll', '.o', '.debug_options')):
                with open(path, 'rb') as file:
                    yield folder + '/' + os.path.basename(path), file.read()


def files():
    for name, function, arguments in programs():
        compiled = getattr(function, 'lower', jax.jit(function).lower)(*arguments).compile()
        module, = compiled.runtime_executable().hlo_modules()
        yield 'jit_%s.txt' % name, module.to_string()
        yield 'jit_%s.pb' % name, module.as_serialized_hlo_module_proto()
        cost = compiled.cost_analysis()
        truth = {'flops': cost.get('flops', 0), 'bytes': cost.get('bytes accessed', 0), 'memory': memory(compiled)}
        yield 'jit_%s.json' % name, json.dumps(truth, sort_keys=True)
    options = _hlo.HloPrintOptions()
    options.print_percent = False
    options.print_operand_shape = True
    options.print_large_constants = True
    for path in sorted(glob.glob(os.path.join(HERE, '../hlo/*.pb'))):
        with open(path, 'rb') as file:
            module = _hlo.HloModule.from_serialized_hlo_module_proto(file.read())
        name = os.path.basename(path).removesuffix('.pb')
        # XLA orders computations and call stacks anew when it reads a module.
        yield 'hlo/%s.pb' % name, module.as_serialized_hlo_module_proto()
        yield 'hlo/%s.txt' % name, module.to_string()
        yield 'long/%s.txt' % name, module.to_string(options)
    yield from dumped('dump')
    yield from dumped('dump.pb', '--xla_dump_hlo_as_proto')


def main():
    packed, joined = io.BytesIO(), []
    with tarfile.open(fileobj=packed, mode='w', format=tarfile.USTAR_FORMAT) as archive:
        for name, content in files():
            content = content.encode() if isinstance(content, str) else content
            if name.startswith('dump/') and 'jit_loop.cpu_after_optimizations' in name:
                parts = ('optimizations.txt', '-buffer-assignment.txt', '-live-range.txt')
                joined += [(parts.index(part), content) for part in parts if name.endswith(part)]
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    with open(os.path.join(HERE, 'programs.tar.gz'), 'wb') as file:
        file.write(gzip.compress(packed.getvalue(), 9, mtime=0))
    with open(os.path.join(HERE, 'jit_loop.txt'), 'wb') as file:
        file.write(b'\n'.join(content for _, content in sorted(joined)))


dump() if '--dump' in sys.argv else main()
