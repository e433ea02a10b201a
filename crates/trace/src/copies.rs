//! Recognises copies and fills on GPU streams, and finds the direction and the size of each copy.
//!
//! Some collectors record direction and size only on the host call that launches the copy. For example, ROCm runs
//! copies as kernels called `__amd_rocclr_copyBuffer`, which `hipMemcpyHtoDAsync` launches. After a trace was read,
//! [`complete`] looks up the host call of each copy that lacks a direction or a size, and writes the call's values into
//! the arguments of the copy. Code that runs later then needs only the name and the arguments of a copy.

use rustc_hash::FxHashMap;

use super::Platform;
use super::{Args, ArgsId, EventColumn, EventId, Line, LineKind, PlaneKind, StrId, Trace};
use base::Ps;

/// Source and target of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Host memory to device memory.
    HostToDevice,
    /// Device memory to host memory.
    DeviceToHost,
    /// Within one device.
    WithinDevice,
    /// A copy from one device to another.
    BetweenDevices,
    /// A fill.
    Fill,
    /// A copy whose direction the trace does not record.
    Other,
}

impl Direction {
    /// All directions, in report order.
    pub const ALL: [Direction; 6] = [
        Direction::HostToDevice,
        Direction::DeviceToHost,
        Direction::WithinDevice,
        Direction::BetweenDevices,
        Direction::Fill,
        Direction::Other,
    ];

    /// Returns the name that the report uses.
    pub fn label(self) -> &'static str {
        match self {
            Direction::HostToDevice => "h2d",
            Direction::DeviceToHost => "d2h",
            Direction::WithinDevice => "d2d",
            Direction::BetweenDevices => "p2p",
            Direction::Fill => "memset",
            Direction::Other => "other",
        }
    }
}

/// Spellings of the directions without punctuation, in lower case: CUPTI (`MemcpyH2D`), CUDA (`MEMCPYHtoD`, `Memcpy
/// DtoH (Device -> Pageable)`), HIP (`CopyHostToDevice`, `hipMemcpyPeer`).
const SPELLINGS: [(&str, Direction); 15] = [
    ("memset", Direction::Fill),
    ("fillbuffer", Direction::Fill),
    ("peertopeer", Direction::BetweenDevices),
    ("p2p", Direction::BetweenDevices),
    ("ptop", Direction::BetweenDevices),
    ("peer", Direction::BetweenDevices),
    ("hosttodevice", Direction::HostToDevice),
    ("h2d", Direction::HostToDevice),
    ("htod", Direction::HostToDevice),
    ("devicetohost", Direction::DeviceToHost),
    ("d2h", Direction::DeviceToHost),
    ("dtoh", Direction::DeviceToHost),
    ("devicetodevice", Direction::WithinDevice),
    ("d2d", Direction::WithinDevice),
    ("dtod", Direction::WithinDevice),
];

/// Prefixes of the names of copies and fills, without punctuation and in lower case.
const STARTS: [&str; 8] = [
    "memcpy",
    "memset",
    "hipmem",
    "copyhostto",
    "copydeviceto",
    "copypeerto",
    "amdrocclrcopybuffer",
    "amdrocclrfillbuffer",
];

/// Returns the direction of a GPU copy or fill, or `None` for any other op. The op's name takes precedence over
/// `memcpy_details`. The host call that launched the op is used only if neither the op's name nor `memcpy_details`
/// contains a direction (see [`complete`]).
pub fn direction(trace: &Trace, name: StrId, args: ArgsId) -> Option<Direction> {
    let args = trace.args.get(args);
    let name = trace.text(name);
    let call = name.split('(').next().unwrap_or(name);
    let letters = || call.chars().take(64).filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase());
    // The first letter is enough to reject most kernels.
    let starts_with = |start: &&str| letters().take(start.len()).eq(start.chars());
    let is_copy =
        STARTS.iter().any(starts_with) || !args.memcpy_details.is_empty() || is_copy_cat(trace.text(args.cat));
    if !is_copy {
        return None;
    }
    let call: String = letters().collect();
    let named = SPELLINGS.iter().find(|(spelling, _)| call.contains(spelling)).map(|&(_, direction)| direction);
    let direction = named.or_else(|| from_details(trace.text(args.memcpy_details)));
    direction.or_else(|| of_call(trace, args.copy_call)).or(Some(Direction::Other))
}

/// Returns the direction that the name of a host call contains (`cuMemcpyHtoDAsync_v2`, `hipMemsetAsync`).
fn of_call(trace: &Trace, name: StrId) -> Option<Direction> {
    let call: String = trace.text(name).chars().take(64).map(|c| c.to_ascii_lowercase()).collect();
    let is_copy = call.contains("memcpy") || call.contains("memset");
    SPELLINGS.iter().find(|(spelling, _)| is_copy && call.contains(spelling)).map(|&(_, direction)| direction)
}

fn is_copy_cat(cat: &str) -> bool {
    ["gpu_memcpy", "gpu_memset", "memcpy", "memset"].iter().any(|known| cat.eq_ignore_ascii_case(known))
}

/// Returns the direction that a text such as `kind_src:pageable kind_dst:device` contains.
fn from_details(details: &str) -> Option<Direction> {
    let host = |kind: &str| matches!(kind, "pageable" | "pinned" | "host");
    let device = |kind: &str| matches!(kind, "device" | "array" | "device_static");
    let (source, target) = (detail(details, "kind_src")?, detail(details, "kind_dst")?);
    match () {
        () if host(source) && device(target) => Some(Direction::HostToDevice),
        () if device(source) && host(target) => Some(Direction::DeviceToHost),
        () if device(source) && device(target) => Some(Direction::WithinDevice),
        () => None,
    }
}

/// Returns the value of `key` in a text of the form `key:value key:value`.
pub fn detail<'a>(details: &'a str, key: &str) -> Option<&'a str> {
    details.split_ascii_whitespace().find_map(|pair| pair.strip_prefix(key)?.strip_prefix(':'))
}

/// Returns the size of a copy, in bytes. A size of 0 is treated as unknown, because ROCm writes 0 for unknown sizes.
pub fn bytes(trace: &Trace, args: &Args) -> Option<u64> {
    let stated = detail(trace.text(args.memcpy_details), "size").and_then(|text| text.parse::<u64>().ok());
    let counted = || args.copy_bytes.and_then(|bytes| u64::try_from(bytes).ok());
    stated.filter(|&bytes| bytes > 0).or_else(counted).filter(|&bytes| bytes > 0)
}

/// Completes copies that lack a direction or a size with data from the host calls that launched them. The host call of
/// a copy is the first host event with the same correlation id. The time is linear in the number of events. Does
/// nothing if every copy is complete.
pub fn complete(trace: &mut Trace) {
    let incomplete: Vec<bool> = (0..trace.events.kinds().len()).map(|kind| is_incomplete(trace, kind)).collect();
    if !incomplete.contains(&true)
        || trace.events.column(EventColumn::Correlation).is_empty()
        || !trace.events.is_whole()
    {
        return;
    }
    let mut copies: Vec<(EventId, u16, i64)> = Vec::new();
    let mut calls: FxHashMap<(u16, i64), Option<(Ps, EventId)>> = FxHashMap::default();
    let hosts: Vec<(u16, bool)> = trace.lines.iter().map(|line| host_of(trace, line)).collect();
    trace.events.column(EventColumn::Correlation).for_each(|id, number| {
        let Some((kind, _)) = trace.events.kind_and_time(id).filter(|(kind, _)| incomplete.get(*kind) == Some(&true))
        else {
            return;
        };
        let line = trace.events.kinds().get(kind).map_or(0, |kind| kind.line.index());
        let host = hosts.get(line).map_or(0, |&(host, _)| host);
        copies.push((id, host, number));
        calls.insert((host, number), None);
    });
    trace.events.column(EventColumn::Correlation).for_each(|id, number| {
        let Some((kind, time)) = trace.events.kind_and_time(id) else { return };
        let line = trace.events.kinds().get(kind).map_or(0, |kind| kind.line.index());
        let Some(&(host, true)) = hosts.get(line) else { return };
        let Some(call) = calls.get_mut(&(host, number)) else { return };
        if call.is_none_or(|(start, _)| time.start < start) {
            *call = Some((time.start, id));
        }
    });
    for (id, host, number) in copies {
        let Some(&Some((_, call))) = calls.get(&(host, number)) else { continue };
        let Some(args) = completed(trace, id, call) else { continue };
        let args = trace.args.intern(&args);
        trace.events.set_args(id, args);
    }
}

/// Returns true if events of this kind are copies or fills that lack a direction or a size.
fn is_incomplete(trace: &Trace, kind: usize) -> bool {
    let Some(kind) = trace.events.kinds().get(kind) else { return false };
    let on_gpu = trace.lines.get(kind.line.index()).is_some_and(|line| {
        let plane = trace.plane_of(line).map(|plane| plane.kind);
        line.kind == LineKind::DeviceOps && matches!(plane, Some(PlaneKind::Device { platform: Platform::Gpu, .. }))
    });
    on_gpu
        && direction(trace, kind.name, kind.args).is_some_and(|direction| {
            direction == Direction::Other || bytes(trace, &trace.args.get(kind.args)).is_none()
        })
}

/// Returns the host number of a line, and true if it is a host line.
fn host_of(trace: &Trace, line: &Line) -> (u16, bool) {
    (trace.plane_of(line).map_or(0, |plane| plane.host), line.kind == LineKind::Host)
}

/// Returns the arguments of a copy, completed with data from its host call. Returns `None` if the host call adds
/// nothing.
fn completed(trace: &Trace, copy: EventId, call: EventId) -> Option<Args> {
    let (copy, call) = (trace.events.get(copy)?, trace.events.get(call)?);
    let old = trace.args_of(&copy);
    let mut new = old;
    if direction(trace, copy.name, copy.args) == Some(Direction::Other) && of_call(trace, call.name).is_some() {
        new.copy_call = call.name;
    }
    if bytes(trace, &old).is_none() {
        new.copy_bytes = bytes(trace, &trace.args_of(&call)).and_then(|bytes| i64::try_from(bytes).ok());
    }
    (new != old).then_some(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::TraceBuilder;

    /// ```text
    /// host     [hipMemcpyHtoDAsync 1, 64 bytes][hipMemcpyDtoDAsync 2][hipLaunchHostFunc 3]
    /// stream   [copyBuffer 1) [copyBuffer 2) [copyBuffer 3) [copyBuffer 4) [copyBuffer) [kernel 1)
    /// ```
    #[test]
    fn one_copy_kernel_is_what_each_of_its_calls_says() {
        let mut b = TraceBuilder::new();
        let stream = b.line("/device:GPU:0", "Stream #1");
        let thread = b.line("/host:CPU", "python");
        b.event(thread, "hipMemcpyHtoDAsync", 0, 5).correlation(1).memcpy_details("size:64 dest:0 async:1");
        b.event(thread, "hipMemcpyDtoDAsync", 5, 5).correlation(2).memcpy_details("kind:Unknown size:0 dest:0 async:1");
        b.event(thread, "hipLaunchHostFunc", 10, 5).correlation(3);
        for number in 1..=4 {
            b.event(stream, "__amd_rocclr_copyBuffer.kd", 10 * number, 4).correlation(number);
        }
        b.event(stream, "__amd_rocclr_copyBuffer.kd", 50, 4);
        b.event(stream, "gemm", 60, 4).correlation(1);
        let mut trace = b.build();
        let directions = |trace: &Trace| {
            let on_stream = trace.events.iter().filter(|event| event.line == stream);
            let of_event = |event: super::super::Event| {
                (direction(trace, event.name, event.args), bytes(trace, &trace.args_of(&event)))
            };
            on_stream.map(of_event).collect::<Vec<_>>()
        };
        let expected = [
            (Some(Direction::HostToDevice), Some(64)),
            (Some(Direction::WithinDevice), None),
            (Some(Direction::Other), None),
            (Some(Direction::Other), None),
            (Some(Direction::Other), None),
            (None, None),
        ];
        assert_eq!(directions(&trace), expected);
        let sets = trace.args.len();
        complete(&mut trace);
        assert_eq!(
            (directions(&trace).as_slice(), trace.args.len()),
            (&expected[..], sets),
            "a second time changes nothing"
        );
    }

    #[test]
    fn what_a_copy_says_itself_wins_over_its_call() {
        let mut b = TraceBuilder::new();
        let stream = b.line("/device:GPU:0", "Stream #1");
        let thread = b.line("/host:CPU", "python");
        b.event(thread, "cudaMemcpyHtoDAsync", 0, 5).correlation(1).memcpy_details("size:64 dest:0 async:1");
        b.event(stream, "MemcpyD2H", 10, 4)
            .correlation(1)
            .memcpy_details("size:0")
            .args(|args| args.copy_bytes = Some(8));
        let trace = b.build();
        let copy = trace.events.get(EventId(1)).unwrap();
        assert_eq!(direction(&trace, copy.name, copy.args), Some(Direction::DeviceToHost));
        assert_eq!(bytes(&trace, &trace.args_of(&copy)), Some(8));
    }
}
