//! Colours of page elements: a closed set, named after the kinds of data that they show.

use serde::{Deserialize, Deserializer, Serialize};

use metrics::{HostRole, OpFamily, StepPart};

/// Kind of data that a colour stands for. The name of the kind is a class of the page's style sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ColourClass(&'static str);

impl ColourClass {
    /// Time during which nothing runs.
    pub const IDLE: ColourClass = ColourClass("idle");

    /// Elements without their own colour, for example a group of ops.
    pub const GROUP: ColourClass = ColourClass("group");

    /// Returns the name of the class.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Returns the colour of an op family, a step part or a role of host threads, as spelled in a profile. All other
    /// words share one colour.
    pub fn of_label(label: &str) -> ColourClass {
        let families = OpFamily::ALL.into_iter().map(ColourClass::from);
        let parts = StepPart::ALL.into_iter().map(ColourClass::from);
        let roles = HostRole::ALL.into_iter().map(ColourClass::from);
        let mut all = families.chain(parts).chain(roles).chain([ColourClass::IDLE]);
        all.find(|class| class.name() == label).unwrap_or(ColourClass::GROUP)
    }
}

impl From<OpFamily> for ColourClass {
    fn from(family: OpFamily) -> ColourClass {
        ColourClass(family.label())
    }
}

impl From<StepPart> for ColourClass {
    fn from(part: StepPart) -> ColourClass {
        ColourClass(part.label())
    }
}

impl From<HostRole> for ColourClass {
    fn from(role: HostRole) -> ColourClass {
        ColourClass(role.label())
    }
}

impl<'de> Deserialize<'de> for ColourClass {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ColourClass, D::Error> {
        String::deserialize(deserializer).map(|label| ColourClass::of_label(&label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_class_is_parsed_from_its_name() {
        for class in
            [OpFamily::OtherCompute.into(), StepPart::Barrier.into(), HostRole::Python.into(), ColourClass::IDLE]
        {
            assert_eq!(ColourClass::of_label(class.name()), class);
        }
        assert_eq!(ColourClass::of_label("not_attributed"), ColourClass::GROUP);
    }
}
