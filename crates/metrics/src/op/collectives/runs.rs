//! Finds the runs of collectives in the ops of a device. An asynchronous run lasts from its start op to the end of its
//! done op.

use rustc_hash::FxHashMap;

use super::kind;
use crate::device::devices::{Device, Devices};
use crate::op::categories::Categorizer;
use base::Ps;
use trace::{ArgsId, EventId, Interval, StrId, Trace, in_blocks};

/// Role of all ops with the same name and arguments.
#[derive(Clone, Copy)]
enum Role {
    /// A collective that is a single op, with its kind.
    Whole(&'static str),
    /// The start op of an asynchronous collective, with its kind.
    Start(&'static str),
    Done,
}

pub(super) struct SeenRun {
    /// Last event of the run.
    pub event: EventId,
    /// Name and arguments of the run's first event.
    pub name: StrId,
    pub args: ArgsId,
    /// `all-reduce`, `all-gather`, ...
    pub kind: &'static str,
    /// Time of the run.
    pub interval: Interval,
}

/// Finds the runs of collectives on one device after another.
pub(super) struct Runs<'t> {
    categories: Categorizer<'t>,
    roles: FxHashMap<(StrId, ArgsId), Role>,
}

impl<'t> Runs<'t> {
    pub(super) fn new(trace: &'t Trace, devices: &'t Devices) -> Runs<'t> {
        Runs { categories: Categorizer::new(trace, &devices.recognised), roles: FxHashMap::default() }
    }

    /// Calls `visit` with each run of a device, in the order of their ends.
    pub(super) fn for_each(&mut self, trace: &'t Trace, device: &Device, mut visit: impl FnMut(SeenRun)) {
        let (categories, roles) = (&mut self.categories, &mut self.roles);
        let mut started: FxHashMap<&str, (StrId, ArgsId, Ps)> = FxHashMap::default();
        in_blocks(&device.ops, |&id| {
            let Some(event) = trace.events.get(id) else { return };
            if !categories.communicates(event.name, event.args) {
                return;
            }
            let key = (event.name, event.args);
            let role = *roles.entry(key).or_insert_with(|| role(trace, categories, event.name, event.args));
            let (name, args, kind, interval) = match role {
                Role::Start(_) => {
                    started.insert(pair_name(trace.text(event.name)), (event.name, event.args, event.start));
                    return;
                }
                Role::Done => {
                    let Some((name, args, start)) = started.remove(pair_name(trace.text(event.name))) else { return };
                    let Some(Role::Start(kind)) = roles.get(&(name, args)).copied() else { return };
                    (name, args, kind, Interval::new(start, event.end()))
                }
                Role::Whole(kind) => (event.name, event.args, kind, Interval::new(event.start, event.end())),
            };
            visit(SeenRun { event: id, name, args, kind, interval });
        });
    }
}

fn role(trace: &Trace, categories: &mut Categorizer<'_>, name: StrId, args: ArgsId) -> Role {
    let category = categories.of(name, args);
    let text = trace.text(name);
    let instruction = trace.text(trace.args.get(args).hlo_op);
    let kind = [text, instruction, categories.name(category)].into_iter().find_map(kind::of_instruction);
    let stated = trace.text(trace.args.get(args).kernel_details);
    let stated = stated.split(' ').find_map(|word| kind::of_torch(word.strip_prefix("collective:")?));
    if let Some(kind) = stated {
        return Role::Whole(kind);
    }
    // One NCCL kernel (`ncclDevKernel_Generic`) runs several kinds. The call that launched it names the kind, if it was
    // captured.
    let kind = kind::nccl(text).map(|nccl| nccl.kind).or(kind).unwrap_or(kind::UNKNOWN);
    // On a GPU the kernel of a start is the collective itself.
    if !instruction.is_empty() && instruction != text {
        return Role::Whole(kind);
    }
    if text.contains("-start") {
        Role::Start(kind)
    } else if text.contains("-done") {
        Role::Done
    } else {
        Role::Whole(kind)
    }
}

/// Returns the part of the name that the start op and the done op share: `3` for `all-gather-start.3`.
fn pair_name(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, number)| number)
}
