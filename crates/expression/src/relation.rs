//! Comparison signs.

use winnow::Parser;
use winnow::combinator::alt;

use crate::token::{Input, Parsed};

/// Required relation between a value and its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
}

impl Relation {
    /// Returns the operator.
    pub fn symbol(self) -> &'static str {
        match self {
            Relation::Below => "<",
            Relation::AtMost => "<=",
            Relation::Above => ">",
            Relation::AtLeast => ">=",
            Relation::Equal => "==",
            Relation::NotEqual => "!=",
        }
    }

    /// Returns true if `value` has this relation to `bound`.
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Relation::Below => value < bound,
            Relation::AtMost => value <= bound,
            Relation::Above => value > bound,
            Relation::AtLeast => value >= bound,
            Relation::Equal => value == bound,
            Relation::NotEqual => value != bound,
        }
    }
}

/// Reads a comparison sign.
pub fn relation(input: &mut Input<'_>) -> Parsed<Relation> {
    // Longer signs come first, because `<=` begins with `<`.
    alt((
        alt(("<=", "≤")).value(Relation::AtMost),
        alt((">=", "≥")).value(Relation::AtLeast),
        "==".value(Relation::Equal),
        "!=".value(Relation::NotEqual),
        "<".value(Relation::Below),
        ">".value(Relation::Above),
    ))
    .parse_next(input)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn signs_are_read_as_they_are_written() {
        use Relation::{Above, AtLeast, AtMost, Below, Equal, NotEqual};
        for sign in [Below, AtMost, Above, AtLeast, Equal, NotEqual] {
            assert_eq!(parse(sign.symbol(), relation, "More."), Ok(sign));
        }
        assert_eq!((parse("≤", relation, ""), parse("≥", relation, "")), (Ok(AtMost), Ok(AtLeast)));
        assert!(parse("=", relation, "").is_err() && parse("=<", relation, "").is_err());
    }
}
