//! Draws flags and bookmarked ranges. A flag is drawn as a line over the rows, and a range as a tint over the rows.
//! Each flag or range has a head on the axis, which contains its name.

use base::Ps;

use crate::draw::scene::{AXIS_HEIGHT, Scene};
use crate::state::bookmarks::Bookmark;
use crate::surface::canvas::{Canvas, Rect, TextStyle};

/// Height of the head of a flag, and width of a letter on the head, in CSS pixels.
const HEAD: i32 = 13;
const LETTER: i32 = 7;

impl Scene<'_> {
    /// Returns the index of the bookmark whose head is at a point of the axis.
    pub(crate) fn bookmark_at(&self, x: f64, y: f64) -> Option<u32> {
        let is_axis = x >= 0.0 && (0.0..f64::from(AXIS_HEIGHT)).contains(&y);
        let is_there = |bookmark: &Bookmark| {
            let left = self.viewport.share_of(self.start_of(bookmark)) * f64::from(self.size.0);
            left - 2.0 <= x && x <= left + f64::from(head(bookmark).1)
        };
        let at = self.bookmarks.all().iter().rposition(|it| is_axis && is_there(it))?;
        u32::try_from(at).ok()
    }

    fn start_of(&self, bookmark: &Bookmark) -> Ps {
        self.zero + Ps::new(bookmark.range_ps.0)
    }

    /// Draws a line for each flag, and a bar on the axis for each range. The name is at the start of the line or bar.
    pub(crate) fn draw_bookmarks(&self, canvas: &mut dyn Canvas, x_of: &dyn Fn(Ps) -> i32) {
        let (theme, axis) = (self.theme(), self.px(AXIS_HEIGHT as i32));
        let (right, height) = (self.px(self.size.0 as i32), self.px(self.size.1 as i32));
        for (index, bookmark) in (0..).zip(self.bookmarks.all()) {
            let (name, width) = head(bookmark);
            let (x, end) = (x_of(self.start_of(bookmark)), x_of(self.zero + Ps::new(bookmark.range_ps.1)));
            let width = self.px(width);
            if x > right || end.max(x.saturating_add(width)) < 0 {
                continue;
            }
            let colour = if self.bookmark == Some(index) { theme.ink } else { theme.accent };
            let (from, to) = (x.max(-width), end.min(right));
            let line = if bookmark.is_flag() {
                Rect { x, y: 0, width: self.px(1).max(1), height }
            } else {
                Rect { x: from, y: axis - self.px(4), width: (to - from).max(1), height: self.px(4) }
            };
            canvas.fill(line, colour, 256);
            canvas.fill(Rect { x, y: 0, width, height: self.px(HEAD) }, colour, 256);
            let middle = self.px(HEAD / 2 + 1);
            canvas.write(x + self.px(4), middle, width - self.px(4), &name, theme.surface, TextStyle::Event);
        }
    }
}

/// Returns the text on the head of a bookmark, and the width of the head in CSS pixels.
fn head(bookmark: &Bookmark) -> (String, i32) {
    let name = base::format::shorten(&base::format::printable(&bookmark.name), 16);
    let width = LETTER * name.chars().count() as i32 + 8;
    (name, width)
}
