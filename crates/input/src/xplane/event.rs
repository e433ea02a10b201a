//! Decodes one event into a row. This code is the hot loop of the decoder.
//!
//! The name and arguments of most events come from metadata, which is decoded once, so these events need no hashing. The
//! stats of other events (GPU kernels have `kernel_details`, `hlo_op`, ...) override the arguments of the metadata. The
//! resulting arguments are hashed only if they differ from the arguments of the previous event of this kind.

use rustc_hash::FxHashMap;

use super::losses::XPlaneLoss;
use super::metadata::{EventMetadata, Resolved};
use super::stats::{Own, RawValue, Stat, Values};
use super::walk::{EVENT_OR_STAT, Tables, Walk};
use base::Ps;
use base::wire::{Reader, Value};
use trace::{
    ArgsId, ChipTime, END_MARKER, Event, EventColumn, EventStat, LineId, POOL_CONTEXT, StrId, Strings, TextArg,
};

/// Maximum number of names that are made for events whose metadata is missing.
const MAX_MISSING_NAMES: usize = 10_000;

/// The fields of an event as they are in the file, without its stats.
#[derive(Clone, Copy)]
struct RawEvent {
    line: LineId,
    id: i64,
    offset_ps: i64,
    duration_ps: i64,
    line_start_ps: Option<i64>,
}

impl RawEvent {
    /// Returns the start of the event relative to the anchor, or `None` for impossible times.
    #[inline(always)]
    fn start(&self) -> Option<Ps> {
        let start = self.line_start_ps?.checked_add(self.offset_ps)?;
        let fits = self.duration_ps >= 0 && start.checked_add(self.duration_ps).is_some();
        fits.then_some(Ps::new(start))
    }
}

impl<'a> Walk<'_, 'a> {
    /// Decodes one event. If the event is corrupt, skips it and returns the position of the corrupt field as an error.
    ///
    /// Nearly all events of a large trace have a known kind and no own stats, so they need only this fast path.
    #[inline]
    pub(super) fn event(
        &mut self,
        message: &'a [u8],
        offset: u64,
        line: LineId,
        line_start_ps: Option<i64>,
    ) -> Result<(), u64> {
        let mut reader = Reader::new(message);
        // All known writers use this order of fields.
        let id = reader.varint_with_tag(1 << 3).unwrap_or(0) as i64;
        let offset_ps = reader.varint_with_tag(2 << 3).unwrap_or(0) as i64;
        let duration_ps = reader.varint_with_tag(3 << 3).unwrap_or(0) as i64;
        self.own.clear();
        while let Some(stat) = reader.bytes_with_tag(EVENT_OR_STAT) {
            if !self.tables.known.ignores(stat) {
                self.stat(stat, id, offset + (reader.position() - stat.len()) as u64)?;
            }
        }
        let read = RawEvent { line, id, offset_ps, duration_ps, line_start_ps };
        if reader.position() == message.len()
            && self.own.is_empty()
            && let (Some(kind), Some(start)) = (self.tables.known.kind(id, line), read.start())
            && self.trace.events.push_of_kind(kind, start, Ps::new(duration_ps)).is_some()
        {
            return Ok(());
        }
        self.rest(read, reader, offset)
    }

    /// Reads the remaining fields of an event, starting with the first unusual field.
    #[inline(never)]
    fn rest(&mut self, mut read: RawEvent, mut reader: Reader<'a>, offset: u64) -> Result<(), u64> {
        let mut aggregated = false;
        while let Some(field) = reader.field().map_err(|error| offset + error.position as u64)? {
            match (field.number, field.value) {
                (1, Value::Varint(value)) => read.id = value as i64,
                (2, Value::Varint(value)) => (read.offset_ps, aggregated) = (value as i64, false),
                (3, Value::Varint(value)) => read.duration_ps = value as i64,
                (4, Value::Bytes(stat)) => {
                    self.stat(stat, read.id, offset + (reader.position() - stat.len()) as u64)?
                }
                (5, Value::Varint(_)) => aggregated = true,
                _ => {}
            }
        }
        if aggregated {
            self.losses.add(XPlaneLoss::Aggregated, offset);
            return Ok(());
        }
        let Some(start) = read.start() else {
            self.losses.add(XPlaneLoss::BadTime, offset);
            return Ok(());
        };
        let (line, duration) = (read.line, Ps::new(read.duration_ps));
        self.store(Event { line, name: StrId::EMPTY, start, duration, args: ArgsId::NONE }, read.id, offset);
        Ok(())
    }

    /// Stores a stat of the current event if a metric needs it. `event` is the id of the event's metadata. If the stat is
    /// corrupt, returns the stat's position as an error.
    fn stat(&mut self, message: &'a [u8], event: i64, at: u64) -> Result<(), u64> {
        let meaning = match Stat::peek_metadata_id(message) {
            Some(id) => self.meaning(id),
            None => self.meaning(Stat::read(message, at)?.metadata_id),
        };
        if let Some(meaning) = meaning.filter(|meaning| self.is_wanted(*meaning, event)) {
            let stat = Stat::read(message, at)?;
            let is_type = matches!(meaning, EventStat::Column(EventColumn::ProducerType | EventColumn::ConsumerType));
            if !is_type || stat.value != RawValue::Int(POOL_CONTEXT) {
                self.own.push((meaning, stat));
            }
        }
        Ok(())
    }

    /// Returns true if a metric needs the stat. Nearly all events of a thread pool are linked to other events, but
    /// metrics use the links only for ops and their ends. In an event, the type of a link comes before its number.
    fn is_wanted(&mut self, meaning: EventStat, event: i64) -> bool {
        let has = |wanted: EventStat| self.own.iter().any(|(meaning, _)| *meaning == wanted);
        match meaning {
            EventStat::Column(EventColumn::Producer) => {
                has(EventStat::Column(EventColumn::ProducerType)) || has(EventStat::Text(TextArg::HloOp))
            }
            EventStat::Column(EventColumn::Consumer) => {
                let is_typed = has(EventStat::Column(EventColumn::ConsumerType));
                let metadata = self.tables.event_metadata.get_mut(event);
                is_typed || metadata.is_some_and(|metadata| metadata.has_name_with(END_MARKER, self.source))
            }
            _ => true,
        }
    }

    #[inline]
    fn meaning(&mut self, id: i64) -> Option<EventStat> {
        self.tables.stat_metadata.get_mut(id)?.meaning
    }

    /// Sets the event's name and arguments, and appends the event to the trace.
    #[inline]
    fn store(&mut self, mut event: Event, metadata_id: i64, offset: u64) {
        let Tables { event_metadata, stat_metadata, missing, .. } = &mut *self.tables;
        let (source, strings) = (self.source, &mut self.trace.strings);
        let mut values = Values { source, metadata: stat_metadata, strings, losses: self.losses };
        let mut without = Resolved { name: StrId::EMPTY, args: ArgsId::NONE, latest: ArgsId::NONE };
        let metadata = event_metadata.get_mut(metadata_id);
        let has_metadata = metadata.is_some();
        let shared = match metadata {
            Some(EventMetadata { resolved: Some(resolved), .. }) => resolved,
            Some(metadata) => {
                let (name, args) = metadata.decode(&mut values);
                let args = self.trace.args.intern(&args);
                metadata.resolved.insert(Resolved { name, args, latest: args })
            }
            None => {
                values.losses.add(XPlaneLoss::MissingMetadata, offset);
                without.name = missing_name(metadata_id, missing, values.strings);
                &mut without
            }
        };
        event.name = shared.name;
        if self.own.is_empty() {
            event.args = shared.args;
            let Some(index) = self.trace.push_event(event, None) else {
                self.losses.add(XPlaneLoss::TooMany, offset);
                return;
            };
            // Do not cache events without metadata, which are counted each time, or events on a line with chip times.
            if has_metadata && !self.trace.clocks.has(event.line) {
                self.tables.known.learn(metadata_id, event.line, self.trace.events.kind(index));
            }
            return;
        }
        let mut args = self.trace.args.get(shared.args);
        let own = values.apply(&self.own, &mut args);
        if self.trace.args.get(shared.latest) != args {
            shared.latest = self.trace.args.intern(&args);
        }
        event.args = shared.latest;
        if !own.step_name.is_empty() {
            event.name = own.step_name;
        }
        self.store_with(event, &own, offset);
    }

    /// Appends an event, with the values that its own stats contain.
    fn store_with(&mut self, event: Event, own: &Own, offset: u64) {
        let duration = own.chip_duration.filter(|&ps| ps >= 0).map(Ps::new);
        let chip = own.chip_start.map(|start| ChipTime { start: Ps::new(start), duration });
        let clocks = self.trace.clocks.lines();
        let Some(index) = self.trace.push_event(event, chip) else {
            self.losses.add(XPlaneLoss::TooMany, offset);
            return;
        };
        if self.trace.clocks.lines() != clocks {
            self.tables.known.forget();
        }
        self.trace.events.push_values(index, &own.values);
    }
}

/// Returns a name for an event without metadata. The name contains the metadata's id.
fn missing_name(id: i64, names: &mut FxHashMap<i64, StrId>, strings: &mut Strings) -> StrId {
    if let Some(&name) = names.get(&id) {
        return name;
    }
    if names.len() >= MAX_MISSING_NAMES {
        return strings.intern("event without metadata");
    }
    let name = strings.intern(&format!("event metadata {id}"));
    names.insert(id, name);
    name
}
