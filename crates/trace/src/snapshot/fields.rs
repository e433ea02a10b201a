//! Reads and writes the small parts of a serialised trace: planes, lines, argument sets, times of the capture.

use crate::Platform;
use crate::chip_clock::{Knot, Unplaced, UnplacedLine, Warp};
use crate::classify::{LineKind, PlaneKind};
use crate::{
    Args, Capture, ChipClock, CounterTrack, EventId, FlowBinding, FlowPoint, FlowRole, Framework, HloProto, Instant,
    InstantScope, Line, LineId, MemoryBytes, NumberArg, Plane, PlaneId, SourceFormat, StatValue, StrId, TextArg,
};
use base::Ps;

const LINE_KINDS: [LineKind; 7] = [
    LineKind::Other,
    LineKind::DeviceOps,
    LineKind::Modules,
    LineKind::Steps,
    LineKind::AsyncOps,
    LineKind::Derived,
    LineKind::Host,
];
const PLATFORMS: [Platform; 3] = [Platform::Tpu, Platform::Gpu, Platform::Cpu];
const FORMATS: [Option<SourceFormat>; 3] = [None, Some(SourceFormat::XPlane), Some(SourceFormat::ChromeJson)];
const FRAMEWORKS: [Framework; 4] = [Framework::Unknown, Framework::Jax, Framework::TensorFlow, Framework::PyTorch];

const FLOW_ROLES: [FlowRole; 3] = [FlowRole::Start, FlowRole::Step, FlowRole::End];
const FLOW_BINDINGS: [FlowBinding; 2] = [FlowBinding::Enclosing, FlowBinding::Next];

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_i64(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_optional_i64(out: &mut Vec<u8>, value: Option<i64>) {
    out.push(u8::from(value.is_some()));
    put_i64(out, value.unwrap_or(0));
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_u32(out, u32::try_from(text.len()).unwrap_or(u32::MAX));
    out.extend_from_slice(text.as_bytes());
}

/// Returns the position of `value` in `all`, the list of all values.
fn code<T: PartialEq>(all: &[T], value: &T) -> u8 {
    all.iter().position(|it| it == value).and_then(|at| u8::try_from(at).ok()).unwrap_or(0)
}

pub(super) fn put_source(out: &mut Vec<u8>, format: Option<SourceFormat>, framework: Framework) {
    out.extend([code(&FORMATS, &format), code(&FRAMEWORKS, &framework)]);
}

pub(super) fn put_capture(out: &mut Vec<u8>, capture: &Capture) {
    let Capture { anchor_ns, start_unix_ns, stop_unix_ns } = *capture;
    put_i64(out, anchor_ns);
    put_optional_i64(out, start_unix_ns);
    put_optional_i64(out, stop_unix_ns);
}

pub(super) fn put_texts(out: &mut Vec<u8>, texts: &[String]) {
    put_u32(out, u32::try_from(texts.len()).unwrap_or(u32::MAX));
    texts.iter().for_each(|text| put_text(out, text));
}

pub(super) fn put_plane(out: &mut Vec<u8>, plane: &Plane) {
    let Plane { name, kind, host, order, stats, clock } = plane;
    put_u32(out, name.0);
    let (word, platform, ordinal) = match *kind {
        PlaneKind::Other => (0, 0, 0),
        PlaneKind::Host => (1, 0, 0),
        PlaneKind::SparseCore { ordinal } => (2, 0, ordinal),
        PlaneKind::Device { platform, ordinal } => (3, code(&PLATFORMS, &platform), ordinal),
    };
    out.extend([word, platform]);
    put_u32(out, ordinal);
    put_u32(out, u32::from(*host));
    put_optional_i64(out, *order);
    put_u32(out, u32::try_from(stats.len()).unwrap_or(u32::MAX));
    for (key, value) in stats {
        put_u32(out, key.0);
        let (word, bits) = match *value {
            StatValue::Int(value) => (0, value),
            StatValue::Double(value) => (1, value.to_bits().cast_signed()),
            StatValue::Text(text) => (2, i64::from(text.0)),
        };
        out.push(word);
        put_i64(out, bits);
    }
    out.push(u8::from(clock.is_some()));
    if let Some(clock) = clock {
        let ChipClock { shift, drift, reference, uncertainty, events, refused, off_p95, off_max } = *clock;
        let times = [shift, reference, uncertainty, off_p95, off_max].map(|time| time.as_ps());
        times.iter().for_each(|time| put_i64(out, *time));
        put_i64(out, drift);
        [events, refused].iter().for_each(|count| put_u64(out, *count));
    }
}

pub(super) fn put_unplaced(out: &mut Vec<u8>, unplaced: &Unplaced) {
    let Unplaced { plane, shift, warp: Warp(knots), lines } = unplaced;
    put_u32(out, *plane);
    put_i64(out, *shift);
    put_u32(out, u32::try_from(knots.len()).unwrap_or(u32::MAX));
    for Knot { first, last, delta, ops } in knots {
        [first, last, delta].iter().for_each(|time| put_i64(out, **time));
        put_u64(out, *ops);
    }
    put_u32(out, u32::try_from(lines.len()).unwrap_or(u32::MAX));
    for UnplacedLine { line, first, without } in lines {
        put_u32(out, *line);
        put_u32(out, first.0);
        put_u32(out, u32::try_from(without.len()).unwrap_or(u32::MAX));
        without.iter().for_each(|id| put_u32(out, id.0));
    }
}

pub(super) fn put_line(out: &mut Vec<u8>, line: &Line) {
    let Line { plane, name, kind, id, display_id, order, start } = line;
    put_u32(out, plane.0);
    put_u32(out, name.0);
    out.push(code(&LINE_KINDS, kind));
    [id, display_id, order].iter().for_each(|number| put_optional_i64(out, **number));
    out.extend(start.as_ps().to_le_bytes());
}

pub(super) fn put_counter(out: &mut Vec<u8>, track: &CounterTrack) {
    let CounterTrack { plane, name, times, values } = track;
    put_u32(out, plane.0);
    put_u32(out, name.0);
    for (time, value) in times.iter().zip(values) {
        put_i64(out, time.as_ps());
        put_u64(out, value.to_bits());
    }
}

pub(super) fn put_program(out: &mut Vec<u8>, program: &HloProto) {
    let HloProto { program_id, name, host, bytes } = program;
    put_i64(out, *program_id);
    put_u32(out, name.0);
    put_u32(out, u32::from(*host));
    out.extend(&**bytes);
}

pub(super) fn put_instant(out: &mut Vec<u8>, instant: &Instant) {
    let Instant { scope, name, time } = instant;
    let (word, place) = match scope {
        InstantScope::Trace => (0, 0),
        InstantScope::Plane(plane) => (1, plane.0),
        InstantScope::Line(line) => (2, line.0),
    };
    out.push(word);
    put_u32(out, place);
    put_u32(out, name.0);
    put_i64(out, time.as_ps());
}

pub(super) fn put_flow_point(out: &mut Vec<u8>, point: &FlowPoint) {
    let FlowPoint { flow, role, binding, line, name, time } = point;
    put_u32(out, *flow);
    out.extend([code(&FLOW_ROLES, role), code(&FLOW_BINDINGS, binding)]);
    put_u32(out, line.0);
    put_u32(out, name.0);
    put_i64(out, time.as_ps());
}

/// Writes the texts and numbers of an argument set in declaration order. A mask records which numbers are present.
pub(super) fn put_args(out: &mut Vec<u8>, args: &Args) {
    let mut args = *args;
    TextArg::ALL.iter().for_each(|&text| put_u32(out, args.text_mut(text).0));
    let numbers: Vec<Option<i64>> = NumberArg::ALL.iter().map(|&number| *args.number_mut(number)).collect();
    let mask = numbers.iter().rev().fold(0u32, |mask, number| mask << 1 | u32::from(number.is_some()));
    put_u32(out, mask);
    numbers.iter().flatten().for_each(|number| put_i64(out, *number));
    out.push(u8::from(args.memory.is_some()));
    if let Some(memory) = args.memory {
        let MemoryBytes { hbm_read, hbm_write, cmem_read, cmem_write, vmem_read, vmem_write } = memory;
        [hbm_read, hbm_write, cmem_read, cmem_write, vmem_read, vmem_write].iter().for_each(|it| put_i64(out, *it));
    }
}

/// The fields of a frame that were not read yet.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Option<i64> {
        self.take().map(i64::from_le_bytes)
    }

    pub(super) fn optional_i64(&mut self) -> Option<Option<i64>> {
        let (is_there, value) = (self.byte()?, self.i64()?);
        Some((is_there == 1).then_some(value))
    }

    fn id(&mut self) -> Option<StrId> {
        self.u32().map(StrId)
    }

    fn event(&mut self) -> Option<EventId> {
        self.u32().map(EventId)
    }

    fn code<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        all.get(usize::from(self.byte()?)).copied()
    }

    pub(super) fn source(&mut self) -> Option<(Option<SourceFormat>, Framework)> {
        Some((self.code(&FORMATS)?, self.code(&FRAMEWORKS)?))
    }

    pub(super) fn texts(&mut self) -> Option<Vec<String>> {
        let mut texts = Vec::new();
        for _ in 0..self.u32()? {
            let length = self.u32()? as usize;
            let (text, rest) = self.0.split_at_checked(length)?;
            texts.push(std::str::from_utf8(text).ok()?.to_owned());
            self.0 = rest;
        }
        Some(texts)
    }

    /// Reads all remaining items of a frame.
    pub(super) fn all<T>(&mut self, one: fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut all = Vec::new();
        while !self.0.is_empty() {
            all.push(one(self)?);
        }
        Some(all)
    }

    pub(super) fn plane(&mut self) -> Option<Plane> {
        let name = self.id()?;
        let (word, platform) = (self.byte()?, self.code(&PLATFORMS)?);
        let ordinal = self.u32()?;
        let kind = match word {
            0 => PlaneKind::Other,
            1 => PlaneKind::Host,
            2 => PlaneKind::SparseCore { ordinal },
            3 => PlaneKind::Device { platform, ordinal },
            _ => return None,
        };
        let host = u16::try_from(self.u32()?).ok()?;
        let order = self.optional_i64()?;
        let mut stats = Vec::new();
        for _ in 0..self.u32()? {
            let key = self.id()?;
            let (word, bits) = (self.byte()?, self.i64()?);
            let value = match word {
                0 => StatValue::Int(bits),
                1 => StatValue::Double(f64::from_bits(bits.cast_unsigned())),
                2 => StatValue::Text(StrId(u32::try_from(bits).ok()?)),
                _ => return None,
            };
            stats.push((key, value));
        }
        let clock = match self.byte()? {
            0 => None,
            _ => Some(self.clock()?),
        };
        Some(Plane { name, kind, host, order, stats, clock })
    }

    fn clock(&mut self) -> Option<ChipClock> {
        Some(ChipClock {
            shift: Ps::new(self.i64()?),
            reference: Ps::new(self.i64()?),
            uncertainty: Ps::new(self.i64()?),
            off_p95: Ps::new(self.i64()?),
            off_max: Ps::new(self.i64()?),
            drift: self.i64()?,
            events: self.u64()?,
            refused: self.u64()?,
        })
    }

    pub(super) fn unplaced(&mut self) -> Option<Unplaced> {
        let (plane, shift) = (self.u32()?, self.i64()?);
        let mut knots = Vec::new();
        for _ in 0..self.u32()? {
            let (first, last, delta) = (self.i64()?, self.i64()?, self.i64()?);
            knots.push(Knot { first, last, delta, ops: self.u64()? });
        }
        let mut lines = Vec::new();
        for _ in 0..self.u32()? {
            let (line, first, mut without) = (self.u32()?, self.event()?, Vec::new());
            for _ in 0..self.u32()? {
                without.push(self.event()?);
            }
            lines.push(UnplacedLine { line, first, without });
        }
        Some(Unplaced { plane, shift, warp: Warp(knots), lines })
    }

    pub(super) fn line(&mut self) -> Option<Line> {
        let (plane, name, kind) = (PlaneId(self.u32()?), self.id()?, self.code(&LINE_KINDS)?);
        let [id, display_id, order] = [self.optional_i64()?, self.optional_i64()?, self.optional_i64()?];
        let start = Ps::new(self.i64()?);
        Some(Line { plane, name, kind, id, display_id, order, start })
    }

    pub(super) fn counter(&mut self) -> Option<CounterTrack> {
        let (plane, name) = (PlaneId(self.u32()?), self.id()?);
        let samples = self.all(|fields| Some((Ps::new(fields.i64()?), f64::from_bits(fields.u64()?))))?;
        let (times, values) = samples.into_iter().unzip();
        Some(CounterTrack { plane, name, times, values })
    }

    pub(super) fn instant(&mut self) -> Option<Instant> {
        let (word, place) = (self.byte()?, self.u32()?);
        let scope = match word {
            0 => InstantScope::Trace,
            1 => InstantScope::Plane(PlaneId(place)),
            2 => InstantScope::Line(LineId(place)),
            _ => return None,
        };
        Some(Instant { scope, name: self.id()?, time: Ps::new(self.i64()?) })
    }

    pub(super) fn flow_point(&mut self) -> Option<FlowPoint> {
        let (flow, role, binding) = (self.u32()?, self.code(&FLOW_ROLES)?, self.code(&FLOW_BINDINGS)?);
        let (line, name, time) = (LineId(self.u32()?), self.id()?, Ps::new(self.i64()?));
        Some(FlowPoint { flow, role, binding, line, name, time })
    }

    /// Reads a program. The program's bytes are the remaining bytes of the frame.
    pub(super) fn program(&mut self) -> Option<HloProto> {
        let (program_id, name) = (self.i64()?, self.id()?);
        let host = u16::try_from(self.u32()?).ok()?;
        Some(HloProto { program_id, name, host, bytes: std::mem::take(&mut self.0).into() })
    }

    pub(super) fn args(&mut self) -> Option<Args> {
        let mut args = Args::default();
        for &text in TextArg::ALL {
            *args.text_mut(text) = self.id()?;
        }
        let mask = self.u32()?;
        for (bit, &number) in (0u32..).zip(NumberArg::ALL) {
            if mask & 1 << bit != 0 {
                *args.number_mut(number) = Some(self.i64()?);
            }
        }
        args.memory = match self.byte()? {
            0 => None,
            _ => Some(MemoryBytes {
                hbm_read: self.i64()?,
                hbm_write: self.i64()?,
                cmem_read: self.i64()?,
                cmem_write: self.i64()?,
                vmem_read: self.i64()?,
                vmem_write: self.i64()?,
            }),
        };
        Some(args)
    }
}
