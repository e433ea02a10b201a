#!/usr/bin/env python3
"""Makes the HLO fixtures and the expected results from other programs.

    pip install jax==0.10.2 xprof==2.24.2
    python make.py

programs.hlo.txt contains HLO modules as text, separated by `---`; random_fusions.py makes one more. For each module, this writes

* NAME.pb          the module as xla.HloModuleProto;
* expected.json    general: FLOPs, transcendentals and bytes of the whole module by XLA's HloCostAnalysis (from jaxlib);
                   gpu: FLOPs, bytes, category and expression of each instruction of the entry by XProf's GPU analysis, read
                   from the hlo_stats of a profile in which each instruction ran once for a millisecond.

jit_NAME.pb are modules that JAX compiled for CPUs (`compiled_programs` below), with the results of the executable's cost_analysis().
"""
import json
import os
import tempfile

os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=8'

import jax
import jax.numpy as jnp
from jaxlib import _hlo
from jax._src.lib import _jax

import random_fusions

HERE = os.path.dirname(os.path.abspath(__file__))
# Removes the local folder from the paths of source files.
jax.config.update('jax_hlo_source_file_canonicalization_regex', '.*/')


def varint(value):
    value &= (1 << 64) - 1
    out = b''
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def content(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


STATS = ['Hlo Proto', 'hlo_op', 'hlo_module', 'program_id', 'correlation_id', 'device_vendor']


def stat(name, value):
    key = number(1, STATS.index(name) + 1)
    if isinstance(value, int):
        return key + number(4, value)
    return key + content(6 if isinstance(value, bytes) else 5, value)


def plane(number_, name, lines, metadata, stats=()):
    out = number(1, number_) + content(2, name) + b''.join(content(3, line) for line in lines)
    for key, value in metadata.items():
        out += content(4, number(1, key) + content(2, value))
    for i, key in enumerate(STATS):
        out += content(5, number(1, i + 1) + content(2, number(1, i + 1) + content(2, key)))
    return out + b''.join(content(6, value) for value in stats)


def xspace(modules):
    """Returns a profile in which each instruction of each module's entry is one kernel of a millisecond."""
    hlo, kernels, events, time = {}, {}, b'', 0
    for program, (name, (proto, instructions)) in enumerate(modules.items(), 1):
        hlo[program] = number(1, program) + content(2, '%s(%d)' % (name, program)) + content(
            5, stat('Hlo Proto', content(1, proto)))
        for instruction in instructions:
            kernel = len(kernels) + 1
            kernels[kernel] = number(1, kernel) + content(2, instruction)
            stats = [stat('hlo_op', instruction), stat('hlo_module', name), stat('program_id', program),
                     stat('correlation_id', kernel)]
            events += content(4, number(1, kernel) + number(2, time) + number(3, 10**9)
                              + b''.join(content(4, s) for s in stats))
            time += 2 * 10**9
    line = number(1, 1) + content(2, 'Stream #1(Compute)') + number(3, 1000) + events
    return content(1, plane(1, '/device:GPU:0', [line], kernels, [stat('device_vendor', 'Nvidia')])) + content(
        1, plane(2, '/host:metadata', [], hlo))


def gpu(modules):
    from xprof.convert import raw_to_tool_data
    folder = os.path.join(tempfile.mkdtemp(), 'plugins/profile/run')
    os.makedirs(folder)
    path = os.path.join(folder, 'host.xplane.pb')
    with open(path, 'wb') as file:
        file.write(xspace(modules))
    data, _ = raw_to_tool_data.xspace_to_tool_data([path], 'hlo_stats', {'use_saved_result': False})
    table = json.loads(data)
    ids = [column['id'] for column in table['cols']]
    names = list(modules)
    found = {name: {} for name in names}
    for row in table['rows']:
        row = dict(zip(ids, [(cell or {}).get('v') for cell in row['c']]))
        program = int(row['program_id'])
        time_us = float(row['total_time'])
        found[names[program - 1]][row['hlo_op_name']] = {
            'flops': round(float(row['model_flop_rate'] or 0) * time_us * 1e3, 3),
            'bytes': round(float(row['measured_memory_bw'] or 0) * time_us * 1e-6 * 2**30, 3),
            'category': row['category'],
            'expression': row['hlo_op_expression'],
        }
    return found


def main():
    with open(os.path.join(HERE, 'programs.hlo.txt')) as file:
        texts = file.read().split('---\n') + [random_fusions.text(seed=1, count=40)]
    client = jax.devices('cpu')[0].client
    modules, general = {}, {}
    for text in texts:
        module = _hlo.hlo_module_from_text(text)
        proto = module.as_serialized_hlo_module_proto()
        entry = text[text.index('ENTRY'):].split('\n}')[0].splitlines()[1:]
        entry = [line for line in entry if ' = ' in line]
        names = [line.replace('ROOT ', '').split(' = ')[0].strip() for line in entry]
        kinds = [line.split(' = ')[1] for line in entry]
        wanted = [name for name, kind in zip(names, kinds) if 'parameter(' not in kind and ' constant(' not in kind]
        modules[module.name] = (proto, wanted)
        cost = _jax.hlo_module_cost_analysis(client, module)
        general[module.name] = {'flops': cost.get('flops', 0), 'transcendentals': cost.get('transcendentals', 0),
                                'bytes': cost.get('bytes accessed', 0)}
        with open(os.path.join(HERE, module.name + '.pb'), 'wb') as file:
            file.write(proto)
    by_gpu = gpu(modules)
    expected = {name: {'general': general[name], 'gpu': by_gpu[name]} for name in modules}
    for name, function, arguments in compiled_programs():
        compiled = jax.jit(function).lower(*arguments).compile()
        cost = compiled.cost_analysis()
        expected['jit_' + name] = {'gpu': {}, 'general': {
            'flops': cost.get('flops', 0), 'transcendentals': cost.get('transcendentals', 0),
            'bytes': cost.get('bytes accessed', 0)}}
        with open(os.path.join(HERE, 'jit_%s.pb' % name), 'wb') as file:
            file.write(compiled.runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto())
    with open(os.path.join(HERE, 'expected.json'), 'w') as file:
        json.dump(expected, file, indent=0, sort_keys=True)
        file.write('\n')


def compiled_programs():
    """Returns programs that JAX compiled for CPUs. The output of its compiler is part of the test."""
    mesh = jax.make_mesh((8,), ('d',))
    part, whole = jax.sharding.PartitionSpec('d'), jax.sharding.PartitionSpec()

    def arg(*shape, dtype=jnp.float32, spec=None):
        sharding = None if spec is None else jax.sharding.NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)

    def sharded(function, out):
        return jax.shard_map(function, mesh=mesh, in_specs=part, out_specs=out, check_vma=False)

    def scan(x, w):
        def body(carry, _):
            return jnp.tanh(carry @ w), carry.sum()
        return jax.lax.scan(body, x, None, length=5)

    def attention(q, k, v):
        return jnp.einsum('bhst,bthd->bshd', jax.nn.softmax(jnp.einsum('bshd,bthd->bhst', q, k)), v)

    def pooled(x):
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID').sum()

    def convolved(x, w):
        return jax.nn.relu(jax.lax.conv_general_dilated(x, w, (2, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')))

    yield 'scan', scan, (arg(16, 16), arg(16, 16))
    yield 'attention', attention, (arg(2, 12, 3, 8), arg(2, 20, 3, 8), arg(2, 20, 3, 8))
    yield 'pool_gradient', jax.grad(pooled), (arg(2, 8, 8, 3),)
    yield 'convolution', convolved, (arg(2, 15, 17, 3), arg(3, 3, 3, 8))
    yield 'cumsum', lambda x: jnp.cumsum(x, axis=1), (arg(8, 100),)
    yield 'argmax', lambda x: jnp.argmax(x, axis=0), (arg(50, 7),)
    yield 'scatter_add', lambda x, i, u: x.at[i].add(u), (arg(100, 8), arg(12, dtype=jnp.int32), arg(12, 8))
    yield 'take', lambda x, i: jnp.take(x, i, axis=0) * 2, (arg(100, 8), arg(12, dtype=jnp.int32))
    yield 'cond', lambda p, x: jax.lax.cond(p, jnp.exp, lambda y: y * y + 1, x), (arg(dtype=jnp.bool_), arg(64))
    yield 'update', lambda x, u, i: jax.lax.dynamic_update_slice(x * 2, u + 1, (i, 0)), (
        arg(64, 8), arg(4, 8), arg(dtype=jnp.int32))
    yield 'fft2', lambda x: jnp.abs(jnp.fft.fft2(x)), (arg(16, 32),)
    yield 'sort_pairs', lambda k, v: jax.lax.sort_key_val(k, v), (arg(33), arg(33, dtype=jnp.int32))
    yield 'low_precision', lambda a, b: (a @ b).astype(jnp.float32), (
        arg(16, 32, dtype=jnp.bfloat16), arg(32, 8, dtype=jnp.bfloat16))
    yield 'int8', lambda a, b: jax.lax.dot(a, b, preferred_element_type=jnp.int32), (
        arg(16, 32, dtype=jnp.int8), arg(32, 8, dtype=jnp.int8))
    yield 'psum', sharded(lambda x: jax.lax.psum(x * 2, 'd'), whole), (arg(64, 4, spec=part),)
    yield 'all_gather', sharded(lambda x: jax.lax.all_gather(x, 'd'), whole), (arg(64, 4, spec=part),)
    yield 'reduce_scatter', sharded(lambda x: jax.lax.psum_scatter(x, 'd', tiled=True), part), (arg(64, 4, spec=part),)
    yield 'layer_norm', lambda x: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5), (
        arg(8, 64),)


main()
