"""A module of random fusions, for make.py: slices, transposes, reductions and updates in random order, whose elements are used zero,
one or several times."""
import random


def shape(dimensions):
    order = ','.join(str(i) for i in reversed(range(len(dimensions))))
    return 'f32[%s]{%s}' % (','.join(map(str, dimensions)), order)


class Fusion:
    def __init__(self, number, choose):
        self.number, self.choose = number, choose
        self.lines, self.values, self.parameters = [], [], []
        for i in range(choose.randint(1, 3)):
            dimensions = choose.choice([(32, 32), (64, 32), (16, 48), (32,)])
            self.parameters.append(dimensions)
            self.add('p', 'parameter(%d)' % i, dimensions)
        self.lines += ['  zero%d = f32[] constant(0)' % number, '  at%d = s32[] constant(1)' % number]
        computed = len(self.values)
        for _ in range(choose.randint(2, 12)):
            self.instruction()
        if len(self.values) == computed:
            self.add('v', 'negate(%s)' % self.values[0][0], self.values[0][1])
        results = self.values[computed:]
        results = choose.sample(results, min(choose.choice([1, 1, 2, 3]), len(results)))
        if len(results) == 1:
            name, dimensions = results[0]
            self.lines = [line.replace('  %s = ' % name, '  ROOT %s = ' % name) for line in self.lines]
            self.result = shape(dimensions)
        else:
            self.result = '(%s)' % ', '.join(shape(dimensions) for _, dimensions in results)
            names = ', '.join(name for name, _ in results)
            self.lines.append('  ROOT t%d = %s tuple(%s)' % (number, self.result, names))

    def add(self, kind, text, dimensions):
        name = '%s%d_%d' % (kind, self.number, len(self.values))
        self.lines.append('  %s = %s %s' % (name, shape(dimensions), text))
        self.values.append((name, dimensions))

    def instruction(self):
        choose = self.choose
        a, d = choose.choice(self.values)
        b = choose.choice([value for value in self.values if value[1] == d])[0]
        starts = ', '.join(['at%d' % self.number] * len(d))
        kind = choose.randint(0, 13)
        if kind < 4:
            self.add('v', '%s(%s, %s)' % (choose.choice(['add', 'multiply', 'divide', 'power']), a, b), d)
        elif kind < 6:
            self.add('v', '%s(%s)' % (choose.choice(['tanh', 'exponential', 'negate', 'sqrt']), a), d)
        elif kind == 6 and len(d) == 2:
            self.add('v', 'transpose(%s), dimensions={1,0}' % a, (d[1], d[0]))
        elif kind == 7:
            part = tuple(max(1, size // choose.choice([1, 2, 3])) for size in d)
            self.add('v', 'slice(%s), slice={%s}' % (a, ', '.join('[0:%d]' % size for size in part)), part)
        elif kind == 8 and len(d) == 1:
            self.add('v', 'broadcast(%s), dimensions={0}' % a, (d[0], choose.choice([32, 48])))
        elif kind == 9 and len(d) == 2:
            self.add('v', 'reduce(%s, zero%d), dimensions={1}, to_apply=plus' % (a, self.number), (d[0],))
        elif kind == 10:
            part = tuple(max(1, size // 2) for size in d)
            sizes = ','.join(map(str, part))
            self.add('v', 'dynamic-slice(%s, %s), dynamic_slice_sizes={%s}' % (a, starts, sizes), part)
        elif kind == 11:
            joined = d[:-1] + (d[-1] * 2,)
            self.add('v', 'concatenate(%s, %s), dimensions={%d}' % (a, b, len(d) - 1), joined)
        elif kind == 12:
            fits = [v for v in self.values if len(v[1]) == len(d) and all(x <= y for x, y in zip(v[1], d))]
            self.add('v', 'dynamic-update-slice(%s, %s, %s)' % (a, choose.choice(fits)[0], starts), d)
        elif kind == 13:
            padded = tuple(size + 3 for size in d)
            self.add('v', 'pad(%s, zero%d), padding=%s' % (a, self.number, 'x'.join('1_2' for _ in d)), padded)


def text(seed, count):
    choose = random.Random(seed)
    fusions = [Fusion(number, choose) for number in range(count)]
    out = ['HloModule random_fusions', 'plus { plus_a = f32[] parameter(0)', '  plus_b = f32[] parameter(1)',
           '  ROOT plus_c = f32[] add(plus_a, plus_b) }']
    entry, parameters = [], 0
    for fusion in fusions:
        out += ['fused%d {' % fusion.number] + fusion.lines + ['}']
        names = []
        for dimensions in fusion.parameters:
            entry.append('  a%d = %s parameter(%d)' % (parameters, shape(dimensions), parameters))
            names.append('a%d' % parameters)
            parameters += 1
        kind = choose.choice(['kLoop', 'kInput', 'kCustom'])
        entry.append('  random%d = %s fusion(%s), kind=%s, calls=fused%d' % (
            fusion.number, fusion.result, ', '.join(names), kind, fusion.number))
    return '\n'.join(out + ['ENTRY main {'] + entry + ['  ROOT out = () tuple()', '}', ''])
