//! Distinct strings of a trace, each stored once.

use std::hash::BuildHasher;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use super::index::Index;
use base::{Warning, WarningCode};

/// Handle of a string in one [`Strings`] table. The handle is invalid in any other table. `StrId::EMPTY` is the empty
/// string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StrId(pub(crate) u32);

impl StrId {
    /// Handle of the empty string, which also stands for an absent text.
    pub const EMPTY: StrId = StrId(0);

    /// Returns true for [`StrId::EMPTY`].
    pub fn is_empty(self) -> bool {
        self == StrId::EMPTY
    }

    /// Returns the index of the string, which is 0 for the empty string. Indices are dense, so that side tables can
    /// have one entry per string.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the handle of the string with this index.
    pub fn from_index(index: usize) -> StrId {
        u32::try_from(index).map_or(StrId::EMPTY, StrId)
    }
}

/// Maximum size of all strings, in bytes. The buffer grows by doubling, and the next size (2 GiB) is more than a browser
/// tab can hold.
const MOST_BYTES: usize = 1 << 30;
/// Maximum number of strings. The hash index has the same limit.
const MOST_STRINGS: usize = 1 << 27;
/// Text that replaces new strings once the table is full.
const REST: &str = "...";

/// An append-only string table: one text buffer, one offset per string, and one hash index. Clones share the table
/// until one of them grows.
#[derive(Clone, Debug)]
pub struct Strings {
    kept: Arc<Kept>,
    most_bytes: usize,
    /// Number of strings that could not be stored because the table was full.
    left_out: u64,
}

impl Default for Strings {
    fn default() -> Self {
        Strings { kept: Arc::default(), most_bytes: MOST_BYTES, left_out: 0 }
    }
}

#[derive(Clone, Debug)]
struct Kept {
    text: String,
    /// End of each string in `text`. Each string starts at the end of the previous string.
    ends: Vec<usize>,
    index: Index,
}

impl Default for Kept {
    fn default() -> Self {
        Kept { text: String::new(), ends: vec![0], index: Index::default() }
    }
}

impl Strings {
    /// Creates a table that holds at most `most_bytes` bytes.
    #[cfg(test)]
    pub(super) fn of_at_most(most_bytes: usize) -> Strings {
        Strings { most_bytes, ..Strings::default() }
    }

    /// Returns the handle of `text`. Stores the text if it is new. If the table is full, a new string becomes `...`.
    pub fn intern(&mut self, text: &str) -> StrId {
        if text.is_empty() {
            return StrId::EMPTY;
        }
        let hash = hash(text);
        let kept = &*self.kept;
        let found = kept.index.find(hash, |id| slice(&kept.text, &kept.ends, id) == text);
        if let Some(id) = found {
            return StrId(id);
        }
        let is_full = kept.text.len().saturating_add(text.len()) > self.most_bytes || kept.ends.len() >= MOST_STRINGS;
        if is_full && text != REST {
            self.left_out += 1;
            return self.intern(REST);
        }
        let Ok(id) = u32::try_from(kept.ends.len()) else { return StrId::EMPTY };
        let kept = Arc::make_mut(&mut self.kept);
        kept.text.push_str(text);
        kept.ends.push(kept.text.len());
        kept.index.insert(hash, id);
        StrId(id)
    }

    /// Returns a warning if strings could not be stored since the last call.
    pub fn take_warning(&mut self) -> Option<Warning> {
        let left_out = std::mem::take(&mut self.left_out);
        let message = format!(
            "The names and texts exceed the limit of {} MiB. New ones were replaced by \"{REST}\" {} times.",
            self.most_bytes >> 20,
            left_out
        );
        (left_out > 0).then(|| Warning::new(WarningCode::TooManyNames, message).with_count(left_out))
    }

    /// Returns the handle of `text` if the table contains it.
    pub fn find(&self, text: &str) -> Option<StrId> {
        if text.is_empty() {
            return Some(StrId::EMPTY);
        }
        self.kept.index.find(hash(text), |id| slice(&self.kept.text, &self.kept.ends, id) == text).map(StrId)
    }

    /// Returns the text of a handle. If the handle is out of range (because it belongs to another table), returns the
    /// empty text.
    pub fn get(&self, id: StrId) -> &str {
        slice(&self.kept.text, &self.kept.ends, id.0)
    }

    /// Returns all strings joined to one text, and the end of each string.
    pub fn parts(&self) -> (&str, &[usize]) {
        (&self.kept.text, &self.kept.ends)
    }

    /// Returns all strings in the order in which they were stored, starting with the empty string.
    pub fn iter(&self) -> impl Iterator<Item = &str> + '_ {
        (0u32..).take(self.kept.ends.len()).map(|id| slice(&self.kept.text, &self.kept.ends, id))
    }

    /// Returns the number of distinct strings, including the empty string.
    pub fn len(&self) -> usize {
        self.kept.ends.len()
    }

    /// Returns true if the table contains only the empty string.
    pub fn is_empty(&self) -> bool {
        self.kept.ends.len() == 1
    }

    /// Returns all strings joined to one text, and the end of each string.
    pub(crate) fn into_parts(self) -> (String, Vec<usize>) {
        let Kept { text, ends, .. } = Arc::unwrap_or_clone(self.kept);
        (text, ends)
    }

    /// Builds a table from `text` and `ends`, which [`Strings::into_parts`] returned. Returns `None` if `text` and
    /// `ends` are not the parts of a table.
    pub(crate) fn from_parts(text: String, ends: Vec<usize>) -> Option<Strings> {
        let fits = ends.first() == Some(&0) && ends.last() == Some(&text.len()) && ends.is_sorted();
        if !fits || !ends.iter().all(|&end| text.is_char_boundary(end)) {
            return None;
        }
        let count = u32::try_from(ends.len()).ok()?;
        let mut index = Index::with_capacity(ends.len());
        (1..count).for_each(|id| index.insert(hash(slice(&text, &ends, id)), id));
        Some(Strings { kept: Arc::new(Kept { text, ends, index }), ..Strings::default() })
    }

    /// Returns the allocated memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.kept.text.capacity() + self.kept.ends.capacity() * size_of::<usize>() + self.kept.index.memory_bytes()
    }
}

fn hash(text: &str) -> u64 {
    FxBuildHasher.hash_one(text)
}

fn slice<'a>(text: &'a str, ends: &[usize], id: u32) -> &'a str {
    let id = id as usize;
    let end = ends.get(id).copied().unwrap_or(0);
    let start = if id == 0 { 0 } else { ends.get(id - 1).copied().unwrap_or(end) };
    text.get(start..end).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_has_the_same_handle() {
        let mut strings = Strings::default();
        let handles: Vec<StrId> = (0..5000).map(|i| strings.intern(&format!("op.{i}"))).collect();
        assert_eq!(strings.intern("op.77"), handles[77]);
        assert_eq!(strings.get(handles[4999]), "op.4999");
        assert_eq!(strings.find("op.1"), Some(handles[1]));
        assert_eq!(strings.find("absent"), None);
        assert_eq!(strings.intern(""), StrId::EMPTY);
        assert_eq!(strings.len(), 5001);
    }
    #[test]
    fn a_full_table_has_one_name_for_the_rest() {
        let mut strings = Strings::of_at_most(20);
        let handles: Vec<StrId> = (10..90).map(|i| strings.intern(&format!("op.{i}"))).collect();
        assert_eq!(handles.iter().filter(|&&id| strings.get(id) == REST).count(), 76);
        assert_eq!([strings.get(handles[3]), strings.get(handles[4])], ["op.13", REST]);
        assert_eq!(strings.intern("op.12"), handles[2], "what is stored stays");
        assert_eq!((strings.len(), strings.left_out), (6, 76));
        let warning = strings.take_warning().unwrap();
        assert_eq!((warning.code.as_str(), warning.count), ("too_many_names", Some(76)));
        assert_eq!(strings.take_warning(), None, "it is reported once");
    }
}
