//! Collects all details of one event in an xplane file: the event's own stats, and the stats of the event's metadata.
//!
//! The ids in a file have no fixed meaning. The file's stat metadata contains the names of stats, and the texts that
//! stats refer to.

use super::metadata::{IdMap, StatMetadata};
use super::stats;
use super::walk::Walk;
use crate::watch::{ArgumentList, EventArguments};
use base::wire::{Reader, Value};
use trace::EventId;

impl Walk<'_, '_> {
    /// Collects the details of the event with this `index` from `message` and adds them to the watch.
    #[inline(never)]
    pub(super) fn note(&mut self, message: &[u8], index: usize) {
        let Some(watch) = &mut self.file.watch else { return };
        watch.advance();
        let Ok(event) = u32::try_from(index) else { return };
        let name = self.trace.events.get(EventId::new(event)).map(|event| self.trace.text(event.name).to_owned());
        let name = name.unwrap_or_default();
        let mut named = Named { source: self.source, metadata: &mut self.tables.stat_metadata };
        let mut list = ArgumentList::default();
        let mut metadata_id = 0;
        for_each_field(message, |number, value| match (number, value) {
            (1, Value::Varint(id)) => metadata_id = id.cast_signed(),
            (4, Value::Bytes(stat)) => {
                let (name, value) = named.argument(stat);
                list.add(&name, &value);
            }
            _ => {}
        });
        if let Some(metadata) = self.tables.event_metadata.get_mut(metadata_id) {
            named.shared(metadata.body.of(self.source), &name, &mut list);
        }
        watch.found(EventArguments { event, name, arguments: list.finish() });
    }
}

/// Resolves the names of the stats in a plane.
struct Named<'p> {
    source: &'p [u8],
    metadata: &'p mut IdMap<StatMetadata>,
}

impl Named<'_> {
    /// Adds the details that the metadata of the event `event_name` contains. The event's own stats take precedence.
    fn shared(&mut self, metadata: &[u8], event_name: &str, list: &mut ArgumentList) {
        let mut shared = Vec::new();
        for_each_field(metadata, |number, value| {
            let Value::Bytes(bytes) = value else { return };
            match number {
                // A display name, if present, is the event's name. The profiler's JSON also calls the other name
                // `long_name`.
                2 if bytes != event_name.as_bytes() => shared.push(("long_name".to_owned(), lossy(bytes))),
                3 => shared.push(("metadata".to_owned(), size(bytes))),
                4 if bytes != event_name.as_bytes() => shared.push(("display_name".to_owned(), lossy(bytes))),
                5 => shared.push(self.argument(bytes)),
                _ => {}
            }
        });
        shared.retain(|(name, _)| !list.has(name));
        shared.iter().for_each(|(name, value)| list.add(name, value));
    }

    /// Returns the name and the value of a stat, as texts.
    fn argument(&mut self, stat: &[u8]) -> (String, String) {
        let (mut id, mut shown) = (0, String::new());
        for_each_field(stat, |number, value| {
            shown = match (number, value) {
                (1, Value::Varint(number)) => {
                    id = number.cast_signed();
                    return;
                }
                (2, Value::Fixed64(bits)) => format!("{:?}", f64::from_bits(bits)),
                (3, Value::Varint(number)) => number.to_string(),
                (4, Value::Varint(number)) => number.cast_signed().to_string(),
                (5, Value::Bytes(text)) => lossy(text),
                (6, Value::Bytes(bytes)) => size(bytes),
                (7, Value::Varint(id)) => self.name(id.cast_signed()).unwrap_or_default(),
                (8, Value::Bytes(packed)) => stats::inflate(packed).map_or_else(|| size(packed), |text| lossy(&text)),
                _ => return,
            };
        });
        (self.name(id).filter(|name| !name.is_empty()).unwrap_or_else(|| format!("stat metadata {id}")), shown)
    }

    /// Returns the text with this id in the stat metadata. The text may be the name of a stat.
    fn name(&mut self, id: i64) -> Option<String> {
        self.metadata.get_mut(id).map(|metadata| lossy(metadata.name_bytes(self.source)))
    }
}

/// Visits the fields of a message, up to the first malformed field.
fn for_each_field<'a>(message: &'a [u8], mut visit: impl FnMut(u32, Value<'a>)) {
    let mut reader = Reader::new(message);
    while let Ok(Some(field)) = reader.field() {
        visit(field.number, field.value);
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn size(bytes: &[u8]) -> String {
    format!("{} bytes", bytes.len())
}
