//! Finds the category of a device op and its family, which determines the op's colour and its part of a step.
//!
//! The category is XLA's own (`hlo_category`) if the trace has it, as on TPUs. Otherwise, or if XLA's category is only
//! `custom-call`, the category follows from the names of the op. More specific names are tested before general words
//! (`fusion`, `reduce`, `copy`). `facts/kernel_families.csv` lists the names. Callers pass only device ops, never host
//! events.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use base::framework_path;
use facts::hlo_categories::CUSTOM_CALL;
use facts::kernel_families::{self, Scope};
use facts::{Name, hlo_categories};
use trace::copies::{Direction, direction};
use trace::{ArgsId, StrId, Trace};

/// Coarse class of a device op. Step times are split by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpClass {
    /// Arithmetic.
    Compute,
    /// Collectives and sends between devices.
    Communication,
    /// Copies and fills.
    Transfer,
}

/// Family of a device op. Each family has one colour, which is the same in every view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpFamily {
    /// Matrix products.
    Matmul,
    /// Convolutions. On a TPU, XLA runs most matrix products as convolutions and reports them as convolutions.
    Convolution,
    /// Fused attention.
    Attention,
    /// Elementwise arithmetic.
    Elementwise,
    /// Reductions, norms, softmax, pooling.
    Reduction,
    /// Any other arithmetic.
    OtherCompute,
    /// Collectives and sends between devices.
    Communication,
    /// Copies, fills and changes of layout.
    DataMovement,
}

impl OpFamily {
    /// All families, in legend order.
    pub const ALL: [OpFamily; 8] = [
        OpFamily::Matmul,
        OpFamily::Convolution,
        OpFamily::Attention,
        OpFamily::Elementwise,
        OpFamily::Reduction,
        OpFamily::OtherCompute,
        OpFamily::Communication,
        OpFamily::DataMovement,
    ];

    /// Returns the stable identifier, in snake_case.
    pub fn label(self) -> &'static str {
        match self {
            OpFamily::Matmul => "matmul",
            OpFamily::Convolution => "convolution",
            OpFamily::Attention => "attention",
            OpFamily::Elementwise => "elementwise",
            OpFamily::Reduction => "reduction",
            OpFamily::OtherCompute => "other_compute",
            OpFamily::Communication => "communication",
            OpFamily::DataMovement => "data_movement",
        }
    }

    /// Returns the class of this family's ops.
    pub fn class(self) -> OpClass {
        match self {
            OpFamily::Communication => OpClass::Communication,
            OpFamily::DataMovement => OpClass::Transfer,
            _ => OpClass::Compute,
        }
    }
}

/// Returns the family of a category in a report, which another tool may have written. If no table lists the category,
/// treats it as the name of an HLO op. Returns other arithmetic if that name is also unknown.
pub fn family_of(category: &str) -> OpFamily {
    let category = category.trim().to_ascii_lowercase();
    let known = hlo_categories::family(&category).or_else(|| {
        let similar = kernel_families::category(Scope::Hlo, &Name::new(&category))?;
        hlo_categories::family(similar)
    });
    known
        .and_then(|label| OpFamily::ALL.into_iter().find(|family| family.label() == label))
        .unwrap_or(OpFamily::OtherCompute)
}

/// Id of a category within one [`Categorizer`]. Ids are numbered from 0 in order of first use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CategoryId(u32);

impl CategoryId {
    /// Returns the index of the category, for side tables with one entry per category.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Categories recognised from names and arguments, for ops without a recorded category. Clones share the cache, because
/// recognising a million different kernels takes seconds and most measurements need the categories.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recognised(Arc<Mutex<FxHashMap<(StrId, ArgsId), &'static str>>>);

impl Recognised {
    /// Sets the category of ops whose names and arguments do not show it.
    pub(crate) fn set(&self, ops: impl Iterator<Item = (StrId, ArgsId)>, category: &'static str) {
        if let Ok(mut known) = self.0.lock() {
            known.extend(ops.map(|op| (op, category)));
        }
    }

    pub(crate) fn category(&self, trace: &Trace, name: StrId, args: ArgsId) -> &'static str {
        match self.0.lock() {
            Ok(mut known) => known.entry((name, args)).or_insert_with(|| category(trace, name, args)),
            Err(_) => category(trace, name, args),
        }
    }
}

/// Finds the categories of many ops. Each distinct op is examined once.
#[derive(Debug)]
pub(crate) struct Categorizer<'a> {
    trace: &'a Trace,
    recognised: Recognised,
    by_op: FxHashMap<(StrId, ArgsId), CategoryId>,
    /// Maps each text that the trace records as an op's category to the id of the category.
    stated: FxHashMap<StrId, CategoryId>,
    by_name: FxHashMap<String, CategoryId>,
    categories: Vec<(String, OpFamily)>,
}

impl<'a> Categorizer<'a> {
    /// Creates a categoriser for the ops of `trace`, which reuses the categories in `recognised`.
    pub(crate) fn new(trace: &'a Trace, recognised: &Recognised) -> Categorizer<'a> {
        Categorizer {
            trace,
            recognised: recognised.clone(),
            by_op: FxHashMap::default(),
            stated: FxHashMap::default(),
            by_name: FxHashMap::default(),
            categories: Vec::new(),
        }
    }

    /// Returns the category of the op `name` with `args`.
    pub(crate) fn of(&mut self, name: StrId, args: ArgsId) -> CategoryId {
        let stated = self.trace.args.set(args.index()).map_or(StrId::EMPTY, |set| set.hlo_category);
        if let Some(&known) = self.stated.get(&stated) {
            return known;
        }
        if let Some(&known) = self.by_op.get(&(name, args)) {
            return known;
        }
        let category = self.trace.text(stated);
        if !category.is_empty() && category != CUSTOM_CALL {
            let id = self.named(category);
            self.stated.insert(stated, id);
            return id;
        }
        let id = self.named(self.recognised.category(self.trace, name, args));
        self.by_op.insert((name, args), id);
        id
    }

    fn named(&mut self, category: &str) -> CategoryId {
        if let Some(&known) = self.by_name.get(category) {
            return known;
        }
        let id = CategoryId(u32::try_from(self.categories.len()).unwrap_or(u32::MAX));
        self.by_name.insert(category.to_owned(), id);
        self.categories.push((category.to_owned(), family_of(category)));
        id
    }

    /// Returns true if the op `name` with `args` communicates.
    pub(crate) fn communicates(&mut self, name: StrId, args: ArgsId) -> bool {
        let category = self.of(name, args);
        self.class(category) == OpClass::Communication
    }

    /// Returns the name of the category.
    pub(crate) fn name(&self, id: CategoryId) -> &str {
        self.categories.get(id.index()).map_or("", |(name, _)| name)
    }

    /// Returns all categories found so far, in order of first use. The position of a category is its
    /// [`CategoryId::index`].
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.categories.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the family of the category.
    pub(crate) fn family(&self, id: CategoryId) -> OpFamily {
        self.categories.get(id.index()).map_or(OpFamily::OtherCompute, |&(_, family)| family)
    }

    /// Returns the class of the category.
    pub(crate) fn class(&self, id: CategoryId) -> OpClass {
        self.family(id).class()
    }
}

/// Finds the category of an op without a category from XLA. Examines in this order:
///
/// 1. the direction of a copy;
/// 2. the HLO instruction;
/// 3. the kernel's own name, because the instruction of a library call is only `custom-call`;
/// 4. the framework op;
/// 5. the kernel's name, read like an instruction's name.
fn category(trace: &Trace, name: StrId, args: ArgsId) -> &'static str {
    let args_set = trace.args.get(args);
    if trace.text(args_set.hlo_category) == CUSTOM_CALL {
        return custom_call(trace.text(name), trace.text(args_set.tf_op)).unwrap_or(CUSTOM_CALL);
    }
    if let Some(direction) = direction(trace, name, args) {
        return copy_category(direction);
    }
    let kernel = trace.text(name);
    let instruction = trace.text(args_set.hlo_op);
    let instruction = trace::instruction_name(instruction);
    // Split only once, because a trace may have a million different kernels.
    let words = Name::new(kernel);
    let by_kernel = || of_instruction(kernel, &words);
    let (by_instruction, instruction) = match instruction {
        "" if is_xla_kernel(kernel, &words) => (by_kernel(), kernel),
        "" => (None, ""),
        _ => (of_instruction(instruction, &Name::new(instruction)), instruction),
    };
    by_instruction
        .or_else(|| kernel_families::category(Scope::Kernel, &words))
        .or_else(|| match framework_type(trace.text(args_set.tf_op)) {
            "" => None,
            framework_type => kernel_families::category(Scope::Hlo, &Name::new(framework_type)),
        })
        .or_else(by_kernel)
        .or_else(|| opaque(instruction))
        .unwrap_or("other")
}

fn copy_category(direction: Direction) -> &'static str {
    match direction {
        Direction::HostToDevice => "memcpy h2d",
        Direction::DeviceToHost => "memcpy d2h",
        Direction::WithinDevice => "memcpy d2d",
        Direction::BetweenDevices => "memcpy p2p",
        Direction::Fill => "memset",
        Direction::Other => "memcpy",
    }
}

/// Returns the category of a program's custom kernel, from its name or from the function that calls it:
///
/// ```text
/// jit(step)/jit(main)/layer_0/attn/jit(ragged_paged_attention)/RPA-bq_32-bkvp_32/pallas_call
///                     |            |
///                     scopes may   the function
///                     have any name
/// ```
fn custom_call(name: &str, path: &str) -> Option<&'static str> {
    let of_kernel = |text: &str| {
        let name = Name::new(text);
        kernel_families::category(Scope::Kernel, &name).or_else(|| kernel_families::category(Scope::Hlo, &name))
    };
    let functions =
        framework_path::segments(path).filter_map(|segment| segment.strip_prefix("jit(")?.strip_suffix(')'));
    [Some(name), functions.last()].into_iter().flatten().find_map(of_kernel)
}

/// Returns true for kernels that XLA generated. XLA names such a kernel after the fusion: `loop_add_tanh_fusion`,
/// `wrapped_broadcast.kd`.
fn is_xla_kernel(kernel: &str, name: &Name) -> bool {
    !kernel.contains(['(', '<', ':']) && name.words().any(|word| word == "fusion" || word == "wrapped")
}

/// Returns the category that follows from the instruction's name, or `None` if the name is opaque (`custom-call.1`,
/// `fusion.7`).
fn of_instruction(instruction: &str, name: &Name) -> Option<&'static str> {
    if instruction.is_empty() || instruction.starts_with("custom-call") || instruction.starts_with("custom_call") {
        return None;
    }
    let category = kernel_families::category(Scope::Hlo, name)?;
    let fused = name.words().any(|word| word == "fusion");
    Some(match category {
        "elementwise" if fused => hlo_categories::LOOP_FUSION,
        "copy" if fused => hlo_categories::DATA_FORMATTING,
        category => category,
    })
}

/// Returns the category of an instruction whose name does not reveal its contents.
fn opaque(instruction: &str) -> Option<&'static str> {
    let name = Name::new(instruction);
    let first = name.words().next()?;
    match first {
        "custom" => Some(CUSTOM_CALL),
        "fusion" => Some("fusion"),
        _ if name.words().any(|word| word == "fusion") => Some("custom fusion"),
        _ => None,
    }
}

/// Returns the type of a framework op from its path: `Conv2D` for `block/conv:Conv2D`, `dot_general` for
/// `jit(f)/jit(main)/dot_general:`. On GPUs, `XlaModule:` means that there is no framework op.
fn framework_type(path: &str) -> &str {
    if path.starts_with("XlaModule") {
        return "";
    }
    match path.rsplit_once(':') {
        Some((_, kind)) if !kind.is_empty() => kind,
        Some((path, _)) => path.rsplit('/').next().unwrap_or(path),
        None => path.rsplit('/').next().unwrap_or(path),
    }
}

#[cfg(test)]
mod tests;
