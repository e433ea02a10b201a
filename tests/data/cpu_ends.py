#!/usr/bin/env python3
"""Computes when the ops of XLA's CPU backend end, from the raw events: `python cpu_ends.py` writes cpu_ends.json.

For each profile, the script writes the busy time and the active span of each device in picoseconds. For each op (device, program,
instruction), it writes the number and the total length of the op's events. An op ends at the earliest of these times: its marker,
the first op that uses its result, the executor's span directly before its marker, and the end of the loop around it. An op never
ends before its event ends. A loop with a marker ends with the last op that it runs.

If the tasks of the thread pool are recorded, the script also checks that no task of an op runs after the op's end. The only
exception is the task that completed the op and continued with other ops. Needs jax to read HLO.
"""
import collections
import gzip
import json
import os
import re

from jaxlib import _hlo

HERE = os.path.dirname(os.path.abspath(__file__))
PROFILES = ['jax-cpu-async/host.xplane.pb.gz', '../../www/assets/examples/jax-cpu-train.xplane.pb']
NO_EVENT = ('bitcast', 'get-tuple-element', 'tuple', 'parameter', 'constant')
RUNS_OTHERS = ('async-start', 'call', 'conditional', 'custom-call', 'while')


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def message(data):
    """Returns the values of each field number."""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            size = 8 if key & 7 == 1 else 4
            value, at = data[at:at + size], at + size
        found[key >> 3].append(value)
    return found


def first(fields, number, default=0):
    return fields[number][-1] if number in fields else default


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Program:
    """Facts from a module's text: the users of each value, and each instruction's own computation and called computations."""

    def __init__(self, text):
        self.users, self.opcode, self.computation = collections.defaultdict(list), {}, {}
        self.callers, self.index, self.entry = collections.defaultdict(list), {}, None
        computation = None
        for line in text.split('\n'):
            if line.endswith('{') and ' -> ' in line:
                computation = re.match(r'(?:ENTRY )?%?([\w.\-]+) \(', line).group(1)
                self.entry = computation if line.startswith('ENTRY') else self.entry
            found = re.match(r'\s+(?:ROOT )?%([\w.\-]+) = ', line)
            if not found:
                continue
            name, rest = found.group(1), line[found.end():].split(', metadata=')[0]
            opcode = re.search(r'(?:^|\s)([a-z][a-z0-9\-]*)\(', rest)
            depth, end = 1, opcode.end()
            while depth:
                depth += {'(': 1, ')': -1}.get(rest[end], 0)
                end += 1
            self.opcode[name], self.computation[name] = opcode.group(1), computation
            for place, operand in enumerate(re.findall(r'%([\w.\-]+)', rest[opcode.end():end])):
                self.users[operand].append((name, place))
            if 'index=' in rest[end:]:
                self.index[name] = int(re.search(r'index=(\d+)', rest[end:]).group(1))
            for group in re.findall(r'(?:calls|to_apply|body|condition|\w+_computations?)=(\{[^}]*\}|%[\w.\-]+)', rest[end:]):
                for called in re.findall(r'%([\w.\-]+)', group):
                    self.callers[called].append(name)

    def consumers(self, name, place=None):
        for user, at in self.users[name]:
            opcode = self.opcode[user]
            if place is not None:
                if opcode == 'get-tuple-element' and self.index[user] == place:
                    yield from self.consumers(user)
            elif opcode == 'tuple':
                yield from self.consumers(user, at)
            elif opcode in NO_EVENT:
                yield from self.consumers(user)
            else:
                yield user


def read(path):
    data = open(path, 'rb').read()
    data = gzip.decompress(data) if path.endswith('.gz') else data
    programs, events = {}, []
    for plane in map(message, message(data)[1]):
        names = {}
        for entry in map(message, plane[5]):
            names[first(entry, 1)] = first(message(first(entry, 2, b'')), 2, b'').decode()
        metadata = {first(entry, 1): message(first(entry, 2, b'')) for entry in map(message, plane[4])}
        if first(plane, 2) == b'/host:metadata':
            for number, entry in metadata.items():
                for stat in map(message, entry[5]):
                    module = first(message(first(stat, 6, b'')), 1, None)
                    if module is not None:
                        text = _hlo.HloModule.from_serialized_hlo_module_proto(module).to_string()
                        # Events use the modules' program numbers, not those of this plane.
                        programs[first(message(module), 5)] = Program(text)
        if first(plane, 2) != b'/host:CPU':
            continue
        for thread, line in enumerate(map(message, plane[3])):
            for event in map(message, line[4]):
                stats = {}
                for stat in map(message, event[4]):
                    value = first(stat, 4, None)
                    value = first(stat, 3, None) if value is None else signed(value)
                    if value is None:
                        value = names.get(first(stat, 7), first(stat, 5, b''))
                    stats[names[first(stat, 1)]] = value
                start = first(line, 3) * 1000 + first(event, 2)
                name = first(metadata[first(event, 1)], 2, b'').decode()
                events.append((start, start + first(event, 3), thread, name, stats))
    events.sort(key=lambda event: (event[0], -event[1]))
    return programs, events


class Op:
    def __init__(self, event):
        self.start, self.event_end, self.thread, self.name, self.stats = event
        self.end, self.marker, self.run = self.event_end, None, None
        self.around, self.inside = None, []


def ended(programs, events):
    """Returns all ops with their ends."""
    markers = {event[4]['_c']: event for event in events if event[3].startswith('end: ') and '_c' in event[4]}
    threads = collections.defaultdict(list)
    for event in events:
        threads[event[2]].append(event)
    runs, ops = collections.defaultdict(lambda: collections.defaultdict(list)), []
    for event in events:
        if 'hlo_op' in event[4]:
            op = Op(event)
            op.marker = markers.get(op.stats['_p'])
            op.run = runs[op.stats['program_id'], op.stats['device_ordinal'], op.stats['run_id']]
            op.run[op.name].append(op)
            ops.append(op)
    for op in ops:
        program = programs[op.stats['program_id']]
        bounds, around = [], None
        for caller in program.callers[program.computation[op.name]]:
            around = max((o for o in op.run[caller] if o.start <= op.start), key=lambda o: o.start, default=around)
        if around and around.end > op.start:
            op.around = around
            around.inside.append(op)
        if not op.marker:
            continue
        bounds.append(op.marker[0])
        for user in program.consumers(op.name):
            events_of = op.run[user]
            # The last event of an execution waits for all operands.
            once = program.computation[user] == program.entry
            bounds += [o.start for o in (events_of[-1:] if once else events_of) if o.start >= op.start][:1]
        if op.marker[0] > op.event_end and program.opcode[op.name] not in RUNS_OTHERS:
            before = [event for event in threads[op.marker[2]] if event[1] <= op.marker[0]]
            last = max(before, key=lambda event: (event[1], -event[0]))
            if last[3] == 'ThunkExecutor::Execute' and op.marker[0] - last[1] <= 10_000_000:
                bounds.append(last[0])
        if around and around.marker and around.end > op.start:
            bounds.append(around.end)
        op.end = max(op.event_end, min(bounds))

    def tighten(op):
        for other in op.inside:
            tighten(other)
        if op.marker and op.inside:
            op.end = min(op.end, max([op.event_end] + [other.end for other in op.inside]))

    for op in ops:
        if not op.around:
            tighten(op)
    return ops, threads


def check_tasks(ops, threads, programs):
    """Checks that no task of an op runs after the op's end."""
    tasks, scheduled = {}, collections.defaultdict(list)
    for thread, events in threads.items():
        open_tasks = []
        for event in events:
            if event[3] == 'ThreadpoolListener::StartRegion':
                open_tasks.append((event[4]['_c'], event[0]))
            elif event[3] == 'ThreadpoolListener::StopRegion' and open_tasks:
                number, start = open_tasks.pop()
                tasks[number] = (start, event[0], thread)
            elif event[3] == 'ThreadpoolListener::Record':
                scheduled[thread].append((event[0], event[4]['_p']))
    by_thread = collections.defaultdict(list)
    for op in ops:
        by_thread[op.thread].append(op)
    checked = 0
    for op in ops:
        if op.end == op.event_end or programs[op.stats['program_id']].opcode[op.name] in RUNS_OTHERS:
            continue
        todo, seen = [n for at, n in scheduled[op.thread] if op.start <= at <= op.event_end], set()
        while todo:
            number = todo.pop()
            if number in seen or number not in tasks:
                continue
            seen.add(number)
            start, stop, thread = tasks[number]
            went_on = start <= op.end <= stop and any(start <= other.start <= stop for other in by_thread[thread])
            went_on |= op.marker[2] == thread and start <= op.marker[0] <= stop
            # A task ends a few microseconds before its listener is notified.
            assert went_on or stop <= op.end + 20_000_000, (op.name, number, (stop - op.end) / 1e6)
            others = [o for o in by_thread[thread] if o is not op]
            todo += [n for at, n in scheduled[thread] if start <= at <= min(stop, op.end)
                     and not any(o.start <= at <= o.event_end for o in others)]
        checked += bool(seen)
    return checked


def union(intervals):
    total, end = 0, None
    for start, stop in sorted(intervals):
        start = start if end is None else max(start, end)
        if stop > start:
            total += stop - start
        end = stop if end is None else max(end, stop)
    return total


def main():
    expected = {}
    for path in PROFILES:
        programs, events = read(os.path.join(HERE, path))
        ops, threads = ended(programs, events)
        devices, by_op = collections.defaultdict(list), collections.defaultdict(lambda: [0, 0])
        for op in ops:
            devices[op.stats['device_ordinal']].append(op)
            row = by_op[f"{op.stats['device_ordinal']} {op.stats['program_id']} {op.name}"]
            row[0] += 1
            row[1] += op.end - op.start
        expected[path] = {
            'devices': {str(device): {
                'busy_ps': union([(op.start, op.end) for op in own]),
                'busy_by_events_ps': union([(op.start, op.event_end) for op in own]),
                'span_ps': max(op.end for op in own) - min(op.start for op in own),
            } for device, own in devices.items()},
            'ops': dict(sorted(by_op.items())),
            'later': sum(op.end > op.event_end for op in ops),
        }
        print(path, expected[path]['devices'], 'tasks of', check_tasks(ops, threads, programs), 'ops checked')
    with open(os.path.join(HERE, 'cpu_ends.json'), 'w') as file:
        json.dump(expected, file, indent=0, sort_keys=True)
        file.write('\n')


main()
