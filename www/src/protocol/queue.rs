//! Requests that a worker has received but not started. This module does not access the browser.

use std::collections::VecDeque;

use super::RequestId;

/// Requests in order of arrival, without cancelled requests.
#[derive(Debug)]
pub struct Queue<Q> {
    waiting: VecDeque<(RequestId, Q)>,
}

impl<Q> Default for Queue<Q> {
    fn default() -> Queue<Q> {
        Queue { waiting: VecDeque::new() }
    }
}

impl<Q> Queue<Q> {
    /// Adds a request.
    pub fn push(&mut self, id: RequestId, request: Q) {
        self.waiting.push_back((id, request));
    }

    /// Removes a request that has not started. If the request has started, the worker still answers it, and the page
    /// ignores the response.
    pub fn cancel(&mut self, id: RequestId) {
        self.waiting.retain(|(waiting, _)| *waiting != id);
    }

    /// Returns the next request to start.
    pub fn pop(&mut self) -> Option<(RequestId, Q)> {
        self.waiting.pop_front()
    }

    /// Returns true if no request is waiting.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Place;
    use super::super::pending::Pending;
    use super::*;

    #[test]
    fn a_cancelled_request_is_never_begun() {
        let mut queue = Queue::default();
        for id in 1..=3 {
            queue.push(RequestId(id), id);
        }
        queue.cancel(RequestId(2));
        queue.cancel(RequestId(9));
        assert_eq!((queue.pop(), queue.pop()), (Some((RequestId(1), 1)), Some((RequestId(3), 3))));
        queue.cancel(RequestId(1));
        assert!(queue.pop().is_none() && queue.is_empty());
    }

    /// The page requests five views while the worker is busy. The worker makes only the first and the last of these
    /// views.
    #[test]
    fn a_busy_worker_makes_only_the_first_and_the_last_view() {
        let (mut pending, mut queue) = (Pending::default(), Queue::default());
        let (mut begun, mut heard) = (Vec::new(), Vec::new());
        let mut busy_with = None;
        for view in ["ops", "kernels", "steps", "roofline", "devices"] {
            let opened = pending.open(Some(Place::View), view).unwrap();
            if let Some(id) = opened.superseded {
                queue.cancel(id);
            }
            queue.push(opened.id, view);
            if busy_with.is_none() {
                busy_with = queue.pop();
                begun.extend(busy_with);
            }
        }
        while let Some((id, _)) = busy_with {
            heard.extend(pending.close(id));
            busy_with = queue.pop();
            begun.extend(busy_with);
        }
        assert_eq!(begun.iter().map(|(_, view)| *view).collect::<Vec<_>>(), ["ops", "devices"]);
        assert_eq!(heard, ["devices"]);
    }
}
