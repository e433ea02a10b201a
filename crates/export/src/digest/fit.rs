//! Drops the least important items of a digest until the digest fits into a number of bytes.

use super::{Digest, LEAST_BYTES};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    Findings,
    Parts,
    Scopes,
    Ops,
    Warnings,
    Missing,
    Next,
}

/// Order in which items are dropped. Each entry is a list, and the number of items to which it is shortened before the
/// next entry applies.
const ORDER: [(List, usize); 22] = [
    (List::Next, 3),
    (List::Ops, 5),
    (List::Scopes, 4),
    (List::Missing, 4),
    (List::Warnings, 3),
    (List::Parts, 6),
    (List::Missing, 3),
    (List::Scopes, 3),
    (List::Ops, 3),
    (List::Warnings, 1),
    (List::Missing, 2),
    (List::Next, 2),
    (List::Parts, 4),
    (List::Scopes, 1),
    (List::Missing, 0),
    (List::Next, 0),
    (List::Findings, 1),
    (List::Scopes, 0),
    (List::Warnings, 0),
    (List::Ops, 0),
    (List::Parts, 0),
    (List::Findings, 0),
];

/// Returns the digest with all items that fit, and the rendered digest.
pub(super) fn fit(mut digest: Digest, most_bytes: usize, render: &dyn Fn(&Digest) -> String) -> (Digest, String) {
    let most_bytes = most_bytes.max(LEAST_BYTES);
    let mut order = ORDER.iter().peekable();
    loop {
        let text = render(&digest);
        if text.len() <= most_bytes {
            return (digest, text);
        }
        let dropped = loop {
            match order.peek() {
                Some(&&(list, kept)) if digest.drop_last(list, kept) => break true,
                Some(_) => order.next(),
                None => break false,
            };
        };
        if !dropped && !digest.drop_details() {
            return (digest, text);
        }
    }
}

impl Digest {
    /// If a list has more than `kept` items, drops the last item and counts it as left out. Returns false if the list
    /// has no more than `kept` items.
    fn drop_last(&mut self, list: List, kept: usize) -> bool {
        fn pop<T>(items: &mut Vec<T>, kept: usize) -> bool {
            items.len() > kept && items.pop().is_some()
        }
        let mut none = Vec::new();
        let (name, dropped) = match list {
            List::Findings => ("findings", pop(&mut self.findings, kept)),
            List::Parts => ("parts", pop(self.step.as_mut().map_or(&mut none, |step| &mut step.parts), kept)),
            List::Scopes => ("scopes", pop(&mut self.scopes, kept)),
            List::Ops => ("ops", pop(&mut self.ops, kept)),
            List::Warnings => ("warnings", pop(&mut self.warnings, kept)),
            List::Missing => ("not_measured", pop(&mut self.not_measured, kept)),
            List::Next => ("next", pop(&mut self.next, kept)),
        };
        if dropped {
            self.leave_out(name, 1);
        }
        dropped
    }

    /// As a last resort, drops one of the capture's optional facts. Returns false if none of these facts is left.
    fn drop_details(&mut self) -> bool {
        let capture = &mut self.capture;
        let had = capture.caution.take().is_some() || capture.window.take().is_some() || capture.start.take().is_some();
        if had {
            self.leave_out("capture", 1);
        }
        had
    }
}
