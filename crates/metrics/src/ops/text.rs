//! Texts of ops: most are the trace's own, the others come from the embedded HLO.

use trace::{StrId, Strings, Trace};

/// A text of a row: a handle of four bytes. Equal texts have equal handles.
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

    /// Keeps a text, unless the trace has it.
    pub fn keep(&mut self, trace: &Trace, text: &str) -> Text {
        let new = |own: &mut Strings| Text(own.intern(text).index() as u32 | OWN);
        trace.strings.find(text).map_or_else(|| new(&mut self.own), Texts::of_trace)
    }

    /// The handle of a text that is kept.
    pub fn find(&self, trace: &Trace, text: &str) -> Option<Text> {
        let own = || self.own.find(text).map(|id| Text(id.index() as u32 | OWN));
        trace.strings.find(text).map(Texts::of_trace).or_else(own)
    }

    /// All texts by number, the trace's first: two tables of texts one after another, and where each of them ends.
    pub fn tables<'a>(&'a self, trace: &'a Trace) -> [(&'a str, &'a [usize]); 2] {
        [trace.strings.parts(), self.own.parts()]
    }

    /// Number of all texts.
    pub fn count(&self, trace: &Trace) -> u32 {
        u32::try_from(trace.strings.len() + self.own.len()).unwrap_or(u32::MAX)
    }

    /// A dense number for a text, that in [`Texts::tables`].
    pub fn number(trace: &Trace, text: Text) -> u32 {
        let id = text.0 & !OWN;
        if text.0 & OWN == 0 { id } else { id.saturating_add(u32::try_from(trace.strings.len()).unwrap_or(u32::MAX)) }
    }

    /// The text of a [number](Texts::number); empty where there is none.
    pub fn of_number<'t>(&'t self, trace: &'t Trace, number: u32) -> &'t str {
        let number = number as usize;
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
    /// Is the text empty?
    pub fn is_empty(self) -> bool {
        self == Text::default()
    }
}
