//! The requests to one worker that are not answered yet. Pure: it knows no browser.

use super::{Place, RequestId};

/// What waits for the responses of one worker. `T` is whoever waits.
#[derive(Debug)]
pub struct Pending<T> {
    last: u32,
    /// What waits, in the order of the requests, of which hardly more than a few wait at once.
    waiting: Vec<(RequestId, Option<Place>, T)>,
    /// Why nothing is answered any more.
    ended: Option<String>,
}

/// A request that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Number of the request.
    pub id: RequestId,
    /// An earlier request for the same place, which nobody waits for now.
    pub superseded: Option<RequestId>,
}

impl<T> Default for Pending<T> {
    fn default() -> Pending<T> {
        Pending { last: 0, waiting: Vec::new(), ended: None }
    }
}

impl<T: Clone> Pending<T> {
    /// Notes that someone waits. What waited for the same place is forgotten: the latest wins.
    ///
    /// # Errors
    /// Why the worker answers nothing any more.
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

    /// Forgets who waits for what fills a place: the request that they made.
    pub fn cancel(&mut self, place: Place) -> Option<RequestId> {
        let at = self.waiting.iter().position(|(_, of, _)| *of == Some(place))?;
        Some(self.waiting.remove(at).0)
    }

    /// Who waits for the response to a request, of which there is progress. Nobody where it was superseded, cancelled or
    /// answered, or is of no request.
    pub fn progress(&self, id: RequestId) -> Option<T> {
        self.at(id).and_then(|at| self.waiting.get(at)).map(|(.., waiter)| waiter.clone())
    }

    /// Who waits for the response to a request, which is there: it is the last time that they hear of it.
    pub fn close(&mut self, id: RequestId) -> Option<T> {
        self.at(id).map(|at| self.waiting.remove(at).2)
    }

    fn at(&self, id: RequestId) -> Option<usize> {
        self.waiting.iter().position(|(of, ..)| *of == id)
    }

    /// The worker answers nothing any more: everybody who waits is to hear why, and so is whoever asks later.
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
        // The worker may have begun the earlier ones: what comes of them reaches nobody.
        assert_eq!((pending.progress(first.id), pending.close(first.id), pending.close(second.id)), (None, None, None));
        assert_eq!((pending.close(third.id), pending.close(other.id)), (Some('c'), Some('r')));
    }

    #[test]
    fn a_place_that_is_left_waits_for_nothing() {
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
    fn a_response_is_heard_once_and_one_of_no_request_never() {
        let mut pending = Pending::default();
        let id = opened(&mut pending, None, 'a').id;
        assert_eq!((pending.progress(id), pending.progress(id)), (Some('a'), Some('a')));
        assert_eq!((pending.close(id), pending.progress(id), pending.close(id)), (Some('a'), None, None));
        for unknown in [RequestId::UNAWAITED, RequestId(7), RequestId(u32::MAX)] {
            assert_eq!((pending.progress(unknown), pending.close(unknown)), (None, None));
        }
    }

    #[test]
    fn a_worker_that_ends_leaves_nobody_waiting() {
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
