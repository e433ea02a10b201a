#!/usr/bin/env python3
"""Makes pairs.tar.gz: pairs of compilations of one training step with a known difference, as dumps of --xla_dump_to.

    pip install jax==0.10.2
    python make.py

* CASE/a, CASE/b    the dumps of both sides: the program before XLA's optimisations, the program that runs, and its memory
* truth.json        the difference of each case, as this script made it

The file truth.json names what the script changed in the training step. The script counts instructions in XLA's text by their
framework paths, whose scopes come from the training step.
"""
import glob
import gzip
import io
import json
import os
import random
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
DEVICES = '--xla_force_host_platform_device_count=8'


def compile_step(layers=3, activations=None, low=None, spec=None, reverse=False, column_major=False, name='step'):
    """Compiles a training step with one difference."""
    import jax
    import jax.numpy as jnp
    from jax.experimental.layout import Format, Layout

    jax.config.update('jax_hlo_source_file_canonicalization_regex', '.*/')
    activations = activations or {}
    auto = jax.sharding.AxisType.Auto
    mesh = jax.make_mesh((4, 2), ('x', 'y'), axis_types=(auto, auto))
    P = jax.sharding.PartitionSpec

    def sharding(*axes):
        return jax.sharding.NamedSharding(mesh, P(*axes)) if spec else None

    def layer(index, params, x):
        with jax.named_scope('layer_%d' % index):
            weight, bias = params['w'], params['b']
            if index == low:
                x, weight = x.astype(jnp.bfloat16), weight.astype(jnp.bfloat16)
            x = (x @ weight).astype(jnp.float32) + bias
            return activations.get(index, jnp.tanh)(x)

    def loss_of(params, x, y):
        for index in range(layers):
            x = layer(index, params['layer_%d' % index], x)
        with jax.named_scope('loss'):
            return jnp.mean((x - y) ** 2)

    def step(params, x, y):
        loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
        new = {}
        with jax.named_scope('optimizer'):
            for key in reversed(params) if reverse else params:
                for part in reversed(params[key]) if reverse else params[key]:
                    new.setdefault(key, {})[part] = params[key][part] - 0.1 * gradients[key][part]
        return new, loss

    def weight(index):
        last = column_major and index == 1
        of = sharding(*(spec or ())) if spec else jax.sharding.SingleDeviceSharding(jax.devices()[0])
        return Format(Layout(major_to_minor=(1, 0)), of) if last else of

    def arg(*shape, sharding=None):
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)

    params = {
        'layer_%d' % index: {'w': arg(32, 32, sharding=weight(index)), 'b': arg(32, sharding=sharding(None))}
        for index in range(layers)
    }
    batch = arg(16, 32, sharding=sharding('x'))
    step.__name__ = step.__qualname__ = name
    jax.jit(step).lower(params, batch, batch).compile()


def sine(x):
    import jax.numpy as jnp

    return jnp.sin(x)


# Arguments of the step and flags of XLA of both sides.
CASES = {
    'layer': [dict(layers=3), dict(layers=4)],
    'activation': [dict(), dict(activations={1: sine})],
    'data_type': [dict(), dict(low=1)],
    'sharding': [dict(spec=(None, 'y')), dict(spec=('y', None))],
    'fusion': [dict(), dict(flags='--xla_disable_hlo_passes=fusion')],
    'layout': [dict(), dict(column_major=True)],
    'order': [dict(), dict(reverse=True, name='other_step')],
    'names': [dict(), dict(rename=7)],
}


def renamed(text, seed):
    """Gives every instruction and computation of a program another number."""
    names = sorted(set(re.findall(r'%([\w.-]+)', text)))
    numbers = list(range(1000, 1000 + len(names)))
    random.Random(seed).shuffle(numbers)
    new = {old: re.sub(r'[.\d]+$', '', old) + '.%d' % number for old, number in zip(names, numbers)}
    return re.sub(r'(%|\bvalue: <\d+ |HloComputation |ENTRY )([\w.-]+)', lambda it: it[1] + new.get(it[2], it[2]), text)


def shuffled(items, seed):
    """Returns (name, content) pairs in another order, in which an item still follows all that it names."""
    rest, done, out, choose = dict(items), set(), [], random.Random(seed)
    needs = {name: set(re.findall(r'%([\w.-]+)', content)) & set(rest) - {name} for name, content in items}
    while rest:
        name = choose.choice(sorted(name for name in rest if needs[name] <= done))
        out.append(rest.pop(name))
        done.add(name)
    return out


def reordered(text, seed):
    """Lists the computations of a program, and the instructions of each, in another order."""
    head, *blocks = re.split(r'\n\n(?=%|ENTRY )', text.rstrip())
    computations = []
    for block in blocks:
        first, *lines, last = block.strip().split('\n')
        named = [(re.match(r'\s+(?:ROOT )?%([\w.-]+) = ', line)[1], line) for line in lines]
        name = re.match(r'(?:ENTRY )?%([\w.-]+)', first)[1]
        computations.append((name, '\n'.join([first, *shuffled(named, seed), last])))
    return '\n\n'.join([head.rstrip(), *shuffled(computations, seed)]) + '\n'


def dumped(case, side, options):
    options = dict(options)
    flags, seed = options.pop('flags', ''), options.pop('rename', None)
    with tempfile.TemporaryDirectory() as into:
        environment = {**os.environ, 'XLA_FLAGS': ' '.join((DEVICES, '--xla_dump_to=' + into, flags))}
        subprocess.run([sys.executable, __file__, case, side], env=environment, check=True)
        for path in sorted(glob.glob(into + '/*')):
            name = os.path.basename(path)
            of_step = re.search(r'\.jit_(other_)?step\.', name)
            wanted = name.endswith('optimizations.txt') or name.endswith('-buffer-assignment.txt')
            if of_step and wanted:
                with open(path) as file:
                    text = file.read()
                if seed and name.endswith('optimizations.txt'):
                    text = renamed(reordered(text, seed), seed)
                yield name, text


LINE = re.compile(r'^\s+(?:ROOT )?%?[\w.-]+ = (?:\(.*?\)|\S+) ([\w-]+)\(', re.M)


def count(text, opcode=None, scope=None):
    """Counts the instructions of XLA's text with an opcode and a scope in their path."""
    found = 0
    for line in text.splitlines():
        it = LINE.match(line)
        path = re.search(r'op_name="([^"]*)"', line)
        named = scope is None or (path is not None and scope in path[1])
        found += bool(it) and named and opcode in (None, it[1])
    return found


def opcodes(text):
    return {opcode: count(text, opcode) for opcode in sorted(set(LINE.findall(text)))}


def truth(files):
    """Returns the difference of each case, in the program before the optimisations and in the program that runs."""

    def text(case, side, stage):
        found, = [it for name, it in files.items() if name.startswith('%s/%s/' % (case, side)) and stage in name
                  and name.endswith('optimizations.txt')]
        return found

    cases = {}
    for case in CASES:
        cases[case] = {stage: {side: opcodes(text(case, side, stage + '_optimizations')) for side in 'ab'}
                       for stage in ('before', 'after')}
    before = {case: [text(case, side, 'before_optimizations') for side in 'ab'] for case in CASES}
    # One layer more: its instructions in both passes, and three instructions for each of its two parameters in the
    # optimizer: times the rate, minus, and the rate's broadcast.
    cases['layer']['new_scope'] = {'layer_3': count(before['layer'][1], scope='layer_3')}
    cases['layer']['new_dots'] = 3
    # tanh and its derivative become sin and its derivative, in one layer.
    cases['activation']['scope'] = 'layer_1'
    cases['activation']['gone'] = {'tanh': 1}
    cases['activation']['new'] = {'sine': 1, 'cosine': 1}
    # One layer computes its three products in bf16.
    cases['data_type']['scope'] = 'layer_1'
    cases['data_type']['changed_dots'] = 3
    # Weights are split along the other dimension.
    cases['sharding']['parameters'] = 3
    cases['layout']['parameter'] = "params['layer_1']['w']"
    cases['order']['same'] = cases['names']['same'] = True
    return cases


def main():
    files = {}
    for case, sides in CASES.items():
        for side, options in zip('ab', sides):
            for name, text in dumped(case, side, options):
                files['%s/%s/%s' % (case, side, name)] = text
    files['truth.json'] = json.dumps(truth(files), indent=1, sort_keys=True) + '\n'
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode='w', format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content.encode())
            archive.addfile(entry, io.BytesIO(content.encode()))
    with open(os.path.join(HERE, 'pairs.tar.gz'), 'wb') as file:
        file.write(gzip.compress(packed.getvalue(), 9, mtime=0))


if len(sys.argv) > 1:
    arguments = CASES[sys.argv[1]]['ab'.index(sys.argv[2])]
    compile_step(**{key: value for key, value in arguments.items() if key not in ('flags', 'rename')})
else:
    main()
