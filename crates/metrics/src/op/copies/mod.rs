//! Measures copies and fills: between host and device, within a device and between devices. Also finds the memory that
//! a copy uses, whether the host waited for the copy, and the span or op that requested it.
//!
//! * GPU: the copy and fill events of the streams ([`trace::copies`]).
//! * TPU: `copy-start`/`copy-done` pairs with one end in host memory (offloaded arrays), `infeed` and `outfeed`, and
//!   the host's own calls. The time of a host's call is host time, because the transfer that the call starts has no
//!   event of its own.
//! * CPU: nothing is copied to a device.

mod call_site;
mod gpu;
mod per_step;
mod tpu;

pub use per_step::StepCopies;

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::device::devices::{Devices, holds};
use crate::host::launches::CallIndex;
use crate::op::transfers;
use crate::step::steps::Steps;
use crate::step::window::Window;
use base::{Ps, sort};
use trace::copies::Direction;
use trace::{Interval, IntervalSet, Platform, StrId, Trace};

/// Kind of transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CopyKind {
    /// A copy or fill on a GPU stream.
    Copy,
    /// An array that a TPU program keeps in host memory, from `copy-start` to the end of `copy-done`.
    Offload,
    /// `infeed` of a TPU program.
    Infeed,
    /// `outfeed` of a TPU program.
    Outfeed,
    /// A call on the host. The time is the duration of the call, not of the transfer.
    HostCall,
}

impl CopyKind {
    /// Returns the name that the table uses.
    pub fn label(self) -> &'static str {
        match self {
            CopyKind::Copy => "copy",
            CopyKind::Offload => "host offload",
            CopyKind::Infeed => "infeed",
            CopyKind::Outfeed => "outfeed",
            CopyKind::HostCall => "host call",
        }
    }

    /// Returns true if the transfers' time is device time.
    pub fn on_device(self) -> bool {
        self != CopyKind::HostCall
    }
}

/// Properties that all transfers in a row have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CopyClass {
    /// Direction of the transfer.
    pub direction: Direction,
    /// Kind of the transfer.
    pub kind: CopyKind,
    /// Memory that the transfer reads (`pageable`, `pinned`, `device`). Empty if the trace does not record it.
    pub source_memory: String,
    /// Memory that the transfer writes. Empty if the trace does not record it.
    pub target_memory: String,
    /// True if the calling thread continued without waiting for the transfer. `None` if the trace does not record it.
    pub asynchronous: Option<bool>,
}

/// All transfers of one class.
#[derive(Clone, Debug)]
pub struct CopyRow {
    /// Class of the transfers.
    pub class: CopyClass,
    /// Number of transfers.
    pub count: u64,
    /// Sum of the transfers' durations.
    pub time: Ps,
    /// Duration of the shortest transfer.
    pub min: Ps,
    /// Duration of the longest transfer.
    pub max: Ps,
    /// Bytes of the transfers of known size. `None` if no size is known.
    pub bytes: Option<u64>,
    /// Number of transfers of known size.
    pub sized_count: u64,
    /// Time during which at least one transfer of known size is in progress, summed over devices.
    pub sized_time: Ps,
    /// Time that the core waited in `copy-done` (host offload).
    pub wait: Option<Ps>,
    /// Origin of most of the transfer time: the host span that encloses the call, or the op if no span encloses the
    /// call.
    pub call_site: Option<String>,
}

impl CopyRow {
    /// Returns the bytes divided by the time of their transfer, in gigabytes (1e9) per second.
    pub fn bandwidth_gb_per_sec(&self) -> Option<f64> {
        bandwidth_gb_per_sec(self.bytes?, self.sized_time)
    }
}

/// Returns the bandwidth in gigabytes (1e9) per second, or `None` if the time is zero.
pub fn bandwidth_gb_per_sec(bytes: u64, time: Ps) -> Option<f64> {
    (time > Ps::ZERO).then(|| bytes as f64 / (time.as_ps() as f64 / 1e3))
}

/// The transfers of a run.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    /// Platform that ran the transfers.
    pub platform: Option<Platform>,
    /// Rows by direction and kind, in the order of [`Direction::ALL`].
    pub rows: Vec<CopyRow>,
    /// Copies by step. Empty if steps are unknown or nothing was copied.
    pub steps: Vec<StepCopies>,
}

/// A transfer. A run may have a million transfers, so transfers of the same class share one [`CopyClass`].
struct One {
    class: Rc<CopyClass>,
    /// Index into [`Devices::used`]. `None` for host calls.
    device: Option<usize>,
    interval: Interval,
    bytes: Option<u64>,
    wait: Option<Ps>,
    site: Option<StrId>,
    /// True if the transfer starts in the window. False if the transfer started before the window.
    counts: bool,
}

impl One {
    /// Returns the part of the transfer inside the window. For host calls, this is the part inside the window's `hull`,
    /// which is the measured time of hosts.
    fn inside(self, devices: &Devices, window: &Window, hull: &IntervalSet) -> Option<One> {
        let set = match self.device.and_then(|device| Some((devices.used.get(device)?, window.of_device.get(device)?)))
        {
            Some((device, set)) if holds(set, device.span) => return Some(self),
            Some((_, set)) => set,
            None => hull,
        };
        let (counts, time) = (set.contains(self.interval.start), set.length_within(self.interval));
        if !counts && time == Ps::ZERO {
            return None;
        }
        let inside = set.clip(self.interval).span().unwrap_or(self.interval);
        let wait = self.wait.map(|wait| set.length_within(Interval::new(self.interval.end - wait, self.interval.end)));
        let bytes = self.bytes.map(|bytes| transfers::part_of(bytes, time, self.interval.length()));
        Some(One { interval: inside, bytes, wait, counts, ..self })
    }
}

impl Copies {
    /// Measures the copies of `trace`. `calls` contains the launch calls of `trace`. Rows cover the `window`, or all
    /// transfers if `window` is `None`. Steps cover the whole capture.
    pub fn new(trace: &Trace, devices: &Devices, steps: &Steps, calls: &CallIndex, window: Option<&Window>) -> Copies {
        let all = match devices.platform {
            Some(Platform::Gpu) => gpu::copies(trace, devices, calls),
            Some(Platform::Tpu) => tpu::copies(trace, devices),
            _ => Vec::new(),
        };
        let steps = per_step::by_step(&all, steps);
        let inside = match window {
            Some(window) => {
                // Computed only once, because it reads all devices, and each host makes many calls.
                let hull = IntervalSet::union_of(window.hull());
                all.into_iter().filter_map(|one| one.inside(devices, window, &hull)).collect()
            }
            None => all,
        };
        Copies { platform: devices.platform, steps, rows: rows(trace, &inside) }
    }

    /// Returns the rows whose time is device time.
    pub fn on_device(&self) -> impl Iterator<Item = &CopyRow> {
        self.rows.iter().filter(|row| row.class.kind.on_device())
    }
}

/// Adds up transfers by class. There are only a few classes but many transfers, so one pass finds the class of each
/// transfer, and a second pass adds the transfers up.
fn rows(trace: &Trace, all: &[One]) -> Vec<CopyRow> {
    let mut classes: Vec<&Rc<CopyClass>> = Vec::new();
    let mut members: Vec<Vec<&One>> = Vec::new();
    for one in all {
        let same = |class: &&Rc<CopyClass>| Rc::ptr_eq(class, &one.class) || **class == one.class;
        let at = classes.iter().position(same).unwrap_or_else(|| {
            classes.push(&one.class);
            members.push(Vec::new());
            classes.len() - 1
        });
        if let Some(list) = members.get_mut(at) {
            list.push(one);
        }
    }
    let mut rows: Vec<CopyRow> = members.iter().filter_map(|list| row(trace, list)).collect();
    sort::sort_by(&mut rows, |a, b| a.class.cmp(&b.class));
    rows
}

fn row(trace: &Trace, list: &[&One]) -> Option<CopyRow> {
    let class = CopyClass::clone(&list.first()?.class);
    let lengths = || list.iter().map(|one| one.interval.length());
    let sized: Vec<&&One> = list.iter().filter(|one| one.bytes.is_some()).collect();
    let mut by_device: Vec<(Option<usize>, Interval)> = sized.iter().map(|one| (one.device, one.interval)).collect();
    sort::sort_by_key(&mut by_device, |&(device, _)| device);
    let of_devices = by_device.chunk_by(|a, b| a.0 == b.0);
    let busy = |of_device: &[(Option<usize>, Interval)]| {
        IntervalSet::union_of(of_device.iter().map(|&(_, interval)| interval)).length()
    };
    let bytes = sized.iter().filter_map(|one| one.bytes).fold(0u64, u64::saturating_add);
    let waits = || list.iter().filter_map(|one| one.wait);
    Some(CopyRow {
        class,
        count: list.iter().filter(|one| one.counts).count() as u64,
        time: lengths().sum(),
        min: lengths().min().unwrap_or_default(),
        max: lengths().max().unwrap_or_default(),
        bytes: (!sized.is_empty()).then_some(bytes),
        sized_count: sized.iter().filter(|one| one.counts).count() as u64,
        sized_time: of_devices.map(busy).sum(),
        wait: waits().next().map(|_| waits().sum()),
        call_site: main_site(trace, list),
    })
}

/// Returns the call site with the most time. If several call sites take the same time, returns the first in
/// alphabetical order.
fn main_site(trace: &Trace, list: &[&One]) -> Option<String> {
    let mut sites: FxHashMap<StrId, Ps> = FxHashMap::default();
    for one in list {
        if let Some(site) = one.site {
            *sites.entry(site).or_default() += one.interval.length();
        }
    }
    let named = sites.into_iter().map(|(site, time)| (time, trace.text(site)));
    named.max_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.cmp(a.1))).map(|(_, site)| site.to_owned())
}

#[cfg(test)]
mod tests;
