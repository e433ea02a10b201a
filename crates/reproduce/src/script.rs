//! Assembles a script.

use std::fmt::Write as _;

use hlo::{ArrayShape, Instruction, Module, Shape};

use crate::functions::Functions;
use crate::head::{Measured, head};
use crate::mesh::Mesh;
use crate::operands::{Numbers, Operand, Operands};
use crate::{Unsupported, layout, limits, names, ops, python};

/// Returns a Python script that builds the operands of an instruction, runs it with JAX, checks the shapes of the result,
/// and measures the time.
///
/// `measured` contains the op's numbers in the trace, if the op ran.
///
/// # Errors
///
/// Fails with one sentence if JAX has no call for the op, or if the program lacks data that the script needs.
pub fn script(
    module: &Module,
    program: &str,
    instruction: &Instruction,
    measured: Option<&Measured>,
) -> Result<String, Unsupported> {
    let it = started(module, instruction);
    let is_empty = matches!(it.opcode.as_str(), "parameter" | "constant" | "tuple" | "get-tuple-element" | "after-all");
    if is_empty || ops::is_mark(it) {
        return Err(Unsupported::Nothing { name: names::comment(&it.name), opcode: names::comment(&it.opcode) });
    }
    let mut functions = Functions::new(module, it, Mesh::new(module, it)?, ops::expression);
    let mut operands = Operands::new(module, it);
    let mut arguments = Vec::new();
    for &index in &it.operands {
        arguments.push(operands.expression(&mut functions, index, 0)?);
    }
    let value = ops::expression(&mut functions, it, &arguments)?;
    let returned = returned(module, it);
    let results = returned.arrays();
    if results.is_empty() {
        return Err(Unsupported::Nothing { name: names::comment(&it.name), opcode: names::comment(&it.opcode) });
    }
    // Some calls do not need all operands.
    let used: Vec<&str> = value.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    operands.list.retain(|operand| used.contains(&operand.name.as_str()));
    let all = || operands.list.iter().map(|it| &it.array).chain(results.iter().copied());
    functions.is_wide |= all().any(|array| python::is_wide(array.data_type));
    if all().any(|array| array.dynamic.contains(&true)) {
        functions.note("Dimensions that vary at run time have their largest size.");
    }
    let parts = Parts { functions: &functions, operands: &operands.list, results: &results };
    let mut out = head(module, program, instruction, measured, &functions.notes);
    parts.imports(&mut out, &value);
    out.push_str(&functions.text);
    let parameters: Vec<&str> = operands.list.iter().map(|it| it.name.as_str()).collect();
    let _ = writeln!(out, "def op({}):\n    return {value}\n\n", parameters.join(", "));
    parts.operands(&mut out)?;
    parts.results(&mut out)?;
    parts.jitted(&mut out, &Structure::new(&returned));
    out.push_str(MEASURE);
    Ok(out)
}

/// Returns the instruction that starts an asynchronous operation.
fn started<'m>(module: &'m Module, instruction: &'m Instruction) -> &'m Instruction {
    let mut it = instruction;
    for _ in 0..limits::DEPTH {
        if !it.opcode.ends_with("-done") && !it.is("async-update") {
            break;
        }
        let Some(start) = module.operand(it, 0) else { break };
        it = start;
    }
    it
}

/// Returns the shape of the value that the script returns.
fn returned(module: &Module, it: &Instruction) -> Shape {
    let shape = match it.opcode.as_str() {
        "async-start" => module.called(it, 0).and_then(|called| module.root(called)).map_or(&it.shape, |it| &it.shape),
        "all-gather-start" | "collective-permute-start" => it.shape.tuple().get(1).unwrap_or(&it.shape),
        "copy-start" => it.shape.tuple().first().unwrap_or(&it.shape),
        _ => &it.shape,
    };
    match shape {
        Shape::Tuple(parts) if it.is("custom-call") => {
            Shape::Tuple(parts.iter().take(ops::results(it)).cloned().collect())
        }
        shape => shape.clone(),
    }
}

struct Parts<'a> {
    functions: &'a Functions<'a>,
    operands: &'a [Operand],
    results: &'a [&'a ArrayShape],
}

impl Parts<'_> {
    /// Returns true if an array has a layout that JAX does not choose by itself.
    fn has_layouts(&self) -> bool {
        let operands = self.operands.iter().map(|it| &it.array);
        operands.chain(self.results.iter().copied()).any(|array| layout::unusual(array).is_some())
    }

    /// Returns true if an array is in host memory.
    fn has_host(&self) -> bool {
        let operands = self.operands.iter().map(|it| &it.array);
        operands.chain(self.results.iter().copied()).any(layout::is_on_host)
    }

    /// Returns true if the script specifies the placement of arrays.
    fn has_placement(&self) -> bool {
        self.has_layouts() || self.has_host() || self.functions.mesh.is_some()
    }

    fn imports(&self, out: &mut String, value: &str) {
        out.push_str("import glob\nimport statistics\nimport tempfile\nimport time\n\nimport jax\n");
        if self.functions.text.contains("jax.extend") || value.contains("jax.extend") {
            out.push_str("import jax.extend\n");
        }
        out.push_str("import jax.numpy as jnp\nimport numpy as np\nfrom jax import lax\n");
        if self.has_layouts() {
            out.push_str("from jax.experimental.layout import Format, Layout\n");
        }
        if self.functions.mesh.is_some() {
            out.push_str("from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n");
        } else if self.has_placement() {
            out.push_str("from jax.sharding import SingleDeviceSharding\n");
        }
        if self.functions.is_wide {
            out.push_str("\njax.config.update(\"jax_enable_x64\", True)\n");
        }
        if let Some(mesh) = &self.functions.mesh {
            let _ = writeln!(
                out,
                "\nDEVICES = {}\nif len(jax.devices()) < DEVICES:\n    \
                 raise SystemExit(f\"This op needs {{DEVICES}} devices. On a CPU, set \"\n                     \
                 f\"XLA_FLAGS=--xla_force_host_platform_device_count={{DEVICES}}\")\n\
                 # The groups of devices that communicate, as in the program.\n\
                 MESH = Mesh(np.array(jax.devices())[np.array({})], {})",
                mesh.devices(),
                mesh.list(),
                mesh.axes()
            );
        }
        out.push_str("\n\n");
    }

    fn operands(&self, out: &mut String) -> Result<(), Unsupported> {
        let list = self.operands;
        let uses = |wanted: fn(&Operand) -> bool| list.iter().any(wanted);
        if uses(|it| matches!(it.numbers, Numbers::Random | Numbers::Dominant)) {
            out.push_str(RANDOM);
        }
        if uses(|it| matches!(it.numbers, Numbers::Below(_))) {
            out.push_str(INDICES);
        }
        if uses(|it| it.numbers == Numbers::Dominant) {
            out.push_str(DOMINANT);
        }
        self.placement(out);
        out.push_str(
            "def operands():\n    \"\"\"Returns arrays with the shapes, types and layouts of the program.\"\"\"\n",
        );
        if list.is_empty() {
            out.push_str("    return ()\n\n\n");
            return Ok(());
        }
        out.push_str("    return (\n");
        for (n, operand) in list.iter().enumerate() {
            let array = &operand.array;
            let dtype = python::dtype(array.data_type)?;
            let shape = python::tuple(self.global(array));
            let numbers = match &operand.numbers {
                Numbers::Random => format!("random({n}, {shape}, {dtype})"),
                Numbers::Below(limit) => format!("indices({n}, {shape}, {dtype}, {limit})"),
                Numbers::Dominant => format!("dominant({n}, {shape}, {dtype})"),
                Numbers::All(number) => format!("np.full({shape}, {number}, {dtype})"),
            };
            let place = if self.has_placement() { format!(", {}", place(array)) } else { String::new() };
            let text = names::comment(&array_text(array));
            let _ = writeln!(out, "        jax.device_put({numbers}{place}),  # {}: {text}", operand.name);
        }
        out.push_str("    )\n\n\n");
        Ok(())
    }

    /// Writes the function that returns the devices, the memory and the layout of an array.
    fn placement(&self, out: &mut String) {
        if !self.has_placement() {
            return;
        }
        let mut arguments = "rank".to_owned();
        if self.has_layouts() {
            arguments.push_str(", order=None");
        }
        let memory = if self.has_host() { ", memory_kind=memory" } else { "" };
        if self.has_host() {
            arguments.push_str(", memory=None");
        }
        let mut about = String::new();
        let sharding = if self.functions.mesh.is_some() {
            about.push_str("\n\n    Each device has one part of the first dimension.");
            format!("NamedSharding(MESH, P(MESH.axis_names) if rank else P(){memory})")
        } else {
            format!("SingleDeviceSharding(jax.devices()[0]{memory})")
        };
        if self.has_layouts() {
            about.push_str("\n\n    `order` lists the dimensions from the slowest varying to the fastest.");
        }
        let end = if about.is_empty() { "" } else { "\n    " };
        let body = if self.has_layouts() {
            format!("    sharding = {sharding}\n    return Format(Layout(order), sharding) if order else sharding\n")
        } else {
            format!("    return {sharding}\n")
        };
        let _ = writeln!(
            out,
            "def placement({arguments}):\n    \"\"\"Returns the place of an array.{about}{end}\"\"\"\n{body}\n"
        );
    }

    /// Returns the sizes of the whole array that is distributed over all devices.
    fn global(&self, array: &ArrayShape) -> Vec<u64> {
        let devices = self.functions.mesh.as_ref().map_or(1, Mesh::devices) as u64;
        let mut sizes = array.dimensions.clone();
        if let Some(first) = sizes.first_mut() {
            *first = first.saturating_mul(devices);
        }
        sizes
    }

    fn results(&self, out: &mut String) -> Result<(), Unsupported> {
        out.push_str("# Shapes and types of the results in the program.\nRESULT = [\n");
        for array in self.results {
            let shape = python::tuple(self.global(array));
            let dtype = python::dtype(array.data_type)?;
            let _ = writeln!(out, "    ({shape}, {dtype}),  # {}", names::comment(&array_text(array)));
        }
        out.push_str("]\n\n\n");
        Ok(())
    }

    /// Writes the function that jits the op.
    fn jitted(&self, out: &mut String, structure: &Structure) {
        out.push_str("def jitted():\n    \"\"\"Returns the op as a compiled function.\"\"\"\n");
        let mut function = "op";
        if self.functions.mesh.is_some() {
            let spec =
                |array: &ArrayShape| if array.dimensions.is_empty() { "P()" } else { "P(MESH.axis_names)" }.to_owned();
            let into = python::tuple(self.operands.iter().map(|it| spec(&it.array)));
            let _ = writeln!(
                out,
                "    into = {into}\n    outof = {}\n    \
                 function = jax.shard_map(op, mesh=MESH, in_specs=into, out_specs=outof, check_vma=False)",
                structure.text(&spec)
            );
            function = "function";
        }
        let special = self.results.iter().any(|array| layout::unusual(array).is_some() || layout::is_on_host(array));
        let options = if special { format!(", out_shardings={}", structure.text(&place)) } else { String::new() };
        let _ = writeln!(out, "    return jax.jit({function}{options})\n\n");
    }
}

/// Returns the Python call `placement(...)` for an array.
fn place(array: &ArrayShape) -> String {
    let mut out = format!("placement({}", array.dimensions.len());
    if let Some(order) = layout::unusual(array) {
        let _ = write!(out, ", order={}", python::tuple(order));
    }
    if layout::is_on_host(array) {
        out.push_str(", memory=\"pinned_host\"");
    }
    out.push(')');
    out
}

/// Structure of the results: an array, or a tuple of structures.
enum Structure {
    Array(ArrayShape),
    Tuple(Vec<Structure>),
}

impl Structure {
    /// Returns the structure of a shape. A token becomes `None` in Python, which is not a leaf.
    fn new(shape: &Shape) -> Structure {
        match shape {
            Shape::Array(array) => Structure::Array(array.clone()),
            Shape::Tuple(parts) => Structure::Tuple(parts.iter().map(Structure::new).collect()),
            _ => Structure::Tuple(Vec::new()),
        }
    }

    fn text(&self, of: &dyn Fn(&ArrayShape) -> String) -> String {
        match self {
            Structure::Array(array) => of(array),
            Structure::Tuple(parts) => python::tuple(parts.iter().map(|part| part.text(of))),
        }
    }
}

fn array_text(array: &ArrayShape) -> String {
    Shape::Array(array.clone()).text(true)
}

const RANDOM: &str = "\
def random(seed, shape, dtype):
    \"\"\"Returns random numbers: from 0.5 to 1.5, or small whole numbers.\"\"\"
    random = np.random.default_rng(seed)
    if dtype == jnp.bool_:
        return random.random(shape) < 0.5
    if jnp.issubdtype(dtype, jnp.integer):
        return random.integers(0, min(8, int(jnp.iinfo(dtype).max)), shape).astype(dtype)
    return (random.random(shape, np.float32) + np.float32(0.5)).astype(dtype)


";

const INDICES: &str = "\
def indices(seed, shape, dtype, limit):
    \"\"\"Returns random indices below the limit.\"\"\"
    return np.random.default_rng(seed).integers(0, limit, shape).astype(dtype)


";

const DOMINANT: &str = "\
def dominant(seed, shape, dtype):
    \"\"\"Returns symmetric matrices with a large diagonal, so that they have an inverse and a Cholesky factor.\"\"\"
    rows, columns = shape[-2:]
    matrix = random(seed, shape, dtype) + 2 * max(rows, columns) * np.eye(rows, columns, dtype=dtype)
    return (matrix + matrix.swapaxes(-1, -2)) / 2 if rows == columns else matrix


";

const MEASURE: &str = "\
def check(result):
    \"\"\"Compares the shapes and types of the result with those of the program.\"\"\"
    found = [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(result)]
    expected = [(shape, jnp.dtype(dtype)) for shape, dtype in RESULT]
    assert found == expected, f\"the result is {found}, and in the program {expected}\"


def device_time(function, arguments, calls):
    \"\"\"Returns the device's busy time per call in seconds. None if JAX's profiler records no device (CPU).\"\"\"
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for _ in range(calls):
                result = function(*arguments)
            jax.block_until_ready(result)
        files = glob.glob(folder + \"/**/*.xplane.pb\", recursive=True)
        planes = [plane for file in files for plane in jax.profiler.ProfileData.from_file(file).planes]
        for plane in planes:
            if not plane.name.startswith((\"/device:GPU:\", \"/device:TPU:\")):
                continue
            lines = {line.name: [event.duration_ns for event in line.events] for line in plane.lines}
            # A TPU has a line of whole programs, and a GPU one line of kernels per stream.
            programs = lines.get(\"XLA Modules\")
            streams = [time for name, times in lines.items() if name.startswith(\"Stream #\") for time in times]
            if programs or streams:
                return sum(programs or streams) / 1e9 / calls
    return None


def measure(function, arguments, samples=20):
    \"\"\"Returns the median time per call in seconds, and the calls per sample. Only the last call of a sample is awaited.\"\"\"
    start = time.perf_counter()
    jax.block_until_ready(function(*arguments))
    calls = max(1, min(1000, int(0.01 / (time.perf_counter() - start))))
    times = []
    for _ in range(samples):
        start = time.perf_counter()
        for _ in range(calls):
            result = function(*arguments)
        jax.block_until_ready(result)
        times.append((time.perf_counter() - start) / calls)
    return statistics.median(times), calls


def main():
    arguments, function = operands(), jitted()
    start = time.perf_counter()
    result = jax.block_until_ready(function(*arguments))
    print(f\"first call   {time.perf_counter() - start:.3f} s, with compilation\")
    check(result)
    print(\"result      \", \", \".join(f\"{jnp.dtype(dtype).name}{list(shape)}\" for shape, dtype in RESULT))
    seconds, calls = measure(function, arguments)
    print(f\"time         {seconds * 1e6:.3f} us per call, the median of 20 runs of {calls} calls\")
    busy = device_time(function, arguments, calls)
    if busy is not None:
        print(f\"device time  {busy * 1e6:.3f} us per call\")


if __name__ == \"__main__\":
    main()
";
