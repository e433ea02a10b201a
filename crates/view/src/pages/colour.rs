//! The colours of what pages show: a closed set, in the words of what owns them.

use serde::{Deserialize, Deserializer, Serialize};

use metrics::{HostRole, OpFamily, StepPart};

/// What is shown, as far as its colour goes: a class of the page's style.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ColourClass(&'static str);

impl ColourClass {
    /// Time in which nothing runs.
    pub const IDLE: ColourClass = ColourClass("idle");

    /// What has no colour of its own, such as a group of ops.
    pub const GROUP: ColourClass = ColourClass("group");

    /// Name of the class.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Of a family of ops, a part of a step or a role of a host's threads, as a profile spells it; a word of none of these has no
    /// colour of its own.
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
    fn a_class_comes_back_by_its_name() {
        for class in
            [OpFamily::OtherCompute.into(), StepPart::Barrier.into(), HostRole::Python.into(), ColourClass::IDLE]
        {
            assert_eq!(ColourClass::of_label(class.name()), class);
        }
        assert_eq!(ColourClass::of_label("not_attributed"), ColourClass::GROUP);
    }
}
