//! Converts `xla.OpSharding`, which describes the part of a value that each device holds, to HLO text.

use std::cell::Cell;
use std::fmt::Write as _;

use super::fields::{bytes, fields, int, ints};
use crate::shape::join;

/// Maximum depth of nested tuples of shardings. Real shardings have only one level.
const DEPTH: u32 = 4;

/// Returns the text of a sharding: `{replicated}`, `{devices=[2,1]<=[2]}`. The text is empty for unknown kinds.
pub(super) fn text(message: &[u8], damaged: &Cell<bool>) -> String {
    nested(message, damaged, DEPTH)
}

fn nested(message: &[u8], damaged: &Cell<bool>, depth: u32) -> String {
    let mut kind = 0;
    let (mut tiles, mut devices, mut reshape, mut transpose) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut tuple, mut last_dims, mut replicate_last) = (Vec::new(), Vec::new(), false);
    for (number, value) in fields(message, damaged) {
        match number {
            1 => kind = int(value),
            3 => ints(value, &mut tiles),
            4 => ints(value, &mut devices),
            5 if depth > 0 => tuple.push(nested(bytes(value), damaged, depth - 1)),
            6 => replicate_last = int(value) != 0,
            8 => ints(value, &mut last_dims),
            9 => ints(value, &mut reshape),
            10 => ints(value, &mut transpose),
            // This sharding names the axes of a mesh. The other fields are then meaningless.
            14 => return String::new(),
            _ => {}
        }
    }
    match kind {
        0 => "{replicated}".to_owned(),
        1 => format!("{{maximal device={}}}", devices.first().copied().unwrap_or(0)),
        2 => format!("{{{}}}", tuple.join(", ")),
        3 => {
            let mut out = format!("{{devices=[{}]", join(&tiles));
            if reshape.is_empty() {
                out.push_str(&join(&devices));
            } else {
                let _ = write!(out, "<=[{}]", join(&reshape));
                if transpose.len() > 1 {
                    let _ = write!(out, "T({})", join(&transpose));
                }
            }
            if replicate_last {
                out.push_str(" last_tile_dim_replicate");
            }
            if !last_dims.is_empty() {
                let names: Vec<&str> = last_dims.iter().map(|&kind| name(kind)).collect();
                let _ = write!(out, " last_tile_dims={{{}}}", names.join(", "));
            }
            out.push('}');
            out
        }
        4 => "{manual}".to_owned(),
        5 => "{unknown}".to_owned(),
        6 => "{unreduced}".to_owned(),
        _ => String::new(),
    }
}

fn name(kind: i64) -> &'static str {
    match kind {
        0 => "replicated",
        1 => "maximal",
        4 => "manual",
        6 => "unreduced",
        _ => "unknown",
    }
}
