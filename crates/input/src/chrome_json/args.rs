//! The `args` of an event: the keys that metrics use, found in one pass and turned into [`Args`] and ids.
//!
//! JAX writes every value as a string, Kineto as numbers: both are taken. Keys that no number needs
//! (`shape_with_layout`, Kineto's `External id`, input shapes, ...) are passed over; nested values are never looked into.

use super::kineto;
use super::lexer::{Kind, Scan, Span, Stop, colon, peek, string, value};
use super::number;
use super::text::text;
use trace::{Args, StrId, Strings};

/// Which argument a value belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    HloOp,
    HloModule,
    HloCategory,
    TfOp,
    /// The op path on GPU events; the name in metadata events.
    Name,
    LongName,
    Source,
    SourceStack,
    DeduplicatedName,
    BytesTransferred,
    GraphId,
    GraphNodeId,
    KernelDetails,
    MemcpyDetails,
    BytesAccessed,
    ModelFlops,
    Flops,
    /// Kineto's `bytes` of a copy.
    CopyBytes,
    ProgramId,
    /// Also Kineto's `device`.
    DeviceOrdinal,
    /// Also Kineto's `correlation`.
    Correlation,
    RunId,
    StepNum,
    DeviceOffset,
    DeviceDuration,
    AllReduce,
    DmaStall,
    /// TensorFlow's `annotation`: the op, where there is no `tf_op`.
    Annotation,
    /// What Kineto tells of a kernel's launch and of a collective.
    Kineto(kineto::Detail),
    /// Of a `process_labels` event.
    Labels,
    /// Of a `process_sort_index` event.
    SortIndex,
    /// A number under any other key: not kept, but known to differ from event to event.
    OtherNumber,
}

/// An argument and the place of its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub key: Key,
    pub value: Span,
}

/// Ids that differ from one occurrence of an event to the next: they have columns of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ids {
    pub correlation: Option<i64>,
    pub run_id: Option<i64>,
    pub step_num: Option<i64>,
    pub device_offset: Option<i64>,
    pub device_duration: Option<i64>,
    pub all_reduce: Option<i64>,
    pub dma_stall: Option<i64>,
}

impl Ids {
    /// Sets the id that `key` names; other keys are ignored.
    pub fn set(&mut self, key: Key, id: Option<i64>) {
        match key {
            Key::Correlation => self.correlation = id,
            Key::RunId => self.run_id = id,
            Key::StepNum => self.step_num = id,
            Key::DeviceOffset => self.device_offset = id,
            Key::DeviceDuration => self.device_duration = id,
            Key::AllReduce => self.all_reduce = id,
            Key::DmaStall => self.dma_stall = id,
            _ => {}
        }
    }
}

fn key_of(name: &[u8]) -> Option<Key> {
    Some(match name {
        b"hlo_op" => Key::HloOp,
        b"hlo_module" => Key::HloModule,
        b"hlo_category" => Key::HloCategory,
        b"tf_op" => Key::TfOp,
        b"name" => Key::Name,
        b"long_name" => Key::LongName,
        b"source" => Key::Source,
        b"kernel_details" => Key::KernelDetails,
        b"memcpy_details" => Key::MemcpyDetails,
        b"bytes_accessed" => Key::BytesAccessed,
        b"model_flops" => Key::ModelFlops,
        b"flops" => Key::Flops,
        b"bytes" | b"size" => Key::CopyBytes,
        b"annotation" => Key::Annotation,
        b"program_id" => Key::ProgramId,
        b"device_ordinal" | b"device" => Key::DeviceOrdinal,
        b"correlation_id" | b"correlation" => Key::Correlation,
        b"run_id" => Key::RunId,
        b"step_num" => Key::StepNum,
        b"device_offset_ps" => Key::DeviceOffset,
        b"device_duration_ps" => Key::DeviceDuration,
        b"all_reduce_id" | b"all_reduce_unique_id" => Key::AllReduce,
        b"dma_stall_duration_ps" => Key::DmaStall,
        b"source_stack" => Key::SourceStack,
        b"deduplicated_name" => Key::DeduplicatedName,
        b"bytes_transferred" => Key::BytesTransferred,
        b"cuda_graph_id" => Key::GraphId,
        b"cuda_graph_node_id" | b"graph node id" => Key::GraphNodeId,
        b"labels" => Key::Labels,
        b"sort_index" => Key::SortIndex,
        name => Key::Kineto(kineto::detail_of(name)?),
    })
}

/// Reads the object at `pos` (its `{`) into `fields` and returns the position after it.
pub(super) fn parse(buf: &[u8], pos: usize, fields: &mut Vec<Field>) -> Scan<usize> {
    fields.clear();
    let mut pos = pos + 1;
    loop {
        match peek(buf, &mut pos)? {
            b'"' => {}
            b'}' => return Ok(pos + 1),
            _ => return Err(Stop::Bad(pos)),
        }
        let (key_end, _) = string(buf, pos + 1)?;
        let key = key_of(buf.get(pos + 1..key_end).unwrap_or_default());
        let (value, next) = value(buf, colon(buf, key_end + 1)?)?;
        if let Some(key) = key.or_else(|| is_number(value.bytes(buf)).then_some(Key::OtherNumber)) {
            fields.push(Field { key, value });
        }
        pos = next;
        match peek(buf, &mut pos)? {
            b',' => pos += 1,
            b'}' => return Ok(pos + 1),
            _ => return Err(Stop::Bad(pos)),
        }
    }
}

/// The bytes of which numbers are made.
static NUMBER_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"0123456789.-+eE";
    let mut index = 0;
    while index < bytes.len() {
        table[bytes[index] as usize] = true;
        index += 1;
    }
    table
};

/// True for bytes of which numbers are made.
#[inline]
pub(super) fn is_number_byte(byte: u8) -> bool {
    NUMBER_BYTES[byte as usize]
}

fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&byte| is_number_byte(byte))
}

/// The arguments and ids of `fields`, except for the event's category, which stands outside them.
///
/// The op's path is `tf_op`; GPU events have it as `name`, with a mere `XlaModule:` as `tf_op` beside it.
pub(super) fn build(fields: &[Field], buf: &[u8], strings: &mut Strings, scratch: &mut String) -> (Args, Ids) {
    let (mut args, mut ids) = (Args::default(), Ids::default());
    let (mut path, mut annotation) = (StrId::EMPTY, StrId::EMPTY);
    let mut details = kineto::Details::default();
    for &Field { key, value } in fields {
        let bytes = value.bytes(buf);
        let slot = match key {
            Key::HloOp => &mut args.hlo_op,
            Key::HloModule => &mut args.hlo_module,
            Key::HloCategory => &mut args.hlo_category,
            Key::TfOp => &mut args.tf_op,
            Key::Name => &mut path,
            Key::Annotation => &mut annotation,
            Key::Kineto(detail) => {
                details.set(detail, value, buf, scratch);
                continue;
            }
            Key::LongName => &mut args.long_name,
            Key::Source => &mut args.source,
            Key::SourceStack => &mut args.source_stack,
            Key::DeduplicatedName => &mut args.deduplicated_name,
            Key::KernelDetails => &mut args.kernel_details,
            Key::MemcpyDetails => &mut args.memcpy_details,
            _ => {
                match key {
                    Key::BytesAccessed => args.bytes_accessed = number::count(bytes),
                    Key::ModelFlops => args.model_flops = number::count(bytes),
                    Key::Flops => args.flops = number::count(bytes),
                    Key::CopyBytes => args.copy_bytes = number::count(bytes),
                    Key::BytesTransferred => args.bytes_transferred = number::count(bytes),
                    Key::GraphId => args.graph_id = number::id(bytes),
                    Key::GraphNodeId => args.graph_node_id = number::id(bytes),
                    Key::ProgramId => args.program_id = number::id(bytes),
                    Key::DeviceOrdinal => args.device_ordinal = number::id(bytes),
                    key => ids.set(key, number::id(bytes)),
                }
                continue;
            }
        };
        if matches!(value.kind, Kind::Text | Kind::Escaped) {
            *slot = strings.intern(text(value, buf, scratch));
        }
    }
    if !path.is_empty() && (args.tf_op.is_empty() || strings.get(args.tf_op) == "XlaModule:") {
        args.tf_op = path;
    }
    if args.tf_op.is_empty() && !annotation.is_empty() {
        // `Mul:Mul#id=1,...#`
        let op = strings.get(annotation).split('#').next().unwrap_or_default().to_owned();
        args.tf_op = strings.intern(&op);
    }
    if args.kernel_details.is_empty()
        && let Some(details) = details.text()
    {
        args.kernel_details = strings.intern(details);
    }
    (args, ids)
}
