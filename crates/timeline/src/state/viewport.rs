//! The visible range of time, and the functions that zoom it around the pointer, pan it, and fit it to a range.

use base::Ps;
use trace::Interval;

/// Length of the shortest range that can be shown, in picoseconds.
const SHORTEST: i64 = 10;

/// The visible range, and the whole range in which it can move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Viewport {
    /// The whole range that can be shown.
    pub all: Interval,
    /// Visible range.
    pub range: Interval,
}

impl Viewport {
    /// Returns a viewport that shows everything.
    pub fn new(all: Interval) -> Viewport {
        let all = Interval::new(all.start, all.end.max(all.start + Ps::new(SHORTEST)));
        Viewport { all, range: all }
    }

    /// Returns the viewport with another range, clamped to the whole range.
    #[must_use]
    pub fn show(self, range: Interval) -> Viewport {
        let (all, longest) = (self.all, self.all.length().as_ps());
        let length = range.length().as_ps().clamp(SHORTEST, longest);
        let latest = all.end.as_ps().saturating_sub(length).max(all.start.as_ps());
        let start = range.start.as_ps().clamp(all.start.as_ps(), latest);
        Viewport { all, range: Interval::new(Ps::new(start), Ps::new(start.saturating_add(length))) }
    }

    /// Returns the time at the fraction `share` of the width, from 0 to 1.
    pub fn time_at(self, share: f64) -> Ps {
        // A cast of a float saturates.
        self.range.start + Ps::new((self.range.length().as_ps() as f64 * share) as i64)
    }

    /// Returns the fraction of the width at which a time is shown. The fraction is below 0 or above 1 if the time is
    /// not visible.
    pub fn share_of(self, time: Ps) -> f64 {
        (time - self.range.start).as_ps() as f64 / self.range.length().as_ps() as f64
    }

    /// Zooms so that the range is `factor` times as long. The time at the fraction `share` of the width stays in place.
    #[must_use]
    pub fn zoom(self, share: f64, factor: f64) -> Viewport {
        let length = self.range.length().as_ps() as f64;
        let longest = self.all.length().as_ps() as f64;
        let wanted = (length * factor).clamp(SHORTEST as f64, longest);
        let start = self.range.start + Ps::new(((length - wanted) * share) as i64);
        self.show(Interval::new(start, start + Ps::new(wanted as i64)))
    }

    /// Moves the visible range to later times, by `widths` times its length.
    #[must_use]
    pub fn pan(self, widths: f64) -> Viewport {
        let by = Ps::new((self.range.length().as_ps() as f64 * widths) as i64);
        self.show(Interval::new(self.range.start + by, self.range.end + by))
    }

    /// Returns a viewport that shows `range` with a margin on both sides.
    #[must_use]
    pub fn fit(self, range: Interval) -> Viewport {
        let margin = Ps::new((range.length().as_ps() / 8).max(1));
        self.show(Interval::new(range.start - margin, range.end + margin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: i64, end: i64) -> Interval {
        Interval::new(Ps::new(start), Ps::new(end))
    }

    #[test]
    fn zooming_leaves_the_time_below_the_pointer() {
        let view = Viewport::new(at(0, 1_000_000));
        let near = view.zoom(0.25, 0.1);
        assert_eq!(near.range, at(225_000, 325_000));
        assert_eq!(near.zoom(0.25, 10.0), view);
        assert_eq!(view.zoom(0.5, 10.0), view);
        let nearest = (0..100).fold(view, |view, _| view.zoom(0.5, 0.5));
        assert_eq!(nearest.range.length(), Ps::new(SHORTEST));
    }

    #[test]
    fn nothing_outside_is_shown() {
        let view = Viewport::new(at(100, 1_100)).zoom(0.5, 0.1);
        assert_eq!(view.range, at(550, 650));
        assert_eq!(view.pan(0.5).range, at(600, 700));
        assert_eq!(view.pan(100.0).range, at(1_000, 1_100));
        assert_eq!(view.pan(-100.0).range, at(100, 200));
        assert_eq!(view.fit(at(560, 568)).range, at(559, 569));
        assert_eq!(view.show(at(-9_000, 9_000)).range, at(100, 1_100));
        assert_eq!(Viewport::new(at(5, 5)).range, at(5, 15));
    }

    #[test]
    fn a_time_has_its_share_of_the_width() {
        let view = Viewport::new(at(0, 1_000)).show(at(200, 600));
        assert_eq!(
            (view.time_at(0.25), view.share_of(Ps::new(300)), view.share_of(Ps::new(100))),
            (Ps::new(300), 0.25, -0.25)
        );
    }
}
