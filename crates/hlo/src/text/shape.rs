//! Reads shapes: `(bf16[8,<=256]{1,0:T(8,128)(2,1)S(1)}, token[])`.

use super::scan::{Scan, int, ints};
use crate::DataType;
use crate::shape::{ArrayShape, Layout, Shape};

/// Maximum depth of nested tuples. Real tuples are two or three levels deep.
const DEPTH: u32 = 32;

/// Reads the next shape. Returns [`Shape::Unknown`] if no shape is next.
pub(super) fn shape(scan: &mut Scan<'_>) -> Shape {
    nested(scan, DEPTH)
}

/// Reads a list of shapes.
pub(super) fn shapes(list: &[u8]) -> Vec<Shape> {
    elements(list, DEPTH)
}

fn elements(list: &[u8], depth: u32) -> Vec<Shape> {
    let mut scan = Scan(list);
    std::iter::from_fn(|| scan.next().map(|item| nested(&mut Scan(item), depth))).collect()
}

fn nested(scan: &mut Scan<'_>, depth: u32) -> Shape {
    scan.blanks();
    if scan.peek() == b'(' {
        let inside = scan.group().unwrap_or_default();
        return Shape::Tuple(depth.checked_sub(1).map(|depth| elements(inside, depth)).unwrap_or_default());
    }
    let name = scan.until(|byte| !byte.is_ascii_alphanumeric());
    if name == b"b" && depth > 0 {
        return nested(&mut Scan(scan.group().unwrap_or_default()), depth - 1);
    }
    let Some(list) = scan.group() else { return Shape::Unknown };
    let layout = if scan.peek() == b'{' { scan.group().map(layout) } else { None };
    let data_type = match name {
        b"token" => return Shape::Token,
        b"opaque" => return Shape::Opaque,
        _ => std::str::from_utf8(name).ok().and_then(DataType::from_name),
    };
    let Some(data_type) = data_type else { return Shape::Unknown };
    let sizes = || list.split(|&byte| byte == b',').filter(|size| !size.is_empty());
    let dimensions: Vec<u64> = sizes().map(|size| u64::try_from(int(size)).unwrap_or(0)).collect();
    let is_dynamic = |size: &[u8]| size.starts_with(b"<=") || size.starts_with(b"?");
    let dynamic = if sizes().any(is_dynamic) { sizes().map(is_dynamic).collect() } else { Vec::new() };
    // XLA writes the layout of a scalar only if it has more than an order of dimensions.
    let layout = layout.or_else(|| dimensions.is_empty().then(Layout::default));
    Shape::Array(ArrayShape { data_type, dimensions, dynamic, layout })
}

/// Reads a layout: `1,0:T(8,128)(2,1)E(4)S(1)`.
fn layout(text: &[u8]) -> Layout {
    let mut scan = Scan(text);
    let mut layout = Layout { minor_to_major: ints(scan.until(|byte| byte == b':')), ..Layout::default() };
    scan.eat(b":");
    let mut key = 0;
    while !scan.0.is_empty() {
        if scan.peek() != b'(' {
            key = scan.peek();
            scan.until(|byte| byte == b'(');
        }
        let Some(value) = scan.group() else { break };
        match key {
            b'T' => layout.tiles.push(value.split(|&byte| byte == b',').map(tile_size).collect()),
            b'E' => layout.element_bits = int(value),
            b'S' => layout.memory_space = int(value),
            _ => {}
        }
    }
    layout
}

/// Returns the size of a tile's dimension. XLA writes `*` for a dimension that is combined with the next dimension.
fn tile_size(text: &[u8]) -> i64 {
    if text == b"*" { i64::MIN } else { int(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Shape {
        shape(&mut Scan(text.as_bytes()))
    }

    #[test]
    fn shapes_are_written_as_they_are_read() {
        for text in [
            "f32[]",
            "bf16[8,256]{1,0:T(8,128)(2,1)S(1)}",
            "s4[16]{0:E(4)}",
            "f32[<=8,4]{1,0}",
            "pred[]{:S(6)}",
            "f32[8,4]",
            "((f32[8]{0}, token[]), u32[]{:T(128)S(2)}, ())",
            "(s32[2]{0}, s32[2]{0}, s32[2]{0}, s32[2]{0}, s32[2]{0}, /*index=5*/opaque[])",
        ] {
            assert_eq!(read(text).text(true), text);
        }
    }

    #[test]
    fn odd_shapes_are_read_as_far_as_possible() {
        assert_eq!(read("b(f32[8]{0})"), read("f32[8]{0}"));
        assert_eq!(
            read("f32[2]{0:T(*,8)#(u32)M(3)S(1)}").array().and_then(|it| it.layout.clone()).map(|it| it.tiles),
            { Some(vec![vec![i64::MIN, 8]]) }
        );
        assert_eq!(read(&"(".repeat(100_000)), Shape::Tuple(Vec::new()));
        assert_eq!(read("q77[3]"), Shape::Unknown);
        assert_eq!(read(""), Shape::Unknown);
        let mut depth = 0;
        let nested = read(&format!("{}{}", "(".repeat(100), ")".repeat(100)));
        let mut inner = &nested;
        while let Some(first) = inner.tuple().first() {
            (inner, depth) = (first, depth + 1);
        }
        assert_eq!(depth, DEPTH);
    }
}
