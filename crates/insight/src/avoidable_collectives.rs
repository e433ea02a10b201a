//! Rules about collectives that a program could avoid or run less often. Each of them explains the communication time that the
//! other rules about communication measure.

use super::{Rule, few_microbatches, gathered_batch, gathered_edges, gathered_sum, gathered_weights, reduced_in_loop};

pub(super) static AVOIDABLE_COLLECTIVES: [&Rule; 6] = [
    &few_microbatches::RULE,
    &gathered_batch::RULE,
    &gathered_edges::RULE,
    &gathered_sum::RULE,
    &gathered_weights::RULE,
    &reduced_in_loop::RULE,
];
