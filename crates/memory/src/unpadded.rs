//! Size of a value without the padding of its layout. XProf compares buffer sizes with this size.

use hlo::Shape;

/// Size of a pointer in the table of a tuple, in bytes.
const POINTER: u64 = 8;

/// Returns the bytes of a value in the default layout. For an array, these are the bytes of its elements without tiles,
/// at least one byte each. For a tuple, these are the bytes of its pointer table, because its elements are separate
/// buffers. Returns `None` if the shape is unknown or the size exceeds 64 bits.
pub(crate) fn unpadded_bytes(shape: &Shape) -> Option<u64> {
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

/// Returns the part of a value that an index selects: `{1, 0}` is the first element of the second element.
pub(crate) fn part<'s>(shape: &'s Shape, index: &[i64]) -> &'s Shape {
    let mut part = shape;
    for &element in index {
        let inner = usize::try_from(element).ok().and_then(|element| part.tuple().get(element));
        part = inner.unwrap_or(&Shape::Unknown);
    }
    part
}
