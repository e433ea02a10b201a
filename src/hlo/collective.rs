//! Collectives: which devices an instruction talks to, and how much it moves.

use super::attributes::ReplicaGroups;
use super::{Instruction, Module};

/// A collective, or a send or receive.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// What it does: `all-reduce`, `all-gather`, `reduce-scatter`, `all-to-all`, `ragged-all-to-all`,
    /// `collective-broadcast`, `collective-permute`, `send` or `recv`.
    pub kind: &'static str,
    /// Devices of a group, the largest one's; `None` where the module does not say it, and for permutes, sends and receives.
    pub group_size: Option<u32>,
    /// Members of each group; `None` where the module does not list them. Whether they are replicas, partitions or devices
    /// depends on the module ([`Module::devices`]); for the usual one-process-many-devices program they are devices.
    pub replica_groups: Option<Vec<Vec<u32>>>,
    /// Bytes of the operands, on one device.
    pub operand_bytes: u64,
    /// Bytes of the result, on one device.
    pub result_bytes: u64,
    /// `(source, target)` of a collective-permute, or of a send or receive that says it.
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

/// More devices than these are not listed.
const MAX_LISTED: usize = 1 << 16;

/// How many steps from a `-done` over updates to the start are followed.
const DEPTH: u32 = 64;

/// More dimensions than these are no device list.
const MAX_DIMENSIONS: usize = 16;

/// The collective that an instruction is or belongs to: itself, the operation that an `async-start` wraps or a fusion
/// contains, or for a `-done` the one that it waits for. `None` for all other instructions.
pub fn collective(module: &Module, instruction: &Instruction) -> Option<Collective> {
    let (kind, found) = resolve(module, instruction, DEPTH)?;
    let attributes = found.attributes();
    let listed = attributes.replica_groups.as_ref().and_then(lists);
    let grouped = !matches!(kind, "collective-permute" | "send" | "recv");
    let replica_groups = listed.filter(|_| grouped).or_else(|| if grouped { everyone(module, found) } else { None });
    let of_iota = match &attributes.replica_groups {
        Some(ReplicaGroups::Iota { group_size, .. }) => u32::try_from(*group_size).ok(),
        _ => None,
    };
    let largest = replica_groups.as_ref().and_then(|groups| groups.iter().map(Vec::len).max());
    Some(Collective {
        kind,
        group_size: largest.and_then(|size| u32::try_from(size).ok()).or(of_iota.filter(|_| grouped)),
        replica_groups,
        operand_bytes: operand_bytes(module, kind, found),
        result_bytes: result_bytes(found),
        pairs: pairs(kind, found),
    })
}

/// The kind of an instruction that is itself a collective.
fn kind(instruction: &Instruction) -> Option<&'static str> {
    let opcode = instruction.opcode.as_str();
    KINDS.iter().copied().find(|&kind| kind == opcode || opcode.strip_suffix("-start") == Some(kind))
}

/// The collective's kind and its instruction.
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

/// A send moves its first operand; the others are tokens and, for ragged ones, offsets.
fn operand_bytes(module: &Module, kind: &str, instruction: &Instruction) -> u64 {
    let operands = module.operands(instruction);
    let counted = match kind {
        "send" | "ragged-all-to-all" => 1,
        "recv" => 0,
        _ => usize::MAX,
    };
    operands.take(counted).map(|operand| operand.shape.bytes()).sum::<f64>() as u64
}

/// The start of an asynchronous collective returns `(operands, results, ...)`, but an all-reduce's only its results.
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

/// `{{0,1},{1,2}}`
fn parse_pairs(text: &str) -> Vec<(u32, u32)> {
    let parts = text.split(['{', '}']).filter(|part| part.contains(|c: char| c.is_ascii_digit()));
    let pair = |part: &str| {
        let (source, target) = part.split_once(',')?;
        Some((source.trim().parse().ok()?, target.trim().parse().ok()?))
    };
    parts.filter_map(pair).collect()
}

/// The members of each group; `None` where all devices are one group, or there are too many to list.
fn lists(groups: &ReplicaGroups) -> Option<Vec<Vec<u32>>> {
    let lists: Vec<Vec<u32>> = match groups {
        ReplicaGroups::Lists(lists) => {
            lists.iter().map(|group| group.iter().filter_map(|&id| u32::try_from(id).ok()).collect()).collect()
        }
        ReplicaGroups::Iota { groups, group_size, reshape, transpose } => {
            let size = usize::try_from(*group_size).ok().filter(|&size| size > 0)?;
            let total = usize::try_from(*groups).ok()?.checked_mul(size).filter(|&total| total <= MAX_LISTED)?;
            let order = iota(total, reshape, transpose)?;
            order.chunks(size).map(<[u32]>::to_vec).collect()
        }
    };
    (lists.iter().any(|group| !group.is_empty())).then_some(lists)
}

/// `0..total` reshaped to `reshape`, its dimensions put into the order `transpose`, read in rows.
///
/// ```text
/// reshape [2,4]  0 1 2 3     transpose (1,0)  0 4     -> 0 4 1 5 2 6 3 7
///                4 5 6 7                      1 5 ...
/// ```
fn iota(total: usize, reshape: &[i64], transpose: &[i64]) -> Option<Vec<u32>> {
    let sizes: Vec<usize> = reshape.iter().map(|&size| usize::try_from(size).ok()).collect::<Option<_>>()?;
    if sizes.len() > MAX_DIMENSIONS {
        return None;
    }
    let product = sizes.iter().try_fold(1usize, |product, &size| product.checked_mul(size))?;
    if product != total {
        return None;
    }
    let mut strides = vec![1usize; sizes.len()];
    for i in (1..sizes.len()).rev() {
        let stride = strides.get(i)?.checked_mul(*sizes.get(i)?)?;
        *strides.get_mut(i - 1)? = stride;
    }
    let order: Vec<usize> = if transpose.is_empty() {
        (0..sizes.len()).collect()
    } else {
        transpose.iter().map(|&dimension| usize::try_from(dimension).ok()).collect::<Option<_>>()?
    };
    let mut out = vec![0usize];
    for dimension in order {
        let (size, stride) = (*sizes.get(dimension)?, *strides.get(dimension)?);
        if out.len().checked_mul(size)? > total {
            return None;
        }
        out = out.iter().flat_map(|&base| (0..size).map(move |i| base.saturating_add(i * stride))).collect();
    }
    out.into_iter().map(|id| u32::try_from(id).ok()).collect()
}

/// No group at all means one group of all replicas, or of all partitions where the collective has a channel.
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
    fn iota_groups_are_the_numbers_transposed() {
        let groups = ReplicaGroups::Iota { groups: 4, group_size: 2, reshape: vec![2, 4], transpose: vec![1, 0] };
        assert_eq!(lists(&groups), Some(vec![vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]]));
        let plain = ReplicaGroups::Iota { groups: 2, group_size: 4, reshape: vec![8], transpose: Vec::new() };
        assert_eq!(lists(&plain), Some(vec![vec![0, 1, 2, 3], vec![4, 5, 6, 7]]));
        let wrong = ReplicaGroups::Iota { groups: 2, group_size: 4, reshape: vec![3], transpose: Vec::new() };
        assert_eq!(lists(&wrong), None);
        let absurd =
            ReplicaGroups::Iota { groups: 1, group_size: i64::MAX, reshape: vec![i64::MAX], transpose: vec![] };
        assert_eq!(lists(&absurd), None);
    }

    #[test]
    fn pairs_of_sends_are_read_from_their_text() {
        assert_eq!(parse_pairs("{{0,1},{1, 2}}"), [(0, 1), (1, 2)]);
        assert_eq!(parse_pairs("{}"), []);
    }
}
