//! Stats are typed values of events, of event metadata, and of planes.

use std::io::Read;

use super::losses::{XPlaneLoss, XPlaneLosses};
use super::metadata::{IdMap, StatMetadata};
use super::text::text;
use base::wire::{Reader, Value};
use trace::{Args, ColumnValues, EventStat, Holds, MemoryBytes, StatValue, StrId, Strings};

/// Maximum decompressed size of a gzipped stat in bytes. Profilers compress only the texts of HLO expressions.
const MAX_INFLATED_BYTES: u64 = 16 << 20;

/// The value of a stat as it is in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RawValue<'a> {
    Missing,
    Double(f64),
    /// An `int64`, or a `uint64` in two's complement, so that 64-bit ids keep all bits.
    Int(i64),
    Text(&'a [u8]),
    Bytes(&'a [u8]),
    /// Id of the stat metadata whose name is the text of the value.
    Reference(i64),
    Gzip(&'a [u8]),
}

/// One stat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stat<'a> {
    /// Id of the stat's metadata.
    pub metadata_id: i64,
    /// Value of the stat.
    pub value: RawValue<'a>,
    /// Position of the stat in the file.
    pub offset: u64,
}

impl<'a> Stat<'a> {
    /// Returns the id of a stat's metadata, if the id comes first and is small. Every known writer writes a stat in
    /// this way. Most stats are irrelevant and need not be read further.
    #[inline(always)]
    pub(super) fn peek_metadata_id(message: &[u8]) -> Option<i64> {
        match message {
            [0x08, id @ 0..0x80, ..] => Some(i64::from(*id)),
            [0x08, low, high @ 0..0x80, ..] => Some(i64::from(low & 0x7f) | i64::from(*high) << 7),
            _ => None,
        }
    }

    /// Reads the `XStat` message that starts at `offset` in the file.
    ///
    /// # Errors
    /// Returns the position in the file if the message is malformed.
    #[inline]
    pub(super) fn read(message: &'a [u8], offset: u64) -> Result<Stat<'a>, u64> {
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

/// Tables that resolve the values of stats: the plane's stat metadata and the trace's strings.
pub(super) struct Values<'p> {
    /// The plane's metadata as bytes.
    pub source: &'p [u8],
    /// Stat metadata of the plane.
    pub metadata: &'p mut IdMap<StatMetadata>,
    /// Strings of the trace.
    pub strings: &'p mut Strings,
    /// Counts of invalid texts.
    pub losses: &'p mut XPlaneLosses,
}

impl Values<'_> {
    /// Returns the meaning of a stat, or `None` if no metric uses it.
    #[inline]
    pub(super) fn meaning(&mut self, stat: &Stat<'_>) -> Option<EventStat> {
        self.metadata.get_mut(stat.metadata_id)?.meaning
    }

    /// Returns the value of a stat as text. Returns an empty string if the value is not a text.
    pub(super) fn text(&mut self, stat: &Stat<'_>) -> StrId {
        match stat.value {
            RawValue::Text(bytes) => text(bytes, stat.offset, self.strings, self.losses),
            RawValue::Reference(id) => match self.metadata.get_mut(id) {
                Some(metadata) => metadata.name(self.source, self.strings, self.losses),
                None => StrId::EMPTY,
            },
            RawValue::Gzip(bytes) => match inflate(bytes) {
                Some(inflated) => text(&inflated, stat.offset, self.strings, self.losses),
                None => {
                    self.losses.add(XPlaneLoss::Corrupt, stat.offset);
                    StrId::EMPTY
                }
            },
            RawValue::Missing | RawValue::Double(_) | RawValue::Int(_) | RawValue::Bytes(_) => StrId::EMPTY,
        }
    }

    /// Returns the value of a stat as a whole number. Some writers store such numbers as text.
    pub(super) fn number(&mut self, stat: &Stat<'_>) -> Option<i64> {
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

    /// Returns the name and the value of a plane's stat, or `None` if the value consists of bytes or the stat has no
    /// name.
    pub(super) fn plane_stat(&mut self, stat: &Stat<'_>) -> Option<(StrId, StatValue)> {
        let name = self.metadata.get_mut(stat.metadata_id)?.name(self.source, self.strings, self.losses);
        let value = match stat.value {
            RawValue::Int(number) => StatValue::Int(number),
            RawValue::Double(number) => StatValue::Double(number),
            RawValue::Text(_) | RawValue::Reference(_) | RawValue::Gzip(_) => StatValue::Text(self.text(stat)),
            RawValue::Missing | RawValue::Bytes(_) => return None,
        };
        Some((name, value))
    }

    /// Returns the ids of a TPU's chip and core. Both the chip and the core have an id on their host and an id among
    /// all hosts of the job. The stat `core_details` contains the ids in a message, which omits zeros.
    pub(super) fn core_ids(&mut self, stat: &Stat<'_>) -> Option<[(StrId, StatValue); 4]> {
        let RawValue::Bytes(message) = stat.value else { return None };
        if self.metadata.get_mut(stat.metadata_id)?.name_bytes(self.source) != b"core_details" {
            return None;
        }
        let [mut core_on_chip, mut local_chip, mut chip, mut core] = [0; 4];
        let mut reader = Reader::new(message);
        while let Some(field) = reader.field().ok()? {
            match field.number {
                3 => core_on_chip = field.value.int64()?,
                4 => local_chip = field.value.int64()?,
                5 => chip = field.value.int64()?,
                6 => core = field.value.int64()?,
                _ => {}
            }
        }
        let mut named = |name: &str, number| (self.strings.intern(name), StatValue::Int(number));
        Some([
            named("core_num", core_on_chip),
            named("local_chip_id", local_chip),
            named("global_chip_id", chip),
            named("global_core_id", core),
        ])
    }

    /// Adds the values of `stats` to `args`. Returns the values that belong to a single event.
    pub(super) fn apply(&mut self, stats: &[(EventStat, Stat<'_>)], args: &mut Args) -> Own {
        let mut own = Own::default();
        let (mut name, mut annotation) = (StrId::EMPTY, StrId::EMPTY);
        for (meaning, stat) in stats {
            match *meaning {
                EventStat::Text(text) => *args.text_mut(text) = self.text(stat),
                EventStat::Number(number) => *args.number_mut(number) = self.number(stat),
                EventStat::Column(column) => {
                    let kept = match (column.holds(), stat.value) {
                        (Holds::Real, RawValue::Double(number)) => Some(number.to_bits().cast_signed()),
                        (holds, _) => self.number(stat).and_then(|number| holds.kept(number)),
                    };
                    own.values.set(column, kept);
                }
                EventStat::Name => name = self.text(stat),
                EventStat::Annotation => annotation = self.text(stat),
                EventStat::ChipStart => own.chip_start = self.number(stat),
                EventStat::ChipDuration => own.chip_duration = self.number(stat),
                EventStat::Memory => args.memory = stat.value.bytes().and_then(memory_bytes),
                EventStat::DcnCollective => args.dcn_group_size = stat.value.bytes().and_then(dcn_group_size),
                EventStat::StepName => own.step_name = self.text(stat),
            }
        }
        args.complete_path(name, annotation, self.strings);
        own
    }
}

/// Values that belong to a single event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Own {
    /// Values for which the trace has columns.
    pub values: ColumnValues,
    /// Start on the chip's clock.
    pub chip_start: Option<i64>,
    /// Duration on the chip's clock.
    pub chip_duration: Option<i64>,
    /// Name of the step that the event marks. Empty if the event has no such name.
    pub step_name: StrId,
}

impl<'a> RawValue<'a> {
    /// Returns the bytes of a value. Some writers store a message as text instead of bytes.
    pub(super) fn bytes(self) -> Option<&'a [u8]> {
        match self {
            RawValue::Bytes(bytes) | RawValue::Text(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// Returns the number of members in the first group of a `DcnCollectiveInfoProto`. Field 2 of the message contains
/// groups, and field 1 of each group contains its endpoints. Field 3 contains pairs of a source and a destination.
fn dcn_group_size(message: &[u8]) -> Option<i64> {
    let (mut reader, mut group) = (Reader::new(message), None);
    while let Some(field) = reader.field().ok()? {
        match (field.number, field.value) {
            // A pair of a source and a destination.
            (3, Value::Bytes(_)) => return Some(1),
            (2, Value::Bytes(endpoints)) if group.is_none() => {
                let (mut endpoints, mut count) = (Reader::new(endpoints), 0);
                while let Some(endpoint) = endpoints.field().ok()? {
                    count += i64::from(endpoint.number == 1);
                }
                group = Some(count);
            }
            _ => {}
        }
    }
    group
}

/// Adds up the bytes in a `MemoryAccessBreakdown { repeated MemoryAccessed = 1 }`. Each entry contains the operation
/// (field 1: 1 read, 2 write), the memory space (field 2: 1 HBM, 2 CMEM, 3 VMEM) and the bytes (field 3). Returns
/// `None` if the message contains no such bytes or is damaged.
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

/// Decompresses a gzip stream. Returns `None` if the stream is damaged or its content is too large.
pub(super) fn inflate(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut inflated = Vec::new();
    let mut limited = flate2::read::GzDecoder::new(bytes).take(MAX_INFLATED_BYTES + 1);
    limited.read_to_end(&mut inflated).ok()?;
    (inflated.len() as u64 <= MAX_INFLATED_BYTES).then_some(inflated)
}
