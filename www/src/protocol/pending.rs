//! Pending requests to one worker. This module does not access the browser.

use super::{Place, RequestId};

/// Pending requests of one worker. `T` receives the results.
#[derive(Debug)]
pub struct Pending<T> {
    last: u32,
    /// Pending requests, oldest first. There are rarely more than a few pending requests.
    waiting: Vec<(RequestId, Option<Place>, T)>,
    /// Reason why the worker has ended, or `None` while it runs.
    ended: Option<String>,
}

/// Numbers of a new request and of the request that it replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Number of the request.
    pub id: RequestId,
    /// Earlier request for the same place. The earlier request is now cancelled.
    pub superseded: Option<RequestId>,
}

impl<T> Default for Pending<T> {
    fn default() -> Pending<T> {
        Pending { last: 0, waiting: Vec::new(), ended: None }
    }
}

impl<T: Clone> Pending<T> {
    /// Registers a request. Cancels any pending request for the same place.
    ///
    /// # Errors
    /// Returns the reason if the worker has ended.
    pub fn open(&mut self, place: Option<Place>, waiter: T) -> Result<Opened, String> {
        if let Some(reason) = &self.ended {
            return Err(reason.clone());
        }
        let superseded = place.and_then(|place| self.cancel(place));
        self.last = self.last.wrapping_add(1);
        let id = RequestId(self.last);
        self.waiting.push((id, place, waiter));
        Ok(Opened { id, superseded })
    }

    /// Cancels the request for a place and returns its number.
    pub fn cancel(&mut self, place: Place) -> Option<RequestId> {
        let at = self.waiting.iter().position(|(_, of, _)| *of == Some(place))?;
        Some(self.waiting.remove(at).0)
    }

    /// Returns the receiver of a request that made progress. Returns `None` if the request was superseded, cancelled
    /// or answered, or never existed.
    pub fn progress(&self, id: RequestId) -> Option<T> {
        self.at(id).and_then(|at| self.waiting.get(at)).map(|(.., waiter)| waiter.clone())
    }

    /// Returns the receiver of a request whose response arrived, and removes the request.
    pub fn close(&mut self, id: RequestId) -> Option<T> {
        self.at(id).map(|at| self.waiting.remove(at).2)
    }

    fn at(&self, id: RequestId) -> Option<usize> {
        self.waiting.iter().position(|(of, ..)| *of == id)
    }

    /// Returns all receivers when the worker ends. Later calls of [`Pending::open`] fail with this reason.
    pub fn end(&mut self, reason: &str) -> Vec<T> {
        self.ended.get_or_insert_with(|| reason.to_owned());
        std::mem::take(&mut self.waiting).into_iter().map(|(.., waiter)| waiter).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(pending: &mut Pending<char>, place: Option<Place>, waiter: char) -> Opened {
        pending.open(place, waiter).unwrap()
    }

    #[test]
    fn the_latest_request_for_a_place_wins() {
        let mut pending = Pending::default();
        let first = opened(&mut pending, Some(Place::View), 'a');
        let other = opened(&mut pending, Some(Place::Report(0)), 'r');
        let second = opened(&mut pending, Some(Place::View), 'b');
        let third = opened(&mut pending, Some(Place::View), 'c');
        assert_eq!((first.superseded, other.superseded), (None, None));
        assert_eq!((second.superseded, third.superseded), (Some(first.id), Some(second.id)));
        // The worker may have started the earlier requests, but their results are ignored.
        assert_eq!((pending.progress(first.id), pending.close(first.id), pending.close(second.id)), (None, None, None));
        assert_eq!((pending.close(third.id), pending.close(other.id)), (Some('c'), Some('r')));
    }

    #[test]
    fn a_cancelled_place_has_no_pending_request() {
        let mut pending = Pending::default();
        let id = opened(&mut pending, Some(Place::View), 'a').id;
        opened(&mut pending, Some(Place::Comparison), 'b');
        assert_eq!((pending.cancel(Place::View), pending.cancel(Place::View)), (Some(id), None));
        assert_eq!(pending.close(id), None);
        assert_eq!(opened(&mut pending, Some(Place::View), 'c').superseded, None);
    }

    #[test]
    fn requests_without_a_place_are_all_answered() {
        let mut pending = Pending::default();
        let ids = ['a', 'b', 'c'].map(|waiter| opened(&mut pending, None, waiter).id);
        assert_eq!(ids.map(|id| pending.close(id)), [Some('a'), Some('b'), Some('c')]);
    }

    #[test]
    fn a_response_arrives_once_and_unknown_ids_are_ignored() {
        let mut pending = Pending::default();
        let id = opened(&mut pending, None, 'a').id;
        assert_eq!((pending.progress(id), pending.progress(id)), (Some('a'), Some('a')));
        assert_eq!((pending.close(id), pending.progress(id), pending.close(id)), (Some('a'), None, None));
        for unknown in [RequestId::UNAWAITED, RequestId(7), RequestId(u32::MAX)] {
            assert_eq!((pending.progress(unknown), pending.close(unknown)), (None, None));
        }
    }

    #[test]
    fn a_worker_that_ends_fails_all_pending_requests() {
        let mut pending = Pending::default();
        let done = opened(&mut pending, None, 'a').id;
        pending.close(done);
        for waiter in ['b', 'c'] {
            opened(&mut pending, Some(Place::View), waiter);
        }
        opened(&mut pending, None, 'd');
        assert_eq!(pending.end("It died."), ['c', 'd']);
        assert_eq!(pending.open(Some(Place::View), 'e'), Err("It died.".to_owned()));
        assert_eq!((pending.end("It died again."), pending.open(None, 'f')), (vec![], Err("It died.".to_owned())));
    }
}
