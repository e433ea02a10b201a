//! Decodes one plane: indexes the fields after the lines, and then decodes the lines.

use rustc_hash::FxHashMap;

use super::known::Known;
use super::losses::{XPlaneLoss, XPlaneLosses};
use super::metadata::{EventMetadata, IdMap, Span, StatMetadata, is_jax_name, map_entry};
use super::stats::{RawValue, Stat, Values};
use super::text::text;
use super::walk::{OfFile, Tables, Walk, is_cut};
use base::wire::{Fault, Reader, Value};
use trace::{Args, EventStat, HloProto, Plane, StrId, Trace};

/// Decodes planes in order, and keeps the state of the whole file.
#[derive(Debug, Default)]
pub(super) struct PlaneDecoder {
    /// State for decoding lines.
    pub file: OfFile,
    /// True if a name that only JAX uses was found.
    pub jax: bool,
}

/// The undecoded parts of a plane. Each `u64` is the position of the part in the file.
#[derive(Default)]
pub(super) struct Parts {
    name: (Span, u64),
    lines: Vec<(Span, u64)>,
    event_metadata: Vec<(i64, EventMetadata)>,
    stat_metadata: Vec<(i64, StatMetadata)>,
    stats: Vec<(Span, u64)>,
    /// True if the end of the last line is missing.
    last_line_cut: bool,
}

impl PlaneDecoder {
    /// Decodes the plane `message`, which starts at `offset` in the file, into `trace` and returns its name. `cut`
    /// means that the file ends inside the plane. The caller reports the missing end.
    pub(super) fn decode(
        &mut self,
        message: &[u8],
        offset: u64,
        cut: bool,
        trace: &mut Trace,
        losses: &mut XPlaneLosses,
    ) -> Option<StrId> {
        let mut parts = Parts::of(message, offset, cut, losses);
        let (lines, last_line_cut) = (std::mem::take(&mut parts.lines), parts.last_line_cut);
        let (name, mut tables) = self.begin(parts, message, trace, losses)?;
        let mut walk = Walk::new(message, &mut tables, trace, losses, &mut self.file);
        let last = lines.len().wrapping_sub(1);
        for (i, &(line, at)) in lines.iter().enumerate() {
            walk.line(line.of(message), at, last_line_cut && i == last);
        }
        Some(name)
    }

    /// Adds the plane to `trace`. Returns the name of the plane, and the tables that the plane's lines refer to. The
    /// undecoded parts of the plane are in `source`.
    pub(super) fn begin(
        &mut self,
        parts: Parts,
        source: &[u8],
        trace: &mut Trace,
        losses: &mut XPlaneLosses,
    ) -> Option<(StrId, Tables)> {
        let (name_bytes, name_offset) = (parts.name.0.of(source), parts.name.1);
        let name = text(name_bytes, name_offset, &mut trace.strings, losses);
        // In this table, the id of a module is its program id.
        let modules: Vec<(i64, EventMetadata)> =
            if name_bytes == b"/host:metadata" { parts.event_metadata.clone() } else { Vec::new() };
        let event_metadata = IdMap::new(parts.event_metadata);
        let mut stat_metadata = IdMap::new(parts.stat_metadata);
        let mut stats = Vec::new();
        let mut values = Values { source, metadata: &mut stat_metadata, strings: &mut trace.strings, losses };
        for (message, at) in parts.stats {
            match Stat::read(message.of(source), at) {
                Ok(stat) => {
                    stats.extend(values.plane_stat(&stat));
                    stats.extend(values.core_ids(&stat).into_iter().flatten());
                }
                Err(bad) => values.losses.add(XPlaneLoss::Corrupt, bad),
            }
        }
        self.jax |= event_metadata.entries().iter().any(|metadata| metadata.names_jax(source));
        trace.hlo.extend(modules.iter().filter_map(|(id, module)| module.hlo(*id, &mut values)));
        let known = Known::new(event_metadata.entries().len(), &mut stat_metadata);
        let plane = trace.add_plane(Plane { name, stats, ..Plane::default() })?;
        Some((name, Tables { plane, event_metadata, stat_metadata, missing: FxHashMap::default(), known }))
    }
}

impl Parts {
    /// Indexes the fields of the plane in one pass, without reading their bodies.
    fn of(message: &[u8], offset: u64, cut: bool, losses: &mut XPlaneLosses) -> Parts {
        let mut parts = Parts::default();
        let mut reader = Reader::new(message);
        loop {
            match reader.field() {
                Ok(None) => return parts,
                Ok(Some(field)) => {
                    if let Value::Bytes(body) = field.value {
                        let start = reader.position() - body.len();
                        parts.add(field.number, Span::new(start, body.len()), offset + start as u64, message);
                    }
                }
                Err(error) => {
                    if !(cut && is_cut(&error)) {
                        losses.add(XPlaneLoss::Corrupt, offset + error.position as u64);
                    }
                    // A truncated name or line is still useful, but truncated metadata is not.
                    if let Fault::Short { number: number @ 2..=3, rest, .. } = error.fault {
                        let start = message.len() - rest.len();
                        parts.add(number, Span::new(start, rest.len()), offset + start as u64, message);
                        parts.last_line_cut = number == 3;
                    }
                    return parts;
                }
            }
        }
    }

    /// Adds the field `number` of the plane. The body of the field is in `source` and starts at `at` in the file.
    pub(super) fn add(&mut self, number: u32, body: Span, at: u64, source: &[u8]) {
        match number {
            2 => self.name = (body, at),
            3 => self.lines.push((body, at)),
            4 => {
                let (id, body, inside) = map_entry(body, source);
                self.event_metadata.push((id, EventMetadata { body, offset: at + inside, resolved: None }));
            }
            5 => {
                let (id, body, inside) = map_entry(body, source);
                self.stat_metadata.push((id, StatMetadata::new(body, at + inside, source)));
            }
            6 => self.stats.push((body, at)),
            _ => {}
        }
    }
}

impl EventMetadata {
    /// Decodes the name and arguments of the events that refer to this metadata.
    ///
    /// If the metadata has a display name (the short name of a TPU instruction), this becomes the event's name. The
    /// other name (the full expression) becomes the long name. The profiler's own JSON export uses the same names.
    pub(super) fn decode(&self, values: &mut Values<'_>) -> (StrId, Args) {
        let mut reader = Reader::new(self.body.of(values.source));
        let (mut name, mut display_name, mut stats) = (StrId::EMPTY, StrId::EMPTY, Vec::new());
        loop {
            let field = match reader.field() {
                Ok(Some(field)) => field,
                Ok(None) => break,
                Err(error) => {
                    values.losses.add(XPlaneLoss::Corrupt, self.offset + error.position as u64);
                    break;
                }
            };
            let Value::Bytes(body) = field.value else { continue };
            let at = self.offset + (reader.position() - body.len()) as u64;
            match field.number {
                2 => name = text(body, at, values.strings, values.losses),
                4 => display_name = text(body, at, values.strings, values.losses),
                5 => match Stat::read(body, at) {
                    Ok(stat) => stats.extend(values.meaning(&stat).map(|meaning| (meaning, stat))),
                    Err(bad) => values.losses.add(XPlaneLoss::Corrupt, bad),
                },
                _ => {}
            }
        }
        let mut args = Args::default();
        let shown = if display_name.is_empty() { name } else { display_name };
        if shown != name {
            args.long_name = name;
        }
        // Ids of individual events must not be part of data that many events share.
        stats.retain(|(meaning, _)| !matches!(meaning, EventStat::Column(_)));
        values.apply(&stats, &mut args);
        (shown, args)
    }

    /// Returns true for names that only JAX uses: its compiled functions and the host events of their dispatch.
    fn names_jax(&self, source: &[u8]) -> bool {
        let mut reader = Reader::new(self.body.of(source));
        while let Ok(Some(field)) = reader.field() {
            if let (2, Value::Bytes(name)) = (field.number, field.value) {
                return is_jax_name(name);
            }
        }
        false
    }

    /// Returns the HLO of a compiled module if this metadata contains HLO. The program id is the value of a stat. Some
    /// writers omit this stat and use the program id as the id of the metadata.
    fn hlo(&self, id: i64, values: &mut Values<'_>) -> Option<HloProto> {
        let mut program_id = id;
        let mut reader = Reader::new(self.body.of(values.source));
        let (mut name, mut proto) = (StrId::EMPTY, None);
        while let Ok(Some(field)) = reader.field() {
            let Value::Bytes(body) = field.value else { continue };
            match field.number {
                2 => name = text(body, self.offset, values.strings, values.losses),
                5 => {
                    let Ok(stat) = Stat::read(body, self.offset) else { continue };
                    let kind =
                        values.metadata.get_mut(stat.metadata_id).map(|metadata| metadata.name_bytes(values.source));
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
        Some(HloProto { program_id, name, host: 0, bytes: proto?.into() })
    }
}
