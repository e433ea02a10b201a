//! Texts of ops: most are the trace's own, the others come from the embedded HLO.

use crate::trace::{StrId, Strings, Trace};

/// A text of a row: a handle of four bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Text(u32);

/// Set for texts that the trace does not hold.
const OWN: u32 = 1 << 31;

/// The texts that the trace does not hold.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    own: Strings,
}

impl Texts {
    /// A text of the trace.
    pub fn of_trace(id: StrId) -> Text {
        Text(id.index() as u32 & !OWN)
    }

    /// Keeps a text.
    pub fn keep(&mut self, text: &str) -> Text {
        if text.is_empty() { Text::default() } else { Text(self.own.intern(text).index() as u32 | OWN) }
    }

    /// Number of texts, the trace's included.
    pub fn len(&self, trace: &Trace) -> usize {
        trace.strings.len() + self.own.len()
    }

    /// A dense number below [`Texts::len`] for a text: for side tables.
    pub fn number(trace: &Trace, text: Text) -> usize {
        let id = (text.0 & !OWN) as usize;
        if text.0 & OWN == 0 { id } else { trace.strings.len() + id }
    }

    /// The text with this number.
    pub fn numbered<'t>(&'t self, trace: &'t Trace, number: usize) -> &'t str {
        match number.checked_sub(trace.strings.len()) {
            None => trace.text(StrId::from_index(number)),
            Some(own) => self.own.get(StrId::from_index(own)),
        }
    }

    /// A text again.
    pub fn get<'t>(&'t self, trace: &'t Trace, text: Text) -> &'t str {
        let id = StrId::from_index((text.0 & !OWN) as usize);
        if text.0 & OWN == 0 { trace.text(id) } else { self.own.get(id) }
    }
}

impl Text {
    /// Is it the empty text?
    pub fn is_empty(self) -> bool {
        self == Text::default()
    }
}
