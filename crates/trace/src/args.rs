//! What events say beyond name and time, as sets that many events share.
//!
//! `args!` is the one list of what a set can hold. The struct, the names of its stats in both formats, the
//! [image](super::snapshot) and [merging](mod@super::merge) follow from it: a new field is a new line there.

use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;
use std::sync::Arc;

use super::event_columns::Holds;
use super::index::Index;
use super::strings::{StrId, Strings};

/// Bytes that an op moves once it runs, by memory and direction, as XLA's compiler counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemoryBytes {
    /// Read from the device's main memory (HBM).
    pub hbm_read: i64,
    /// Bytes written to the HBM.
    pub hbm_write: i64,
    /// Read from the common memory of older TPUs (CMEM).
    pub cmem_read: i64,
    /// Bytes written to the CMEM.
    pub cmem_write: i64,
    /// Read from the vector memory on the chip (VMEM).
    pub vmem_read: i64,
    /// Bytes written to the VMEM.
    pub vmem_write: i64,
}

/// Declares [`Args`] with its texts and numbers, and an enum of each. A line is
/// `field Variant (what a number holds), xplane [names of the stat], json [keys of a Chrome trace];`.
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
        /// What an event says of itself beyond name and time, with all values that differ from one occurrence to the next
        /// ([`EventColumn`](super::EventColumn)) taken out: a few thousand distinct sets describe millions of events.
        ///
        /// Strings are [`StrId::EMPTY`] and numbers `None` where the file does not give them. Names are those of the
        /// profiler's stats.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct Args {
            $($(#[$text_doc])* pub $text: StrId,)*
            $($(#[$number_doc])* pub $number: Option<i64>,)*
            /// Bytes by memory (TPU); `None` where the compiler did not split them.
            pub memory: Option<MemoryBytes>,
        }

        impl Args {
            /// A text by its place in the list of all.
            #[inline]
            pub fn text_mut(&mut self, text: TextArg) -> &mut StrId {
                match text { $(TextArg::$Text => &mut self.$text,)* }
            }

            /// A number by its place in the list of all.
            #[inline]
            pub fn number_mut(&mut self, number: NumberArg) -> &mut Option<i64> {
                match number { $(NumberArg::$Number => &mut self.$number,)* }
            }
        }

        /// The texts of [`Args`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum TextArg { $($(#[$text_doc])* $Text,)* }

        impl TextArg {
            /// All texts.
            pub const ALL: &'static [TextArg] = &[$(TextArg::$Text,)*];

            /// Stats of the text in an xplane, empty where it is in none.
            pub fn xplane_stats(self) -> &'static [&'static [u8]] {
                match self { $(TextArg::$Text => &[$($text_stat),*],)* }
            }

            /// Keys of the text in a Chrome trace, empty where it is in none.
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

        /// The numbers of [`Args`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum NumberArg { $($(#[$number_doc])* $Number,)* }

        impl NumberArg {
            /// All numbers.
            pub const ALL: &'static [NumberArg] = &[$(NumberArg::$Number,)*];

            /// What the number holds.
            pub fn holds(self) -> Holds {
                match self { $(NumberArg::$Number => Holds::$holds,)* }
            }

            /// Stats of the number in an xplane, empty where it is in none.
            pub fn xplane_stats(self) -> &'static [&'static [u8]] {
                match self { $(NumberArg::$Number => &[$($number_stat),*],)* }
            }

            /// Keys of the number in a Chrome trace, empty where it is in none.
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
        /// Framework path (`jit(f)/layer_3/attn/dot_general`); where it stands elsewhere, see [`Args::complete_path`].
        tf_op TfOp, xplane [b"tf_op", b"dcn_label"], json [b"tf_op"];
        /// Full expression of the instruction.
        long_name LongName, xplane [b"long_name"], json [b"long_name"];
        /// Source file and line.
        source Source, xplane [b"source"], json [b"source"];
        /// Registers, shared memory, grid, block, occupancy, as the collector wrote them.
        kernel_details KernelDetails, xplane [b"kernel_details"], json [b"kernel_details"];
        /// `kind_src:… kind_dst:… size:… dest:… async:…` of a copy or fill.
        memcpy_details MemcpyDetails, xplane [b"memcpy_details"], json [b"memcpy_details"];
        /// The call stack of the instruction in the program, one frame per line, innermost last.
        source_stack SourceStack, xplane [b"source_stack"], json [b"source_stack"];
        /// Name of the instruction that this one is an equal copy of.
        deduplicated_name DeduplicatedName, xplane [b"deduplicated_name"], json [b"deduplicated_name"];
        /// Name of the call on the host that launched a copy whose direction is not known otherwise; see
        /// [`super::copies::complete`].
        copy_call CopyCall, xplane [], json [];
        /// The allocator of an allocation or a release (`GPU_0_bfc`).
        allocator_name AllocatorName, xplane [b"allocator_name"], json [];
        /// What the memory of an allocation is for.
        region_type RegionType, xplane [b"region_type"], json [];
        /// Shape of what lies in the memory of an allocation.
        shape Shape, xplane [b"shape"], json [];
        /// The category of a Chrome trace event, which stands beside its arguments (`cat`); JAX writes none, Kineto does.
        cat Cat, xplane [], json [];
    }
    numbers {
        /// Bytes read and written as XLA estimates them.
        bytes_accessed BytesAccessed Count, xplane [b"bytes_accessed"], json [b"bytes_accessed"];
        /// FLOPs of the model's arithmetic.
        model_flops ModelFlops Count, xplane [b"model_flops"], json [b"model_flops"];
        /// FLOPs with the compiler's additions.
        flops Flops Count, xplane [b"flops"], json [b"flops"];
        /// Bytes of a copy where they stand in a stat (the host's transfer calls, Kineto's `bytes`), or where only the call
        /// that launched it has them.
        copy_bytes CopyBytes Count, xplane [b"size"], json [b"bytes", b"size"];
        /// HLO program the instruction belongs to.
        program_id ProgramId Id, xplane [b"program_id"], json [b"program_id"];
        /// Device of an op that runs on a host thread (CPU backend), or of a call.
        device_ordinal DeviceOrdinal Id, xplane [b"device_ordinal"], json [b"device_ordinal", b"device"];
        /// Number of the device of an allocation or a release on its host (TPU).
        index_on_host IndexOnHost Id, xplane [b"index_on_host"], json [];
        /// Bytes that a transfer between hosts or devices moved.
        bytes_transferred BytesTransferred Count,
            xplane [b"bytes_transferred", b"payload_size_bytes"], json [b"bytes_transferred"];
        /// CUDA graph (XLA command buffer) that the kernel was launched by.
        graph_id GraphId Id, xplane [b"cuda_graph_id"], json [b"cuda_graph_id"];
        /// The kernel's node in that graph.
        graph_node_id GraphNodeId Id, xplane [b"cuda_graph_node_id"], json [b"cuda_graph_node_id", b"graph node id"];
    }
}

impl Args {
    /// Takes the framework path from where some writers have it. On GPUs `tf_op` is mostly the same word, `XlaModule:`, and
    /// the path stands in the stat `name`; TensorFlow writes an annotation, `Mul:Mul#id=1,...#`. Either may be empty.
    pub fn complete_path(&mut self, name: StrId, annotation: StrId, strings: &mut Strings) {
        if !name.is_empty() && (self.tf_op.is_empty() || strings.get(self.tf_op) == "XlaModule:") {
            self.tf_op = name;
        }
        if self.tf_op.is_empty() && !annotation.is_empty() {
            let op = strings.get(annotation).split('#').next().unwrap_or_default().to_owned();
            self.tf_op = strings.intern(&op);
        }
    }

    /// The set with other handles for its texts.
    pub(super) fn with_texts(mut self, text: impl Fn(StrId) -> StrId) -> Args {
        for &field in TextArg::ALL {
            let slot = self.text_mut(field);
            *slot = text(*slot);
        }
        self
    }
}

/// Handle of an [`Args`] set; `ArgsId::NONE` is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArgsId(pub(crate) u32);

impl ArgsId {
    /// The set without any value.
    pub const NONE: ArgsId = ArgsId(0);

    /// A dense index, from 0 for the empty set: for side tables with one entry a set.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Distinct argument sets, each stored once. Copies share them until one of them grows.
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
    /// The handle of `args`, stored on first sight.
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

    /// The set of a handle; the empty one for a handle of another table that is out of range.
    pub fn get(&self, id: ArgsId) -> Args {
        self.kept.sets.get(id.index()).copied().unwrap_or_default()
    }

    /// The set with a dense index, to go through all of them.
    pub fn set(&self, index: usize) -> Option<&Args> {
        self.kept.sets.get(index)
    }

    /// A table of these sets, in their order; `None` where they are not those of a table.
    pub(crate) fn from_sets(sets: Vec<Args>) -> Option<ArgsTable> {
        let count = sets.len();
        let kept = KeptArgs { sets: Vec::with_capacity(count), index: Index::with_capacity(count) };
        let mut table = ArgsTable { kept: Arc::new(kept) };
        let are_distinct = (0u32..).zip(&sets).all(|(id, set)| table.intern(set) == ArgsId(id));
        (are_distinct && sets.first() == Some(&Args::default())).then_some(table)
    }

    /// Number of distinct sets, the empty one included.
    pub fn len(&self) -> usize {
        self.kept.sets.len()
    }

    /// True where only the empty set is stored.
    pub fn is_empty(&self) -> bool {
        self.kept.sets.len() == 1
    }

    /// Bytes of memory held.
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
