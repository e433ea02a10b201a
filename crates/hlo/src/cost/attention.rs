//! Counts the matrix multiplications of fused attention in cuDNN and Transformer Engine from the shapes.
//!
//! ```text
//! forward    S = Q K^T                O = softmax(S) V           2 * pairs * (d_qk + d_v)
//! backward   S = Q K^T again, dQ, dK  dV, dP                     2 * pairs * (3 d_qk + 2 d_v)
//! ```
//!
//! `pairs` is the number of query-key pairs in all batches and heads: all combinations, or half of them if the
//! configuration has a causal mask. The module does not record whether sequences are shorter at run time than the
//! arrays that contain them.

use serde_json::Value;

use super::moves::{self, result};
use super::work::Work;
use crate::backend_config::{int, ints, member, parse};
use crate::{ArrayShape, Instruction, Module, Shape};

/// Sizes of one attention operation.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sizes {
    /// Number of batches times number of query heads.
    batches: f64,
    queries: f64,
    keys: f64,
    /// Number of elements in each query and in each key.
    width: f64,
    /// Number of elements in each value.
    value_width: f64,
}

impl Sizes {
    fn flops(self, causal: bool, backward: bool) -> f64 {
        let pairs = self.batches * self.queries * self.keys * if causal { 0.5 } else { 1.0 };
        let widths = if backward { 3.0 * self.width + 2.0 * self.value_width } else { self.width + self.value_width };
        2.0 * pairs * widths
    }
}

fn work(module: &Module, instruction: &Instruction, flops: f64) -> Work {
    let Some(first) = module.operand(instruction, 0) else { return Work::UNKNOWN };
    let scratch = scratch_bytes(&instruction.shape);
    let bytes = moves::default(module, instruction);
    Work { from_shapes: true, written: bytes.written - scratch, ..bytes }.product(flops, &first.shape)
}

/// Returns the bytes of scratch memory. If there are several results and the last one is a one-dimensional array of
/// bytes, it is scratch memory.
fn scratch_bytes(shape: &Shape) -> f64 {
    let last = shape.tuple().last().and_then(Shape::array);
    let bytes = last.filter(|array| array.data_type.name() == "u8" && array.dimensions.len() == 1);
    bytes.map_or(0.0, ArrayShape::bytes)
}

/// Returns the work of a cuDNN call. The configuration of the call contains the shape of the pairs, `[batch, heads,
/// queries, keys]`, and the mask.
pub(super) fn cudnn(module: &Module, instruction: &Instruction, target: &str) -> Work {
    let Some(config) = parse(&instruction.attributes().backend_config) else { return Work::UNKNOWN };
    let Some(sizes) = cudnn_sizes(module, instruction, &config) else { return Work::UNKNOWN };
    let mask = member(&config, "mask_type").and_then(Value::as_str).unwrap_or("NO_MASK");
    let number = |name| member(&config, name).and_then(int).unwrap_or(0);
    // If there is a window, or a row has several segments, the number of pairs is unknown.
    if number("sliding_window_length") > 0 || number("max_seg_per_batch") > 1 {
        return Work::UNKNOWN;
    }
    work(module, instruction, sizes.flops(mask.contains("CAUSAL"), target.contains("Backward")))
}

/// Returns the sizes of a cuDNN call. The first three operands, in both the forward and the backward pass, are queries,
/// keys and values. Their last dimension is the head dimension.
fn cudnn_sizes(module: &Module, instruction: &Instruction, config: &Value) -> Option<Sizes> {
    let width = |n| Some(*module.operand(instruction, n)?.shape.array()?.dimensions.last()? as f64);
    let pairs = ints(member(config, "intermediate_tensor_shape")?.get("dimensions"))?;
    let &[batch, heads, queries, keys] = pairs.as_slice() else { return None };
    let (batches, queries, keys) = (batch as f64 * heads as f64, queries as f64, keys as f64);
    let sizes = Sizes { batches, queries, keys, width: width(0)?, value_width: width(2)? };
    let elements = module.operand(instruction, 0)?.shape.elements();
    (elements == sizes.batches * sizes.queries * sizes.width).then_some(sizes)
}

/// Returns the work of a call to Transformer Engine. The arrays of the call are `[batch, sequence, (3 or 2 packed,)
/// heads, width]`. If several arrays are packed into one operand, the operands of the other arrays are empty.
///
/// ```text
/// packed      [b, s, 3, h, d]   empty             empty
/// keys packed [b, s, h, d]      [b, t, 2, g, d]   empty
/// apart       [b, s, h, d]      [b, t, g, d]      [b, t, g, e]
/// ```
pub(super) fn transformer_engine(module: &Module, instruction: &Instruction, target: &str) -> Work {
    let backward = match target {
        "te_fused_attn_forward_ffi" => false,
        "te_fused_attn_backward_ffi" => true,
        _ => return Work::UNKNOWN,
    };
    let operand = |n| module.operand(instruction, n).and_then(|operand| operand.shape.array());
    let (Some(q), Some(k), Some(v)) = (operand(0), operand(1), operand(2)) else { return Work::UNKNOWN };
    let Some(sizes) = packed(&q.dimensions, &k.dimensions, &v.dimensions) else { return Work::UNKNOWN };
    // The result and its gradient have the heads and rows of the queries.
    let Some(result) = result(instruction) else { return Work::UNKNOWN };
    if !backward && result.elements() != sizes.batches * sizes.queries * sizes.value_width {
        return Work::UNKNOWN;
    }
    match transformer_engine_mask(&instruction.attributes().backend_config) {
        Some(causal) => work(module, instruction, sizes.flops(causal, backward)),
        None => Work::UNKNOWN,
    }
}

fn packed(q: &[u64], k: &[u64], v: &[u64]) -> Option<Sizes> {
    let (batch, queries, heads, width, keys, value_width) = match (q, k, v) {
        (&[b, s, 3, h, d], k, v) if empty(k) && empty(v) => (b, s, h, d, s, d),
        (&[b, s, h, d], &[_, t, 2, _, _], v) if empty(v) => (b, s, h, d, t, d),
        (&[b, s, h, d], &[_, t, _, _], &[_, _, _, e]) => (b, s, h, d, t, e),
        _ => return None,
    };
    Some(Sizes {
        batches: batch as f64 * heads as f64,
        queries: queries as f64,
        keys: keys as f64,
        width: width as f64,
        value_width: value_width as f64,
    })
}

fn empty(dimensions: &[u64]) -> bool {
    dimensions.contains(&0)
}

/// Returns true if the mask is causal, according to the call's attributes: `mask_type = 2 : i64`, or a member of that
/// name in JSON. The mask types are 0 none, 1 padding, 2 causal, 3 padding and causal. Types 4 and 5 are the causal
/// types aligned to the last query. If there are as many keys as queries, all causal types keep the same share of the
/// pairs. Returns `None` if the attributes have no mask type, or if they restrict queries to a window or to one of
/// several segments.
fn transformer_engine_mask(config: &str) -> Option<bool> {
    let number = |name: &str| -> Option<i64> {
        let rest = config.split_once(name)?.1.trim_start_matches(['"', ' ', '=', ':', '\\']);
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
        rest.get(..end)?.parse().ok()
    };
    let mask = number("mask_type")?;
    let window = number("window_size_left").unwrap_or(-1);
    let segments = number("max_segments_per_seq").unwrap_or(1);
    match (mask, window, segments) {
        (0 | 1, -1, 0 | 1) => Some(false),
        (2..=5, -1, 0 | 1) => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_arrays_give_the_same_sizes() {
        let apart = packed(&[2, 64, 8, 32], &[2, 128, 2, 32], &[2, 128, 2, 32]).unwrap();
        assert_eq!((apart.batches, apart.queries, apart.keys), (16.0, 64.0, 128.0));
        assert_eq!(packed(&[2, 64, 8, 32], &[2, 128, 2, 2, 32], &[0]), Some(apart));
        let own = packed(&[2, 64, 3, 8, 32], &[0], &[0]).unwrap();
        assert_eq!((own.queries, own.keys), (64.0, 64.0));
        // The forward pass takes 4 b h s t d FLOPs. The backward pass takes two and a half times as many, and a causal mask
        // halves them.
        assert_eq!(own.flops(false, false), 4.0 * 16.0 * 64.0 * 64.0 * 32.0);
        assert_eq!(own.flops(true, true), 2.5 * 0.5 * own.flops(false, false));
        assert_eq!(packed(&[64, 32], &[0], &[0]), None);
    }

    #[test]
    fn the_mask_is_read_from_attributes() {
        assert_eq!(transformer_engine_mask("{attn_mask_type = 2 : i64, window_size_left = -1 : i64}"), Some(true));
        assert_eq!(transformer_engine_mask("{attn_mask_type = 0 : i64}"), Some(false));
        assert_eq!(transformer_engine_mask("{attn_mask_type = 2 : i64, window_size_left = 128 : i64}"), None);
        assert_eq!(transformer_engine_mask("{}"), None);
    }
}
