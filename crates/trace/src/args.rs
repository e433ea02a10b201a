//! Arguments of events, in sets that many events share. Arguments are all properties except name and time.
//!
//! `args!` lists all arguments that a set can contain. The struct `Args`, the names of its stats in both formats,
//! [serialisation](super::snapshot) and [merging](mod@super::merge) all follow from this list. To add an argument, add
//! a line to the list.

use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;
use std::sync::Arc;

use super::event_columns::Holds;
use super::index::Index;
use super::strings::{StrId, Strings};

/// Bytes that an op moves per execution, by memory and direction, from the cost model of the XLA compiler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemoryBytes {
    /// Bytes read from the device's main memory (HBM).
    pub hbm_read: i64,
    /// Bytes written to the device's main memory (HBM).
    pub hbm_write: i64,
    /// Bytes read from the common memory (CMEM) of older TPUs.
    pub cmem_read: i64,
    /// Bytes written to the common memory (CMEM) of older TPUs.
    pub cmem_write: i64,
    /// Bytes read from the vector memory on the chip (VMEM).
    pub vmem_read: i64,
    /// Bytes written to the vector memory on the chip (VMEM).
    pub vmem_write: i64,
}

/// Declares [`Args`] with its texts and numbers, an enum that selects a text, and an enum that selects a number. Each
/// line has the form `field Variant (type of a number), xplane [names of the stat], json [keys of a Chrome trace];`.
macro_rules! args {
    (
        texts { $(
            $(#[$text_doc:meta])*
            $text:ident $Text:ident, xplane [$($text_stat:literal),*], json [$($text_key:literal),*];
        )* }
        numbers { $(
            $(#[$number_doc:meta])*
            $number:ident $Number:ident $holds:ident, xplane [$($number_stat:literal),*], json [$($number_key:literal),*];
        )* }
    ) => {
        /// Arguments of an event: all properties except its name, its time and the values that differ between
        /// occurrences ([`EventColumn`](super::EventColumn)). A few thousand distinct sets describe millions of events.
        ///
        /// A string that the file lacks is [`StrId::EMPTY`], and a number that the file lacks is `None`. The fields
        /// have the names of the profiler's stats.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct Args {
            $($(#[$text_doc])* pub $text: StrId,)*
            $($(#[$number_doc])* pub $number: Option<i64>,)*
            /// Bytes moved by memory and direction (TPU). `None` if the compiler did not split the bytes by memory.
            pub memory: Option<MemoryBytes>,
        }

        impl Args {
            /// Returns a reference to the text that `text` selects.
            #[inline]
            pub fn text_mut(&mut self, text: TextArg) -> &mut StrId {
                match text { $(TextArg::$Text => &mut self.$text,)* }
            }

            /// Returns a reference to the number that `number` selects.
            #[inline]
            pub fn number_mut(&mut self, number: NumberArg) -> &mut Option<i64> {
                match number { $(NumberArg::$Number => &mut self.$number,)* }
            }
        }

        /// Selects one of the texts in [`Args`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum TextArg { $($(#[$text_doc])* $Text,)* }

        impl TextArg {
            /// All texts, in declaration order.
            pub const ALL: &'static [TextArg] = &[$(TextArg::$Text,)*];

            /// Returns the names of the stats that contain this text in an xplane file. The list is empty if xplane
            /// files never contain this text.
            pub fn xplane_stats(self) -> &'static [&'static [u8]] {
                match self { $(TextArg::$Text => &[$($text_stat),*],)* }
            }

            /// Returns the keys under which a Chrome trace stores this text. The list is empty if Chrome traces never
            /// contain this text.
            pub fn json_keys(self) -> &'static [&'static [u8]] {
                match self { $(TextArg::$Text => &[$($text_key),*],)* }
            }

            pub(super) fn of_xplane(stat: &[u8]) -> Option<TextArg> {
                match stat { $($($text_stat => Some(TextArg::$Text),)*)* _ => None }
            }

            pub(super) fn of_json(key: &[u8]) -> Option<TextArg> {
                match key { $($($text_key => Some(TextArg::$Text),)*)* _ => None }
            }
        }

        /// Selects one of the numbers in [`Args`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum NumberArg { $($(#[$number_doc])* $Number,)* }

        impl NumberArg {
            /// All numbers, in declaration order.
            pub const ALL: &'static [NumberArg] = &[$(NumberArg::$Number,)*];

            /// Returns the type of the number.
            pub fn holds(self) -> Holds {
                match self { $(NumberArg::$Number => Holds::$holds,)* }
            }

            /// Returns the names of the stats that contain this number in an xplane file. The list is empty if xplane
            /// files never contain this number.
            pub fn xplane_stats(self) -> &'static [&'static [u8]] {
                match self { $(NumberArg::$Number => &[$($number_stat),*],)* }
            }

            /// Returns the keys under which a Chrome trace stores this number. The list is empty if Chrome traces never
            /// contain this number.
            pub fn json_keys(self) -> &'static [&'static [u8]] {
                match self { $(NumberArg::$Number => &[$($number_key),*],)* }
            }

            pub(super) fn of_xplane(stat: &[u8]) -> Option<NumberArg> {
                match stat { $($($number_stat => Some(NumberArg::$Number),)*)* _ => None }
            }

            pub(super) fn of_json(key: &[u8]) -> Option<NumberArg> {
                match key { $($($number_key => Some(NumberArg::$Number),)*)* _ => None }
            }
        }
    };
}

args! {
    texts {
        /// HLO instruction (`fusion.12`).
        hlo_op HloOp, xplane [b"hlo_op"], json [b"hlo_op"];
        /// HLO module (`jit_train_step`).
        hlo_module HloModule, xplane [b"hlo_module"], json [b"hlo_module"];
        /// XLA's category of the instruction (`loop fusion`).
        hlo_category HloCategory, xplane [b"hlo_category"], json [b"hlo_category"];
        /// Framework path (`jit(f)/layer_3/attn/dot_general`). Some writers store this path elsewhere: see
        /// [`Args::complete_path`].
        tf_op TfOp, xplane [b"tf_op", b"dcn_label"], json [b"tf_op"];
        /// Full expression of the instruction.
        long_name LongName, xplane [b"long_name"], json [b"long_name"];
        /// Source file and line of the instruction.
        source Source, xplane [b"source"], json [b"source"];
        /// Registers, shared memory, grid, block and occupancy of a kernel, in the format of XLA's collectors.
        kernel_details KernelDetails, xplane [b"kernel_details"], json [b"kernel_details"];
        /// Details of a copy or fill: `kind_src:… kind_dst:… size:… dest:… async:…`.
        memcpy_details MemcpyDetails, xplane [b"memcpy_details"], json [b"memcpy_details"];
        /// Call stack of the instruction in the program's source, one frame per line, innermost frame last.
        source_stack SourceStack, xplane [b"source_stack"], json [b"source_stack"];
        /// Name of the instruction that this instruction duplicates.
        deduplicated_name DeduplicatedName, xplane [b"deduplicated_name"], json [b"deduplicated_name"];
        /// Name of the host call that launched a copy. Set only if no other argument contains the copy's direction. See
        /// [`super::copies::complete`].
        copy_call CopyCall, xplane [], json [];
        /// XLA command buffer (`command_buffer_1`) that launched the kernel as part of a CUDA graph. Set if the `run`
        /// crate has replaced the command buffer in `hlo_op` with the kernel's instruction.
        command_buffer CommandBuffer, xplane [], json [];
        /// Name of the allocator that allocated or freed memory (`GPU_0_bfc`).
        allocator_name AllocatorName, xplane [b"allocator_name"], json [];
        /// Purpose of a memory allocation.
        region_type RegionType, xplane [b"region_type"], json [];
        /// Shape of the array in a memory allocation.
        shape Shape, xplane [b"shape"], json [];
        /// Stage of a Grain pipeline, with its parameters.
        input_stage InputStage, xplane [b"_ipl_stage_name"], json [b"_ipl_stage_name"];
        /// Data set that the workers of a Grain pipeline read, with its parameters.
        input_dataset InputDataset, xplane [b"_ipl_dataset_name"], json [b"_ipl_dataset_name"];
        /// Kind of a Grain stage: `read`, `preprocessing`, `prefetch`, `enqueue` or `unknown`.
        input_category InputCategory, xplane [b"_ipl_stage_cat"], json [b"_ipl_stage_cat"];
        /// Meaning of a hardware counter, in the profiler's words.
        counter_description CounterDescription, xplane [b"performance_counter_description"], json [];
        /// The set of hardware counters that contains this counter.
        counter_set CounterSet, xplane [b"performance_counter_sets"], json [];
        /// Category of a Chrome trace event (`cat`), which is stored next to the event's arguments. Kineto writes a
        /// category, but JAX does not.
        cat Cat, xplane [], json [];
    }
    numbers {
        /// Bytes read and written, as estimated by XLA.
        bytes_accessed BytesAccessed Count, xplane [b"bytes_accessed"], json [b"bytes_accessed"];
        /// FLOPs of the model's arithmetic.
        model_flops ModelFlops Count, xplane [b"model_flops"], json [b"model_flops"];
        /// FLOPs, including those that the compiler added.
        flops Flops Count, xplane [b"flops"], json [b"flops"];
        /// Bytes of a copy, if a separate stat contains them: a stat of the host's transfer calls, Kineto's `bytes`, or
        /// a stat of the host call that launched the copy.
        copy_bytes CopyBytes Count, xplane [b"size"], json [b"bytes", b"size"];
        /// HLO program that the instruction belongs to.
        program_id ProgramId Id, xplane [b"program_id"], json [b"program_id"];
        /// Device number of an op that runs on a host thread (CPU backend), or of a host call.
        device_ordinal DeviceOrdinal Id, xplane [b"device_ordinal"], json [b"device_ordinal", b"device"];
        /// Number of a device on its host, for an event that allocates or frees memory (TPU).
        index_on_host IndexOnHost Id, xplane [b"index_on_host"], json [];
        /// Bytes that a transfer between hosts or devices moved.
        bytes_transferred BytesTransferred Count,
            xplane [b"bytes_transferred", b"payload_size_bytes"], json [b"bytes_transferred"];
        /// Number of a hardware counter of a chip.
        counter_id CounterId Id, xplane [b"performance_counter_id"], json [];
        /// Number of members in a group of a collective between TPU slices, or 1 for transfers from one device to
        /// another.
        dcn_group_size DcnGroupSize Count, xplane [], json [];
        /// Id of the CUDA graph (XLA command buffer) that launched the kernel.
        graph_id GraphId Id, xplane [b"cuda_graph_id"], json [b"cuda_graph_id"];
        /// Id of the kernel's node in the CUDA graph.
        graph_node_id GraphNodeId Id, xplane [b"cuda_graph_node_id"], json [b"cuda_graph_node_id", b"graph node id"];
    }
}

/// Returns the instruction that an event's `hlo_op` names. For a kernel in a called computation, `hlo_op` also lists
/// the callers (`call.1::fusion.3`).
pub fn instruction_name(hlo_op: &str) -> &str {
    hlo_op.rsplit("::").next().unwrap_or(hlo_op)
}

impl Args {
    /// Returns true if a graph (CUDA, HIP) launched the kernel. The graph number 0 means that there is no graph.
    pub fn is_in_graph(&self) -> bool {
        [self.graph_id, self.graph_node_id].into_iter().flatten().any(|id| id != 0)
    }

    /// Sets the framework path if a writer stored it in another stat. On GPUs, `tf_op` is often just `XlaModule:`, and
    /// the stat `name` contains the path. TensorFlow stores the path in an annotation: `Mul:Mul#id=1,...#`. `name` and
    /// `annotation` may be empty.
    pub fn complete_path(&mut self, name: StrId, annotation: StrId, strings: &mut Strings) {
        if !name.is_empty() && (self.tf_op.is_empty() || strings.get(self.tf_op) == "XlaModule:") {
            self.tf_op = name;
        }
        if self.tf_op.is_empty() && !annotation.is_empty() {
            let op = strings.get(annotation).split('#').next().unwrap_or_default().to_owned();
            self.tf_op = strings.intern(&op);
        }
    }

    /// Returns the set in which `text` has replaced each text handle.
    pub(super) fn with_texts(mut self, text: impl Fn(StrId) -> StrId) -> Args {
        for &field in TextArg::ALL {
            let slot = self.text_mut(field);
            *slot = text(*slot);
        }
        self
    }
}

/// Handle of an [`Args`] set. `ArgsId::NONE` is the empty set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArgsId(pub(crate) u32);

impl ArgsId {
    /// The empty set.
    pub const NONE: ArgsId = ArgsId(0);

    /// Returns the index of the set, which is 0 for the empty set. Indices are dense, so that side tables can have one
    /// entry per set.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Distinct argument sets, each stored once. Clones share their storage until one of them grows.
#[derive(Clone, Debug)]
pub struct ArgsTable {
    kept: Arc<KeptArgs>,
}

#[derive(Clone, Debug, Default)]
struct KeptArgs {
    sets: Vec<Args>,
    index: Index,
}

impl Default for ArgsTable {
    fn default() -> Self {
        let mut table = ArgsTable { kept: Arc::default() };
        table.intern(&Args::default());
        table
    }
}

impl ArgsTable {
    /// Returns the handle of `args`. Stores the set if it is new.
    pub fn intern(&mut self, args: &Args) -> ArgsId {
        let hash = FxBuildHasher.hash_one(args);
        let sets = &self.kept.sets;
        if let Some(id) = self.kept.index.find(hash, |id| sets.get(id as usize) == Some(args)) {
            return ArgsId(id);
        }
        let Ok(id) = u32::try_from(sets.len()) else { return ArgsId::NONE };
        let kept = Arc::make_mut(&mut self.kept);
        kept.sets.push(*args);
        kept.index.insert(hash, id);
        ArgsId(id)
    }

    /// Returns the set of a handle. If the handle is out of range (because it belongs to another table), returns the
    /// empty set.
    pub fn get(&self, id: ArgsId) -> Args {
        self.kept.sets.get(id.index()).copied().unwrap_or_default()
    }

    /// Returns the set at an index from [`ArgsId::index`]. Use this function to iterate over all sets.
    pub fn set(&self, index: usize) -> Option<&Args> {
        self.kept.sets.get(index)
    }

    /// Builds a table that contains these sets in this order. Returns `None` if the sets do not come from a table.
    pub(crate) fn from_sets(sets: Vec<Args>) -> Option<ArgsTable> {
        let count = sets.len();
        let kept = KeptArgs { sets: Vec::with_capacity(count), index: Index::with_capacity(count) };
        let mut table = ArgsTable { kept: Arc::new(kept) };
        let are_distinct = (0u32..).zip(&sets).all(|(id, set)| table.intern(set) == ArgsId(id));
        (are_distinct && sets.first() == Some(&Args::default())).then_some(table)
    }

    /// Returns the number of distinct sets, including the empty set.
    pub fn len(&self) -> usize {
        self.kept.sets.len()
    }

    /// Returns true if the table contains only the empty set.
    pub fn is_empty(&self) -> bool {
        self.kept.sets.len() == 1
    }

    /// Returns the allocated memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.kept.sets.capacity() * size_of::<Args>() + self.kept.index.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_found_again_however_many_follow_it() {
        let set = |flops| Args { flops: Some(flops), ..Args::default() };
        let mut table = ArgsTable::default();
        let ids: Vec<ArgsId> = (0..5_000).map(|flops| table.intern(&set(flops))).collect();
        assert!(
            (0..5_000).zip(&ids).all(|(flops, &id)| table.intern(&set(flops)) == id && table.get(id) == set(flops))
        );
        assert_eq!(table.len(), 5_001);
    }
}
