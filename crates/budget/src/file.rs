//! Budgets in TOML. This module needs the `cli` feature, because the web page reads no budgets.
//!
//! ```toml
//! baseline = "main.json"
//! limits = ["step_timing.avg_step_time_us < 150 ms"]
//!
//! [[limit]]
//! path = "throughput.steps_per_sec"
//! min = "97 % of baseline"
//! why = "Slower than main means a longer night run."
//! ```
//!
//! Reports all mistakes of a file at once, each with its line and column. Unknown keys are mistakes too: otherwise, a
//! mistyped `optional` would change the meaning of a limit.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::catalogue::Catalogue;
use super::limit::{self, Limit};
use super::rule::{Bound, Subject};
use base::suggest;
use expression::{Error, Relation, excerpt};

/// A budget as written in its file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BudgetFile {
    /// Paths of the profiles to compare with, relative to the budget's folder. With several profiles, the baseline is their
    /// median.
    pub baselines: Vec<String>,
    /// Name of the baseline run, if the baseline profile contains several.
    pub baseline_run: Option<String>,
    /// The limits in the order of the file: first the entries of `limits`, then the `[[limit]]` tables.
    pub limits: Vec<Limit>,
}

/// A mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Line of the mistake, starting at 1.
    pub line: u64,
    /// Column in characters, starting at 1.
    pub column: u64,
    /// Description of the mistake, in one or more sentences.
    pub message: String,
    /// The line, followed by a line that marks the position.
    pub excerpt: String,
}

/// A text in the file, with the position of its content. The position is absent if the file does not contain the
/// content literally.
struct Text<'a> {
    value: &'a str,
    span: Range<usize>,
    /// Byte offset at which the file contains `value` literally. `None` if the text has escapes.
    content: Option<usize>,
}

impl BudgetFile {
    /// Reads a budget and checks its rules against the fields of a profile.
    ///
    /// # Errors
    ///
    /// Returns all mistakes of the file: its syntax errors or, if there are none, every wrong key, rule, path and unit.
    pub fn parse(text: &str, catalogue: &Catalogue) -> Result<BudgetFile, Vec<Mistake>> {
        // The TOML parser does not accept the byte order mark that some editors write.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let table = match DeTable::parse(text) {
            Ok(table) => table,
            Err(error) => {
                let message = format!("This is not TOML: {}.", error.message().trim_end_matches('.'));
                return Err(vec![mistake(text, error.span().unwrap_or(0..0), message)]);
            }
        };
        let mut reader = Reader { text, catalogue, mistakes: Vec::new() };
        let budget = reader.budget(table.get_ref());
        if budget.limits.is_empty() && reader.mistakes.is_empty() {
            reader
                .wrong(0..0, "This budget has no limits. Write limits = [\"step_timing.avg_step_time_us < 150 ms\"].");
        }
        reader.mistakes.sort_by_key(|mistake| (mistake.line, mistake.column));
        if reader.mistakes.is_empty() { Ok(budget) } else { Err(reader.mistakes) }
    }
}

struct Reader<'a> {
    text: &'a str,
    catalogue: &'a Catalogue,
    mistakes: Vec<Mistake>,
}

type Table<'a> = DeTable<'a>;

impl<'a> Reader<'a> {
    fn wrong(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.mistakes.push(mistake(self.text, span, message.into()));
    }

    fn budget(&mut self, table: &'a Table<'a>) -> BudgetFile {
        let mut budget = BudgetFile::default();
        self.known_keys(table, &["baseline", "baseline_run", "limits", "limit"]);
        budget.baselines = self.paths(table, "baseline");
        budget.baseline_run = self.string(table, "baseline_run").map(|text| text.value.to_owned());
        for key in ["limits", "limit"] {
            let Some(value) = table.get(key) else { continue };
            let DeValue::Array(entries) = value.get_ref() else {
                self.wrong(
                    value.span(),
                    format!("{key} is a list: write {key} = [\"...\"], or [[{key}]] above its keys."),
                );
                continue;
            };
            for entry in entries.iter() {
                match entry.get_ref() {
                    DeValue::String(rule) => {
                        let rule = self.located(rule, entry.span());
                        budget.limits.extend(self.rule(&rule));
                    }
                    DeValue::Table(table) => self.explained(table, entry.span(), &mut budget.limits),
                    _ => {
                        self.wrong(entry.span(), "A limit is a rule in quotation marks, or a table with path or rule.")
                    }
                }
            }
        }
        budget
    }

    /// Reads a limit written as a table: `rule`, or `path` with `max`, `min` or `absent`. A table with both `max` and `min`
    /// gives two limits.
    fn explained(&mut self, table: &'a Table<'a>, span: Range<usize>, limits: &mut Vec<Limit>) {
        let before = self.mistakes.len();
        self.known_keys(table, &["rule", "path", "max", "min", "absent", "name", "why", "optional"]);
        let name = self.string(table, "name").map(|text| limit::one_line(text.value));
        let why = self.string(table, "why").map(|text| limit::one_line(text.value));
        let optional = self.flag(table, "optional");
        let absent = self.flag(table, "absent").unwrap_or(false);
        let mut found = Vec::new();
        match (self.string(table, "rule"), self.string(table, "path")) {
            (Some(rule), None) => {
                if ["max", "min", "absent"].iter().any(|key| table.contains_key(*key)) {
                    self.wrong(span, "A rule contains its own bound: use max, min and absent only with path.");
                    return;
                }
                found.extend(self.rule(&rule));
            }
            (None, Some(path)) => self.bounded(table, &path, absent, before, &mut found),
            (Some(rule), Some(_)) => {
                self.wrong(rule.span, "Write either rule, or path with max, min or absent; not both.")
            }
            (None, None) if self.mistakes.len() == before => {
                self.wrong(span, "A limit needs rule = \"...\", or path = \"...\" with max, min or absent.");
            }
            (None, None) => {}
        }
        for limit in &mut found {
            limit.name.clone_from(&name);
            limit.why.clone_from(&why);
            limit.optional = optional.unwrap_or(limit.optional);
        }
        // If a table gives two limits, the name alone does not show which one failed.
        if let ([_, _], Some(name)) = (found.as_slice(), &name) {
            let titles: Vec<String> = found.iter().map(|it| format!("{name} ({})", it.relation.symbol())).collect();
            for (limit, title) in found.iter_mut().zip(titles) {
                limit.name = Some(title);
            }
        }
        limits.extend(found);
    }

    /// Adds the limits that `max`, `min` and `absent` set for `path`. `before` is the number of mistakes found before
    /// this table.
    fn bounded(&mut self, table: &'a Table<'a>, path: &Text<'_>, absent: bool, before: usize, found: &mut Vec<Limit>) {
        if absent {
            if ["max", "min"].iter().any(|key| table.contains_key(*key)) {
                self.wrong(path.span.clone(), "A limit with absent = true has neither max nor min.");
                return;
            }
            let rule =
                Text { value: &format!("{} absent", path.value), span: path.span.clone(), content: path.content };
            found.extend(self.rule(&rule));
            return;
        }
        let subject = Subject::parse(path.value).and_then(|it| limit::check_subject(it, self.catalogue));
        let (subject, unit) = match subject {
            Ok(subject) => subject,
            Err(error) => return self.rule_error(path, error),
        };
        let bounds = [("max", Relation::AtMost), ("min", Relation::AtLeast)];
        // A mistyped key has already been reported.
        if self.mistakes.len() == before && !bounds.iter().any(|(key, _)| table.contains_key(*key)) {
            self.wrong(path.span.clone(), "This limit has no bound: write max = or min = (or absent = true).");
        }
        for (key, relation) in bounds {
            let Some((digits, text)) = self.bound(table, key) else { continue };
            let text = Text { value: &digits, ..text };
            let bound = limit::check_relation(&subject, relation).and_then(|()| Bound::parse(&digits));
            match bound.and_then(|bound| limit::bind(&bound, unit, &subject)) {
                Ok(bound) => found.push(Limit {
                    text: limit::one_line(&format!("{} {} {digits}", path.value, relation.symbol())),
                    name: None,
                    why: None,
                    subject: subject.clone(),
                    unit,
                    relation,
                    bound,
                    optional: false,
                }),
                Err(error) => self.rule_error(&text, error),
            }
        }
    }

    /// Returns a bound as the text of a rule. In the file, the bound may be a number or a text.
    fn bound(&mut self, table: &'a Table<'a>, key: &str) -> Option<(String, Text<'a>)> {
        let value = table.get(key)?;
        let digits = match value.get_ref() {
            DeValue::String(text) => {
                let text = self.located(text, value.span());
                return Some((text.value.to_owned(), text));
            }
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
            DeValue::Float(number) if number.as_str().parse().is_ok_and(f64::is_finite) => number.as_str().to_owned(),
            _ => {
                self.wrong(
                    value.span(),
                    format!("{key} is a number, or a text such as \"150 ms\" or \"1.05 * baseline\"."),
                );
                return None;
            }
        };
        Some((digits, Text { value: "", span: value.span(), content: None }))
    }

    fn rule(&mut self, rule: &Text<'_>) -> Option<Limit> {
        match Limit::parse(rule.value, self.catalogue) {
            Ok(limit) => Some(limit),
            Err(error) => {
                self.rule_error(rule, error);
                None
            }
        }
    }

    /// Reports an error at its position if the file contains the text literally, otherwise at the start of the text.
    fn rule_error(&mut self, text: &Text<'_>, error: Error) {
        let span = match text.content {
            Some(content) => {
                let Error { span, .. } = error.clone().moved(content);
                let end = content.saturating_add(text.value.len());
                span.start.min(end)..span.end.min(end)
            }
            None => text.span.clone(),
        };
        self.wrong(span, error.to_string());
    }

    fn known_keys(&mut self, table: &Table<'_>, known: &[&str]) {
        for key in table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
            let error = Error::new(key.span(), format!("There is no key {} here.", key.get_ref()));
            let error = error.suggest(suggest::words(key.get_ref(), known));
            self.wrong(key.span(), error.or_help(&format!("The keys are {}.", known.join(", "))).to_string());
        }
    }

    fn string(&mut self, table: &'a Table<'a>, key: &str) -> Option<Text<'a>> {
        let value = table.get(key)?;
        match value.get_ref() {
            DeValue::String(text) => Some(self.located(text, value.span())),
            _ => {
                self.wrong(value.span(), format!("{key} is a text: write it in quotation marks."));
                None
            }
        }
    }

    /// Reads one text or a list of texts.
    fn paths(&mut self, table: &'a Table<'a>, key: &str) -> Vec<String> {
        let Some(value) = table.get(key) else { return Vec::new() };
        let entries = match value.get_ref() {
            DeValue::Array(entries) => entries.iter().collect(),
            _ => vec![value],
        };
        let mut paths = Vec::new();
        for entry in entries {
            match entry.get_ref() {
                DeValue::String(path) => paths.push(path.to_string()),
                _ => self.wrong(
                    entry.span(),
                    format!("{key} is a text, or a list of texts: write them in quotation marks."),
                ),
            }
        }
        paths
    }

    fn flag(&mut self, table: &Table<'_>, key: &str) -> Option<bool> {
        let value = table.get(key)?;
        match value.get_ref() {
            DeValue::Boolean(flag) => Some(*flag),
            _ => {
                self.wrong(value.span(), format!("{key} is true or false, without quotation marks."));
                None
            }
        }
    }

    fn located(&self, value: &'a str, span: Range<usize>) -> Text<'a> {
        let written = self.text.get(span.clone()).unwrap_or_default();
        // The content as it appears between one or three quotation marks. Escapes would shift all later positions.
        let content = written.find(value).filter(|_| !value.is_empty()).map(|offset| span.start + offset);
        Text { value, span, content }
    }
}

/// Creates a mistake with its position and the line that contains it.
fn mistake(text: &str, span: Range<usize>, message: String) -> Mistake {
    let start = (0..=span.start.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let (before, after) = text.split_at(start);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line_before = before.get(line_start..).unwrap_or_default();
    let line_after = after.split('\n').next().unwrap_or_default().trim_end_matches('\r');
    let marked = line_before.len()..line_before.len().saturating_add(span.end.saturating_sub(start));
    let (shown, marks) = excerpt(&format!("{line_before}{line_after}"), marked);
    let line = before.matches('\n').count() as u64 + 1;
    let column = line_before.chars().count() as u64 + 1;
    let number = line.to_string();
    let excerpt = format!("{number} | {shown}\n{} | {marks}", " ".repeat(number.len()));
    Mistake { line, column, message, excerpt }
}

/// Writes `line:column: message`, then the excerpt. Callers prepend the file's name.
impl std::fmt::Display for Mistake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}\n{}", self.line, self.column, self.message, self.excerpt)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<BudgetFile, Vec<Mistake>> {
        BudgetFile::parse(text, &Catalogue::of_profile())
    }

    #[test]
    fn both_forms_say_the_same() {
        let short =
            parse("limits = [\"throughput.steps_per_sec >= 0.97 * baseline\", \"steps[*].idle_us <= 5 ms\"]").unwrap();
        let long = parse(
            "\u{feff}[[limit]]\r\npath = \"throughput.steps_per_sec\"\r\nmin = \"0.97 * baseline\"\r\n\
             [[limits]]\r\npath = 'steps[*].idle_us'\r\nmax = '5 ms'\r\n",
        )
        .unwrap();
        // `limits` comes before `limit`.
        assert_eq!(short.limits.iter().collect::<Vec<_>>(), long.limits.iter().rev().collect::<Vec<_>>());
        let both = parse("[[limit]]\nname = 'load'\npath = 'metadata.num_devices'\nmin = 2\nmax = 4.5\n").unwrap();
        let titles: Vec<&str> = both.limits.iter().map(Limit::title).collect();
        assert_eq!(titles, ["load (<=)", "load (>=)"]);
        assert_eq!((both.limits[0].bound.offset, both.limits[1].bound.offset), (4.5, 2.0));
        let inline =
            parse("limits = [{ rule = 'count(steps) > 3', optional = true, why = \"\"\"a\n  b\"\"\" }]").unwrap();
        assert_eq!((inline.limits[0].optional, inline.limits[0].why.as_deref()), (true, Some("a b")));
    }

    #[test]
    fn positions_count_characters_and_marks_are_below_them() {
        let mistakes = parse("# äöü\nlimits = [\t'steps[*].idle_µs < 3']").unwrap_err();
        assert_eq!((mistakes[0].line, mistakes[0].column), (2, 13));
        assert_eq!(mistakes[0].excerpt, "2 | limits = [\t'steps[*].idle_µs < 3']\n  |           \t ^^^^^^^^^^^^^^^^");
    }

    proptest! {
        #[test]
        fn no_file_panics(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("limits = ["), Just("[[limit]]\n"), Just("path = "), Just("rule = "), Just("max = "), Just("\n"),
                    Just("\"steps[*].idle_us\""), Just("'a.b < µ'"), Just("\"\"\""), Just("\\u00b5"), Just("]"), Just("{"),
                    Just("1e400"), Just("0x10"), Just("true"), Just("1979-05-27"), Just(","), Just("é"), Just("\r"), Just("baseline = "),
                ],
                0..16,
            )
        ) {
            let text = parts.concat();
            if let Err(mistakes) = parse(&text) {
                prop_assert!(!mistakes.is_empty());
                for mistake in mistakes {
                    let line = text.split('\n').nth(mistake.line as usize - 1);
                    prop_assert!(line.is_some_and(|line| mistake.column as usize <= line.chars().count() + 1), "{mistake}");
                }
            }
        }
    }
}
