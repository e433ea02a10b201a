//! Reads the keys of an event's `args` that metrics use, in one pass. The values of these keys become [`Args`] and the
//! event's own values. `trace::args` and `trace::event_columns` list the keys.
//!
//! JAX writes every value as a string, and Kineto writes numbers. Both are accepted. Keys that no metric needs
//! (`shape_with_layout`, Kineto's `External id`, input shapes, ...) are skipped, and nested values are not parsed.

use super::byte_set::ByteSet;
use super::kineto;
use super::lexer::{Kind, Scan, Span, Stop, colon, peek, string, value};
use super::number;
use super::text::text;
use trace::{Args, ColumnValues, EventColumn, EventStat, Holds, StrId, Strings};

/// The argument that a key in `args` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgKey {
    /// An argument that is a stat in xplane files. The key `name` is also used in metadata events.
    Stat(EventStat),
    /// A detail that Kineto records about a kernel launch or a collective.
    Kineto(kineto::Detail),
    /// Labels of a `process_labels` event.
    Labels,
    /// Index of a `process_sort_index` event.
    SortIndex,
    /// A number whose key no other variant covers. The number is not stored, but it may differ between otherwise
    /// identical events.
    OtherNumber,
}

/// An argument and the position of its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArgField {
    pub key: ArgKey,
    pub value: Span,
}

/// Values that differ between otherwise identical events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Own {
    pub values: ColumnValues,
    /// Start on the chip's clock.
    pub chip_start: Option<i64>,
    /// Duration on the chip's clock.
    pub chip_duration: Option<i64>,
}

impl Own {
    /// Sets the value of `stat`. Ignores stats whose values many events share.
    #[inline]
    pub(super) fn set(&mut self, stat: EventStat, number: Option<i64>) {
        match stat {
            EventStat::Column(column) => self.values.set(column, number.and_then(|it| column.holds().kept(it))),
            EventStat::ChipStart => self.chip_start = number,
            EventStat::ChipDuration => self.chip_duration = number,
            _ => {}
        }
    }

    /// Sets the step number, unless an argument already set it.
    pub(super) fn step_num_or(&mut self, number: Option<i64>) {
        let step = self.values.get(EventColumn::StepNum).or(number);
        self.values.set(EventColumn::StepNum, step);
    }
}

fn key_of(name: &[u8]) -> Option<ArgKey> {
    if let Some(stat) = EventStat::of_json(name) {
        return Some(ArgKey::Stat(stat));
    }
    match name {
        b"labels" => Some(ArgKey::Labels),
        b"sort_index" => Some(ArgKey::SortIndex),
        name => kineto::detail_of(name).map(ArgKey::Kineto),
    }
}

/// Reads the object whose `{` is at `pos` into `fields`, and returns the position after the object.
pub(super) fn parse(buf: &[u8], pos: usize, fields: &mut Vec<ArgField>) -> Scan<usize> {
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
        if let Some(key) = key.or_else(|| is_number(value.bytes(buf)).then_some(ArgKey::OtherNumber)) {
            fields.push(ArgField { key, value });
        }
        pos = next;
        match peek(buf, &mut pos)? {
            b',' => pos += 1,
            b'}' => return Ok(pos + 1),
            _ => return Err(Stop::Bad(pos)),
        }
    }
}

/// Bytes that occur in numbers.
static NUMBER_BYTES: ByteSet = ByteSet::of(b"0123456789.-+eE");

/// Returns true if the byte can occur in a number.
#[inline]
pub(super) fn is_number_byte(byte: u8) -> bool {
    NUMBER_BYTES.has(byte)
}

fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&byte| is_number_byte(byte))
}

/// Converts `fields` into arguments and own values. The category is not part of `args`, so it is not included.
pub(super) fn build(fields: &[ArgField], buf: &[u8], strings: &mut Strings, scratch: &mut String) -> (Args, Own) {
    let (mut args, mut own) = (Args::default(), Own::default());
    let (mut path, mut annotation) = (StrId::EMPTY, StrId::EMPTY);
    let mut details = kineto::Details::default();
    for &ArgField { key, value } in fields {
        let bytes = value.bytes(buf);
        let stat = match key {
            ArgKey::Stat(stat) => stat,
            ArgKey::Kineto(detail) => {
                details.set(detail, value, buf, scratch);
                continue;
            }
            ArgKey::Labels | ArgKey::SortIndex | ArgKey::OtherNumber => continue,
        };
        let slot = match stat {
            EventStat::Text(text) => args.text_mut(text),
            EventStat::Name => &mut path,
            EventStat::Annotation => &mut annotation,
            EventStat::Number(number) => {
                let is_count = number.holds() == Holds::Count;
                *args.number_mut(number) = if is_count { number::count(bytes) } else { number::id(bytes) };
                continue;
            }
            other => {
                own.set(other, number::id(bytes));
                continue;
            }
        };
        if matches!(value.kind, Kind::Text | Kind::Escaped) {
            *slot = strings.intern(text(value, buf, scratch));
        }
    }
    args.complete_path(path, annotation, strings);
    if args.kernel_details.is_empty()
        && let Some(details) = details.text()
    {
        args.kernel_details = strings.intern(details);
    }
    (args, own)
}
