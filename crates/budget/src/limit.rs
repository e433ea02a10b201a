//! A rule that was checked against the known fields: its path exists, and its bound has a unit that fits the field.

use super::catalogue::Catalogue;
use super::path::PathPart;
use super::rule::{Bound, Rule, Subject, Term};
use super::slowdown::SlowdownOf;
use expression::{Amount, Dimension, Error, Misfit, Relation, Unit, shift};

/// The bound of a value: `factor * baseline + offset`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Factor of the baseline's number. `None` if the bound does not use the baseline.
    pub factor: Option<f64>,
    /// Constant part of the bound, in the unit of the field.
    pub offset: f64,
}

impl Line {
    /// Computes the bound from the baseline's number. Returns `None` if the bound needs a baseline number and there is
    /// none, or if the result is not finite.
    pub fn at(self, baseline: Option<f64>) -> Option<f64> {
        let value = match self.factor {
            Some(factor) => factor * baseline? + self.offset,
            None => self.offset,
        };
        value.is_finite().then_some(value)
    }
}

/// One limit of a budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The rule as written, for messages.
    pub text: String,
    /// Name that the budget gives the limit.
    pub name: Option<String>,
    /// Reason for the limit, as written in the budget.
    pub why: Option<String>,
    /// The subject that the limit constrains.
    pub subject: Subject,
    /// Unit of the subject.
    pub unit: Option<Unit>,
    /// Required relation of the value to the bound.
    pub relation: Relation,
    /// The bound, in the unit of the subject.
    pub bound: Line,
    /// True if the limit does not fail when the number is absent.
    pub optional: bool,
}

impl Limit {
    /// Reads a rule and checks it against the fields of a profile.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a rule, if no profile has the path, or if the unit is wrong. The error contains the
    /// position.
    pub fn parse(text: &str, catalogue: &Catalogue) -> Result<Limit, Error> {
        let rule = Rule::parse(text)?;
        let (subject, unit) = check_subject(rule.subject, catalogue)?;
        check_relation(&subject, rule.relation)?;
        let bound = bind(&rule.bound, unit, &subject)?;
        Ok(Limit {
            text: one_line(text),
            name: None,
            why: None,
            subject,
            unit,
            relation: rule.relation,
            bound,
            optional: rule.optional,
        })
    }

    /// Returns true if the limit needs a baseline.
    pub fn needs_baseline(&self) -> bool {
        self.bound.factor.is_some() || matches!(self.subject, Subject::New(_) | Subject::Slower(_))
    }

    /// Returns the limit's title for reports: its name, or the rule if it has no name.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.text)
    }
}

/// Checks that the subject's path exists, and returns the subject with its unit.
///
/// # Errors
///
/// Fails if no profile has the path, or if the subject cannot apply to its target.
pub(super) fn check_subject(subject: Subject, catalogue: &Catalogue) -> Result<(Subject, Option<Unit>), Error> {
    match subject {
        Subject::Number(path) => match catalogue.check_number(&path) {
            Ok(unit) => Ok((Subject::Number(path), unit)),
            Err(error) => Err(SlowdownOf::meant(&path).unwrap_or(error)),
        },
        Subject::Ops(sum) => {
            let unit = sum.unit();
            Ok((Subject::Ops(sum), unit))
        }
        Subject::Count(path) => catalogue.check_entries(&path).map(|path| (Subject::Count(path), None)),
        Subject::New(path) => {
            if path.parts.first() != Some(&PathPart::Key("findings".to_owned())) {
                let message = "Only findings can be new, as in new findings[severity=warning|critical].";
                return Err(Error::new(path.whole_span(), message));
            }
            catalogue.check_entries(&path).map(|path| (Subject::New(path), None))
        }
        Subject::Slower(of) => Ok((Subject::Slower(of), Unit::named("%"))),
    }
}

/// Checks that a limit describes a requirement. A condition of `--fail-on` uses the same words to describe a failure.
///
/// # Errors
///
/// Fails if the subject does not support this relation.
pub(super) fn check_relation(subject: &Subject, relation: Relation) -> Result<(), Error> {
    match subject {
        Subject::Slower(of) if !matches!(relation, Relation::Below | Relation::AtMost) => {
            let message = format!("A limit describes a requirement: write {of} <= 3 %.");
            Err(Error::new(0..0, message))
        }
        _ => Ok(()),
    }
}

/// Converts a bound to the unit of its subject.
///
/// # Errors
///
/// Fails if the unit does not exist or does not fit the field.
pub(super) fn bind(bound: &Bound, field: Option<Unit>, subject: &Subject) -> Result<Line, Error> {
    let mut line = Line { factor: None, offset: 0.0 };
    let relative = bound.terms.iter().any(|term| matches!(term, Term::Baseline { .. }));
    let already = match subject {
        Subject::New(path) => Some(format!(
            "New findings are already counted relative to the baseline: write count(new {path}) <= a number."
        )),
        Subject::Slower(of) => Some(format!("This value is already relative to the baseline: write {of} <= 3 %.")),
        _ => None,
    };
    if let Some(message) = already.filter(|_| relative) {
        return Err(Error::new(0..0, message));
    }
    for term in &bound.terms {
        match term {
            Term::Baseline { factor } => *line.factor.get_or_insert(0.0) += factor,
            Term::Amount(amount) => {
                let wrong = |misfit| Error::new(amount.span.clone(), explain(misfit, amount, field, subject));
                let is_percent = |unit: Option<Unit>| unit.is_some_and(|unit| unit.dimension == Dimension::Percent);
                if relative && is_percent(amount.known_unit().map_err(wrong)?) && !is_percent(field) {
                    // "5 %" here means 5 % of the baseline, because the subject is not in percent.
                    let share = shift(&amount.digits, -2).ok_or_else(|| wrong(Misfit::TooLarge))?;
                    *line.factor.get_or_insert(0.0) += share;
                } else {
                    line.offset += amount.in_unit(field).map_err(wrong)?;
                }
            }
        }
    }
    if line.offset.is_finite() && line.factor.is_none_or(f64::is_finite) {
        Ok(line)
    } else {
        Err(Error::new(0..0, "The bound is too large."))
    }
}

/// Explains why an amount does not fit the field.
fn explain(misfit: Misfit, amount: &Amount, field: Option<Unit>, subject: &Subject) -> String {
    let units = |field: Unit| field.alternatives().join(", ");
    let written = amount.unit.as_deref().unwrap_or_default();
    match (misfit, field) {
        (Misfit::TooLarge, _) => "This number is too large.".to_owned(),
        (Misfit::UnknownUnit, Some(field)) => {
            format!("There is no unit {written}; this field can be given in {}.", units(field))
        }
        (Misfit::UnknownUnit, None) => format!("There is no unit {written}, and this number has none."),
        (Misfit::OtherUnit(Unit { symbol, .. }), Some(field)) => format!(
            "{subject} is in {}, so a bound in {symbol} does not fit; write one of {}.",
            field.symbol,
            units(field)
        ),
        (Misfit::OtherUnit(Unit { symbol, .. }), None) => {
            format!("{subject} has no unit, so a bound in {symbol} does not fit; leave the unit out.")
        }
    }
}

/// Collapses every sequence of white space to one space.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(text: &str) -> Result<Limit, Error> {
        Limit::parse(text, &Catalogue::of_profile())
    }

    fn line(text: &str) -> (Option<f64>, f64) {
        let line = limit(text).unwrap().bound;
        (line.factor, line.offset)
    }

    #[test]
    fn bounds_are_in_the_unit_of_the_field() {
        assert_eq!(line("step_timing.avg_step_time_us < 150 ms"), (None, 150_000.0));
        assert_eq!(line("step_timing.avg_step_time_us < 150000"), (None, 150_000.0));
        assert_eq!(line("throughput.ms_per_step < 0.15 s"), (None, 150.0));
        assert_eq!(line("compute_utilization.compute_util_percent >= 70 %"), (None, 70.0));
        assert_eq!(line("memory_operations.transfers[direction=h2d].total_bytes <= 2 GiB"), (None, 2_147_483_648.0));
        assert_eq!(line("roofline.peak_tflops.bf16 >= 0.9 PFLOP/s"), (None, 900.0));
        assert_eq!(line("throughput.steps_per_sec >= 97 % of baseline"), (Some(0.97), 0.0));
        assert_eq!(line("step_timing.avg_step_time_us <= baseline + 2 ms"), (Some(1.0), 2000.0));
    }

    #[test]
    fn percent_of_a_baseline_is_a_factor_or_points_for_percent_fields() {
        assert_eq!(line("step_timing.avg_step_time_us <= baseline + 5 %"), (Some(1.05), 0.0));
        assert_eq!(line("throughput.steps_per_sec >= baseline - 3 %"), (Some(0.97), 0.0));
        assert_eq!(line("compute_utilization.compute_util_percent >= baseline - 5 %"), (Some(1.0), -5.0));
    }

    #[test]
    fn wrong_units_are_refused_with_suggestions() {
        for (text, wrong, sentence) in [
            (
                "step_timing.avg_step_time_us < 70 %",
                "70 %",
                "is in us, so a bound in % does not fit; write one of ps, ns, us",
            ),
            (
                "step_timing.avg_step_time_us < 3 parsec",
                "3 parsec",
                "There is no unit parsec; this field can be given in ps",
            ),
            ("step_timing.num_steps > 3 ms", "3 ms", "has no unit, so a bound in ms does not fit"),
            ("count(steps) > 3 ms", "3 ms", "count(steps[*]) has no unit"),
            ("timeline_analysis.gaps_over_1000us <= 3 ms", "3 ms", "has no unit"),
            ("step_timing.avg_step_time_us < 1e999", "1e999", "too large"),
            ("step_timing.avg_step_time_us < 1e308 h", "1e308 h", "too large"),
        ] {
            let error = limit(text).unwrap_err();
            assert!(error.to_string().contains(sentence), "{text}: {error}");
            assert_eq!(&text[error.span], wrong, "{text}");
        }
    }

    #[test]
    fn paths_are_those_of_the_schema() {
        for (text, wrong, sentence) in [
            (
                "step_timing.avg_step_time < 3",
                "step_timing.avg_step_time",
                "No profile has step_timing.avg_step_time. Did you mean step_timing.avg_step_time_us",
            ),
            ("avg_step_time_us < 3", "avg_step_time_us", "Did you mean step_timing.avg_step_time_us"),
            (
                "multi_device.device_stats.utilization_percent > 3",
                "utilization_percent",
                "multi_device.device_stats is a list. Select entries: multi_device.device_stats[0]",
            ),
            ("findings.warning <= 0", "warning", "Did you mean count(findings[severity=warning])?"),
            ("throughput[0] > 3", "[0]", "throughput is not a list"),
            ("throughput.steps_per_sec.mean > 3", "mean", "throughput.steps_per_sec is a single value"),
            (
                "throughput > 3",
                "throughput",
                "is a section, not a number. It contains throughput.all_devices_steps_per_sec, ",
            ),
            ("metadata.platform == 3", "metadata.platform", "is a text, not a number"),
            ("steps[0].counted == 1", "steps[0].counted", "is yes or no, not a number"),
            ("steps[idx=3].idle_us < 3", "[idx=3]", "no field idx; they have busy_us, "),
            ("memory_operations.transfers[directon=h2d].count < 3", "[directon=h2d]", "Did you mean direction?"),
            ("count(findings[severity=warnin]) == 0", "[severity=warnin]", "is never warnin. It is one of not_checked"),
            ("count(throughput) == 0", "throughput", "is neither a list nor an entry of a list"),
            ("count(finding) == 0", "finding", "Did you mean findings?"),
            ("frobnicate.all > 3", "frobnicate.all", "docs/metrics.md lists every number."),
        ] {
            let error = limit(text).unwrap_err();
            assert!(error.to_string().contains(sentence), "{text}: {error}");
            assert_eq!(&text[error.span], wrong, "{text}");
        }
    }

    #[test]
    fn known_words_are_asked_for() {
        let mut catalogue = Catalogue::of_profile();
        catalogue.set_words(&super::super::Path::parse("findings[*].id").unwrap(), &["idle_gaps", "input_bound"]);
        assert!(Limit::parse("findings[id=idle_gaps] absent", &catalogue).is_ok());
        let error = Limit::parse("findings[id=idle_gap] absent", &catalogue).unwrap_err();
        assert!(error.to_string().contains("Did you mean idle_gaps?"), "{error}");
        assert!(limit("findings[id=idle_gap] absent").is_ok(), "without words every text may be one");
    }

    #[test]
    fn every_number_of_the_schema_can_be_limited() {
        let catalogue = Catalogue::of_profile();
        let paths = catalogue.numbers();
        assert!(paths.len() > 150, "only {} numbers", paths.len());
        for path in paths {
            Limit::parse(&format!("{path} >= 0"), &catalogue).unwrap();
        }
    }
}
