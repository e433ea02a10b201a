//! The size of a value without the padding of its layout: what XProf compares a buffer's size with.

use hlo::Shape;

/// Bytes of a pointer, of which the table of a tuple is made.
const POINTER: u64 = 8;

/// Bytes of a value in the default layout: an array's elements without tiles, each at least a byte; of a tuple its table of
/// pointers, as its elements are separate buffers. `None` for shapes that are not known or do not fit 64 bits.
pub fn unpadded_bytes(shape: &Shape) -> Option<u64> {
    match shape {
        Shape::Array(array) => {
            array.dimensions.iter().try_fold(array.data_type.bytes(), |bytes, &size| bytes.checked_mul(size))
        }
        Shape::Tuple(elements) => u64::try_from(elements.len()).ok()?.checked_mul(POINTER),
        Shape::Token => Some(0),
        Shape::Opaque => Some(POINTER),
        Shape::Unknown => None,
    }
}

/// The part of a value that an index names: `{1, 0}` is the first element of the second element.
pub fn part<'s>(shape: &'s Shape, index: &[i64]) -> &'s Shape {
    let mut part = shape;
    for &element in index {
        let inner = usize::try_from(element).ok().and_then(|element| part.tuple().get(element));
        part = inner.unwrap_or(&Shape::Unknown);
    }
    part
}
