"""Makes synthetic captures with steps that copy their input to the devices:
`python xprof_steps.py gpu|tpu|pod0|pod1 OUT.xplane.pb`.

gpu   a GPU whose copies have the name that XProf recognises (`MEMCPYHtoD`): some overlap with a kernel
pod0  the first of two hosts with a GPU: kernels, an all-reduce and copies in all directions
pod1  the second host, whose GPU computes twice as long
tpu   two cores that receive data from the host, and send data to it

Needs tensorflow, for the protos. XProf's output: python xprof_oracle.py OUT.xplane.pb input_pipeline_analyzer (pod_viewer for a folder with pod0 and pod1)
"""

import random
import sys

from tensorflow.tsl.profiler.protobuf import xplane_pb2

KIND, OUT = sys.argv[1:3]
STEPS = 8
US = 1_000_000  # picoseconds
rng = random.Random(5)
space = xplane_pb2.XSpace()


class Plane:
    def __init__(self, name):
        self.proto = space.planes.add()
        self.proto.name, self.proto.id = name, len(space.planes)

    def stat(self, stats, name, value):
        known = {it.name: number for number, it in self.proto.stat_metadata.items()}
        number = known.get(name, len(known) + 1)
        self.proto.stat_metadata[number].id, self.proto.stat_metadata[number].name = number, name
        it = stats.add()
        it.metadata_id = number
        if isinstance(value, str):
            it.str_value = value
        else:
            it.int64_value = value

    def line(self, number, name):
        line = self.proto.lines.add()
        line.id, line.name, line.timestamp_ns = number, name, 1000
        return line

    def event(self, line, name, start_us, us, of_name={}, **stats):
        known = {it.name: number for number, it in self.proto.event_metadata.items()}
        number = known.get(name)
        if number is None:
            number = len(known) + 1
            metadata = self.proto.event_metadata[number]
            metadata.id, metadata.name, metadata.display_name = number, name, name
            for key, value in of_name.items():
                self.stat(metadata.stats, key, value)
        event = line.events.add()
        event.metadata_id, event.offset_ps, event.duration_ps = number, round(start_us * US), round(us * US)
        for key, value in stats.items():
            self.stat(event.stats, key, value)


host = Plane("/host:CPU")
python, pipeline = host.line(1, "python3"), host.line(2, "tf_data")


def gpu():
    device = Plane("/device:GPU:0")
    device.stat(device.proto.stats, "device_vendor", "Nvidia")
    device.stat(device.proto.stats, "gpu_device_name", "NVIDIA H100 80GB HBM3")
    compute, copies = device.line(13, "Stream #13(Compute)"), device.line(14, "Stream #14(MemcpyH2D)")
    at, correlation = 100.0, 1

    def launch(line, name, start, us):
        nonlocal correlation
        correlation += 1
        host.event(python, "cuLaunchKernel", start - 5, 2, correlation_id=correlation)
        device.event(line, name, start, us, correlation_id=correlation)

    for step in range(STEPS):
        begin, load = at, rng.uniform(20, 80)
        host.event(pipeline, "Iterator::Root::Map", at + 1, load)
        at += load + 10
        copy = rng.uniform(20, 60)
        launch(copies, "MEMCPYHtoD", at, copy)
        # The kernel starts before or after the end of the copy.
        at += copy + rng.uniform(-15, 10)
        for _ in range(4):
            length = rng.uniform(20, 50)
            launch(compute, "fusion", at, length)
            at += length + 3
        host.event(python, "train", begin, at - begin - 1, step_num=step, _r=1)
        at += 20


def pod(number):
    device = Plane("/device:GPU:0")
    device.stat(device.proto.stats, "device_vendor", "Nvidia")
    device.stat(device.proto.stats, "gpu_device_name", "NVIDIA H100 80GB HBM3")
    compute, copies = device.line(13, "Stream #13(Compute)"), device.line(14, "Stream #14(Memcpy)")
    rng = random.Random(number)
    begin, correlation = 100.0, 1
    for step in range(STEPS):
        host.event(python, "train", begin, 1499, step_num=step, _r=1)
        at = begin + 20
        for line, name, us in [
            (copies, "MEMCPYHtoD", 40),
            (compute, "fusion", 60 * (1 + number)),
            (compute, "loop_add", 90 * (1 + number)),
            (copies, "MEMCPYDtoD", 20),
            (copies, "MEMCPYPtoP", 30),
            (compute, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 120),
            (compute, "loop_multiply", 50 * (1 + number)),
            (copies, "MEMCPYDtoH", 30),
        ]:
            us *= rng.uniform(0.7, 1.3)
            # A copy overlaps with the kernel before it.
            start = at - (rng.uniform(0, 15) if line is copies else 0)
            correlation += 1
            host.event(python, "cuLaunchKernel", begin + correlation % 8, 0.5, correlation_id=correlation)
            device.event(line, name, start, us, correlation_id=correlation)
            at = start + us + rng.uniform(0, 8)
        begin += 1500


def tpu():
    host_ops = ["host recv", "host recv-done", "host send", "host send-done"]
    begins = [100.0]
    cores = []
    for core in range(2):
        device = Plane(f"/device:TPU:{core}")
        device.stat(device.proto.stats, "device_type_string", "TPU v5 lite")
        cores.append((device, device.line(1, "Steps"), device.line(2, "XLA Modules"), device.line(3, "XLA Ops")))
    for step in range(STEPS):
        begin = begins[-1]
        host.event(pipeline, "Iterator::Root::Map", begin, rng.uniform(20, 80))
        ends = []
        for device, steps, modules, ops in cores:
            at = begin
            for number, category in enumerate([*host_ops, "loop fusion", *host_ops[:2], "loop fusion"]):
                length = rng.uniform(5, 60)
                name = category.replace(" ", "-") + f".{number}"
                device.event(ops, name, at, length, {"hlo_category": category, "program_id": 77, "symbol_id": number + 1}, group_id=step)
                at += length
            device.event(steps, str(step), begin, at - begin, group_id=step)
            device.event(modules, "jit_step(77)", begin, at - begin, run_id=step, group_id=step)
            ends.append(at)
        begins.append(max(ends) + 30)


{"gpu": gpu, "tpu": tpu, "pod0": lambda: pod(0), "pod1": lambda: pod(1)}[KIND]()
for plane in space.planes:
    for line in plane.lines:
        events = sorted(line.events, key=lambda it: (it.offset_ps, -it.duration_ps))
        del line.events[:]
        line.events.extend(events)
with open(OUT, "wb") as file:
    file.write(space.SerializeToString())
