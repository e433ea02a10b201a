//! Stats: the typed values that events, their metadata and planes carry.

use std::io::Read;

use super::losses::{Loss, Losses};
use super::metadata::{IdMap, StatMetadata};
use base::wire::{Reader, Value};
use trace::{Args, MemoryBytes, StatValue, StrId, Strings};

/// A gzipped stat that inflates to more is not read: the texts that profilers compress are HLO expressions.
const MAX_INFLATED_BYTES: u64 = 16 << 20;

/// What a stat means here, told by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatKind {
    /// Of no use to any view.
    Ignored,
    /// A text of [`Args`].
    Text(TextArg),
    /// A number of [`Args`].
    Number(NumberArg),
    /// An id that differs from event to event: a column of its own.
    Id(IdColumn),
    /// Bytes by memory, a message of its own.
    Memory,
    /// Start on the device's own clock.
    DeviceOffset,
    /// Duration on the device's own clock.
    DeviceDuration,
    /// The name of a step, which takes the place of the event's name, as in the profiler's own JSON.
    StepName,
}

/// The texts of [`Args`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextArg {
    HloOp,
    HloModule,
    HloCategory,
    TfOp,
    /// Stat `name` of a GPU event: the path in the program, where `tf_op` says only `XlaModule:`.
    OpName,
    LongName,
    Source,
    KernelDetails,
    MemcpyDetails,
    SourceStack,
    DeduplicatedName,
    /// Stat `annotation` of TensorFlow's GPU events: `Mul:Mul#id=1,...#`, where they have no `tf_op`.
    Annotation,
}

/// The numbers of [`Args`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberArg {
    BytesAccessed,
    ModelFlops,
    Flops,
    ProgramId,
    DeviceOrdinal,
    BytesTransferred,
    /// Stat `size` of the host's transfer calls.
    CopyBytes,
    GraphId,
    GraphNodeId,
}

/// The ids an event may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdColumn {
    Correlation,
    Run,
    Step,
    AllReduce,
    DmaStall,
    /// Of a message of megascale, in microseconds.
    MessageDuration,
    /// Of an event that others follow: kept where it is of an op.
    Producer,
    /// Of an event that follows another: kept where it marks the end of an op.
    Consumer,
}

impl StatKind {
    /// From the stat's name.
    pub fn of(name: &[u8]) -> StatKind {
        use StatKind::{Id, Number, Text};
        match name {
            b"hlo_op" => Text(TextArg::HloOp),
            b"hlo_module" => Text(TextArg::HloModule),
            b"hlo_category" => Text(TextArg::HloCategory),
            b"tf_op" => Text(TextArg::TfOp),
            b"name" => Text(TextArg::OpName),
            b"annotation" => Text(TextArg::Annotation),
            b"long_name" => Text(TextArg::LongName),
            b"source" => Text(TextArg::Source),
            b"kernel_details" => Text(TextArg::KernelDetails),
            b"memcpy_details" => Text(TextArg::MemcpyDetails),
            b"bytes_accessed" => Number(NumberArg::BytesAccessed),
            b"model_flops" => Number(NumberArg::ModelFlops),
            b"flops" => Number(NumberArg::Flops),
            b"program_id" => Number(NumberArg::ProgramId),
            b"device_ordinal" => Number(NumberArg::DeviceOrdinal),
            b"source_stack" => Text(TextArg::SourceStack),
            b"deduplicated_name" => Text(TextArg::DeduplicatedName),
            b"bytes_transferred" => Number(NumberArg::BytesTransferred),
            b"size" => Number(NumberArg::CopyBytes),
            b"cuda_graph_id" => Number(NumberArg::GraphId),
            b"cuda_graph_node_id" => Number(NumberArg::GraphNodeId),
            b"memory_access_breakdown" => StatKind::Memory,
            b"device_offset_ps" => StatKind::DeviceOffset,
            b"device_duration_ps" => StatKind::DeviceDuration,
            b"all_reduce_id" | b"all_reduce_unique_id" => Id(IdColumn::AllReduce),
            b"dcn_label" => Text(TextArg::TfOp),
            b"payload_size_bytes" => Number(NumberArg::BytesTransferred),
            b"duration_us" => Id(IdColumn::MessageDuration),
            b"dma_stall_duration_ps" => Id(IdColumn::DmaStall),
            b"correlation_id" => Id(IdColumn::Correlation),
            b"run_id" => Id(IdColumn::Run),
            b"step_num" => Id(IdColumn::Step),
            b"_p" => Id(IdColumn::Producer),
            b"_c" => Id(IdColumn::Consumer),
            b"step_name" => StatKind::StepName,
            _ => StatKind::Ignored,
        }
    }
}

/// The value of a stat as it stands in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RawValue<'a> {
    Missing,
    Double(f64),
    /// `int64`, or `uint64` as its two's complement: ids of 64 bits keep all of them.
    Int(i64),
    Text(&'a [u8]),
    Bytes(&'a [u8]),
    /// Number of the stat metadata whose name is the text.
    Reference(i64),
    Gzip(&'a [u8]),
}

/// One stat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stat<'a> {
    /// Number of its kind.
    pub metadata_id: i64,
    /// Its value.
    pub value: RawValue<'a>,
    /// Where it starts in the file.
    pub offset: u64,
}

impl<'a> Stat<'a> {
    /// The number of a stat's kind where it stands first and is small, as every writer has it: most stats are of no use
    /// and need not be read further.
    #[inline(always)]
    pub fn peek_metadata_id(message: &[u8]) -> Option<i64> {
        match message {
            [0x08, id @ 0..0x80, ..] => Some(i64::from(*id)),
            [0x08, low, high @ 0..0x80, ..] => Some(i64::from(low & 0x7f) | i64::from(*high) << 7),
            _ => None,
        }
    }

    /// From an `XStat` message that starts at `offset` of the file.
    ///
    /// # Errors
    /// Where it does not follow the wire format: the offset in the file.
    #[inline]
    pub fn read(message: &'a [u8], offset: u64) -> Result<Stat<'a>, u64> {
        let mut reader = Reader::new(message);
        let mut stat = Stat { metadata_id: 0, value: RawValue::Missing, offset };
        while let Some(field) = reader.field().map_err(|error| offset + error.position as u64)? {
            stat.value = match (field.number, field.value) {
                (1, Value::Varint(id)) => {
                    stat.metadata_id = id as i64;
                    continue;
                }
                (2, Value::Fixed64(bits)) => RawValue::Double(f64::from_bits(bits)),
                (3 | 4, Value::Varint(number)) => RawValue::Int(number as i64),
                (5, Value::Bytes(text)) => RawValue::Text(text),
                (6, Value::Bytes(bytes)) => RawValue::Bytes(bytes),
                (7, Value::Varint(id)) => RawValue::Reference(id as i64),
                (8, Value::Bytes(bytes)) => RawValue::Gzip(bytes),
                _ => continue,
            };
        }
        Ok(stat)
    }
}

/// Where values are resolved: the plane's stat metadata and the trace's strings.
pub(super) struct Values<'p> {
    /// What the plane's metadata points into.
    pub source: &'p [u8],
    /// Stat metadata of the plane.
    pub metadata: &'p mut IdMap<StatMetadata>,
    /// Strings of the trace.
    pub strings: &'p mut Strings,
    /// Where bad texts are counted.
    pub losses: &'p mut Losses,
}

impl Values<'_> {
    /// What a stat means.
    #[inline]
    pub fn kind(&mut self, stat: &Stat<'_>) -> StatKind {
        self.metadata.get_mut(stat.metadata_id).map_or(StatKind::Ignored, |metadata| metadata.kind)
    }

    /// A stat as text; empty where it is none.
    pub fn text(&mut self, stat: &Stat<'_>) -> StrId {
        match stat.value {
            RawValue::Text(bytes) => text(bytes, stat.offset, self.strings, self.losses),
            RawValue::Reference(id) => match self.metadata.get_mut(id) {
                Some(metadata) => metadata.name(self.source, self.strings, self.losses),
                None => StrId::EMPTY,
            },
            RawValue::Gzip(bytes) => match inflate(bytes) {
                Some(inflated) => text(&inflated, stat.offset, self.strings, self.losses),
                None => {
                    self.losses.add(Loss::Corrupt, stat.offset);
                    StrId::EMPTY
                }
            },
            RawValue::Missing | RawValue::Double(_) | RawValue::Int(_) | RawValue::Bytes(_) => StrId::EMPTY,
        }
    }

    /// A stat as a whole number; some writers store numbers as text.
    pub fn number(&mut self, stat: &Stat<'_>) -> Option<i64> {
        match stat.value {
            RawValue::Int(number) => Some(number),
            RawValue::Double(number) if number.abs() < 9e18 => Some(number as i64),
            RawValue::Text(bytes) => std::str::from_utf8(bytes).ok()?.trim().parse().ok(),
            RawValue::Reference(id) => {
                std::str::from_utf8(self.metadata.get_mut(id)?.name_bytes(self.source)).ok()?.trim().parse().ok()
            }
            _ => None,
        }
    }

    /// A stat of a plane under its name; `None` for bytes and for a stat without a name.
    pub fn plane_stat(&mut self, stat: &Stat<'_>) -> Option<(StrId, StatValue)> {
        let name = self.metadata.get_mut(stat.metadata_id)?.name(self.source, self.strings, self.losses);
        let value = match stat.value {
            RawValue::Int(number) => StatValue::Int(number),
            RawValue::Double(number) => StatValue::Double(number),
            RawValue::Text(_) | RawValue::Reference(_) | RawValue::Gzip(_) => StatValue::Text(self.text(stat)),
            RawValue::Missing | RawValue::Bytes(_) => return None,
        };
        Some((name, value))
    }

    /// The numbers that `core_details` of a TPU holds as a message: which chip and core of the whole program it is, counted over
    /// all hosts. Numbers that are 0 are not written.
    pub fn core_ids(&mut self, stat: &Stat<'_>) -> Option<[(StrId, StatValue); 2]> {
        let RawValue::Bytes(message) = stat.value else { return None };
        if self.metadata.get_mut(stat.metadata_id)?.name_bytes(self.source) != b"core_details" {
            return None;
        }
        let (mut chip, mut core) = (0, 0);
        let mut reader = Reader::new(message);
        while let Some(field) = reader.field().ok()? {
            match field.number {
                5 => chip = field.value.int64()?,
                6 => core = field.value.int64()?,
                _ => {}
            }
        }
        let mut named = |name: &str, number| (self.strings.intern(name), StatValue::Int(number));
        Some([named("global_chip_id", chip), named("global_core_id", core)])
    }

    /// Sets in `args` what `stats` say; returns what does not belong there.
    pub fn apply(&mut self, stats: &[(StatKind, Stat<'_>)], args: &mut Args) -> Own {
        let mut own = Own::default();
        let (mut op_name, mut annotation) = (StrId::EMPTY, StrId::EMPTY);
        for (kind, stat) in stats {
            match *kind {
                StatKind::Ignored => {}
                StatKind::StepName => own.step_name = self.text(stat),
                StatKind::Id(IdColumn::Correlation) => own.correlation = self.number(stat),
                StatKind::Id(IdColumn::Run) => own.run = self.number(stat),
                StatKind::Id(IdColumn::Step) => own.step = self.number(stat),
                StatKind::Id(IdColumn::AllReduce) => own.all_reduce = self.number(stat),
                StatKind::Id(IdColumn::MessageDuration) => {
                    let micros = self.number(stat).filter(|&us| us > 0);
                    own.message_duration = micros.and_then(|us| us.checked_mul(1_000_000));
                }
                StatKind::Id(IdColumn::Producer | IdColumn::Consumer) => own.flow = self.number(stat),
                StatKind::Id(IdColumn::DmaStall) => own.dma_stall = self.number(stat).filter(|&ps| ps >= 0),
                StatKind::DeviceOffset => own.device_offset = self.number(stat),
                StatKind::DeviceDuration => own.device_duration = self.number(stat),
                StatKind::Memory => args.memory = stat.value.bytes().and_then(memory_bytes),
                StatKind::Number(arg) => *number_slot(args, arg) = self.number(stat),
                StatKind::Text(TextArg::OpName) => op_name = self.text(stat),
                StatKind::Text(TextArg::Annotation) => annotation = self.text(stat),
                StatKind::Text(arg) => *text_slot(args, arg) = self.text(stat),
            }
        }
        // On GPUs `tf_op` is mostly the same empty word, and the path stands in `name`.
        if !op_name.is_empty() && (args.tf_op.is_empty() || self.strings.get(args.tf_op) == "XlaModule:") {
            args.tf_op = op_name;
        }
        if args.tf_op.is_empty() && !annotation.is_empty() {
            args.tf_op = annotated_op(annotation, self.strings);
        }
        own
    }
}

/// The op that a TensorFlow annotation names: `Mul:Mul` of `Mul:Mul#id=1,...#`.
fn annotated_op(annotation: StrId, strings: &mut Strings) -> StrId {
    let Some((op, _)) = strings.get(annotation).split_once('#') else { return annotation };
    let op = op.to_owned();
    strings.intern(&op)
}

/// What belongs to one event alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Own {
    /// `correlation_id`.
    pub correlation: Option<i64>,
    /// `run_id`.
    pub run: Option<i64>,
    /// `step_num`.
    pub step: Option<i64>,
    /// `all_reduce_id`.
    pub all_reduce: Option<i64>,
    /// `dma_stall_duration_ps`.
    pub dma_stall: Option<i64>,
    /// `duration_us`, in picoseconds.
    pub message_duration: Option<i64>,
    /// `_p` of an op, `_c` of the marker of its end.
    pub flow: Option<i64>,
    /// `device_offset_ps`.
    pub device_offset: Option<i64>,
    /// `device_duration_ps`.
    pub device_duration: Option<i64>,
    /// `step_name`, empty where there is none.
    pub step_name: StrId,
}

fn number_slot(args: &mut Args, arg: NumberArg) -> &mut Option<i64> {
    match arg {
        NumberArg::BytesAccessed => &mut args.bytes_accessed,
        NumberArg::ModelFlops => &mut args.model_flops,
        NumberArg::Flops => &mut args.flops,
        NumberArg::ProgramId => &mut args.program_id,
        NumberArg::DeviceOrdinal => &mut args.device_ordinal,
        NumberArg::BytesTransferred => &mut args.bytes_transferred,
        NumberArg::CopyBytes => &mut args.copy_bytes,
        NumberArg::GraphId => &mut args.graph_id,
        NumberArg::GraphNodeId => &mut args.graph_node_id,
    }
}

fn text_slot(args: &mut Args, arg: TextArg) -> &mut StrId {
    match arg {
        TextArg::HloOp => &mut args.hlo_op,
        TextArg::HloModule => &mut args.hlo_module,
        TextArg::HloCategory => &mut args.hlo_category,
        TextArg::TfOp | TextArg::OpName | TextArg::Annotation => &mut args.tf_op,
        TextArg::LongName => &mut args.long_name,
        TextArg::Source => &mut args.source,
        TextArg::KernelDetails => &mut args.kernel_details,
        TextArg::MemcpyDetails => &mut args.memcpy_details,
        TextArg::SourceStack => &mut args.source_stack,
        TextArg::DeduplicatedName => &mut args.deduplicated_name,
    }
}

impl<'a> RawValue<'a> {
    /// The bytes of a bytes stat; some writers store a message as text.
    pub fn bytes(self) -> Option<&'a [u8]> {
        match self {
            RawValue::Bytes(bytes) | RawValue::Text(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// `MemoryAccessBreakdown { repeated MemoryAccessed = 1 }`, each `{ 1 operation (1 read, 2 write), 2 memory space
/// (1 HBM, 2 CMEM, 3 VMEM), 3 bytes }`; `None` where it names none of these or is damaged.
fn memory_bytes(message: &[u8]) -> Option<MemoryBytes> {
    let mut memory = MemoryBytes::default();
    let mut reader = Reader::new(message);
    let mut any = false;
    while let Some(field) = reader.field().ok()? {
        let (1, Value::Bytes(entry)) = (field.number, field.value) else { continue };
        let (mut operation, mut space, mut bytes) = (0, 0, 0);
        let mut entry = Reader::new(entry);
        while let Some(field) = entry.field().ok()? {
            match (field.number, field.value) {
                (1, Value::Varint(value)) => operation = value,
                (2, Value::Varint(value)) => space = value,
                (3, Value::Varint(value)) => bytes = value as i64,
                _ => {}
            }
        }
        let slot = match (operation, space) {
            (1, 1) => &mut memory.hbm_read,
            (2, 1) => &mut memory.hbm_write,
            (1, 2) => &mut memory.cmem_read,
            (2, 2) => &mut memory.cmem_write,
            (1, 3) => &mut memory.vmem_read,
            (2, 3) => &mut memory.vmem_write,
            _ => continue,
        };
        *slot = slot.saturating_add(bytes.max(0));
        any = true;
    }
    any.then_some(memory)
}

/// Interns text from the file; bad bytes become U+FFFD and are counted.
pub(super) fn text(bytes: &[u8], offset: u64, strings: &mut Strings, losses: &mut Losses) -> StrId {
    match std::str::from_utf8(bytes) {
        Ok(text) => strings.intern(text),
        Err(_) => {
            losses.add(Loss::InvalidText, offset);
            strings.intern(&String::from_utf8_lossy(bytes))
        }
    }
}

/// Inflates a gzip stream, or says that it is damaged or too large.
fn inflate(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut inflated = Vec::new();
    let mut limited = flate2::read::GzDecoder::new(bytes).take(MAX_INFLATED_BYTES + 1);
    limited.read_to_end(&mut inflated).ok()?;
    (inflated.len() as u64 <= MAX_INFLATED_BYTES).then_some(inflated)
}
