//! One plane: index what stands behind the lines, then walk the lines.

use rustc_hash::FxHashMap;

use super::losses::{Loss, Losses};
use super::metadata::{EventMetadata, IdMap, StatMetadata, map_entry};
use super::stats::{RawValue, Stat, StatKind, Values, text};
use super::walk::{Clock, Walk, is_cut};
use crate::trace::{Args, HloProto, Plane, PlaneId, StrId, Trace};
use crate::wire::{Fault, Reader, Value};

/// Decodes planes one after the other; keeps what belongs to the whole file.
#[derive(Debug, Default)]
pub(super) struct PlaneDecoder {
    /// The clock of the file's lines.
    pub clock: Clock,
    /// A name that only JAX gives was seen.
    pub jax: bool,
}

/// The parts of a plane, still on the wire; `u64`: where each starts in the file.
#[derive(Default)]
struct Parts<'a> {
    name: (&'a [u8], u64),
    lines: Vec<(&'a [u8], u64)>,
    event_metadata: Vec<(i64, EventMetadata<'a>)>,
    stat_metadata: Vec<(i64, StatMetadata<'a>)>,
    stats: Vec<(&'a [u8], u64)>,
    /// True where the last line lacks its end.
    last_line_cut: bool,
}

impl PlaneDecoder {
    /// Decodes the plane `message`, which starts at `offset` of the file, into `trace` and returns its name. `cut`: the
    /// file ends inside it, which the caller reports.
    pub fn decode(
        &mut self,
        message: &[u8],
        offset: u64,
        cut: bool,
        trace: &mut Trace,
        losses: &mut Losses,
    ) -> Option<StrId> {
        let parts = Parts::of(message, offset, cut, losses);
        let plane = PlaneId(u32::try_from(trace.planes.len()).ok()?);
        let name = text(parts.name.0, parts.name.1, &mut trace.strings, losses);
        // A module's number in this table is its program id.
        let modules: Vec<(i64, EventMetadata<'_>)> =
            if parts.name.0 == b"/host:metadata" { parts.event_metadata.clone() } else { Vec::new() };
        let mut event_metadata = IdMap::new(parts.event_metadata);
        let mut stat_metadata = IdMap::new(parts.stat_metadata);
        let mut stats = Vec::new();
        let mut values = Values { metadata: &mut stat_metadata, strings: &mut trace.strings, losses };
        for (message, at) in parts.stats {
            match Stat::read(message, at) {
                Ok(stat) => stats.extend(values.plane_stat(&stat)),
                Err(bad) => values.losses.add(Loss::Corrupt, bad),
            }
        }
        trace.planes.push(Plane { name, stats, ..Plane::default() });
        for metadata in event_metadata.entries() {
            self.jax |= metadata.names_jax();
        }
        if parts.name.0 == b"/host:metadata" {
            let mut values = Values { metadata: &mut stat_metadata, strings: &mut trace.strings, losses };
            trace.hlo.extend(modules.iter().filter_map(|(id, module)| module.hlo(*id, &mut values)));
        }
        let mut walk = Walk {
            plane,
            event_metadata: &mut event_metadata,
            stat_metadata: &mut stat_metadata,
            missing: FxHashMap::default(),
            trace,
            losses,
            clock: &mut self.clock,
            own: Vec::new(),
        };
        let last = parts.lines.len().wrapping_sub(1);
        for (i, &(line, at)) in parts.lines.iter().enumerate() {
            walk.line(line, at, parts.last_line_cut && i == last);
        }
        Some(name)
    }
}

impl<'a> Parts<'a> {
    /// One pass over the headers of the plane's fields; their bodies are not read.
    fn of(message: &'a [u8], offset: u64, cut: bool, losses: &mut Losses) -> Parts<'a> {
        let mut parts = Parts::default();
        let mut reader = Reader::new(message);
        loop {
            match reader.field() {
                Ok(None) => return parts,
                Ok(Some(field)) => {
                    if let Value::Bytes(body) = field.value {
                        parts.add(field.number, body, offset + (reader.position() - body.len()) as u64);
                    }
                }
                Err(error) => {
                    if !(cut && is_cut(&error)) {
                        losses.add(Loss::Corrupt, offset + error.position as u64);
                    }
                    // A name or a line that lacks its end is still of use; metadata is not.
                    if let Fault::Short { number: number @ 2..=3, rest, .. } = error.fault {
                        parts.add(number, rest, offset + (message.len() - rest.len()) as u64);
                        parts.last_line_cut = number == 3;
                    }
                    return parts;
                }
            }
        }
    }

    fn add(&mut self, number: u32, body: &'a [u8], at: u64) {
        match number {
            2 => self.name = (body, at),
            3 => self.lines.push((body, at)),
            4 => {
                let (id, body, inside) = map_entry(body);
                self.event_metadata.push((id, EventMetadata { body, offset: at + inside, resolved: None }));
            }
            5 => {
                let (id, body, inside) = map_entry(body);
                self.stat_metadata.push((id, StatMetadata::new(body, at + inside)));
            }
            6 => self.stats.push((body, at)),
            _ => {}
        }
    }
}

impl EventMetadata<'_> {
    /// Name and arguments of the events that refer to it.
    ///
    /// The event is called by the display name where there is one (the short name of a TPU's instruction); the name, its
    /// full expression, is then the long name. The profiler's JSON does the same.
    pub fn decode(&self, values: &mut Values<'_, '_>) -> (StrId, Args) {
        let mut reader = Reader::new(self.body);
        let (mut name, mut display_name, mut stats) = (StrId::EMPTY, StrId::EMPTY, Vec::new());
        loop {
            let field = match reader.field() {
                Ok(Some(field)) => field,
                Ok(None) => break,
                Err(error) => {
                    values.losses.add(Loss::Corrupt, self.offset + error.position as u64);
                    break;
                }
            };
            let Value::Bytes(body) = field.value else { continue };
            let at = self.offset + (reader.position() - body.len()) as u64;
            match field.number {
                2 => name = text(body, at, values.strings, values.losses),
                4 => display_name = text(body, at, values.strings, values.losses),
                5 => match Stat::read(body, at) {
                    Ok(stat) => stats.push((values.kind(&stat), stat)),
                    Err(bad) => values.losses.add(Loss::Corrupt, bad),
                },
                _ => {}
            }
        }
        let mut args = Args::default();
        let shown = if display_name.is_empty() { name } else { display_name };
        if shown != name {
            args.long_name = name;
        }
        // Ids of single events do not stand on what many events share.
        stats.retain(|(kind, _)| !matches!(kind, StatKind::Id(_)));
        values.apply(&stats, &mut args);
        (shown, args)
    }

    /// True for names that only JAX gives: its compiled functions and the host events of their dispatch.
    fn names_jax(&self) -> bool {
        let mut reader = Reader::new(self.body);
        while let Ok(Some(field)) = reader.field() {
            if let (2, Value::Bytes(name)) = (field.number, field.value) {
                return super::environment::is_jax_name(name);
            }
        }
        false
    }

    /// The compiled module whose HLO stands here. Its program's number is a stat; writers without it number the metadata so.
    fn hlo(&self, id: i64, values: &mut Values<'_, '_>) -> Option<HloProto> {
        let mut program_id = id;
        let mut reader = Reader::new(self.body);
        let (mut name, mut proto) = (StrId::EMPTY, None);
        while let Ok(Some(field)) = reader.field() {
            let Value::Bytes(body) = field.value else { continue };
            match field.number {
                2 => name = text(body, self.offset, values.strings, values.losses),
                5 => {
                    let Ok(stat) = Stat::read(body, self.offset) else { continue };
                    let kind = values.metadata.get_mut(stat.metadata_id).map(|metadata| metadata.name_bytes());
                    match kind {
                        Some(b"Hlo Proto" | b"hlo_proto") => proto = stat.value.bytes(),
                        Some(b"program_id") => {
                            if let RawValue::Int(number) = stat.value {
                                program_id = number;
                            }
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        Some(HloProto { program_id, name, host: 0, bytes: proto?.to_vec() })
    }
}
