//! Groups events by a property: name, op, category, name scope or line.

use rustc_hash::FxHashMap;

use metrics::{Context, Op, Texts};
use trace::{ArgsId, END_MARKER, EventKind, LineKind, StrId, Trace, is_op_cat};

use crate::events::lines::line_labels;

/// Property by which events are grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupBy {
    /// Name of the event.
    #[default]
    Name,
    /// Op of the event, under its name in the ops table. For an event that is not an op, the HLO op in the event's
    /// arguments.
    Op,
    /// Category of the event's op.
    Category,
    /// Framework path (name scopes) of the event's op.
    Scope,
    /// Line of the event.
    Line,
}

impl GroupBy {
    /// All values.
    pub const ALL: [GroupBy; 5] = [GroupBy::Name, GroupBy::Op, GroupBy::Category, GroupBy::Scope, GroupBy::Line];

    /// Returns the key of the value.
    pub fn key(self) -> &'static str {
        match self {
            GroupBy::Name => "name",
            GroupBy::Op => "op",
            GroupBy::Category => "category",
            GroupBy::Scope => "scope",
            GroupBy::Line => "line",
        }
    }

    /// Parses a key. Returns `Name` for any unknown key.
    pub fn from_key(key: &str) -> GroupBy {
        GroupBy::ALL.into_iter().find(|by| by.key() == key).unwrap_or_default()
    }

    /// Returns the name of the group of all events that lack the property.
    fn none(self) -> &'static str {
        match self {
            GroupBy::Op => "no HLO op",
            GroupBy::Category => "no device op",
            GroupBy::Scope => "no framework op",
            GroupBy::Name | GroupBy::Line => "",
        }
    }
}

/// The group of each kind of event. A group whose name is one of the run's texts has the number of that text
/// ([`Texts::number`]). Other groups have larger numbers.
#[derive(Clone, Debug)]
pub struct Grouping<'a> {
    /// Group of each kind, indexed by the kind.
    of_kinds: Vec<u32>,
    texts: Option<&'a Texts>,
    /// Number of texts of the run.
    of_texts: u32,
    /// Names of the other groups, concatenated, and the end of each name.
    others: (String, Vec<usize>),
}

impl<'a> Grouping<'a> {
    /// Groups events by name. Needs no analysis.
    pub fn by_name(trace: &Trace) -> Grouping<'a> {
        let of_kinds = trace.events.kinds().iter().map(|kind| kind.name.index() as u32).collect();
        let of_texts = u32::try_from(trace.strings.len()).unwrap_or(u32::MAX);
        Grouping { of_kinds, texts: None, of_texts, others: Default::default() }
    }

    /// Groups events by line. Needs no analysis.
    pub fn by_line(trace: &Trace) -> Grouping<'a> {
        let of_texts = u32::try_from(trace.strings.len()).unwrap_or(u32::MAX);
        let of_kind = |kind: &EventKind| of_texts.saturating_add(kind.line.get());
        let of_kinds = trace.events.kinds().iter().map(of_kind).collect();
        let mut grouping = Grouping { of_kinds, texts: None, of_texts, others: Default::default() };
        line_labels(trace).iter().for_each(|label| grouping.add(label));
        grouping
    }

    /// Groups events by the property `by`.
    pub fn new(context: &Context<'a>, by: GroupBy) -> Grouping<'a> {
        let trace = context.captured_trace();
        match by {
            GroupBy::Name => Grouping::by_name(trace),
            GroupBy::Line => Grouping::by_line(trace),
            GroupBy::Op | GroupBy::Category | GroupBy::Scope => Grouping::of_ops(context, by),
        }
    }

    fn of_ops(context: &Context<'a>, by: GroupBy) -> Grouping<'a> {
        let (trace, ops) = (context.captured_trace(), &context.analysis.ops);
        let of_texts = ops.texts.count(trace);
        let mut grouping =
            Grouping { of_kinds: Vec::new(), texts: Some(&ops.texts), of_texts, others: Default::default() };
        grouping.add(by.none());
        let rows = RowOf::new(trace, &ops.entries);
        let of_kind = |kind: &EventKind| {
            let is_op = is_device_op(trace, kind);
            let row = if is_op { rows.get(kind.name, kind.args) } else { None };
            let text = match row.and_then(|row| ops.rows.get(row as usize)) {
                Some(op) => of_op(op, by),
                None => of_event(trace, kind, by),
            };
            if !text.is_empty() {
                return Texts::number(trace, text);
            }
            if !is_op || by != GroupBy::Category {
                return of_texts;
            }
            let category = context.analysis.captured.category(trace, kind.name, kind.args);
            let known = ops.texts.find(trace, category).map(|text| Texts::number(trace, text));
            known.unwrap_or_else(|| grouping.other(category))
        };
        let of_kinds = trace.events.kinds().iter().map(of_kind).collect();
        Grouping { of_kinds, ..grouping }
    }

    /// Returns the number of a name that is not among the texts. The search is linear, because there are only a few
    /// such names.
    fn other(&mut self, name: &str) -> u32 {
        let count = self.others.1.len();
        let at = (0..count).find(|&at| self.other_name(at) == name).unwrap_or(count);
        if at == count {
            self.add(name);
        }
        self.of_texts.saturating_add(u32::try_from(at).unwrap_or(u32::MAX))
    }

    fn other_name(&self, at: usize) -> &str {
        let (text, ends) = &self.others;
        let end = |at: usize| ends.get(at).copied().unwrap_or_default();
        text.get(at.checked_sub(1).map_or(0, end)..end(at)).unwrap_or_default()
    }

    fn add(&mut self, name: &str) {
        self.others.0.push_str(name);
        self.others.1.push(self.others.0.len());
    }

    /// Returns a number that is larger than every group number.
    pub fn len(&self) -> usize {
        self.of_texts as usize + self.others.1.len()
    }

    /// Returns true if there are no groups.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the group number of each kind of event, indexed by the [kind](trace::Events::kinds).
    pub fn of_kinds(&self) -> &[u32] {
        &self.of_kinds
    }

    /// Returns the names in the order of the group numbers, as tables. Each table consists of concatenated names and
    /// the end of each name.
    pub fn names<'t>(&'t self, trace: &'t Trace) -> Vec<(&'t str, &'t [usize])> {
        let (text, ends) = &self.others;
        let own = self.texts.map(|texts| texts.tables(trace)[1]);
        std::iter::once(trace.strings.parts()).chain(own).chain([(text.as_str(), ends.as_slice())]).collect()
    }

    /// Returns the name of a group.
    pub fn name<'t>(&'t self, trace: &'t Trace, number: u32) -> &'t str {
        match (number.checked_sub(self.of_texts), self.texts) {
            (None, Some(texts)) => texts.of_number(trace, number),
            (None, None) => trace.text(StrId::from_index(number as usize)),
            (Some(other), _) => self.other_name(other as usize),
        }
    }
}

/// Finds the row of the ops table for a name and arguments. Nearly every argument set has only one name, so most
/// lookups need no hashing. Hashing would take long for a million ops.
struct RowOf<'a> {
    entries: &'a [((StrId, ArgsId), u32)],
    /// Index in `entries` of the first entry of each argument set.
    first: Vec<u32>,
    others: FxHashMap<(StrId, ArgsId), u32>,
}

impl<'a> RowOf<'a> {
    fn new(trace: &Trace, entries: &'a [((StrId, ArgsId), u32)]) -> RowOf<'a> {
        let mut first = vec![u32::MAX; trace.args.len()];
        let mut others = FxHashMap::default();
        for (at, &((name, args), row)) in (0..).zip(entries) {
            match first.get_mut(args.index()) {
                Some(slot) if *slot == u32::MAX => *slot = at,
                _ => drop(others.insert((name, args), row)),
            }
        }
        RowOf { entries, first, others }
    }

    fn get(&self, name: StrId, args: ArgsId) -> Option<u32> {
        let first = self.first.get(args.index()).and_then(|&at| self.entries.get(at as usize));
        let known = first.filter(|(key, _)| *key == (name, args)).map(|&(_, row)| row);
        known.or_else(|| self.others.get(&(name, args)).copied())
    }
}

/// Returns true if the event occupies a device, as defined by [`metrics::Devices`]. Returns false for events on lines
/// that repeat the ops.
fn is_device_op(trace: &Trace, kind: &EventKind) -> bool {
    let Some(args) = trace.args.set(kind.args.index()) else { return false };
    match trace.lines.get(kind.line.index()).map(|line| line.kind) {
        Some(LineKind::DeviceOps) => is_op_cat(trace.text(args.cat)),
        Some(LineKind::Host) => !args.hlo_op.is_empty() && !trace.text(kind.name).starts_with(END_MARKER),
        _ => false,
    }
}

fn of_op(op: &Op, by: GroupBy) -> metrics::Text {
    match by {
        GroupBy::Category => op.category,
        GroupBy::Scope => op.framework_path,
        _ => op.name,
    }
}

/// Reads the property `by` from the arguments of an event that is not in the ops table.
fn of_event(trace: &Trace, kind: &EventKind, by: GroupBy) -> metrics::Text {
    let Some(args) = trace.args.set(kind.args.index()) else { return metrics::Text::default() };
    Texts::of_trace(match by {
        GroupBy::Category => args.hlo_category,
        GroupBy::Scope => args.tf_op,
        _ => args.hlo_op,
    })
}
