//! Lists the members of each group of a collective.

use super::attributes::{MeshAxes, ReplicaGroups};
use base::sort;

/// Maximum number of devices that are listed.
pub(super) const MAX_LISTED: usize = 1 << 16;

/// Maximum number of dimensions of a device list.
const MAX_DIMENSIONS: usize = 64;

/// Returns the number of devices in the largest group.
pub(super) fn group_size(groups: &ReplicaGroups) -> Option<u32> {
    match groups {
        ReplicaGroups::Lists(lists) => {
            lists.iter().map(Vec::len).max().filter(|&size| size > 0).and_then(|size| u32::try_from(size).ok())
        }
        ReplicaGroups::Iota { group_size, .. } => u32::try_from(*group_size).ok(),
        ReplicaGroups::Mesh(mesh) => {
            let sizes = mesh.grouped.iter().map(|&(axis, part)| axis_size(mesh, axis, part));
            let product = sizes.into_iter().try_fold(1i64, |product, size| product.checked_mul(size?))?;
            u32::try_from(product).ok()
        }
    }
}

/// Returns the size of an axis, or of a part of the axis.
fn axis_size(mesh: &MeshAxes, axis: i64, part: Option<(i64, i64)>) -> Option<i64> {
    let whole = mesh.axes.get(usize::try_from(axis).ok()?)?.1;
    Some(part.map_or(whole, |(_, size)| size))
}

/// Returns the members of each group. Returns `None` if all devices form one group, if there are too many devices to
/// list, or if a number is invalid.
pub fn lists(groups: &ReplicaGroups) -> Option<Vec<Vec<u32>>> {
    let lists: Vec<Vec<u32>> = match groups {
        ReplicaGroups::Lists(lists) => {
            let members = |group: &Vec<i64>| group.iter().map(|&id| u32::try_from(id).ok()).collect();
            lists.iter().map(members).collect::<Option<_>>()?
        }
        ReplicaGroups::Iota { groups, group_size, reshape, transpose } => {
            let size = usize::try_from(*group_size).ok().filter(|&size| size > 0)?;
            let total = usize::try_from(*groups).ok()?.checked_mul(size).filter(|&total| total <= MAX_LISTED)?;
            let order = iota(total, reshape, transpose)?;
            order.chunks(size).map(<[u32]>::to_vec).collect()
        }
        ReplicaGroups::Mesh(mesh) => along_axes(mesh)?,
    };
    (lists.iter().any(|group| !group.is_empty())).then_some(lists)
}

/// Returns `0..total` reshaped to `reshape`, with its dimensions in the order `transpose`, read row by row.
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

/// Returns the devices of a mesh, cut into groups along axes. If only parts of an axis are grouped, the axis is first
/// split into parts:
///
/// ```text
/// mesh a=2, b=4; grouped b:(1)2     b is cut into 2 x 2; the major half of it spans a group
/// dimensions (a 2, b' 2, b'' 2)     order: the others (a, b''), then the grouped (b')
/// ```
fn along_axes(mesh: &MeshAxes) -> Option<Vec<Vec<u32>>> {
    // For each dimension: its axis, the size of the more major part of the axis, and the dimension's own size.
    let mut dimensions: Vec<(i64, i64, i64)> = Vec::new();
    for (axis, (_, size)) in (0i64..).zip(&mesh.axes) {
        let mut cuts = vec![1, *size];
        for (_, part) in mesh.grouped.iter().filter(|grouped| grouped.0 == axis) {
            let (before, own) = part.unwrap_or((1, *size));
            cuts.extend([before, before.checked_mul(own)?]);
        }
        sort::sort_by(&mut cuts, Ord::cmp);
        cuts.dedup();
        for cut in cuts.windows(2) {
            let &[before, after] = cut else { return None };
            if before < 1 || after % before != 0 || dimensions.len() >= MAX_DIMENSIONS {
                return None;
            }
            dimensions.push((axis, before, after / before));
        }
    }
    let mut minor = Vec::new();
    for &(axis, part) in &mesh.grouped {
        let whole = axis_size(mesh, axis, None)?;
        let (start, own) = part.unwrap_or((1, whole));
        let end = start.checked_mul(own)?;
        let of_part = |&(_, d): &(usize, &(i64, i64, i64))| d.0 == axis && d.1 >= start && d.1 < end;
        minor.extend(dimensions.iter().enumerate().filter(of_part).map(|(i, _)| i));
    }
    let major = (0..dimensions.len()).filter(|i| !minor.contains(i));
    let order: Vec<i64> = major.chain(minor.iter().copied()).map(|i| i64::try_from(i).ok()).collect::<Option<_>>()?;
    let sizes: Vec<i64> = dimensions.iter().map(|dimension| dimension.2).collect();
    let total = sizes.iter().try_fold(1usize, |total, &size| total.checked_mul(usize::try_from(size).ok()?))?;
    if total == 0 || total > MAX_LISTED {
        return None;
    }
    let positions = iota(total, &sizes, &order)?;
    let devices: Vec<u32> = match &mesh.device_iota {
        (reshape, transpose) if !reshape.is_empty() => iota(total, reshape, transpose)?,
        _ if !mesh.device_ids.is_empty() => {
            mesh.device_ids.iter().map(|&id| u32::try_from(id).ok()).collect::<Option<_>>()?
        }
        _ => (0..u32::try_from(total).ok()?).collect(),
    };
    let members: Vec<u32> = positions.iter().map(|&i| devices.get(i as usize).copied()).collect::<Option<_>>()?;
    let size =
        usize::try_from(group_size(&ReplicaGroups::Mesh(Box::new(mesh.clone())))?).ok().filter(|&size| size > 0)?;
    Some(members.chunks(size).map(<[u32]>::to_vec).collect())
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

    fn mesh(grouped: &[(i64, Option<(i64, i64)>)]) -> MeshAxes {
        let axes = vec![("a".to_owned(), 2), ("b".to_owned(), 4)];
        MeshAxes { axes, grouped: grouped.to_vec(), ..MeshAxes::default() }
    }

    #[test]
    fn groups_lie_along_the_axes_of_a_mesh() {
        let groups = |mesh: MeshAxes| lists(&ReplicaGroups::Mesh(Box::new(mesh)));
        assert_eq!(groups(mesh(&[(1, None)])), Some(vec![vec![0, 1, 2, 3], vec![4, 5, 6, 7]]));
        assert_eq!(groups(mesh(&[(0, None)])), Some(vec![vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]]));
        assert_eq!(groups(mesh(&[(1, None), (0, None)])), Some(vec![vec![0, 4, 1, 5, 2, 6, 3, 7]]));
        let halves = vec![vec![0, 2], vec![1, 3], vec![4, 6], vec![5, 7]];
        assert_eq!(groups(mesh(&[(1, Some((1, 2)))])), Some(halves), "the major half of b");
        let pairs = vec![vec![0, 1], vec![2, 3], vec![4, 5], vec![6, 7]];
        assert_eq!(groups(mesh(&[(1, Some((2, 2)))])), Some(pairs), "the minor half of b");
        let turned = MeshAxes { device_iota: (vec![4, 2], vec![1, 0]), ..mesh(&[(1, None)]) };
        assert_eq!(groups(turned), Some(vec![vec![0, 2, 4, 6], vec![1, 3, 5, 7]]));
        let listed = MeshAxes { device_ids: vec![1, 0, 2, 3, 4, 5, 6, 7], ..mesh(&[(0, None)]) };
        assert_eq!(groups(listed), Some(vec![vec![1, 4], vec![0, 5], vec![2, 6], vec![3, 7]]));
        assert_eq!(groups(mesh(&[(7, None)])), None);
        assert_eq!(groups(mesh(&[(1, Some((3, 2)))])), None, "three does not divide four");
    }
}
