//! Finds the transfers of TPUs.
//!
//! ```text
//! XLA Ops   [copy-start.1]   [fusion.5 ...]   [copy-done.1 (waits)]
//! transfer  [----------------------------------------------------]
//! ```
//!
//! A transfer lasts at most from its `copy-start` to the end of its `copy-done`. The core loses only the time that it
//! waits inside `copy-done`. Copies with both ends on the chip (HBM and VMEM) are covered by the op statistics.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::{CopyClass, CopyKind, One};
use crate::device::device_time::copy_space::{Space, spaces};
use crate::device::devices::{Devices, interval};
use base::Ps;
use facts::host_transfers;
use hlo::DataType;
use trace::copies::Direction;
use trace::{Args, ArgsId, Event, Interval, LineKind, StrId, Trace, in_blocks};

/// Transfer that an op's expression describes.
#[derive(Clone, Copy)]
enum CopyOfExpression {
    /// Starts a copy with one end in host memory.
    Start(Direction, Option<u64>),
    /// Ends the copy that this instruction started.
    Done(StrId),
    Feed(CopyKind),
    Nothing,
}

pub(super) fn copies(trace: &Trace, devices: &Devices) -> Vec<One> {
    let mut known: FxHashMap<ArgsId, CopyOfExpression> = FxHashMap::default();
    let categories = ["infeed", "outfeed", "copy-start", "copy-done"].map(|category| trace.strings.find(category));
    let may_copy =
        |args: ArgsId| trace.args.set(args.index()).is_some_and(|args| categories.contains(&Some(args.hlo_category)));
    let mut classes = Classes::default();
    let mut all = Vec::new();
    for (index, device) in devices.used.iter().enumerate() {
        let mut one = |last: &Event, direction, kind, begun: Ps, bytes| {
            let op = Some(trace.args_of(last).tf_op).filter(|op| !op.is_empty()).unwrap_or(last.name);
            One {
                class: classes.get(direction, kind),
                device: Some(index),
                interval: Interval::new(begun, last.end()),
                bytes,
                wait: (kind == CopyKind::Offload).then_some(last.duration),
                site: Some(op).filter(|op| !op.is_empty()),
                counts: true,
            }
        };
        // Copies in progress, by the instruction that started them.
        let mut open: FxHashMap<StrId, (Direction, Option<u64>, Ps)> = FxHashMap::default();
        // Ends of copies whose start has not been read yet, because an end may come slightly before its start in the
        // file.
        let mut early: FxHashMap<StrId, Event> = FxHashMap::default();
        in_blocks(&device.ops, |&id| {
            let Some(event) = trace.events.get(id).filter(|event| may_copy(event.args)) else { return };
            let transfer = *known.entry(event.args).or_insert_with(|| transfer(trace, &trace.args.get(event.args)));
            match transfer {
                CopyOfExpression::Start(direction, bytes) => {
                    match early.remove(&event.name).filter(|done| done.end() > event.start) {
                        Some(done) => all.push(one(&done, direction, CopyKind::Offload, event.start, bytes)),
                        None => {
                            open.insert(event.name, (direction, bytes, event.start));
                        }
                    }
                }
                CopyOfExpression::Done(start) => match open.remove(&start) {
                    Some((direction, bytes, begun)) => {
                        all.push(one(&event, direction, CopyKind::Offload, begun, bytes));
                    }
                    None => {
                        early.insert(start, event);
                    }
                },
                CopyOfExpression::Feed(kind) => {
                    let direction =
                        if kind == CopyKind::Infeed { Direction::HostToDevice } else { Direction::DeviceToHost };
                    all.push(one(&event, direction, kind, event.start, None));
                }
                CopyOfExpression::Nothing => {}
            }
        });
    }
    all.extend(host_calls(trace, &mut classes));
    all
}

#[derive(Default)]
struct Classes {
    seen: Vec<Rc<CopyClass>>,
}

impl Classes {
    fn get(&mut self, direction: Direction, kind: CopyKind) -> Rc<CopyClass> {
        let known = self.seen.iter().find(|class| (class.direction, class.kind) == (direction, kind));
        known.cloned().unwrap_or_else(|| {
            let class = Rc::new(class(direction, kind));
            self.seen.push(Rc::clone(&class));
            class
        })
    }
}

fn class(direction: Direction, kind: CopyKind) -> CopyClass {
    let (source, target) = match direction {
        Direction::HostToDevice => ("host", "device"),
        Direction::DeviceToHost => ("device", "host"),
        _ => ("", ""),
    };
    CopyClass {
        direction,
        kind,
        source_memory: source.to_owned(),
        target_memory: target.to_owned(),
        asynchronous: (kind == CopyKind::Offload).then_some(true),
    }
}

fn transfer(trace: &Trace, args: &Args) -> CopyOfExpression {
    let expression = trace.text(args.long_name);
    match trace.text(args.hlo_category) {
        "infeed" => CopyOfExpression::Feed(CopyKind::Infeed),
        "outfeed" => CopyOfExpression::Feed(CopyKind::Outfeed),
        "copy-start" => match spaces(expression) {
            Some((Space::Host, Space::Device)) => {
                CopyOfExpression::Start(Direction::HostToDevice, array_bytes(expression))
            }
            Some((Space::Device, Space::Host)) => {
                CopyOfExpression::Start(Direction::DeviceToHost, array_bytes(expression))
            }
            _ => CopyOfExpression::Nothing,
        },
        "copy-done" => {
            // `... %copy-start.2)`: an event has this name if the start is in the trace.
            let operand = expression.rsplit_once('%').map_or("", |(_, operand)| operand.trim_end_matches(')'));
            trace
                .strings
                .find(operand)
                .filter(|id| !id.is_empty())
                .map_or(CopyOfExpression::Nothing, CopyOfExpression::Done)
        }
        _ => CopyOfExpression::Nothing,
    }
}

/// Returns the bytes of the first array of an expression (`f32[5,1024]{...}`), without padding. `bytes_accessed` is not
/// usable, because it covers both ends of some copies but only one end of other copies.
fn array_bytes(expression: &str) -> Option<u64> {
    let (_, shape) = expression.split_once(" = ")?;
    let shape = shape.trim_start_matches('(');
    let (data_type, rest) = shape.split_once('[')?;
    let (dimensions, _) = rest.split_once(']')?;
    let mut elements = 1u64;
    for size in dimensions.split(',').filter(|size| !size.is_empty()) {
        elements = elements.checked_mul(size.trim_start_matches("<=").parse().ok()?)?;
    }
    elements.checked_mul(DataType::from_name(data_type)?.bytes())
}

fn host_calls(trace: &Trace, classes: &mut Classes) -> Vec<One> {
    let names: Vec<(StrId, Direction)> = host_transfers::all()
        .filter_map(|(name, label)| {
            let direction = Direction::ALL.into_iter().find(|direction| direction.label() == label)?;
            Some((trace.strings.find(name)?, direction))
        })
        .collect();
    if names.is_empty() {
        return Vec::new();
    }
    let mut calls = Vec::new();
    trace.events.for_each(|_, event| {
        let Some(&(_, direction)) = names.iter().find(|(known, _)| *known == event.name) else { return };
        let on_host = trace.lines.get(event.line.index()).is_some_and(|line| line.kind == LineKind::Host);
        if !on_host {
            return;
        }
        let bytes = trace.args_of(&event).copy_bytes.and_then(|bytes| u64::try_from(bytes).ok());
        calls.push(One {
            class: classes.get(direction, CopyKind::HostCall),
            device: None,
            interval: interval(&event),
            bytes,
            wait: None,
            site: None,
            counts: true,
        });
    });
    calls
}
