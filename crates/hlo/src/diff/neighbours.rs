//! Finds candidates for matching around a matched pair: operands with operands, and users with users.

use super::hashes::get;
use super::identity::{is_commutative, mix};
use super::side::{Level, Side};
use crate::instruction::{Instruction, InstructionIndex};

/// Neighbours of an instruction with their keys. Callers reuse the memory of the list for the next pair.
pub(super) type Keyed = Vec<(u64, InstructionIndex)>;

/// Details of neighbours that must be equal in a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Precision {
    /// The framework path. The position of an operand is left out.
    Path,
    /// The position.
    Position,
}

/// Lists the operands for which `is_free` returns true. An instruction that is an operand several times is listed once.
pub(super) fn operands(
    side: &Side<'_>,
    of: &Instruction,
    level: Level,
    precision: Precision,
    is_free: impl Fn(InstructionIndex) -> bool,
    out: &mut Keyed,
) {
    out.clear();
    let labels = &side.at(level).label;
    for (position, &operand) in (0..).zip(&of.operands) {
        if !is_free(operand) {
            continue;
        }
        let place = match precision {
            Precision::Path => side.identity(operand).path,
            // Results may move inside a tuple, so their position in a tuple is used only at looser levels.
            Precision::Position if of.is("tuple") && level != Level::Equal => u64::from(position) + 3,
            Precision::Position if is_commutative(&of.opcode) => get(&side.at(level).far, operand),
            Precision::Position => side.role(of, position, level),
        };
        let scope = scope_of(side, operand, level, precision);
        out.push((mix(mix(get(labels, operand), place), scope), operand));
    }
    unique(out);
}

/// Lists the users for which `is_free` returns true. A user that uses the instruction several times is listed once.
pub(super) fn users(
    side: &Side<'_>,
    of: InstructionIndex,
    level: Level,
    precision: Precision,
    is_free: impl Fn(InstructionIndex) -> bool,
    out: &mut Keyed,
) {
    out.clear();
    let labels = &side.at(level).label;
    for it in side.users(of).iter().filter(|it| is_free(it.user)) {
        let Some(user) = side.module.at(it.user) else { continue };
        let mut key = mix(get(labels, it.user), side.role(user, it.position, level));
        if precision == Precision::Path {
            key = mix(key, side.identity(it.user).path);
        }
        out.push((mix(key, scope_of(side, it.user, level, precision)), it.user));
    }
    unique(out);
}

/// Returns the hash of the scope if a match by opcode alone requires the same scope.
fn scope_of(side: &Side<'_>, index: InstructionIndex, level: Level, precision: Precision) -> u64 {
    if level == Level::SameOpcode && precision == Precision::Position { side.identity(index).scope } else { 0 }
}

/// Sorts the neighbours by key, and keeps one entry for each instruction.
fn unique(list: &mut Keyed) {
    if list.len() > 1 {
        list.sort_unstable_by_key(|it| (it.1, it.0));
        list.dedup_by_key(|it| it.1);
        list.sort_unstable();
    }
}

/// Calls `found` with each pair whose key occurs exactly once in each list. Both lists are sorted by key.
pub(super) fn pairs(a: &[(u64, u32)], b: &[(u64, u32)], mut found: impl FnMut(u32, u32)) {
    groups(a, b, |group_a, group_b| {
        if let (&[(_, one_a)], &[(_, one_b)]) = (group_a, group_b) {
            found(one_a, one_b);
        }
    });
}

/// Calls `found` with the entries of each key that occurs in both lists. Both lists are sorted by key.
pub(super) fn groups(a: &[(u64, u32)], b: &[(u64, u32)], mut found: impl FnMut(&[(u64, u32)], &[(u64, u32)])) {
    let (mut a, mut b) = (a, b);
    while let (Some(first_a), Some(first_b)) = (a.first(), b.first()) {
        let key = first_a.0.min(first_b.0);
        let run = |list: &[(u64, u32)]| list.iter().take_while(|it| it.0 == key).count();
        let ((of_a, rest_a), (of_b, rest_b)) = (a.split_at(run(a)), b.split_at(run(b)));
        if !of_a.is_empty() && !of_b.is_empty() {
            found(of_a, of_b);
        }
        (a, b) = (rest_a, rest_b);
    }
}
