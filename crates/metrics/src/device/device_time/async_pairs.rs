//! Finds the asynchronous work of a TPU without an `Async XLA Ops` line in the trace. Chrome JSON never contains this
//! line, and other traces contain it for only one chip. The work lasts from the op that starts it to the end of the op
//! that waits for it.
//!
//! ```text
//! XLA Ops   [copy-start.3)[fusion      )[copy-done.3)
//! in flight [---------------------------------------)
//! ```
//!
//! The expression of the waiting op names the starting op. If that op runs repeatedly in a loop, its last run before
//! the waiting op is used.

use rustc_hash::FxHashMap;

use crate::device::devices::{Device, interval};
use base::Ps;
use trace::{ArgsId, Interval, StrId, Trace, in_blocks};

#[derive(Clone, Copy)]
enum Role<'a> {
    Starts(&'a str),
    WaitsFor(&'a str),
    Neither,
}

/// Name and arguments of an op that belongs to a pair.
pub(crate) type PairOp = (StrId, ArgsId);

/// Calls `found(starting op, waiting op, interval)` for every pair of `device`. Takes time linear in the number of ops,
/// because each distinct op is examined once.
pub(crate) fn for_each_pair(trace: &Trace, device: &Device, mut found: impl FnMut(PairOp, PairOp, Interval)) {
    let mut roles: FxHashMap<PairOp, Role<'_>> = FxHashMap::default();
    let mut started: FxHashMap<&str, (PairOp, Ps)> = FxHashMap::default();
    in_blocks(&device.ops, |&id| {
        let Some(op) = trace.events.get(id) else { return };
        let role = *roles.entry((op.name, op.args)).or_insert_with(|| role_of(trace, op.name, op.args));
        match role {
            Role::Neither => {}
            Role::Starts(name) => {
                started.insert(name, ((op.name, op.args), op.start));
            }
            Role::WaitsFor(name) => {
                if let Some((starting, start)) = started.remove(name) {
                    found(starting, (op.name, op.args), Interval::new(start, interval(&op).end));
                }
            }
        }
    });
}

/// Role of an op in a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairRole {
    /// The op starts work that continues while later ops run.
    Starts,
    /// The op waits for the work that another op started.
    Waits,
}

/// Returns the role of an op in a pair. Reads the role from the op's expression, or from its name (`copy-start.3`) if
/// it has no expression.
pub(crate) fn pair_role(trace: &Trace, name: StrId, args: ArgsId) -> Option<PairRole> {
    match role_of(trace, name, args) {
        Role::Starts(_) => Some(PairRole::Starts),
        Role::WaitsFor(_) => Some(PairRole::Waits),
        Role::Neither => {
            let (name, expression) = (trace.text(name), trace.text(trace.args.get(args).long_name));
            if name.contains(" = ") || expression.contains(" = ") {
                return None;
            }
            let stem = name.split('.').next().unwrap_or(name);
            let ends = |end| stem.ends_with(end).then_some(());
            ends("-start").map(|()| PairRole::Starts).or_else(|| ends("-done").map(|()| PairRole::Waits))
        }
    }
}

fn role_of(trace: &Trace, name: StrId, args: ArgsId) -> Role<'_> {
    let expression = trace.text(trace.args.get(args).long_name);
    role(if expression.is_empty() { trace.text(name) } else { expression })
}

/// Reads the role from `%copy-start.3 = (...) copy-start(...)` and `%copy-done.3 = ... copy-done((...) %copy-start.3)`.
/// Uses the opcode and not the name, because an instruction can have any name.
fn role(expression: &str) -> Role<'_> {
    let Some((name, shapes)) = expression.split_once(" = ") else { return Role::Neither };
    if let Some((_, operands)) = shapes.split_once("-done(") {
        let operand = operands.split_once('%').map(|(_, name)| name);
        // The first `%` begins the operand's name: shapes contain no `%`.
        return operand.map_or(Role::Neither, |name| Role::WaitsFor(until_end(name)));
    }
    if ["-start(", " send(", " recv("].iter().any(|opcode| shapes.contains(opcode)) {
        Role::Starts(until_end(name.trim_start_matches('%')))
    } else {
        Role::Neither
    }
}

fn until_end(name: &str) -> &str {
    name.split([')', ',', ' ']).next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ops_name_what_they_wait_for() {
        let start = "%slice-start = ((s8[4]{0}), s8[2]{0}, s32[]) async-start(s8[4]{0} %bitcast.1), calls=%c";
        let done = "%slice-done.7 = s8[2]{0} async-done(((s8[4]{0}), s8[2]{0}, s32[]) %slice-start), calls=%c";
        assert!(matches!(role(start), Role::Starts("slice-start")));
        assert!(matches!(role(done), Role::WaitsFor("slice-start")));
        assert!(matches!(role("%copy.1 = f32[2]{0} copy(f32[2]{0} %copy-start)"), Role::Neither));
        assert!(matches!(role("copy-done.3"), Role::Neither));
        let send = "%send.4 = (f32[2]{0}, u32[], token[]) send(f32[2]{0} %x, token[] %t), channel_id=1";
        let done = "%send-done.5 = token[] send-done((f32[2]{0}, u32[], token[]) %send.4), channel_id=1";
        assert!(matches!(role(send), Role::Starts("send.4")) && matches!(role(done), Role::WaitsFor("send.4")));
    }
}
