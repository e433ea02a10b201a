//! Finds copies and fills on the streams of GPUs.

use base::sort;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::call_site::CallSites;
use super::{CopyClass, CopyKind, One};
use crate::device::devices::{Devices, interval};
use crate::host::launches::{Call, CallIndex, scope_of};
use trace::copies::{bytes, detail, direction};
use trace::{Args, ArgsId, Event, EventColumn, EventId, StrId, Trace, in_blocks};

/// Facts about a copy from its name and arguments.
#[derive(Clone, Debug)]
struct CopyFacts {
    class: Rc<CopyClass>,
    bytes: Option<u64>,
    op: Option<StrId>,
}

struct LaunchedCopy {
    device: usize,
    event: Event,
    facts: CopyFacts,
    call: Option<Call>,
}

pub(super) fn copies(trace: &Trace, devices: &Devices, calls: &CallIndex) -> Vec<One> {
    let mut known: FxHashMap<(StrId, ArgsId), Option<CopyFacts>> = FxHashMap::default();
    let mut found: Vec<LaunchedCopy> = Vec::new();
    for (index, device) in devices.used.iter().enumerate() {
        in_blocks(&device.ops, |&id| {
            let Some(event) = trace.events.get(id) else { return };
            let facts = known.entry((event.name, event.args)).or_insert_with(|| facts(trace, event.name, event.args));
            let Some(facts) = facts else { return };
            let number = trace.events.column(EventColumn::Correlation).get(id);
            let call = number.and_then(|number| calls.find(trace, scope_of(device), number)).map(|(_, call)| call);
            found.push(LaunchedCopy { device: index, event, facts: facts.clone(), call });
        });
    }
    let mut wanted: Vec<EventId> = found.iter().filter_map(|it| it.call).map(|call| call.event).collect();
    sort::sort_by(&mut wanted, Ord::cmp);
    let sites = CallSites::new(trace, devices, &wanted);
    found.into_iter().map(|it| one(trace, &sites, it)).collect()
}

fn one(trace: &Trace, sites: &CallSites, found: LaunchedCopy) -> One {
    let LaunchedCopy { device, event, mut facts, call } = found;
    let mut site = None;
    if let Some((call, call_event)) = call.and_then(|call| Some((call, trace.events.get(call.event)?))) {
        let name = trace.text(call_event.name);
        let args = trace.args_of(&call_event);
        if facts.class.asynchronous.is_none()
            && let Some(asynchronous) = asynchronous(trace, &args).or_else(|| by_call(name))
        {
            facts.class = Rc::new(CopyClass { asynchronous: Some(asynchronous), ..CopyClass::clone(&facts.class) });
        }
        site = sites.site(call.event);
    }
    One {
        class: facts.class,
        device: Some(device),
        interval: interval(&event),
        bytes: facts.bytes,
        wait: None,
        site: site.or(facts.op),
        counts: true,
    }
}

fn facts(trace: &Trace, name: StrId, args_id: ArgsId) -> Option<CopyFacts> {
    let direction = direction(trace, name, args_id)?;
    let args = trace.args.get(args_id);
    let details = trace.text(args.memcpy_details);
    let memory = |key| detail(details, key).unwrap_or("").to_owned();
    let (mut source, mut target) = (memory("kind_src"), memory("kind_dst"));
    if source.is_empty() && target.is_empty() {
        (source, target) = memory_of_name(trace.text(name));
    }
    let class = CopyClass {
        direction,
        kind: CopyKind::Copy,
        source_memory: source,
        target_memory: target,
        asynchronous: asynchronous(trace, &args),
    };
    let op = [args.hlo_op, args.tf_op].into_iter().find(|op| !op.is_empty());
    Some(CopyFacts { class: Rc::new(class), bytes: bytes(trace, &args), op })
}

fn asynchronous(trace: &Trace, args: &Args) -> Option<bool> {
    match detail(trace.text(args.memcpy_details), "async")? {
        "1" | "true" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    }
}

/// Returns true for `cudaMemcpyAsync`, which returns at once, and false for `cudaMemcpy`, which returns when the copy
/// is done. Returns `None` for other names.
fn by_call(name: &str) -> Option<bool> {
    let name = name.to_ascii_lowercase();
    (name.contains("memcpy") || name.contains("memset")).then(|| name.contains("async"))
}

/// Reads the source and target memory from Kineto's name of a copy: `Memcpy HtoD (Pageable -> Device)`.
fn memory_of_name(name: &str) -> (String, String) {
    let inside = name.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(inside, _)| inside);
    match inside.split_once(" -> ") {
        Some((source, target)) => (source.to_ascii_lowercase(), target.to_ascii_lowercase()),
        None => (String::new(), inside.to_ascii_lowercase()),
    }
}
