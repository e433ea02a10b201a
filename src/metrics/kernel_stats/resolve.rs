//! What a kernel's name, arguments and op tell of it.

use super::demangle::{demangle, short_name};
use super::graphs::{GraphOps, Op};
use super::{Distinct, Kernel, LaunchShape, Occurrences, data_type};
use crate::facts::pattern::Name;
use crate::facts::tensor_cores;
use crate::hlo::{Instruction, Module, Modules};
use crate::metrics::categories::{Categorizer, OpFamily};
use crate::metrics::devices::Devices;
use crate::metrics::transfers::direction;
use crate::trace::classify::Platform;
use crate::trace::{ArgsId, StrId, Trace};

/// A kernel as far as one argument set tells it, without occurrences.
pub(super) struct Resolved {
    pub kernel: Kernel,
}

pub(super) struct Resolver<'a> {
    trace: &'a Trace,
    modules: &'a Modules<'a>,
    categorizer: Categorizer<'a>,
    graphs: GraphOps,
    on_gpu: bool,
}

impl<'a> Resolver<'a> {
    /// `kernels` are all that will be asked for.
    pub fn new(
        trace: &'a Trace,
        devices: &Devices,
        modules: &'a Modules<'a>,
        kernels: impl Iterator<Item = Distinct>,
    ) -> Resolver<'a> {
        Resolver {
            trace,
            modules,
            categorizer: Categorizer::new(trace),
            graphs: GraphOps::new(trace, modules, kernels),
            on_gpu: devices.platform == Some(Platform::Gpu),
        }
    }

    /// `None` for a copy or fill of a GPU.
    pub fn resolve(&mut self, host: u16, name: StrId, args_id: ArgsId) -> Option<Resolved> {
        let args = self.trace.args.get(args_id);
        let details = self.trace.text(args.kernel_details);
        if self.on_gpu && details.is_empty() && direction(self.trace, name, args_id).is_some() {
            return None;
        }
        let in_graph = args.graph_id.is_some() || args.graph_node_id.is_some();
        // A kernel of a graph that names no op takes that of the kernel it is known to be.
        let mut op = Op::of(self.trace, &args);
        if in_graph && op.hlo_op.is_empty() {
            // A kernel of a graph that names no op has that of the kernel it is known to be.
            op = self.graphs.op(host, name, &args).cloned().unwrap_or(op);
        }
        let found = self.instruction(host, &op);
        let raw = self.trace.text(name);
        let full = demangle(raw).unwrap_or_else(|| raw.to_owned());
        let op_name = op_name(&op, found.map(|(_, instruction)| instruction));
        let category = self.categorizer.of(name, args_id);
        let family = self.categorizer.family(category);
        let matrix = matches!(family, OpFamily::Matmul | OpFamily::Convolution | OpFamily::Attention);
        // Looking for words costs more than all the rest: only where they can tell something.
        let words = (self.on_gpu || matrix).then(|| Name::new(&full));
        let words = words.as_ref();
        let uses = words.filter(|_| self.on_gpu).map(tensor_cores::kernel_uses);
        let eligible = uses.map(|uses| uses || tensor_cores::op_eligible(&Name::new(op_type(&op_name))));
        let from_hlo = || found.and_then(|(module, instruction)| data_type::of(module, instruction, matrix));
        let from_name = words.filter(|_| matrix).and_then(tensor_cores::data_type);
        // A name may tell the type that a product is computed in (tf32) where HLO tells that of its operands (f32).
        let tf32 = from_name.filter(|&data_type| data_type == "tf32");
        let kernel = Kernel {
            short_name: short_name(&full),
            name: full,
            hlo_op: op.hlo_op,
            hlo_module: op.hlo_module,
            op_name,
            shape: LaunchShape::parse(details),
            family,
            tensor_core_eligible: eligible,
            uses_tensor_core: uses,
            data_type: tf32.or_else(from_hlo).or(from_name),
            in_graph,
            occurrences: Occurrences::NONE,
        };
        Some(Resolved { kernel })
    }

    fn instruction(&self, host: u16, op: &Op) -> Option<(&'a Module, &'a Instruction)> {
        if op.hlo_op.is_empty() {
            return None;
        }
        let module = match op.program_id {
            Some(program) => self.modules.find(host, program),
            None => self.modules.find_by_name(host, &op.hlo_module),
        }?;
        Some((module, module.instruction(&op.hlo_op)?))
    }
}

/// The instruction of `hlo_op`: kernels of a called computation name the callers too (`call.1::fusion.3`).
pub(super) fn instruction_name(hlo_op: &str) -> &str {
    hlo_op.rsplit("::").next().unwrap_or(hlo_op)
}

/// As XProf: the instruction's own framework op where the HLO is known, even where it has none; else the event's.
/// `XlaModule:` is how the collector says that there is none.
fn op_name(op: &Op, instruction: Option<&Instruction>) -> String {
    match instruction {
        Some(instruction) => instruction.metadata.op_name.clone(),
        None if op.tf_op.starts_with("XlaModule") => String::new(),
        None => op.tf_op.clone(),
    }
}

/// The type of a framework op: `Conv2D` of `block/conv:Conv2D`, `dot_general` of `jit(f)/dot_general`.
fn op_type(op_name: &str) -> &str {
    let (path, kind) = op_name.rsplit_once(':').unwrap_or((op_name, ""));
    if kind.is_empty() || kind.contains('/') { path.rsplit('/').next().unwrap_or(path) } else { kind }
}
