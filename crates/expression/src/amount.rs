//! Numbers with units.

use std::ops::Range;

use winnow::Parser;
use winnow::combinator::{alt, not, opt, preceded};
use winnow::error::ErrMode;
use winnow::token::{one_of, take_while};

use crate::Error;
use crate::token::{Input, Parsed, at, blank, keyword};
use crate::unit::{Unit, shift};

/// A number with its unit, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amount {
    /// Digits with their sign and without separators, as [`shift`] reads them.
    pub digits: String,
    /// The unit's name, or `None` if the text contains no unit.
    pub unit: Option<String>,
    /// Position of digits and unit.
    pub span: Range<usize>,
}

/// Reason why an amount does not fit a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// No unit has this name.
    UnknownUnit,
    /// The unit measures a different quantity than the field does.
    OtherUnit(Unit),
    /// A float cannot represent the number.
    TooLarge,
}

impl Amount {
    /// Returns the unit, or `None` if the text contains no unit.
    ///
    /// # Errors
    ///
    /// Fails if no unit has the name.
    pub fn known_unit(&self) -> Result<Option<Unit>, Misfit> {
        self.unit.as_deref().map(|name| Unit::named(name).ok_or(Misfit::UnknownUnit)).transpose()
    }

    /// Converts the number to the unit of a field. A number without a unit has the field's unit.
    ///
    /// # Errors
    ///
    /// Fails with the reason if the amount does not fit the field.
    pub fn in_unit(&self, field: Option<Unit>) -> Result<f64, Misfit> {
        let value = match (self.known_unit()?, field) {
            (None, _) => shift(&self.digits, 0),
            (Some(unit), Some(field)) if unit.dimension == field.dimension => unit.convert(&self.digits, field),
            (Some(unit), _) => return Err(Misfit::OtherUnit(unit)),
        };
        value.ok_or(Misfit::TooLarge)
    }
}

/// Reads a number with its unit. Words in `keywords` are not units.
pub fn amount<'t>(keywords: &'static [&'static str]) -> impl Parser<Input<'t>, Amount, ErrMode<Error>> {
    move |input: &mut Input<'t>| {
        let start = at(input);
        let digits = digits(input)?;
        let unit = opt(preceded(blank, |input: &mut Input<'t>| unit(keywords, input))).parse_next(input)?;
        Ok(Amount { digits, unit: unit.map(str::to_owned), span: start..at(input) })
    }
}

/// Reads the name of a unit: `%`, or letters and slashes.
fn unit<'t>(keywords: &[&'static str], input: &mut Input<'t>) -> Parsed<&'t str> {
    for word in keywords {
        not(keyword(word)).parse_next(input)?;
    }
    alt(("%", take_while(1.., |c: char| c.is_alphabetic() || c == '/'))).parse_next(input)
}

/// Reads the digits of a number and removes its separators: `150_000`, `1.5e5`, `.5`.
pub fn digits(input: &mut Input<'_>) -> Parsed<String> {
    fn run<'t>(input: &mut Input<'t>) -> Parsed<&'t str> {
        take_while(0.., |c: char| c.is_ascii_digit() || c == '_').parse_next(input)
    }
    let has_digit = |text: &str| text.contains(|c: char| c.is_ascii_digit());
    let mantissa = (run, opt(('.', run))).take().verify(has_digit);
    let exponent = opt((one_of(['e', 'E']), opt(one_of(['-', '+'])), run.verify(has_digit)));
    (mantissa, exponent).take().map(|text: &str| text.replace('_', "")).parse_next(input)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn read(text: &str) -> Option<(String, Option<String>)> {
        parse(text, amount(&["of"]), "More.").ok().map(|it| (it.digits, it.unit))
    }

    #[test]
    fn numbers_have_digits_and_a_unit() {
        let found = |digits: &str, unit: Option<&str>| Some((digits.to_owned(), unit.map(str::to_owned)));
        assert_eq!(read("150_000"), found("150000", None));
        assert_eq!(read("1.5e-3 ms"), found("1.5e-3", Some("ms")));
        assert_eq!(read(".5GiB/s"), found(".5", Some("GiB/s")));
        assert_eq!(read("3 µs"), found("3", Some("µs")));
        assert_eq!(read("5e"), found("5", Some("e")));
        assert_eq!(read("5. %"), found("5.", Some("%")));
        assert_eq!(read("3 often"), found("3", Some("often")));
        for text in ["", ".", "_", "._", "ms", "-3", "3 of", "1.2.3", "3 ms 4"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn amounts_are_converted_to_the_unit_of_a_field() {
        let in_unit = |text: &str, unit: &str| parse(text, amount(&[]), "More.").unwrap().in_unit(Unit::named(unit));
        assert_eq!(in_unit("150 ms", "us"), Ok(150_000.0));
        assert_eq!(in_unit("150", "us"), Ok(150.0));
        assert_eq!(in_unit("150", "nothing"), Ok(150.0));
        assert_eq!(in_unit("3 parsec", "us"), Err(Misfit::UnknownUnit));
        assert_eq!(in_unit("3 %", "us"), Err(Misfit::OtherUnit(Unit::named("%").unwrap())));
        assert_eq!(in_unit("3 ms", "nothing"), Err(Misfit::OtherUnit(Unit::named("ms").unwrap())));
        assert_eq!(in_unit("1e308 h", "us"), Err(Misfit::TooLarge));
    }
}
