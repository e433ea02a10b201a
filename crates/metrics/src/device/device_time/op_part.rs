//! Finds the part of a step that an op belongs to.

use rustc_hash::FxHashMap;

use super::copy_space::{Space, spaces};
use crate::device::devices::Devices;
use crate::op::categories::{Categorizer, CategoryId, OpClass};
use crate::step::step_part::StepPart;
use trace::{ArgsId, StrId, Trace};

/// Finds the parts of a step to which many ops belong. Each category and each distinct copy of a TPU is examined once.
pub(crate) struct OpParts<'a> {
    trace: &'a Trace,
    categories: Categorizer<'a>,
    of_category: Vec<Option<OfCategory>>,
    copies: FxHashMap<(StrId, ArgsId), StepPart>,
}

/// Part of a step to which the ops of a category belong.
#[derive(Clone, Copy)]
enum OfCategory {
    Is(StepPart),
    /// A copy that XLA generated. The part depends on the memories that its expression names.
    Copy,
}

impl<'a> OpParts<'a> {
    pub(crate) fn of_devices(trace: &'a Trace, devices: &Devices) -> OpParts<'a> {
        OpParts::new(trace, Categorizer::new(trace, &devices.recognised))
    }

    pub(crate) fn new(trace: &'a Trace, categories: Categorizer<'a>) -> OpParts<'a> {
        OpParts { trace, categories, of_category: Vec::new(), copies: FxHashMap::default() }
    }

    /// Returns the part of a step to which the op `name` with `args` belongs.
    pub(crate) fn of(&mut self, name: StrId, args: ArgsId) -> StepPart {
        let category = self.categories.of(name, args);
        match self.of_category(category) {
            OfCategory::Is(part) => part,
            OfCategory::Copy => {
                let trace = self.trace;
                *self.copies.entry((name, args)).or_insert_with(|| copy_part(trace, name, args))
            }
        }
    }

    /// Returns true if any op that was passed to [`OpParts::of`] waits for the work of another op.
    pub(crate) fn has_waits(&self) -> bool {
        self.categories.names().any(|name| name.ends_with("-done"))
    }

    fn of_category(&mut self, category: CategoryId) -> OfCategory {
        let index = category.index();
        if let Some(&Some(known)) = self.of_category.get(index) {
            return known;
        }
        let found = of_category(self.categories.name(category), self.categories.class(category));
        if self.of_category.len() <= index {
            self.of_category.resize(index + 1, None);
        }
        if let Some(slot) = self.of_category.get_mut(index) {
            *slot = Some(found);
        }
        found
    }
}

fn of_category(category: &str, class: OpClass) -> OfCategory {
    match class {
        OpClass::Compute => return OfCategory::Is(StepPart::Compute),
        OpClass::Communication => return OfCategory::Is(StepPart::Communication),
        OpClass::Transfer => {}
    }
    OfCategory::Is(match category {
        "copy" | "copy-start" | "copy-done" => return OfCategory::Copy,
        "memcpy h2d" => StepPart::HostToDevice,
        "memcpy d2h" => StepPart::DeviceToHost,
        "memcpy d2d" => StepPart::DeviceToDevice,
        "memcpy p2p" => StepPart::PeerToPeer,
        "infeed" | "host recv" | "host recv-done" | "outfeed" | "host send" | "host send-done" => {
            StepPart::InfeedOutfeed
        }
        _ => StepPart::DataMovement,
    })
}

/// Returns the part of a copy, from the memories that its expression names. A copy whose expression names no memory is treated
/// as a copy within the device.
fn copy_part(trace: &Trace, name: StrId, args: ArgsId) -> StepPart {
    let long_name = trace.args.get(args).long_name;
    let found = spaces(trace.text(long_name)).or_else(|| spaces(trace.text(name)));
    match found {
        Some((Space::Host, Space::Device)) => StepPart::HostToDevice,
        Some((Space::Device, Space::Host)) => StepPart::DeviceToHost,
        _ => StepPart::DeviceToDevice,
    }
}
