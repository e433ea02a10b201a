//! Finds the calls in which a host thread spends most of a given time, from the outermost to the innermost.
//!
//! ```text
//! within    ############################
//! thread   [on_step_end                   )      1. takes all of the given time
//!            [savez_compressed          )        2. takes most of it
//!             [write  )[write ) [close )         3. the two calls of write together take half of it
//!              [lock )                           too short: the path ends at write
//! ```

use rustc_hash::FxHashMap;

use base::Ps;
use trace::{Interval, IntervalSet, LineEvents, StrId, Trace};

/// Share of the time that a call must take to be on the path. We chose this limit because only one of several sibling
/// calls can exceed it.
const LEAST_SHARE: f64 = 0.5;

/// Maximum number of calls on a path, which limits deep recursion.
const MOST_CALLS: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathCall {
    /// Name of the event.
    pub name: StrId,
    /// Part of the given time that the call takes, including the calls inside it.
    pub time: Ps,
    /// Number of calls in that time.
    pub count: u64,
}

/// Calls with the same name and the same enclosing calls.
#[derive(Clone, Copy)]
struct Node {
    parent: usize,
    call: PathCall,
}

/// Returns the path of a thread's calls `within` a set of times on the host's clock. Takes time linear in the number of
/// events of the thread.
pub(crate) fn path(trace: &Trace, events: &LineEvents, within: &IntervalSet) -> Vec<PathCall> {
    let kinds = trace.events.kinds();
    let mut nodes: Vec<Node> = Vec::new();
    let mut places: FxHashMap<(usize, StrId), usize> = FxHashMap::default();
    // Nodes of the calls that have not ended, innermost last, and their ends.
    let mut open: Vec<(usize, Ps)> = Vec::new();
    trace.for_each_on_thread(events, |kind, interval: Interval| {
        while open.pop_if(|(_, end)| *end <= interval.start).is_some() {}
        let time = within.length_within(interval);
        let Some(kind) = kinds.get(kind).filter(|_| time > Ps::ZERO && open.len() < MOST_CALLS) else { return };
        let parent = open.last().map_or(usize::MAX, |&(node, _)| node);
        let node = *places.entry((parent, kind.name)).or_insert_with(|| {
            nodes.push(Node { parent, call: PathCall { name: kind.name, time: Ps::ZERO, count: 0 } });
            nodes.len() - 1
        });
        if let Some(node) = nodes.get_mut(node) {
            (node.call.time, node.call.count) = (node.call.time + time, node.call.count + 1);
        }
        open.push((node, interval.end));
    });
    // Nodes come after their parents, so one walk finds the longest call inside each node.
    let mut longest: FxHashMap<usize, usize> = FxHashMap::default();
    for (at, node) in nodes.iter().enumerate() {
        let most = longest.entry(node.parent).or_insert(at);
        if nodes.get(*most).is_some_and(|known| node.call.time > known.call.time) {
            *most = at;
        }
    }
    let least = LEAST_SHARE * within.length().as_ps() as f64;
    let mut path = Vec::new();
    let mut next = longest.get(&usize::MAX);
    while let Some((at, node)) = next.and_then(|&at| Some((at, nodes.get(at)?))) {
        if (node.call.time.as_ps() as f64) < least {
            break;
        }
        path.push(node.call);
        next = longest.get(&at);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::devices::Devices;
    use trace::TraceBuilder;

    fn names(within: &[(i64, i64)]) -> Vec<(String, f64)> {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        b.event(python, "$train.py:9 on_step_end", 0, 100);
        b.event(python, "$npyio.py:5 savez_compressed", 10, 80);
        for start in [12, 40] {
            b.event(python, "$zipfile.py:7 write", start, 27);
            b.event(python, "$zipfile.py:2 lock", start, 9);
        }
        b.event(python, "$train.py:30 evaluate", 100, 50);
        let trace = b.build();
        let us = |us: i64| Ps::new(us * 1_000_000);
        let within = IntervalSet::union_of(within.iter().map(|&(start, end)| Interval::new(us(start), us(end))));
        let devices = Devices::of(&trace);
        let calls = path(&trace, &devices.by_line.events[0], &within);
        calls.iter().map(|call| (trace.text(call.name).to_owned(), call.time.as_us())).collect()
    }

    /// Follows the picture in the module's documentation. In 100 us, two calls of `write` take 27 us each.
    #[test]
    fn a_path_follows_the_calls_with_half_of_the_time() {
        let expected = [("$train.py:9 on_step_end", 100.0), ("$npyio.py:5 savez_compressed", 80.0)];
        let found = names(&[(0, 100)]);
        assert_eq!(found.iter().map(|(name, us)| (name.as_str(), *us)).collect::<Vec<_>>()[..2], expected);
        assert_eq!(found[2], ("$zipfile.py:7 write".to_owned(), 54.0));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn only_the_given_time_counts() {
        assert_eq!(names(&[(90, 160)]), [("$train.py:30 evaluate".to_owned(), 50.0)]);
        // No call takes half of this time.
        assert_eq!(names(&[(50, 160), (200, 300)]), []);
        assert_eq!(names(&[]), []);
    }
}
