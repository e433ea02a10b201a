//! Runs jobs on several threads and returns their results in order.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of threads. More threads would need more memory, because each thread keeps the events of its file in
/// memory.
const MOST_THREADS: usize = 8;

/// Returns the number of threads that can be kept busy, or `None` if there are too few jobs.
pub(super) fn threads(jobs: usize) -> Option<usize> {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MOST_THREADS);
    (threads > 1 && jobs >= 2 * threads).then_some(threads)
}

/// Runs `job` for every index below `jobs`, and returns the results in order. The calling thread is one of the `threads`,
/// so that it can later reuse memory that it allocates here.
pub(super) fn in_order<T: Send>(jobs: usize, threads: usize, job: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<T>>> = (0..jobs).map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = done.get(index) else { return };
            let result = job(index);
            if let Ok(mut slot) = slot.lock() {
                *slot = Some(result);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // If a thread cannot start, the other threads take its jobs.
            let _ = std::thread::Builder::new().name("decoder".to_owned()).spawn_scoped(scope, work);
        }
        work();
    });
    done.into_iter().filter_map(|slot| slot.into_inner().ok().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order() {
        for threads in [1, 2, 7] {
            let results = in_order(100, threads, |index| {
                std::thread::sleep(std::time::Duration::from_micros(100 * (index as u64 % 3)));
                index
            });
            assert_eq!(results, (0..100).collect::<Vec<_>>());
        }
        assert!(in_order(0, 4, |index| index).is_empty());
    }
}
