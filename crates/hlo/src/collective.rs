//! Collectives: the devices that an instruction communicates with, and the bytes that it moves.

use super::replica_groups::{MAX_LISTED, group_size, lists};
use super::{Instruction, Module};

/// A collective, or a send or receive.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// Type of the operation: `all-reduce`, `all-gather`, `reduce-scatter`, `all-to-all`, `ragged-all-to-all`,
    /// `collective-broadcast`, `collective-permute`, `send` or `recv`.
    pub kind: &'static str,
    /// Number of devices in the largest group. `None` if the module does not record it, and for permutes, sends and
    /// receives.
    pub group_size: Option<u32>,
    /// Members of each group. `None` if the module does not list them. Depending on the module, the members are
    /// replicas, partitions or devices ([`Module::devices`]). In a typical program, with one process and many devices,
    /// they are devices.
    pub replica_groups: Option<Vec<Vec<u32>>>,
    /// Bytes of the operands, on one device.
    pub operand_bytes: u64,
    /// Bytes of the result, on one device.
    pub result_bytes: u64,
    /// `(source, target)` pairs of a collective-permute, or of a send or receive that records them.
    pub pairs: Vec<(u32, u32)>,
}

const KINDS: &[&str] = &[
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "ragged-all-to-all",
    "collective-broadcast",
    "collective-permute",
    "send",
    "recv",
];

/// Maximum number of steps from a `-done` instruction through updates back to the start.
const DEPTH: u32 = 64;

/// Returns the kind ([`Collective::kind`]) of the collective that [`collective`] returns for an instruction. Returns
/// `None` for other instructions.
pub fn collective_kind(module: &Module, instruction: &Instruction) -> Option<&'static str> {
    resolve(module, instruction, DEPTH).map(|(kind, _)| kind)
}

/// Returns the collective of an instruction: the instruction itself, the operation inside an `async-start` or a fusion, or the
/// operation that a `-done` waits for. Returns `None` for other instructions.
pub fn collective(module: &Module, instruction: &Instruction) -> Option<Collective> {
    let (kind, found) = resolve(module, instruction, DEPTH)?;
    let attributes = found.attributes();
    let listed = attributes.replica_groups.as_ref().and_then(lists);
    let grouped = !matches!(kind, "collective-permute" | "send" | "recv");
    let recorded = attributes.replica_groups.as_ref().and_then(group_size);
    // Groups that cannot be listed do not mean one group of all devices.
    let of_all = || if grouped && recorded.is_none() { everyone(module, found) } else { None };
    let replica_groups = listed.filter(|_| grouped).or_else(of_all);
    let largest = replica_groups.as_ref().and_then(|groups| groups.iter().map(Vec::len).max());
    Some(Collective {
        kind,
        group_size: largest.and_then(|size| u32::try_from(size).ok()).or(recorded.filter(|_| grouped)),
        replica_groups,
        operand_bytes: operand_bytes(module, kind, found),
        result_bytes: result_bytes(found),
        pairs: pairs(kind, found),
    })
}

/// Returns the kind of an instruction that is itself a collective.
fn kind(instruction: &Instruction) -> Option<&'static str> {
    let opcode = instruction.opcode.as_str();
    KINDS.iter().copied().find(|&kind| kind == opcode || opcode.strip_suffix("-start") == Some(kind))
}

/// Returns the collective's kind and its instruction.
fn resolve<'m>(
    module: &'m Module,
    instruction: &'m Instruction,
    depth: u32,
) -> Option<(&'static str, &'m Instruction)> {
    let depth = depth.checked_sub(1)?;
    if let Some(kind) = kind(instruction) {
        return Some((kind, instruction));
    }
    let opcode = instruction.opcode.as_str();
    match opcode {
        "fusion" | "async-start" => {
            let inside = module.instructions_of(module.called(instruction, 0)?);
            inside.iter().find_map(|inner| Some((kind(inner)?, inner)))
        }
        "async-update" | "async-done" => resolve(module, module.operand(instruction, 0)?, depth),
        _ if opcode.strip_suffix("-done").is_some_and(|kind| KINDS.contains(&kind)) => {
            resolve(module, module.operand(instruction, 0)?, depth)
        }
        _ => None,
    }
}

/// Returns the bytes of the operands. A send moves only its first operand. The other operands are tokens and, for
/// ragged operations, offsets.
fn operand_bytes(module: &Module, kind: &str, instruction: &Instruction) -> u64 {
    let operands = module.operands(instruction);
    let counted = match kind {
        "send" | "ragged-all-to-all" => 1,
        "recv" => 0,
        _ => usize::MAX,
    };
    operands.take(counted).map(|operand| operand.shape.bytes()).sum::<f64>() as u64
}

/// Returns the bytes of the result. The start of an asynchronous collective returns `(operands, results, ...)`, but the
/// start of an all-reduce returns only its results.
fn result_bytes(instruction: &Instruction) -> u64 {
    let parts = instruction.shape.tuple();
    let bytes = match instruction.opcode.as_str() {
        "all-gather-start" | "collective-permute-start" => parts.get(1).map_or(0.0, |result| result.bytes()),
        "send" => 0.0,
        "recv" => parts.first().map_or(0.0, |result| result.bytes()),
        _ => instruction.shape.bytes(),
    };
    bytes as u64
}

fn pairs(kind: &str, instruction: &Instruction) -> Vec<(u32, u32)> {
    let attributes = instruction.attributes();
    if matches!(kind, "send" | "recv") {
        let name = "_xla_send_recv_source_target_pairs";
        let text = attributes.frontend_attributes.iter().find(|(key, _)| key == name);
        return text.map(|(_, text)| parse_pairs(text)).unwrap_or_default();
    }
    let device = |id: i64| u32::try_from(id).ok();
    let known = attributes.source_target_pairs.iter();
    known.filter_map(|&(source, target)| Some((device(source)?, device(target)?))).collect()
}

/// Parses pairs like `{{0,1},{1,2}}`.
fn parse_pairs(text: &str) -> Vec<(u32, u32)> {
    let parts = text.split(['{', '}']).filter(|part| part.contains(|c: char| c.is_ascii_digit()));
    let pair = |part: &str| {
        let (source, target) = part.split_once(',')?;
        Some((source.trim().parse().ok()?, target.trim().parse().ok()?))
    };
    parts.filter_map(pair).collect()
}

/// Returns the single group of a collective that lists no groups. The group contains all replicas. If the collective
/// has a channel, the group contains all partitions, or all devices if the collective uses global device ids.
fn everyone(module: &Module, instruction: &Instruction) -> Option<Vec<Vec<u32>>> {
    let (replicas, partitions) = module.devices()?;
    let attributes = instruction.attributes();
    let count = match (attributes.channel_id > 0, attributes.use_global_device_ids) {
        (false, _) => replicas,
        (true, false) => partitions,
        (true, true) => replicas.checked_mul(partitions)?,
    };
    let count = u32::try_from(count).ok().filter(|&count| count as usize <= MAX_LISTED)?;
    Some(vec![(0..count).collect()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_sends_are_read_from_their_text() {
        assert_eq!(parse_pairs("{{0,1},{1, 2}}"), [(0, 1), (1, 2)]);
        assert_eq!(parse_pairs("{}"), []);
    }
}
