//! Stores the texts of ops. Most texts are in the trace. All other texts come from the embedded HLO.

use trace::{StrId, Strings, Trace, instruction_name};

/// Handle of a row's text, which takes four bytes. Identical texts have the same handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Text(u32);

/// Bit that marks the handle of a text that the trace's strings do not contain.
const OWN: u32 = 1 << 31;

/// The texts that are not among the trace's strings.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    own: Strings,
}

impl Texts {
    /// Returns the handle of a text of the trace.
    pub fn of_trace(id: StrId) -> Text {
        Text(id.index() as u32 & !OWN)
    }

    /// Stores a text, unless the trace contains it, and returns its handle.
    pub fn keep(&mut self, trace: &Trace, text: &str) -> Text {
        let new = |own: &mut Strings| Text(own.intern(text).index() as u32 | OWN);
        trace.strings.find(text).map_or_else(|| new(&mut self.own), Texts::of_trace)
    }

    /// Stores the instruction that an event's `hlo_op` names, and returns its handle. The text is empty if the name is
    /// empty.
    pub fn instruction(&mut self, trace: &Trace, hlo_op: StrId) -> Text {
        let named = trace.text(hlo_op);
        let instruction = instruction_name(named);
        if instruction.len() == named.len() { Texts::of_trace(hlo_op) } else { self.keep(trace, instruction) }
    }

    /// Returns the handle of a stored text, or `None` if the text is unknown.
    pub fn find(&self, trace: &Trace, text: &str) -> Option<Text> {
        let own = || self.own.find(text).map(|id| Text(id.index() as u32 | OWN));
        trace.strings.find(text).map(Texts::of_trace).or_else(own)
    }

    /// Returns all texts by number, as two tables: first the trace's texts, then the other texts. Each table consists
    /// of the concatenated texts, and the offset at which each text ends.
    pub fn tables<'a>(&'a self, trace: &'a Trace) -> [(&'a str, &'a [usize]); 2] {
        [trace.strings.parts(), self.own.parts()]
    }

    /// Returns the number of all texts.
    pub fn count(&self, trace: &Trace) -> u32 {
        u32::try_from(trace.strings.len() + self.own.len()).unwrap_or(u32::MAX)
    }

    /// Returns the dense number of a text, which is its index in [`Texts::tables`].
    pub fn number(trace: &Trace, text: Text) -> u32 {
        let id = text.0 & !OWN;
        if text.0 & OWN == 0 { id } else { id.saturating_add(u32::try_from(trace.strings.len()).unwrap_or(u32::MAX)) }
    }

    /// Returns the text with a [number](Texts::number), or an empty text if no text has this number.
    pub fn of_number<'t>(&'t self, trace: &'t Trace, number: u32) -> &'t str {
        let number = number as usize;
        match number.checked_sub(trace.strings.len()) {
            None => trace.text(StrId::from_index(number)),
            Some(own) => self.own.get(StrId::from_index(own)),
        }
    }

    /// Returns the text of a handle.
    pub fn get<'t>(&'t self, trace: &'t Trace, text: Text) -> &'t str {
        let id = StrId::from_index((text.0 & !OWN) as usize);
        if text.0 & OWN == 0 { trace.text(id) } else { self.own.get(id) }
    }
}

impl Text {
    /// Returns true if the text is empty.
    pub fn is_empty(self) -> bool {
        self == Text::default()
    }
}
