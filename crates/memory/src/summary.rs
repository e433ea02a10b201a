//! Sums of the contents of a memory at its peak: by class, by padded shape and by scope of activations. Also lists the largest
//! constants.

use std::collections::BTreeMap;

use base::sort;

use crate::class::Class;
use crate::peak::PeakBuffer;
use crate::tiling::{Reshaped, better_shape};

/// Maximum number of entries per list.
const MOST: usize = 20;
/// Maximum number of groups of buffers. Comparisons of programs use the groups.
const MOST_GROUPS: usize = 50;

/// Sums of the buffers alive at the peak.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Total bytes.
    pub bytes: u64,
    /// Sums by class, largest first. The sums add up to `bytes`.
    pub classes: Vec<ClassSum>,
    /// Bytes of padding that layouts add.
    pub padding_bytes: u64,
    /// Shapes with padding, most padding first.
    pub padded: Vec<PaddedShape>,
    /// Activations by scope, largest first.
    pub activations: Vec<ScopeSum>,
    /// Constants, largest first.
    pub constants: Vec<PeakBuffer>,
    /// Groups of buffers with the same class, scope and shape, largest first.
    pub groups: Vec<BufferGroup>,
}

/// Buffers with the same class, scope and shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferGroup {
    /// Class of the buffers.
    pub class: Class,
    /// Scope of the buffers. Empty if unknown.
    pub scope: String,
    /// Type and shape without layout. Empty if unknown.
    pub shape: String,
    /// Number of buffers.
    pub buffers: u64,
    /// Bytes of the buffers.
    pub bytes: u64,
}

/// Buffers of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassSum {
    /// Class of the buffers.
    pub class: Class,
    /// Number of buffers.
    pub buffers: u64,
    /// Bytes of the buffers.
    pub bytes: u64,
}

/// Buffers with one shape and layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaddedShape {
    /// Type, shape and layout as HLO text.
    pub shape: String,
    /// Number of buffers.
    pub buffers: u64,
    /// Bytes of the buffers.
    pub bytes: u64,
    /// Bytes of padding in the buffers.
    pub padding_bytes: u64,
    /// A better shape for the same values, with the size of one buffer in that shape. `None` if there is no better
    /// shape.
    pub better: Option<Reshaped>,
}

/// Buffers of one scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeSum {
    /// Name of the scope. Empty if the program has no scopes.
    pub scope: String,
    /// Number of buffers.
    pub buffers: u64,
    /// Bytes of the buffers.
    pub bytes: u64,
}

impl Summary {
    /// Summarises the buffers alive at the peak.
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

    /// Returns the bytes of a class.
    pub fn class_bytes(&self, class: Class) -> u64 {
        self.classes.iter().find(|sum| sum.class == class).map_or(0, |sum| sum.bytes)
    }
}

fn add(sum: &mut (u64, u64), bytes: u64) {
    *sum = (sum.0 + 1, sum.1.saturating_add(bytes));
}
