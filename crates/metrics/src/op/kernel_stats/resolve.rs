//! Derives the properties of a kernel from its name, arguments and op.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::demangle::{demangle, short_name};
use super::{KernelRow, LaunchShape, Occurrences, data_type};
use crate::device::devices::Devices;
use crate::op::categories::{Categorizer, OpFamily};
use crate::op::ops::{Text, Texts};
use crate::program::autotuning::AUTOTUNING;
use facts::{Name, tensor_cores};
use hlo::{Instruction, Module, Modules};
use trace::copies::direction;
use trace::{Args, ArgsId, Platform, StrId, Trace};

/// A launch shape, and the number of its class. Kernels share a row if their shapes have the same class.
#[derive(Clone)]
struct Shape {
    shape: Arc<LaunchShape>,
    class: u32,
    grid: Text,
    block: Text,
}

/// The parts of a launch shape that distinguish rows; see [`Resolver::shape`].
type ShapeClass = (Option<[u32; 3]>, Option<[u32; 3]>, Option<u64>, Option<u64>);

#[derive(Clone, Copy)]
struct Names {
    full: Text,
    short: Text,
}

#[derive(Clone, Copy, Debug, Default)]
struct Op {
    hlo_op: Text,
    hlo_module: Text,
    program_id: Option<i64>,
    /// Framework op that the event records.
    tf_op: StrId,
}

impl Op {
    /// Reads the op that an event names. `hlo_op` is empty if the event names no op.
    fn of(trace: &Trace, texts: &mut Texts, args: &Args) -> Op {
        Op {
            hlo_op: texts.instruction(trace, args.hlo_op),
            hlo_module: Texts::of_trace(args.hlo_module),
            program_id: args.program_id,
            tf_op: args.tf_op,
        }
    }
}

pub(super) struct Resolver<'a> {
    trace: &'a Trace,
    modules: &'a Modules,
    categorizer: Categorizer<'a>,
    on_gpu: bool,
    shapes: FxHashMap<StrId, Shape>,
    classes: FxHashMap<ShapeClass, u32>,
    /// Names and other texts of kernels that are not among the trace's strings.
    pub texts: Texts,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(trace: &'a Trace, devices: &Devices, modules: &'a Modules) -> Resolver<'a> {
        Resolver {
            trace,
            modules,
            categorizer: Categorizer::new(trace, &devices.recognised),
            on_gpu: devices.platform == Some(Platform::Gpu),
            shapes: FxHashMap::default(),
            classes: FxHashMap::default(),
            texts: Texts::default(),
        }
    }

    /// Returns the kernel's row, without occurrences, and the class of the kernel's launch shape.
    pub(super) fn resolve(&mut self, host: u16, name: StrId, args_id: ArgsId) -> (KernelRow, u32) {
        let args = self.trace.args.get(args_id);
        let in_graph = args.is_in_graph();
        let op = Op::of(self.trace, &mut self.texts, &args);
        let found = self.instruction(host, &op);
        let names = self.names(name);
        let op_name = self.op_name(&op, found.map(|(_, instruction)| instruction));
        let category = self.categorizer.of(name, args_id);
        let family = self.categorizer.family(category);
        let matrix = matches!(family, OpFamily::Matmul | OpFamily::Convolution | OpFamily::Attention);
        // Splitting a name into words is the most expensive part, so it is done only if the words are needed.
        let text = |text: Text| self.texts.get(self.trace, text);
        let words = (self.on_gpu || matrix).then(|| Name::new(text(names.full)));
        let words = words.as_ref();
        let uses = words.filter(|_| self.on_gpu).map(tensor_cores::kernel_uses);
        let eligible = uses.map(|uses| uses || tensor_cores::op_eligible(&Name::new(op_type(text(op_name)))));
        let from_hlo = || found.and_then(|(module, instruction)| data_type::of(module, instruction, matrix));
        let from_name = words.filter(|_| matrix).and_then(tensor_cores::data_type);
        // A kernel's name may contain the type in which a product is computed (`tf32`). HLO contains the type of the operands
        // (`f32`).
        let tf32 = from_name.filter(|&data_type| data_type == "tf32");
        let data_type = tf32.or_else(from_hlo).or(from_name);
        let Shape { shape, class, grid, block } = self.shape(args.kernel_details);
        let kernel = KernelRow {
            name: names.full,
            short_name: names.short,
            hlo_op: op.hlo_op,
            hlo_module: op.hlo_module,
            op_name,
            grid,
            block,
            shape,
            family,
            is_autotuning: self.categorizer.name(category) == AUTOTUNING,
            tensor_core_eligible: eligible,
            uses_tensor_core: uses,
            data_type,
            in_graph,
            occurrences: Occurrences::NONE,
        };
        (kernel, class)
    }

    fn names(&mut self, name: StrId) -> Names {
        let raw = self.trace.text(name);
        // Names of instructions and of kernels in C need no demangling.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        if raw.bytes().all(is_plain) && !raw.starts_with("_Z") && !raw.ends_with(".kd") {
            return Names { full: Texts::of_trace(name), short: Texts::of_trace(name) };
        }
        let full = demangle(raw);
        let short = self.texts.keep(self.trace, &short_name(full.as_deref().unwrap_or(raw)));
        let full = full.map(|full| self.texts.keep(self.trace, &full));
        Names { full: full.unwrap_or(Texts::of_trace(name)), short }
    }

    /// Returns the parsed `kernel_details`. Each distinct text is parsed once.
    fn shape(&mut self, details: StrId) -> Shape {
        if let Some(known) = self.shapes.get(&details) {
            return known.clone();
        }
        let shape = LaunchShape::parse(self.trace.text(details));
        let class = (shape.grid, shape.block, shape.registers_per_thread, shape.shared_bytes());
        let next = u32::try_from(self.classes.len()).unwrap_or(u32::MAX);
        let class = *self.classes.entry(class).or_insert(next);
        let mut dimensions = |sizes| self.texts.keep(self.trace, &dimensions(sizes));
        let (grid, block) = (dimensions(shape.grid), dimensions(shape.block));
        let shape = Shape { shape: Arc::new(shape), class, grid, block };
        self.shapes.insert(details, shape.clone());
        shape
    }

    fn instruction(&self, host: u16, op: &Op) -> Option<(&'a Module, &'a Instruction)> {
        if op.hlo_op.is_empty() {
            return None;
        }
        let text = |text: Text| self.texts.get(self.trace, text);
        let module = self.modules.of_op(host, op.program_id, text(op.hlo_module))?;
        Some((module, module.instruction(text(op.hlo_op))?))
    }

    /// Returns the framework op, as in XProf. Returns the instruction's framework op, even if it is empty, or the
    /// event's framework op if the HLO is unknown. The collector writes `XlaModule:` if there is no framework op.
    fn op_name(&mut self, op: &Op, instruction: Option<&Instruction>) -> Text {
        match instruction {
            Some(instruction) => self.texts.keep(self.trace, &instruction.metadata.op_name),
            None if self.trace.text(op.tf_op).starts_with("XlaModule") => Text::default(),
            None => Texts::of_trace(op.tf_op),
        }
    }
}

/// Returns true for a GPU's copies and fills, which are not kernels.
pub(super) fn is_copy(trace: &Trace, name: StrId, args: ArgsId) -> bool {
    let details = trace.args.set(args.index()).map_or(StrId::EMPTY, |args| args.kernel_details);
    details.is_empty() && direction(trace, name, args).is_some()
}

/// Formats sizes as `3,1,1`. Returns an empty text if the sizes are unknown.
fn dimensions(sizes: Option<[u32; 3]>) -> String {
    sizes.map_or(String::new(), |[x, y, z]| format!("{x},{y},{z}"))
}

/// Returns the type of a framework op: `Conv2D` for `block/conv:Conv2D`, `dot_general` for `jit(f)/dot_general`.
fn op_type(op_name: &str) -> &str {
    let (path, kind) = op_name.rsplit_once(':').unwrap_or((op_name, ""));
    if kind.is_empty() || kind.contains('/') { path.rsplit('/').next().unwrap_or(path) } else { kind }
}
