//! Memory layouts that JAX can express.

use hlo::ArrayShape;

/// Returns the dimensions from the slowest-varying to the fastest-varying. Returns the usual order if the file records
/// no layout.
pub(crate) fn major_to_minor(array: &ArrayShape) -> Vec<usize> {
    let usual: Vec<usize> = (0..array.dimensions.len()).collect();
    let Some(layout) = &array.layout else { return usual };
    let order: Vec<usize> = layout.minor_to_major.iter().rev().filter_map(|&it| usize::try_from(it).ok()).collect();
    let mut sorted = order.clone();
    base::sort::sort_by(&mut sorted, Ord::cmp);
    if sorted == usual { order } else { usual }
}

/// Returns the order of the dimensions of an array with an unusual layout. `None` for the usual layout.
pub(crate) fn unusual(array: &ArrayShape) -> Option<Vec<usize>> {
    let order = major_to_minor(array);
    // Dimensions of size 1 may be anywhere.
    let long = order.iter().filter(|&&it| array.dimensions.get(it).is_some_and(|&size| size != 1));
    let is_usual = long.clone().zip(long.skip(1)).all(|(a, b)| a < b);
    (!is_usual).then_some(order)
}

/// Returns the inverse of a permutation.
pub(crate) fn inverse(order: &[usize]) -> Vec<usize> {
    (0..order.len()).map(|wanted| order.iter().position(|&it| it == wanted).unwrap_or(0)).collect()
}

/// Returns true if a permutation changes nothing.
pub(crate) fn is_identity(order: &[usize]) -> bool {
    order.iter().enumerate().all(|(place, &it)| place == it)
}

/// Returns true if an array is in host memory, which is memory space 5 on accelerators.
pub(crate) fn is_on_host(array: &ArrayShape) -> bool {
    array.layout.as_ref().is_some_and(|layout| layout.memory_space == 5)
}
