//! Flags and ranges that the user bookmarks, as text that fits into a URL.

use std::fmt;

/// Maximum number of bookmarks in a text. No user adds that many bookmarks by hand.
const MOST: usize = 1_000;

/// A bookmarked range. A bookmark that starts and ends at the same instant is a flag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bookmark {
    /// Start and end of the range, in picoseconds from the start of the capture.
    pub range_ps: (i64, i64),
    /// Top and bottom of the range in CSS pixels, measured from the first row. `None` if the range covers all rows.
    pub rows: Option<(u32, u32)>,
    /// Name given by the user.
    pub name: String,
}

impl Bookmark {
    /// Returns true if the bookmark marks an instant.
    pub fn is_flag(&self) -> bool {
        self.range_ps.0 == self.range_ps.1
    }
}

/// The user's bookmarks, by ascending start.
///
/// In text form, a flag is `start!name` and a range is `start-end@top-bottom!name`. Bookmarks are separated by `;`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bookmarks(Vec<Bookmark>);

impl Bookmarks {
    /// Parses a text. Skips bookmarks that are not valid.
    pub fn parse(text: &str) -> Bookmarks {
        let mut bookmarks = Bookmarks::default();
        for part in text.split(';').take(MOST) {
            let (place, name) = part.split_once('!').unwrap_or((part, ""));
            let (range, rows) = place.split_once('@').map_or((place, None), |(range, rows)| (range, Some(rows)));
            let (start, end) = range.split_once('-').unwrap_or((range, range));
            let (Ok(start), Ok(end)) = (start.parse::<i64>(), end.parse::<i64>()) else { continue };
            let rows = rows.and_then(|rows| rows.split_once('-'));
            let rows = rows.and_then(|(top, bottom)| Some((top.parse().ok()?, bottom.parse().ok()?)));
            if start >= 0 && start <= end {
                bookmarks.add(Bookmark { range_ps: (start, end), rows, name: name.to_owned() });
            }
        }
        bookmarks
    }

    /// Returns all bookmarks.
    pub fn all(&self) -> &[Bookmark] {
        &self.0
    }

    /// Returns the bookmark with this index.
    pub fn get(&self, index: u32) -> Option<&Bookmark> {
        self.0.get(index as usize)
    }

    /// Adds a bookmark unless it already exists, and returns its index. A bookmark without a name gets the first
    /// unused number.
    pub fn add(&mut self, mut new: Bookmark) -> u32 {
        let same = self.0.iter().position(|it| (it.range_ps, it.rows) == (new.range_ps, new.rows));
        let at = same.unwrap_or_else(|| {
            if new.name.is_empty() {
                let free = (1..).map(|number: u32| number.to_string());
                new.name = free.into_iter().find(|name| self.0.iter().all(|it| it.name != *name)).unwrap_or_default();
            }
            let at = self.0.partition_point(|it| it.range_ps <= new.range_ps);
            self.0.insert(at, new);
            at
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Removes a bookmark.
    pub fn remove(&mut self, index: u32) {
        if (index as usize) < self.0.len() {
            self.0.remove(index as usize);
        }
    }

    /// Renames a bookmark.
    pub fn rename(&mut self, index: u32, name: &str) {
        if let Some(bookmark) = self.0.get_mut(index as usize) {
            bookmark.name = name.replace(';', ",");
        }
    }

    /// Returns the index of the bookmark after or before the selected bookmark. If no bookmark is selected, the search
    /// starts at `time_ps`. The search wraps around at both ends.
    pub fn beside(&self, selected: Option<u32>, time_ps: i64, forward: bool) -> Option<u32> {
        let count = self.0.len();
        let next = match selected.map(|selected| selected as usize) {
            Some(selected) => selected + 1,
            None => self.0.partition_point(|it| it.range_ps.0 <= time_ps),
        };
        let behind = if selected.is_some() { 2 } else { 1 };
        let at = if forward { next } else { (next + count).checked_sub(behind)? };
        u32::try_from(at.checked_rem(count)?).ok()
    }
}

impl fmt::Display for Bookmarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Bookmark { range_ps: (start, end), rows, name }) in self.0.iter().enumerate() {
            let between = if index > 0 { ";" } else { "" };
            write!(f, "{between}{start}")?;
            if start != end {
                write!(f, "-{end}")?;
            }
            if let Some((top, bottom)) = rows {
                write!(f, "@{top}-{bottom}")?;
            }
            write!(f, "!{name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn flag(at: i64, name: &str) -> Bookmark {
        Bookmark { range_ps: (at, at), rows: None, name: name.to_owned() }
    }

    #[test]
    fn a_text_holds_flags_and_ranges_by_time() {
        let mut bookmarks = Bookmarks::default();
        assert_eq!(bookmarks.add(flag(70, "")), 0);
        assert_eq!(bookmarks.add(flag(5, "here; there")), 0);
        bookmarks.rename(0, "here; there");
        let range = Bookmark { range_ps: (5, 9), rows: Some((1, 20)), name: String::new() };
        assert_eq!((bookmarks.add(range.clone()), bookmarks.add(range)), (1, 1));
        assert_eq!(bookmarks.to_string(), "5!here, there;5-9@1-20!2;70!1");
        assert_eq!(Bookmarks::parse(&bookmarks.to_string()), bookmarks);
        bookmarks.remove(1);
        bookmarks.remove(9);
        assert_eq!(bookmarks.to_string(), "5!here, there;70!1");
    }

    #[test]
    fn damaged_parts_are_left_out() {
        let text = "x;9-5;;-3;1-2@3;4@a-b!n!m;99999999999999999999;é";
        assert_eq!(Bookmarks::parse(text).to_string(), "1-2!1;4!n!m");
    }

    #[test]
    fn from_one_to_the_next_and_around() {
        let bookmarks = Bookmarks::parse("10;20;30");
        let beside = |selected, time, forward| bookmarks.beside(selected, time, forward);
        assert_eq!([beside(None, 15, true), beside(None, 15, false)], [Some(1), Some(0)]);
        assert_eq!([beside(None, 35, true), beside(None, 5, false)], [Some(0), Some(2)]);
        assert_eq!([beside(Some(2), 0, true), beside(Some(0), 0, false)], [Some(0), Some(2)]);
        assert_eq!([beside(Some(1), 0, true), beside(Some(1), 0, false)], [Some(2), Some(0)]);
        assert_eq!(Bookmarks::default().beside(None, 0, false), None);
    }

    proptest! {
        #[test]
        fn any_text_is_a_list(text in "([0-9]{0,20}-?[0-9]{0,5}(@[0-9]{0,3}-[0-9]{0,3})?(!.{0,4})?;?|.{0,3}){0,9}") {
            let bookmarks = Bookmarks::parse(&text);
            prop_assert_eq!(&Bookmarks::parse(&bookmarks.to_string()), &bookmarks);
            prop_assert!(bookmarks.all().is_sorted_by_key(|it| it.range_ps));
        }
    }
}
