#!/usr/bin/env python3
"""Makes the HLO fixtures and what other programs say of them.

    pip install jax==0.10.2 xprof==2.24.2
    python make.py

programs.hlo.txt holds HLO modules as text, separated by `---`. For each one this writes

* NAME.pb          the module as xla.HloModuleProto;
* expected.json    general: FLOPs, transcendentals and bytes of the whole module by XLA's HloCostAnalysis (from jaxlib);
                   gpu: FLOPs, bytes, category and expression of each instruction of the entry by XProf's GPU analysis, read
                   from the hlo_stats of a profile in which each instruction ran once for a millisecond.

reader.pb is a module compiled by JAX for CPUs (a scan, a sort and a convolution), kept for the tests that damage it.
"""
import json
import os
import tempfile

import jax
import jax.numpy as jnp
from jaxlib import _hlo
from jax._src.lib import _jax

HERE = os.path.dirname(os.path.abspath(__file__))


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
    """A profile in which each instruction of each module's entry is one kernel of a millisecond."""
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
        texts = file.read().split('---\n')
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
    with open(os.path.join(HERE, 'expected.json'), 'w') as file:
        json.dump(expected, file, indent=0, sort_keys=True)
        file.write('\n')

    def scan_sort_convolve(x, w):
        def body(carry, _):
            return jnp.tanh(carry @ w), carry.sum()
        carry, sums = jax.lax.scan(body, x, None, length=5)
        return carry, jnp.sort(sums), jax.lax.conv_general_dilated(x[None, None], w[None, None, :3, :3], (1, 1), 'SAME')
    compiled = jax.jit(scan_sort_convolve).lower(jnp.ones((16, 16)), jnp.ones((16, 16))).compile()
    with open(os.path.join(HERE, 'reader.pb'), 'wb') as file:
        file.write(compiled.runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto())


main()
