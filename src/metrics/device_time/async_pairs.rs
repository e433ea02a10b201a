//! Asynchronous work of a TPU whose trace has no `Async XLA Ops` line (JSON; all chips but one): from the op that starts it to the end of
//! the op that waits for it.
//!
//! ```text
//! XLA Ops   [copy-start.3)[fusion      )[copy-done.3)
//! in flight [---------------------------------------)
//! ```
//!
//! The expression of the waiting op names the one that it waits for; in a loop the last one of that name is meant.

use rustc_hash::FxHashMap;

use crate::metrics::devices::{Device, interval};
use crate::trace::{ArgsId, Interval, StrId, Trace, in_blocks};
use crate::units::Ps;

/// What an op does in such a pair.
#[derive(Clone, Copy)]
enum Role<'a> {
    Starts(&'a str),
    WaitsFor(&'a str),
    Neither,
}

/// Calls `found(name, args, interval)` for every pair of `device`, with the name and arguments of the waiting op. Linear in the number of
/// ops; each distinct one is looked at once.
pub(super) fn for_each_pair(trace: &Trace, device: &Device, mut found: impl FnMut(StrId, ArgsId, Interval)) {
    let mut roles: FxHashMap<(StrId, ArgsId), Role<'_>> = FxHashMap::default();
    let mut started: FxHashMap<&str, Ps> = FxHashMap::default();
    in_blocks(&device.ops, |&id| {
        let Some(op) = trace.events.get(id) else { return };
        let role = *roles.entry((op.name, op.args)).or_insert_with(|| {
            let expression = trace.text(trace.args.get(op.args).long_name);
            role(if expression.is_empty() { trace.text(op.name) } else { expression })
        });
        match role {
            Role::Neither => {}
            Role::Starts(name) => {
                started.insert(name, op.start);
            }
            Role::WaitsFor(name) => {
                if let Some(start) = started.remove(name) {
                    found(op.name, op.args, Interval::new(start, interval(&op).end));
                }
            }
        }
    });
}

/// From `%copy-start.3 = (...) copy-start(...)` and `%copy-done.3 = ... copy-done((...) %copy-start.3)`. The opcode tells, since an
/// instruction can have any name.
fn role(expression: &str) -> Role<'_> {
    let Some((name, shapes)) = expression.split_once(" = ") else { return Role::Neither };
    if let Some((_, operands)) = shapes.split_once("-done(") {
        let operand = operands.split_once('%').map(|(_, name)| name);
        // Operands have no name in front of them but their own: shapes hold no `%`.
        return operand.map_or(Role::Neither, |name| Role::WaitsFor(until_end(name)));
    }
    if shapes.contains("-start(") { Role::Starts(until_end(name.trim_start_matches('%'))) } else { Role::Neither }
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
    }
}
