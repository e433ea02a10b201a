//! Reads the bytes, groups and pairs of a collective from the embedded HLO, or from the text of its expression if the
//! trace embeds no HLO.

use hlo::{DataType, Instruction, Module, ReplicaGroups};
use trace::{Args, Trace};

/// The data that one run of a collective moves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// Bytes on one device by NCCL's convention: the bytes of the result for an all-gather, and of the operands for all
    /// other kinds.
    pub bytes: Option<u64>,
    /// Number of devices in a group.
    pub group_size: Option<u32>,
    /// Members of each group.
    pub groups: Option<Vec<Vec<u32>>>,
    /// `(source, target)` pairs of a permute.
    pub pairs: Vec<(u32, u32)>,
    /// Element type.
    pub data_type: Option<DataType>,
    /// Channel that distinguishes the collectives of a program.
    pub channel_id: Option<u64>,
    /// Sharding annotation of the instruction, if it has one.
    pub sharding: Option<String>,
}

impl Message {
    /// Reads the message of a collective of this kind with `args`. `found` is the collective's instruction, if the trace embeds
    /// it.
    pub(super) fn new(trace: &Trace, found: Option<(&Module, &Instruction)>, kind: &str, args: &Args) -> Message {
        let expression = trace.text(args.long_name);
        let details = trace.text(args.kernel_details);
        if is_stated(details) {
            return of_details(kind, details);
        }
        let mut message = of_text(kind, expression);
        let found = found.and_then(|(module, instruction)| {
            Some((hlo::expression(module, instruction), hlo::collective(module, instruction)?))
        });
        if let Some((text, found)) = found {
            if expression.is_empty() {
                message = of_text(kind, &text);
            }
            let bytes = if kind == "all-gather" { found.result_bytes } else { found.operand_bytes };
            message.bytes = Some(bytes).filter(|&bytes| bytes > 0).or(message.bytes);
            message.group_size = found.group_size.or(message.group_size);
            message.groups = found.replica_groups.or(message.groups);
            if !found.pairs.is_empty() {
                message.pairs = found.pairs;
            }
        }
        message
    }
}

/// Returns true if a kernel's details contain the name of a collective, as in PyTorch traces.
pub(super) fn is_stated(details: &str) -> bool {
    details.split(' ').any(|word| word.starts_with("collective:"))
}

/// PyTorch's names of element types, and the type of each.
const TORCH_TYPES: [(&str, &str); 14] = [
    ("BFloat16", "bf16"),
    ("Half", "f16"),
    ("Float", "f32"),
    ("Double", "f64"),
    ("Float8_e4m3fn", "f8e4m3fn"),
    ("Float8_e5m2", "f8e5m2"),
    ("Float8_e4m3fnuz", "f8e4m3fnuz"),
    ("Float8_e5m2fnuz", "f8e5m2fnuz"),
    ("Byte", "u8"),
    ("Char", "s8"),
    ("Bool", "pred"),
    ("Short", "s16"),
    ("Int", "s32"),
    ("Long", "s64"),
];

/// Parses `collective:allreduce in_elements:1024 out_elements:1024 dtype:BFloat16 group_size:8 ranks:0,1,2,3,4,5,6,7`.
fn of_details(kind: &str, details: &str) -> Message {
    let word = |key: &str| details.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix(':'));
    let number = |key| word(key).and_then(|text| text.parse::<u64>().ok());
    let torch = word("dtype").and_then(|name| TORCH_TYPES.iter().find(|(torch, _)| *torch == name));
    let data_type = torch.and_then(|(_, name)| DataType::from_name(name));
    let elements = if kind == "all-gather" { number("out_elements") } else { number("in_elements") };
    let bits = elements.zip(data_type).and_then(|(count, of)| count.checked_mul(u64::from(of.bits())));
    let ranks =
        word("ranks").and_then(|text| text.split(',').map(|rank| rank.parse().ok()).collect::<Option<Vec<u32>>>());
    let size = number("group_size").and_then(|size| u32::try_from(size).ok());
    Message {
        bytes: bits.map(|bits| bits.div_ceil(8)).filter(|&bytes| bytes > 0),
        group_size: size.or_else(|| u32::try_from(ranks.as_ref()?.len()).ok()),
        groups: ranks.map(|ranks| vec![ranks]),
        data_type,
        ..Message::default()
    }
}

/// Parses `%all-reduce.1 = f32[8,4]{1,0} all-reduce(f32[8,4]{1,0} %x), channel_id=1, replica_groups=[4,2]<=[8], ...`.
fn of_text(kind: &str, expression: &str) -> Message {
    let Some((_, call)) = expression.split_once(" = ") else { return Message::default() };
    let Some((result, rest)) = split_call(call) else { return Message::default() };
    let (operands, attributes) = rest;
    let (result_bytes, operand_bytes) = (shapes_bytes(result), shapes_bytes(operands));
    // The result of a start includes its operands.
    let is_start = call.contains("-start(");
    let bytes = match kind {
        "all-gather" if is_start => result_bytes.saturating_sub(operand_bytes),
        "all-gather" => result_bytes,
        _ if operand_bytes > 0 => operand_bytes,
        _ => result_bytes,
    };
    let groups = value(attributes, "replica_groups=").and_then(groups);
    let lists = groups.as_ref().and_then(hlo::replica_lists);
    let size = match &groups {
        Some(ReplicaGroups::Iota { group_size, .. }) => u32::try_from(*group_size).ok(),
        Some(ReplicaGroups::Lists(all)) => all.iter().map(Vec::len).max().and_then(|size| size.try_into().ok()),
        _ => lists.as_ref().and_then(|lists| lists.iter().map(Vec::len).max()).and_then(|size| size.try_into().ok()),
    };
    Message {
        bytes: (bytes > 0).then_some(bytes),
        group_size: size,
        groups: lists,
        pairs: value(attributes, "source_target_pairs=").map(pairs).unwrap_or_default(),
        data_type: first_type(if operands.contains('[') { operands } else { result }),
        channel_id: value(attributes, "channel_id=").and_then(|text| text.parse().ok()),
        sharding: value(attributes, "sharding=").map(str::to_owned),
    }
}

/// Splits `(f32[2]{0}, f32[2]) all-reduce(f32[2] %a, f32[2] %b), channel_id=1` into result, operands and attributes.
fn split_call(call: &str) -> Option<(&str, (&str, &str))> {
    let result_end = if call.starts_with('(') { closing(call, 0)? + 1 } else { call.find(' ')? };
    let open = result_end + call.get(result_end..)?.find('(')?;
    let close = closing(call, open)?;
    Some((call.get(..result_end)?, (call.get(open + 1..close)?, call.get(close + 1..)?)))
}

/// Returns the position of the bracket that closes the bracket at `open`.
fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0i32;
    for (at, c) in text.char_indices().skip_while(|&(at, _)| at < open) {
        depth += i32::from(matches!(c, '(' | '{')) - i32::from(matches!(c, ')' | '}'));
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Adds up the bytes of all array shapes (`f32[8,128]`) in a text.
pub(crate) fn shapes_bytes(text: &str) -> u64 {
    let mut bytes = 0u64;
    for (open, _) in text.match_indices('[') {
        let (before, after) = text.split_at(open);
        let word = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let Some(data_type) = DataType::from_name(word) else { continue };
        let dimensions = after.get(1..).and_then(|rest| rest.split(']').next()).unwrap_or_default();
        let elements = dimensions.split(',').filter(|it| !it.is_empty()).try_fold(1u64, |product, dimension| {
            let dimension = dimension.trim_start_matches("<=").parse::<u64>().ok()?;
            product.checked_mul(dimension)
        });
        let size = elements.and_then(|elements| elements.checked_mul(u64::from(data_type.bits())));
        bytes = bytes.saturating_add(size.unwrap_or(0).div_ceil(8));
    }
    bytes
}

fn first_type(text: &str) -> Option<DataType> {
    let before = text.get(..text.find('[')?)?;
    DataType::from_name(before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next()?)
}

/// Returns the value after `key`, up to the next comma outside all brackets.
fn value<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let rest = text.get(text.find(key)? + key.len()..)?;
    let mut depth = 0i32;
    let end = rest.find(|c: char| {
        depth += i32::from(matches!(c, '(' | '{' | '[')) - i32::from(matches!(c, ')' | '}' | ']'));
        depth < 0 || (depth == 0 && c == ',')
    });
    Some(rest.get(..end.unwrap_or(rest.len()))?.trim())
}

/// Parses `{{0,1},{2,3}}` or `[4,2]<=[2,4]T(1,0)`.
fn groups(text: &str) -> Option<ReplicaGroups> {
    if let Some((shape, order)) = text.split_once("<=") {
        let numbers = |text: &str| -> Vec<i64> {
            text.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
        };
        let (reshape, transpose) = order.split_once('T').unwrap_or((order, ""));
        let shape = numbers(shape);
        let (&groups, &group_size) = (shape.first()?, shape.get(1)?);
        return Some(ReplicaGroups::Iota {
            groups,
            group_size,
            reshape: numbers(reshape),
            transpose: numbers(transpose),
        });
    }
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let lists = inner.split('}').filter_map(|group| {
        let group = group.trim_start_matches([',', '{', ' ']);
        // A member that cannot be parsed keeps its position, with the number -1, which no device has.
        let members = group.split(',').map(|id| id.trim().parse().unwrap_or(-1));
        (!group.trim().is_empty()).then(|| members.collect())
    });
    Some(ReplicaGroups::Lists(lists.collect()))
}

/// Parses `{{0,1},{1,0}}`.
fn pairs(text: &str) -> Vec<(u32, u32)> {
    let Some(ReplicaGroups::Lists(lists)) = groups(text) else { return Vec::new() };
    let pair = |list: &Vec<i64>| match list.as_slice() {
        &[from, to] => Some((u32::try_from(from).ok()?, u32::try_from(to).ok()?)),
        _ => None,
    };
    lists.iter().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_cannot_be_read_leaves_the_others_in_place() {
        let of = |members: &str| {
            let text = format!("%a = f32[8]{{0}} all-reduce(f32[8]{{0}} %x), channel_id=3, replica_groups={members}");
            of_text("all-reduce", &text)
        };
        let whole = of("{{0,1},{2,3}}");
        assert_eq!((whole.group_size, whole.groups), (Some(2), Some(vec![vec![0, 1], vec![2, 3]])));
        let damaged = of("{{0,x},{2,3}}");
        assert_eq!((damaged.group_size, damaged.groups), (Some(2), None));
        assert_eq!((damaged.bytes, damaged.channel_id), (Some(32), Some(3)));
    }

    #[test]
    fn an_expression_contains_bytes_and_groups() {
        let text = "%all-reduce = f32[5,1024]{1,0:T(8,128)} all-reduce(f32[5,1024]{1,0:T(8,128)} %bitcast), \
                    channel_id=7, replica_groups=[4,2]<=[2,4]T(1,0), use_global_device_ids=true, to_apply=%region";
        let message = of_text("all-reduce", text);
        assert_eq!((message.bytes, message.group_size, message.channel_id), (Some(20_480), Some(2), Some(7)));
        assert_eq!(message.groups, Some(vec![vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]]));
        assert_eq!(message.data_type.map(DataType::name), Some("f32"));
    }

    #[test]
    fn pytorch_states_elements_and_ranks() {
        let text =
            "collective:allreduce in_elements:1024 out_elements:1024 group_size:2 dtype:BFloat16 ranks:4,5 grid:24,1,1";
        let message = of_details("all-reduce", text);
        assert_eq!((message.bytes, message.group_size), (Some(2048), Some(2)));
        assert_eq!((message.groups, message.data_type.map(DataType::name)), (Some(vec![vec![4, 5]]), Some("bf16")));
        let text = "collective:_allgather_base in_elements:4 out_elements:16 dtype:Float ranks:0,1,2,3";
        let message = of_details("all-gather", text);
        assert_eq!((message.bytes, message.group_size), (Some(64), Some(4)));
        assert_eq!(of_details("all-reduce", "collective:x in_elements:4 dtype:Odd"), Message::default());
        assert!(TORCH_TYPES.iter().all(|(_, name)| DataType::from_name(name).is_some()));
        assert!(is_stated("grid:1,1,1 collective:send") && !is_stated("grid:1,1,1"));
    }

    #[test]
    fn starts_and_lists_are_read_too() {
        let text = "%all-gather-start.1 = (bf16[4]{0}, bf16[16]{0}) all-gather-start(bf16[4]{0} %p), \
                    replica_groups={{0,1,2,3},{4,5,6,7}}, dimensions={0}";
        let message = of_text("all-gather", text);
        assert_eq!((message.bytes, message.group_size), (Some(32), Some(4)));
        let text = "%cp = u8[3]{0} collective-permute(u8[3]{0} %p), source_target_pairs={{0,1},{1,0}}";
        let message = of_text("collective-permute", text);
        assert_eq!((message.bytes, message.pairs), (Some(3), vec![(0, 1), (1, 0)]));
        assert_eq!(of_text("all-reduce", "no expression"), Message::default());
        assert_eq!(of_text("all-reduce", "%a = ((("), Message::default());
    }
}
