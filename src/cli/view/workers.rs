//! Threads that read files for the server, so that a slow disk delays only one response. If no thread can be started, the
//! server reads the files itself.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

/// Number of threads. A browser requests six files at once, and the scan of the folder needs one more thread.
const THREADS: usize = 7;

type Job = Box<dyn FnOnce() + Send>;

pub(super) struct Workers {
    /// Queue of jobs for the threads. `None` if no thread could be started.
    jobs: Option<Sender<Job>>,
}

impl Workers {
    /// Starts the threads, or as many as the system allows.
    pub(super) fn start() -> Workers {
        let (jobs, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let start = |_: &usize| {
            let waiting = Arc::clone(&waiting);
            std::thread::Builder::new().name("crossprof-view".to_owned()).spawn(move || work(&waiting)).is_ok()
        };
        let started = (0..THREADS).take_while(start).count();
        Workers { jobs: (started > 0).then_some(jobs) }
    }

    /// Runs a job and returns its result. `None` if the job did not finish.
    pub(super) async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let Some(jobs) = &self.jobs else { return Some(job()) };
        let (sender, result) = oneshot::channel();
        // The receiver is gone if the connection was closed in the meantime.
        jobs.send(Box::new(move || drop(sender.send(job())))).ok()?;
        result.await.ok()
    }
}

fn work(waiting: &Mutex<Receiver<Job>>) {
    loop {
        let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        job();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_run_with_threads_and_without() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for workers in [Workers::start(), Workers { jobs: None }] {
            let results = runtime.block_on(async { (workers.run(|| 1).await, workers.run(|| 2).await) });
            assert_eq!(results, (Some(1), Some(2)));
        }
    }
}
