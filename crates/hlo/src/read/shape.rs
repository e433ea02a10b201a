//! Reads `xla.ShapeProto` and `xla.LayoutProto`.

use std::cell::Cell;

use super::fields::{bytes, fields, int, ints};
use crate::DataType;
use crate::shape::{ArrayShape, Layout, Shape};

/// Maximum depth of nested tuples. Real tuples are two or three levels deep.
const DEPTH: u32 = 32;

const TUPLE: i64 = 13;
const OPAQUE: i64 = 14;
const TOKEN: i64 = 17;
/// Type of a buffer. The first tuple shape of the buffer describes its contents.
const BUFFER: i64 = 34;

/// Reads a `ShapeProto`.
pub(super) fn shape(message: &[u8], damaged: &Cell<bool>) -> Shape {
    nested(message, damaged, DEPTH)
}

fn nested(message: &[u8], damaged: &Cell<bool>, depth: u32) -> Shape {
    let (mut element_type, mut dimensions, mut dynamic, mut tuple, mut layout) =
        (0, Vec::new(), Vec::new(), Vec::new(), None);
    for (number, value) in fields(message, damaged) {
        match number {
            2 => element_type = int(value),
            3 => ints(value, &mut dimensions),
            4 if depth > 0 => tuple.push(nested(bytes(value), damaged, depth - 1)),
            5 => layout = Some(self::layout(bytes(value), damaged)),
            6 => ints(value, &mut dynamic),
            _ => {}
        }
    }
    match element_type {
        TUPLE => Shape::Tuple(tuple),
        OPAQUE => Shape::Opaque,
        TOKEN => Shape::Token,
        BUFFER => tuple.into_iter().next().unwrap_or_default(),
        _ => match DataType::from_proto(element_type) {
            Some(data_type) => Shape::Array(ArrayShape {
                data_type,
                dimensions: dimensions.into_iter().map(|size| u64::try_from(size).unwrap_or(0)).collect(),
                dynamic: if dynamic.contains(&1) {
                    dynamic.iter().map(|&flag| flag != 0).collect()
                } else {
                    Vec::new()
                },
                layout,
            }),
            None => Shape::Unknown,
        },
    }
}

fn layout(message: &[u8], damaged: &Cell<bool>) -> Layout {
    let mut layout = Layout::default();
    for (number, value) in fields(message, damaged) {
        match number {
            1 => ints(value, &mut layout.minor_to_major),
            6 => {
                let mut tile = Vec::new();
                fields(bytes(value), damaged).filter(|(number, _)| *number == 1).for_each(|(_, v)| ints(v, &mut tile));
                layout.tiles.push(tile);
            }
            7 => layout.element_bits = int(value),
            8 => layout.memory_space = int(value),
            _ => {}
        }
    }
    layout
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire_writer::message;

    #[test]
    fn tuples_that_are_nested_without_end_are_cut() {
        let mut nested = message().int(2, 11);
        for _ in 0..1000 {
            nested = message().int(2, TUPLE).message(4, nested);
        }
        let damaged = Cell::new(false);
        let mut shape = &shape(&nested.0, &damaged);
        let mut depth = 0;
        while let Some(inner) = shape.tuple().first() {
            shape = inner;
            depth += 1;
        }
        assert_eq!((depth, shape), (DEPTH, &Shape::Tuple(Vec::new())));
    }
}
