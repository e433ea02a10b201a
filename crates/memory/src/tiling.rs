//! Memory cost of a TPU's tiles. A tile has 8 x 128 numbers of 32 bits. If the last dimensions of an array are not multiples of
//! the tile's dimensions, padding fills the rest of the tiles. The module also finds a shape for the same numbers with less
//! padding.
//!
//! ```text
//! f32[16384,4]{1,0:T(8,128)}   4 of 128 lanes are used: 8 MiB for 256 KiB
//! f32[4,16384]                 4 of 8 rows: 512 KiB          the same numbers, the long dimension last
//! f32[65536]                   256 KiB                       the same numbers, two dimensions merged
//! ```

use hlo::{ArrayShape, Layout, Shape};

/// A better shape for the values of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reshaped {
    /// Type and shape, without layout.
    pub shape: String,
    /// Bytes of the array with this shape, in the same tiles.
    pub bytes: u64,
    /// Change of the shape: reordered or merged dimensions.
    pub how: &'static str,
}

/// Returns the bytes of an array in the tiles of its layout. Returns `None` if the layout has no tiles, or if the
/// size exceeds 64 bits.
pub fn tiled_bytes(shape: &ArrayShape) -> Option<u64> {
    let layout = shape.layout.as_ref().filter(|layout| !layout.tiles.is_empty())?;
    let minor_first = minor_first(shape, layout)?;
    padded(shape, &minor_first, layout)
}

/// Returns the sizes of the dimensions, fastest varying first.
fn minor_first(shape: &ArrayShape, layout: &Layout) -> Option<Vec<u64>> {
    let sizes: Vec<u64> = layout.minor_to_major.iter().filter_map(|&it| shape.dimension(it)).collect();
    (sizes.len() == shape.dimensions.len()).then_some(sizes)
}

/// Returns the bytes of an array with `minor_first` elements per dimension (fastest varying first), each rounded up to the
/// tile. Only the first tile adds padding, because the later tiles divide it.
fn padded(shape: &ArrayShape, minor_first: &[u64], layout: &Layout) -> Option<u64> {
    let tile = layout.tiles.first()?;
    let mut elements = 1_u64;
    for (place, &size) in minor_first.iter().enumerate() {
        // Tiles are written from major to minor.
        let of_tile = tile.iter().rev().nth(place).and_then(|&size| u64::try_from(size).ok()).unwrap_or(1).max(1);
        elements = elements.checked_mul(size.checked_next_multiple_of(of_tile)?)?;
    }
    let bits = u64::try_from(layout.element_bits).ok().filter(|&bits| bits > 0);
    match bits {
        Some(bits) => elements.checked_mul(bits).map(|bits| bits.div_ceil(8)),
        None => elements.checked_mul(shape.data_type.bytes()),
    }
}

/// Returns the shape for the same numbers that takes the least space in the same tiles: with reordered dimensions or, if that
/// does not help, with the last two dimensions merged. Returns `None` if no shape saves half of the padding.
pub fn better_shape(shape: &ArrayShape) -> Option<Reshaped> {
    let layout = shape.layout.as_ref()?;
    let bytes = tiled_bytes(shape)?;
    let exact = padded(shape, &shape.dimensions, &Layout { tiles: vec![vec![1]], ..layout.clone() })?;
    let is_worth_it = |of: u64| bytes.saturating_sub(of) >= bytes.saturating_sub(exact).div_ceil(2).max(1);
    let reordered = reordered(shape, layout).filter(|it| is_worth_it(it.bytes));
    reordered.or_else(|| merged(shape, layout).filter(|it| is_worth_it(it.bytes)))
}

/// Tries to move any two dimensions to the end, and returns the best of the resulting shapes.
fn reordered(shape: &ArrayShape, layout: &Layout) -> Option<Reshaped> {
    let rank = shape.dimensions.len();
    let pairs = (0..rank).flat_map(|minor| (0..rank).map(move |second| (minor, second)));
    let orders = pairs.filter(|(minor, second)| minor != second).map(|(minor, second)| {
        let mut order: Vec<usize> = (0..rank).filter(|it| *it != minor && *it != second).collect();
        order.extend([second, minor]);
        order
    });
    let sized = orders.filter_map(|order| {
        let sizes: Vec<u64> = order.iter().filter_map(|&it| shape.dimensions.get(it).copied()).collect();
        let minor_first: Vec<u64> = sizes.iter().rev().copied().collect();
        Some((padded(shape, &minor_first, layout)?, sizes))
    });
    let (bytes, sizes) = sized.reduce(|least, it| if it.0 < least.0 { it } else { least })?;
    Some(Reshaped { shape: text(shape, sizes), bytes, how: "its dimensions in another order" })
}

/// Returns the shape with the last two dimensions merged.
fn merged(shape: &ArrayShape, layout: &Layout) -> Option<Reshaped> {
    let (rest, [second, minor]) = shape.dimensions.split_last_chunk()?;
    let mut sizes = rest.to_vec();
    sizes.push(second.checked_mul(*minor)?);
    let minor_first: Vec<u64> = sizes.iter().rev().copied().collect();
    Some(Reshaped {
        bytes: padded(shape, &minor_first, layout)?,
        shape: text(shape, sizes),
        how: "its last two dimensions merged",
    })
}

fn text(shape: &ArrayShape, dimensions: Vec<u64>) -> String {
    Shape::Array(ArrayShape { dimensions, dynamic: Vec::new(), layout: None, ..shape.clone() }).text(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hlo::DataType;

    fn shape(name: &str, dimensions: &[u64], minor_to_major: &[i64], tiles: &[&[i64]]) -> ArrayShape {
        let tiles = tiles.iter().map(|tile| tile.to_vec()).collect();
        let layout = Layout { minor_to_major: minor_to_major.to_vec(), tiles, ..Layout::default() };
        let data_type = DataType::from_name(name).unwrap();
        ArrayShape { data_type, dimensions: dimensions.to_vec(), dynamic: Vec::new(), layout: Some(layout) }
    }

    /// Compares with sizes that XLA states in error messages and in a TPU profile.
    #[test]
    fn tiles_round_up() {
        for (array, bytes) in [
            (shape("f32", &[128, 6], &[1, 0], &[&[8, 128]]), 64 << 10),
            (shape("f32", &[32, 4096, 4096], &[1, 2, 0], &[&[8, 128]]), 2 << 30),
            (shape("bf16", &[16, 100], &[1, 0], &[&[8, 128], &[2, 1]]), 16 * 128 * 2),
            (shape("f32", &[3, 16384], &[0, 1], &[&[8, 128]]), 16384 * 128 * 4),
            (shape("s32", &[5], &[0], &[&[1024]]), 4096),
        ] {
            assert_eq!(tiled_bytes(&array), Some(bytes), "{array:?}");
        }
        assert_eq!(tiled_bytes(&shape("f32", &[8], &[0], &[])), None);
        assert_eq!(tiled_bytes(&shape("f32", &[u64::MAX, 3], &[1, 0], &[&[8, 128]])), None);
    }

    #[test]
    fn another_shape_wastes_less() {
        let better = |array: &ArrayShape| better_shape(array).map(|it| (it.shape, it.bytes));
        let narrow = shape("f32", &[16384, 4], &[1, 0], &[&[8, 128]]);
        assert_eq!(better(&narrow), Some(("f32[4,16384]".to_owned(), 512 << 10)));
        let tiny = shape("f32", &[1, 64, 64], &[2, 1, 0], &[&[8, 128]]);
        assert_eq!(better(&tiny), None, "half of the lanes are used in any order, and one dimension needs 8 rows");
        assert_eq!(better(&shape("f32", &[256, 128], &[1, 0], &[&[8, 128]])), None, "nothing is wasted");
        let cube = shape("f32", &[12, 12, 12], &[2, 1, 0], &[&[8, 128]]);
        assert_eq!(
            better(&cube),
            Some(("f32[12,144]".to_owned(), 16 * 256 * 4)),
            "no order of three equal sizes helps"
        );
    }
}
