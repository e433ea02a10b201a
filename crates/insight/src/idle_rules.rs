//! Ids of the rules about idle time.

use super::idle_time::{OTHER_CAUSES, PARTS_OF_STEP};
use super::{Rule, idle_gaps, low_device_utilization, many_small_kernels, tensor_core_idle};

/// Rules about the amount of idle time.
static AMOUNTS: [&Rule; 3] = [&low_device_utilization::RULE, &tensor_core_idle::RULE, &idle_gaps::RULE];

/// Ids of the rules about idle time, starting with the rules about its amount. The ids are plain text, so a program
/// that only reads findings does not contain the code of the rules.
pub const IDS: [&str; 16] = ids(&[&AMOUNTS, &PARTS_OF_STEP, &OTHER_CAUSES, &[&many_small_kernels::RULE]]);

/// Returns the ids of the rules in `lists`. Only the compiler calls this function, for [`IDS`].
#[allow(clippy::indexing_slicing, reason = "a wrong index does not compile")]
const fn ids<const N: usize>(lists: &[&[&Rule]]) -> [&'static str; N] {
    let (mut ids, mut filled, mut list) = ([""; N], 0, 0);
    while list < lists.len() {
        let mut at = 0;
        while at < lists[list].len() {
            ids[filled] = lists[list][at].id;
            filled += 1;
            at += 1;
        }
        list += 1;
    }
    assert!(filled == N, "The length of IDS differs from the total length of its lists");
    ids
}
