//! Lists the instructions of a program that launch kernels, in the order of execution.

use rustc_hash::{FxHashMap, FxHashSet};

use super::align::Fit;
use facts::kernel_families::{self, Scope};
use facts::{Name, hlo_categories};
use hlo::{Instruction, InstructionIndex, Module};

/// An instruction that launches kernels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launching {
    pub index: InstructionIndex,
    calls: Calls,
}

/// The kernels that an instruction launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Calls {
    /// A kernel that XLA generated for the instruction.
    Generated,
    /// Kernels of a library.
    Library(Library),
    /// Kernels of an unknown library, or a generated kernel. Examples are a fusion around a library call, and a loop.
    Any,
}

/// A kind of library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Library {
    MatrixProduct,
    Dnn,
    Copy,
    Collective,
    Sort,
    Other,
}

/// Information that the name of a kernel contains.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kernel {
    /// XLA generated the kernel for this instruction. XLA also uses the kernel for other instructions that compute the
    /// same values.
    Generated(InstructionIndex),
    /// The kernel belongs to a library. `None` if the kernel's name does not identify the library.
    OfLibrary(Option<Library>),
    /// A copy or a fill.
    CopyOrFill,
}

/// The instructions of a program that launch kernels.
pub(super) struct Instructions<'m> {
    module: &'m Module,
    /// The instructions, in the order of execution.
    pub launching: Vec<Launching>,
    /// Each instruction, by the name that XLA gives to its kernel.
    by_kernel: FxHashMap<String, InstructionIndex>,
}

impl<'m> Instructions<'m> {
    pub(super) fn new(module: &'m Module) -> Instructions<'m> {
        let mut launching = Vec::new();
        let mut seen = FxHashSet::default();
        // Instructions that are still to be visited. The next instruction is the last entry.
        let mut waiting: Vec<InstructionIndex> = Vec::new();
        let push = |waiting: &mut Vec<_>, computation: &hlo::Computation| {
            let first = waiting.len();
            waiting.extend(module.in_order(computation).map(|(index, _)| index));
            waiting.get_mut(first..).unwrap_or_default().reverse();
        };
        if let Some(entry) = module.entry() {
            seen.extend(module.entry_index());
            push(&mut waiting, entry);
        }
        while let Some(index) = waiting.pop() {
            let Some(instruction) = module.at(index) else { continue };
            if let Some(calls) = calls(module, instruction) {
                launching.push(Launching { index, calls });
            }
            if ["while", "conditional", "call"].contains(&instruction.opcode.as_str()) {
                for &called in instruction.called.iter().rev() {
                    if let Some(computation) = module.computation(called).filter(|_| seen.insert(called)) {
                        push(&mut waiting, computation);
                    }
                }
            }
        }
        let mut by_kernel = FxHashMap::default();
        let all = || launching.iter().filter_map(|it| Some((it.index, module.at(it.index)?)));
        for (index, instruction) in all() {
            by_kernel.entry(kernel_name(&instruction.name)).or_insert(index);
        }
        // The kernel of a sort has the name of the sort, even if it is fused with other instructions.
        for (index, fusion) in all().filter(|(_, instruction)| instruction.is("fusion")) {
            let fused = module.called(fusion, 0).map_or(&[][..], |it| module.instructions_of(it));
            for sort in fused.iter().filter(|it| it.is("sort")) {
                by_kernel.entry(kernel_name(&sort.name)).or_insert(index);
            }
        }
        Instructions { module, launching, by_kernel }
    }

    /// Returns the information in the name of a kernel. `is_copy` is true for copies and fills.
    pub(super) fn kernel(&self, name: &str, is_copy: bool) -> Kernel {
        if is_copy {
            return Kernel::CopyOrFill;
        }
        let name = name.strip_suffix(".kd").unwrap_or(name);
        // In a graph, CUDA implements copies with its own kernels: `memcpy128`, `memcpy32_post`.
        if ["memcpy", "memset"].iter().any(|prefix| name.starts_with(prefix)) {
            return Kernel::CopyOrFill;
        }
        // The stages of a sort have kernels of their own: `sort_2`, `sort_2_1`.
        let stage = || name.rsplit_once('_').and_then(|(first, _)| self.by_kernel.get(first));
        match self.by_kernel.get(name).or_else(stage) {
            Some(&index) => Kernel::Generated(index),
            None => Kernel::OfLibrary(library_of_kernel(name)),
        }
    }

    /// Returns how well a kernel fits an instruction.
    pub(super) fn fit(&self, kernel: Kernel, instruction: &Launching) -> Fit {
        match (kernel, instruction.calls) {
            (Kernel::Generated(of), _) => self.generated(of, instruction.index),
            (Kernel::OfLibrary(Some(of)), Calls::Library(library)) if of == library => Fit::Library,
            (Kernel::OfLibrary(Some(_)), Calls::Library(Library::Other)) => Fit::Perhaps,
            (Kernel::OfLibrary(None), Calls::Library(Library::Copy)) => Fit::No,
            (Kernel::OfLibrary(None), Calls::Library(_)) => Fit::Perhaps,
            // A custom call of cuDNN may be a convolution, attention or a product.
            (Kernel::OfLibrary(Some(_)), Calls::Library(Library::Dnn)) => Fit::Perhaps,
            (Kernel::OfLibrary(Some(_)), Calls::Library(_)) => Fit::No,
            (Kernel::OfLibrary(_), Calls::Any) => Fit::Perhaps,
            (Kernel::OfLibrary(_), Calls::Generated) => Fit::No,
            (Kernel::CopyOrFill, Calls::Library(Library::Copy)) => Fit::Library,
            (Kernel::CopyOrFill, _) => Fit::Preparation,
        }
    }

    /// Returns how well a kernel that is named after the instruction `of` fits an instruction. XLA uses one kernel for
    /// all instructions that compute the same values. Such instructions have the same kind of name, and results of the
    /// same shape.
    fn generated(&self, of: InstructionIndex, instruction: InstructionIndex) -> Fit {
        if of == instruction {
            return Fit::Exact;
        }
        let (Some(a), Some(b)) = (self.module.at(of), self.module.at(instruction)) else { return Fit::No };
        match (stem(&a.name) == stem(&b.name), a.shape == b.shape) {
            (true, true) => Fit::Same,
            (true, false) => Fit::Similar,
            (false, true) if a.opcode == b.opcode => Fit::Similar,
            (false, _) => Fit::No,
        }
    }

    /// Returns the cost of an instruction to which no kernel is assigned.
    pub(super) fn skip(&self, instruction: &Launching) -> i32 {
        if instruction.calls == Calls::Generated { 15 } else { 7 }
    }
}

/// Returns the kernels that an instruction launches, or `None` if the instruction launches no kernels.
fn calls(module: &Module, instruction: &Instruction) -> Option<Calls> {
    let opcode = instruction.opcode.as_str();
    let library = match opcode {
        "parameter" | "constant" | "tuple" | "get-tuple-element" | "bitcast" | "after-all" | "partition-id"
        | "replica-id" | "opt-barrier" | "domain" | "add-dependency" | "get-dimension-size" | "async-update"
        | "call" => return None,
        _ if opcode.ends_with("-done") => return None,
        "while" | "conditional" => return Some(Calls::Any),
        "fusion" => {
            let fused = module.called(instruction, 0);
            let calls_library =
                fused.is_some_and(|it| module.instructions_of(it).iter().any(|it| it.is("custom-call")));
            return Some(if calls_library || instruction.name.starts_with("cudnn") {
                Calls::Any
            } else {
                Calls::Generated
            });
        }
        "custom-call" => of_target(instruction.custom_call_target().unwrap_or_default()),
        "copy" | "copy-start" => Library::Copy,
        "async-start" if runs_as_copy(module, instruction) => Library::Copy,
        "dot" => Library::MatrixProduct,
        "convolution" => Library::Dnn,
        "sort" => Library::Sort,
        _ if is_collective(opcode) => Library::Collective,
        _ => return Some(Calls::Any),
    };
    Some(Calls::Library(library))
}

/// Returns true if an asynchronous instruction runs a fusion that only moves data. XLA runs such a fusion as a copy.
fn runs_as_copy(module: &Module, start: &Instruction) -> bool {
    const MOVES: [&str; 9] = [
        "parameter",
        "constant",
        "bitcast",
        "tuple",
        "get-tuple-element",
        "copy",
        "slice",
        "dynamic-slice",
        "dynamic-update-slice",
    ];
    let wrapped = module.called(start, 0).and_then(|computation| module.root(computation));
    let fused = wrapped.map_or(&[][..], |fusion| hlo::fused(module, fusion));
    // Scalars are indices.
    !fused.is_empty() && fused.iter().all(|it| MOVES.contains(&it.opcode.as_str()) || it.shape.elements() <= 1.0)
}

fn of_target(target: &str) -> Library {
    let contains = |words: &[&str]| words.iter().any(|word| target.contains(word));
    if contains(&["cublas", "gemm", "hipblas"]) {
        Library::MatrixProduct
    } else if contains(&["cudnn", "miopen", "conv"]) {
        Library::Dnn
    } else if contains(&["Sort", "TopK", "cub"]) {
        Library::Sort
    } else {
        Library::Other
    }
}

fn is_collective(opcode: &str) -> bool {
    ["all-", "reduce-scatter", "collective-", "ragged-all-to-all"].iter().any(|prefix| opcode.starts_with(prefix))
}

/// Returns the library that a kernel belongs to, if the kernel's name identifies it.
fn library_of_kernel(name: &str) -> Option<Library> {
    match kernel_families::category(Scope::Kernel, &Name::new(name))? {
        "matmul" => Some(Library::MatrixProduct),
        "convolution" | "attention" => Some(Library::Dnn),
        "sort" => Some(Library::Sort),
        category if hlo_categories::family(category) == Some("communication") => Some(Library::Collective),
        _ => None,
    }
}

/// Returns the name that XLA gives to the kernel of an instruction.
pub(super) fn kernel_name(instruction: &str) -> String {
    instruction.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Returns the name of an instruction without its number.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}
