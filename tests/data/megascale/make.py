"""Makes synthetic captures of a TPU that exchanges data with other slices.

usage: python make.py SEED OUT.xplane.pb     (needs tensorflow, for the protos)
Each run of the program has five collectives of different types, two in flight at a time, with random durations.
XProf's output: python xprof_oracle.py OUT.xplane.pb megascale_stats
"""

import random
import sys

from tensorflow.compiler.xla import xla_data_pb2
from tensorflow.compiler.xla.service import hlo_pb2
from tensorflow.tsl.profiler.protobuf import xplane_pb2

RUNS = 12
# Rendezvous, type, number of the type in DcnCollectiveInfoProto, members of a group, bytes of the result.
COLLECTIVES = [
    ("all-reduce.3_312", "ALL_REDUCE", 5, 4, 1 << 22),
    ("all-gather.7_99", "ALL_GATHER", 4, 2, 1 << 21),
    ("collective-permute.2_5", "ONE_TO_ONE", 2, 2, 1 << 18),
    ("reduce-scatter.9_1", "REDUCE_SCATTER", 3, 8, 1 << 16),
    ("all-to-all.4_4", "ALL_TO_ALL", 1, 4, 1 << 20),
]
CATEGORIES = {"send": "host send", "recv": "host recv", "send-done": "host send-done", "recv-done": "host recv-done"}

seed, out = int(sys.argv[1]), sys.argv[2]
rng = random.Random(seed)
space = xplane_pb2.XSpace()


def varint(number):
    bytes_ = b""
    while number > 127:
        bytes_ += bytes([number & 127 | 128])
        number >>= 7
    return bytes_ + bytes([number])


def message(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def endpoint(slice_id):
    return message(1, varint(1 << 3) + varint(slice_id) + varint(2 << 3) + varint(0))


def collective_info(kind, members):
    info = varint(1 << 3) + varint(kind)
    if kind == 2:
        return info + 2 * message(3, endpoint(0) + message(2, varint(1 << 3) + varint(1)))
    return info + message(2, b"".join(endpoint(slice_id) for slice_id in range(members)))


# The program.
hlo = hlo_pb2.HloProto()
module = hlo.hlo_module
module.name, module.entry_computation_name, module.entry_computation_id, module.id = "jit_step", "main", 1, 77
computation = module.computations.add()
computation.name, computation.id = "main", 1


def array(shape, elements):
    shape.element_type = xla_data_pb2.F32
    shape.dimensions.append(elements)
    shape.layout.minor_to_major.append(0)
    shape.is_dynamic_dimension.append(False)


def parts(shape, elements, has_context):
    shape.element_type = xla_data_pb2.TUPLE
    array(shape.tuple_shapes.add(), elements)
    if has_context:
        context = shape.tuple_shapes.add()
        context.element_type = xla_data_pb2.U32
        context.layout.SetInParent()
    shape.tuple_shapes.add().element_type = xla_data_pb2.TOKEN


def instruction(name, opcode, operands=(), channel=0, attributes=None):
    it = computation.instructions.add()
    it.id, it.name, it.opcode = 100 + len(computation.instructions), name, opcode
    it.operand_ids.extend(operand.id for operand in operands)
    it.channel_id, it.is_host_transfer = channel, channel > 0
    for key, value in (attributes or {}).items():
        it.frontend_attributes.map[key] = value
    return it


elements = COLLECTIVES[0][4] // 4
for shape in (module.host_program_shape, computation.program_shape):
    array(shape.parameters.add(), elements)
    shape.parameter_names.append("p")
    array(shape.result, elements)
parameter = instruction("p", "parameter")
array(parameter.shape, elements)
token = instruction("after-all", "after-all")
token.shape.element_type = xla_data_pb2.TOKEN
for number, (rendezvous, transfer_type, _, _, size) in enumerate(COLLECTIVES):
    attributes = {"_xla_host_transfer_rendezvous": rendezvous, "_xla_megascale_transfer_type": transfer_type}
    send = instruction(f"send.{number}", "send", [parameter, token], 10 + 2 * number, attributes)
    parts(send.shape, elements, True)
    recv = instruction(f"recv.{number}", "recv", [token], 11 + 2 * number, attributes)
    parts(recv.shape, size // 4, True)
    instruction(f"send-done.{number}", "send-done", [send], 10 + 2 * number).shape.element_type = xla_data_pb2.TOKEN
    parts(instruction(f"recv-done.{number}", "recv-done", [recv], 11 + 2 * number).shape, size // 4, False)
root = instruction("fusion.1", "negate", [parameter])
array(root.shape, elements)
computation.root_id = root.id


# The planes.
def plane(name):
    it = space.planes.add()
    it.name, it.id = name, len(space.planes)
    return it


def stat(of, stats, name, value):
    known = {metadata.name: number for number, metadata in of.stat_metadata.items()}
    number = known.get(name, len(of.stat_metadata) + 1)
    of.stat_metadata[number].id, of.stat_metadata[number].name = number, name
    it = stats.add()
    it.metadata_id = number
    if isinstance(value, bytes):
        it.bytes_value = value
    elif isinstance(value, str):
        it.str_value = value
    else:
        it.int64_value = value


def metadata(of, number, name, display="", stats=()):
    it = of.event_metadata[number]
    it.id, it.name, it.display_name = number, name, display
    for key, value in stats:
        stat(of, it.stats, key, value)
    return number


metadata(plane("/host:metadata"), 77, "jit_step(77)", stats=[("Hlo Proto", hlo.SerializeToString())])
host = plane("/host:CPU")
thread = host.lines.add()
thread.id, thread.name, thread.timestamp_ns = 1, "megascale", 1000
received = metadata(host, 1, "MegaScale: Communication Transport Receive")
for number in range(8):
    event = thread.events.add()
    event.metadata_id, event.offset_ps = received, 50_000_000 * (number + 1)
    for key, value in (("dcn_label", COLLECTIVES[0][0]), ("duration_us", 100 + number), ("payload_size_bytes", 1 << 20)):
        stat(host, event.stats, key, value)
device = plane("/device:TPU:0")
stat(device, device.stats, "device_type_string", "TPU v5 lite")
modules, ops = device.lines.add(), device.lines.add()
modules.id, modules.name, modules.timestamp_ns = 1, "XLA Modules", 1000
ops.id, ops.name, ops.timestamp_ns = 2, "XLA Ops", 1000
module_metadata = metadata(device, 1, "jit_step(77)")
known_ops = {}
at = 10_000_000


def op(name, least_ns, most_ns):
    global at
    if name not in known_ops:
        kind, _, number = name.partition(".")
        stats = [("hlo_category", CATEGORIES.get(kind, "loop fusion")), ("program_id", 77)]
        if kind in CATEGORIES:
            info = collective_info(*COLLECTIVES[int(number)][2:4])
            stats.append(("dcn_collective_info", info))
        known_ops[name] = metadata(device, len(device.event_metadata) + 1, f"%{name} = f32[] op()", name, stats)
    event = ops.events.add()
    event.metadata_id, event.offset_ps = known_ops[name], at
    event.duration_ps = rng.randrange(least_ns, most_ns) * 1000
    at += event.duration_ps


for run in range(RUNS):
    begin, in_flight = at, []
    for number in range(len(COLLECTIVES)):
        op(f"send.{number}", 2000, 9000)
        op(f"recv.{number}", 1000, 5000)
        op("fusion.1", 20000, 90000)
        in_flight.append(number)
        is_last = number == len(COLLECTIVES) - 1
        while len(in_flight) == 2 or in_flight and is_last:
            done = in_flight.pop(0)
            op(f"send-done.{done}", 100, 900)
            op("fusion.1", 5000, 20000)
            op(f"recv-done.{done}", 1000, 300_000)
    op("fusion.1", 10000, 50000)
    event = modules.events.add()
    event.metadata_id, event.offset_ps, event.duration_ps = module_metadata, begin, at - begin
    stat(device, event.stats, "run_id", run)
    at += rng.randrange(1000, 30000) * 1000
with open(out, "wb") as file:
    file.write(space.SerializeToString())
