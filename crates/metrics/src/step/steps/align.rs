//! Aligns the marks of several devices: finds the marks that belong to the same step.
//!
//! Marks are never aligned by time, because the starts of one step on two devices can be further apart than two steps
//! on one device.

use base::sort;
use std::collections::{BTreeMap, BTreeSet};

use super::Mark;

/// Aligned marks: `[device][step]`.
pub(super) type Aligned = Vec<Vec<Option<Mark>>>;

/// Aligns marks by keys that mean the same on every device (`step_num`, the names of a `Steps` line). Each distinct key
/// is a step. Falls back to ranks if a mark has no key or the keys of a device do not ascend.
///
/// ```text
/// device 0   4 5 6        step   4 5 6 7
/// device 1     5 6 7             - 5 6 7
/// ```
pub(super) fn by_key(marks: &[Vec<Mark>]) -> Aligned {
    if !keys_ascend(marks) {
        return ranks(marks);
    }
    let keys = sort::set(marks.iter().flatten().filter_map(|mark| mark.key));
    align_keys(marks, &keys)
}

/// Aligns marks by rank or run id, because each device may number its runs separately. If all devices have the same
/// number of runs, the i-th runs match. If the numbers differ, runs match by id if the devices have most ids in common,
/// and by rank if not.
pub(super) fn by_rank(marks: &[Vec<Mark>]) -> Aligned {
    let mut counts = marks.iter().map(Vec::len).filter(|&count| count > 0);
    let first = counts.next().unwrap_or(0);
    if counts.all(|count| count == first) || !keys_ascend(marks) {
        return ranks(marks);
    }
    let mut devices_of: BTreeMap<i64, u32> = BTreeMap::new();
    for key in marks.iter().flatten().filter_map(|mark| mark.key) {
        *devices_of.entry(key).or_default() += 1;
    }
    let shared = devices_of.values().filter(|&&devices| devices > 1).count();
    if shared * 2 < devices_of.len() {
        return ranks(marks);
    }
    align_keys(marks, &sort::set(devices_of.into_keys()))
}

/// Returns true if every mark has a key and the keys of each device ascend.
fn keys_ascend(marks: &[Vec<Mark>]) -> bool {
    marks.iter().all(|row| {
        let mut keys = row.iter().map(|mark| mark.key);
        let mut last = None;
        keys.all(|key| key.is_some() && std::mem::replace(&mut last, key) < key)
    })
}

fn align_keys(marks: &[Vec<Mark>], keys: &BTreeSet<i64>) -> Aligned {
    let align = |row: &Vec<Mark>| {
        let mut row = row.iter().copied().peekable();
        keys.iter().map(|&key| row.next_if(|mark| mark.key == Some(key))).collect()
    };
    marks.iter().map(align).collect()
}

fn ranks(marks: &[Vec<Mark>]) -> Aligned {
    let count = marks.iter().map(Vec::len).max().unwrap_or(0);
    marks.iter().map(|row| (0..count).map(|rank| row.get(rank).copied()).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Ps;
    use trace::Interval;

    fn row(keys: &[i64]) -> Vec<Mark> {
        let mark = |(rank, &key)| Mark { interval: Interval::new(Ps::new(rank), Ps::new(rank + 1)), key: Some(key) };
        (0i64..).zip(keys).map(mark).collect()
    }

    fn keys(aligned: &Aligned) -> Vec<Vec<Option<i64>>> {
        aligned.iter().map(|row| row.iter().map(|mark| mark.and_then(|mark| mark.key)).collect()).collect()
    }

    #[test]
    fn global_keys_show_the_steps_that_a_device_missed() {
        let aligned = by_key(&[row(&[4, 5, 6]), row(&[5, 6, 7]), row(&[])]);
        let missed = vec![None; 4];
        assert_eq!(
            keys(&aligned),
            [vec![Some(4), Some(5), Some(6), None], vec![None, Some(5), Some(6), Some(7)], missed]
        );
    }

    #[test]
    fn run_ids_of_devices_that_count_separately_are_aligned_by_rank() {
        let aligned = by_rank(&[row(&[6, 7, 8]), row(&[4, 5, 6])]);
        assert_eq!(keys(&aligned), [vec![Some(6), Some(7), Some(8)], vec![Some(4), Some(5), Some(6)]]);
        let aligned = by_rank(&[row(&[100, 101]), row(&[4, 5, 6])]);
        assert_eq!(keys(&aligned), [vec![Some(100), Some(101), None], vec![Some(4), Some(5), Some(6)]]);
    }

    #[test]
    fn shared_run_ids_show_the_run_that_a_device_missed() {
        let aligned = by_rank(&[row(&[1, 2, 3, 4]), row(&[2, 3, 4])]);
        assert_eq!(keys(&aligned)[1], [None, Some(2), Some(3), Some(4)]);
    }

    #[test]
    fn keys_that_do_not_ascend_are_not_trusted() {
        let aligned = by_key(&[row(&[0, 1, 0, 1]), row(&[0, 1, 0, 1])]);
        assert_eq!(keys(&aligned)[0], [Some(0), Some(1), Some(0), Some(1)]);
    }
}
