//! What fills a memory at its peak, added up: by class, by shape that is padded, by scope whose activations are kept; and the largest constants.

use std::collections::BTreeMap;

use base::sort;

use crate::class::Class;
use crate::peak::PeakBuffer;
use crate::tiling::{Reshaped, better_shape};

/// Entries of each list at most.
const MOST: usize = 20;
/// Groups of buffers at most: programs are compared by them.
const MOST_GROUPS: usize = 50;

/// Sums of what is alive at the peak.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Bytes of all of it.
    pub bytes: u64,
    /// Sums by class, the largest first: they add up to `bytes`.
    pub classes: Vec<ClassSum>,
    /// Bytes that layouts add.
    pub padding_bytes: u64,
    /// Shapes with padding, those with the most first.
    pub padded: Vec<PaddedShape>,
    /// Activations by scope, the largest first.
    pub activations: Vec<ScopeSum>,
    /// Constants, the largest first.
    pub constants: Vec<PeakBuffer>,
    /// Buffers of one class, scope and shape together, the largest first.
    pub groups: Vec<BufferGroup>,
}

/// Buffers of one class, scope and shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferGroup {
    /// Class of the buffers.
    pub class: Class,
    /// Scope of the buffers; empty where unknown.
    pub scope: String,
    /// Type and shape without layout; empty where unknown.
    pub shape: String,
    /// Number of the buffers.
    pub buffers: u64,
    /// Bytes of the buffers.
    pub bytes: u64,
}

/// The buffers of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassSum {
    /// The class.
    pub class: Class,
    /// Number of the buffers.
    pub buffers: u64,
    /// Bytes of the buffers.
    pub bytes: u64,
}

/// The buffers of a shape with a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaddedShape {
    /// Type, shape and layout as HLO text writes them.
    pub shape: String,
    /// Number of the buffers.
    pub buffers: u64,
    /// Bytes of the buffers.
    pub bytes: u64,
    /// Bytes of the buffers that are padding.
    pub padding_bytes: u64,
    /// Another shape for the values of the buffers, and what one buffer takes then.
    pub better: Option<Reshaped>,
}

/// The buffers of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeSum {
    /// The scope; empty where the program names none.
    pub scope: String,
    /// Number of the buffers.
    pub buffers: u64,
    /// Bytes of the buffers.
    pub bytes: u64,
}

impl Summary {
    /// Summary of what is alive at the peak.
    pub fn of(live: impl IntoIterator<Item = PeakBuffer>) -> Summary {
        let mut found = Summary::default();
        let mut classes: BTreeMap<Class, (u64, u64)> = BTreeMap::new();
        let mut scopes: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        let mut shapes: BTreeMap<String, (PaddedShape, hlo::ArrayShape)> = BTreeMap::new();
        let mut groups: BTreeMap<(Class, String, String), (u64, u64)> = BTreeMap::new();
        for buffer in live {
            let key = (buffer.class.class, buffer.scope.clone(), buffer.shape_text().unwrap_or_default());
            add(groups.entry(key).or_default(), buffer.bytes);
            add(classes.entry(buffer.class.class).or_default(), buffer.bytes);
            found.bytes = found.bytes.saturating_add(buffer.bytes);
            let padding = buffer.padding_bytes();
            found.padding_bytes = found.padding_bytes.saturating_add(padding);
            if let Some(array) = buffer.shape.as_ref().filter(|_| padding > 0) {
                let shape = hlo::Shape::Array(array.clone()).text(true);
                let new = || {
                    let padded =
                        PaddedShape { shape: shape.clone(), buffers: 0, bytes: 0, padding_bytes: 0, better: None };
                    (padded, array.clone())
                };
                let (padded, _) = shapes.entry(shape.clone()).or_insert_with(new);
                padded.buffers += 1;
                padded.bytes = padded.bytes.saturating_add(buffer.bytes);
                padded.padding_bytes = padded.padding_bytes.saturating_add(padding);
            }
            match buffer.class.class {
                Class::Activation => add(scopes.entry(buffer.scope).or_default(), buffer.bytes),
                Class::Constant => found.constants.push(buffer),
                _ => {}
            }
        }
        let group = |((class, scope, shape), (buffers, bytes))| BufferGroup { class, scope, shape, buffers, bytes };
        found.groups = groups.into_iter().map(group).collect();
        sort::sort_by(&mut found.groups, |a, b| b.bytes.cmp(&a.bytes));
        found.groups.truncate(MOST_GROUPS);
        found.classes =
            classes.into_iter().map(|(class, (buffers, bytes))| ClassSum { class, buffers, bytes }).collect();
        sort::sort_by(&mut found.classes, |a, b| b.bytes.cmp(&a.bytes));
        found.activations =
            scopes.into_iter().map(|(scope, (buffers, bytes))| ScopeSum { scope, buffers, bytes }).collect();
        sort::sort_by(&mut found.activations, |a, b| b.bytes.cmp(&a.bytes));
        found.activations.truncate(MOST);
        sort::sort_by(&mut found.constants, |a, b| b.bytes.cmp(&a.bytes));
        found.constants.truncate(MOST);
        let mut shapes: Vec<(PaddedShape, hlo::ArrayShape)> = shapes.into_values().collect();
        sort::sort_by(&mut shapes, |a, b| b.0.padding_bytes.cmp(&a.0.padding_bytes));
        shapes.truncate(MOST);
        let with_better =
            |(padded, array): (PaddedShape, hlo::ArrayShape)| PaddedShape { better: better_shape(&array), ..padded };
        found.padded = shapes.into_iter().map(with_better).collect();
        found
    }

    /// Bytes of a class.
    pub fn class_bytes(&self, class: Class) -> u64 {
        self.classes.iter().find(|sum| sum.class == class).map_or(0, |sum| sum.bytes)
    }
}

fn add(sum: &mut (u64, u64), bytes: u64) {
    *sum = (sum.0 + 1, sum.1.saturating_add(bytes));
}
