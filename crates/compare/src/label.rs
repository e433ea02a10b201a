//! Names compared ops for display. A single op gets its own name. Several ops of one kind get their number and the name
//! of the kind: `12 fusions`.
//!
//! ```text
//! custom-call.2                                      one op
//! 64 copies in decoder/layer_*/attn                  matching ops of a scope
//! 64 copies (data movement)                          matching ops without a known scope
//! matmul in decoder/layer_*/attn                     ops that two platforms name differently
//! ```

use super::{Change, ChangeKind, MatchedBy};
use base::{format, framework_path};

/// Longest displayed name of a single op. Longer names are shortened in the middle.
const NAME: usize = 60;

/// Returns the name scopes of an op, or `None` if the op has no scopes.
pub(crate) fn scope(op: &Change) -> Option<String> {
    let scopes = framework_path::scopes(op.framework_op.as_deref()?);
    (!scopes.is_empty()).then(|| scopes.join("/"))
}

impl Change {
    /// Returns the name of the op for tables and sentences.
    pub fn title(&self) -> String {
        let Some(what) = self.plural() else { return format::shorten(&self.name, NAME) };
        match (scope(self), self.class()) {
            (Some(scope), _) => format!("{what} in {}", framework_path::layered(&scope)),
            (None, Some(class)) if class != what => format!("{what} ({class})"),
            (None, _) => what,
        }
    }

    /// Returns the title with the op's class, scope and source: `custom-call.2 (attention,
    /// layer_0/attn, model.py:12)`.
    pub fn described(&self) -> String {
        let source = self.source.as_deref().map(|source| source.rsplit('/').next().unwrap_or(source).to_owned());
        let scope = scope(self);
        let class = self.class().filter(|class| !self.title().contains(class));
        let place = scope.filter(|_| self.plural().is_none());
        let place: Vec<String> = [class, place, source].into_iter().flatten().collect();
        let title = self.title();
        if place.is_empty() { title } else { format!("{title} ({})", place.join(", ")) }
    }

    /// Returns true if the title names several ops, and so needs a plural verb.
    pub fn is_several(&self) -> bool {
        let [ours, theirs] = self.ops;
        ours.max(theirs) > 1 && !self.is_of_names_apart()
    }

    /// Returns true if the change combines ops that two platforms name differently, so that neither name describes the
    /// change.
    fn is_of_names_apart(&self) -> bool {
        self.matched_by == MatchedBy::FrameworkPath && self.slowdown.is_none() && self.change != ChangeKind::Rewritten
    }

    fn class(&self) -> Option<String> {
        Some(self.family.replace('_', " ")).filter(|class| !class.is_empty())
    }

    /// Describes several ops by their number and kind. Returns `None` for a single op.
    fn plural(&self) -> Option<String> {
        if self.is_of_names_apart() {
            return self.class();
        }
        let [ours, theirs] = self.ops;
        let many = Some(ours.max(theirs)).filter(|&many| many > 1)?;
        let stem = framework_path::name_without_number(&self.name);
        let noun = match stem.strip_suffix("copy") {
            Some(before) => format!("{before}copies"),
            None if stem.ends_with("fusion") => format!("{}s", format::shorten(stem, NAME)),
            None => format!("{} ops", format::shorten(stem, NAME)),
        };
        Some(format!("{} {noun}", format::count(many)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(name: &str, family: &str, path: Option<&str>, ops: [u64; 2]) -> Change {
        Change {
            name: name.to_owned(),
            family: family.to_owned(),
            framework_op: path.map(str::to_owned),
            slowdown: Some(2.0),
            ops,
            ..Change::default()
        }
    }

    #[test]
    fn equal_ops_are_named_by_scope_and_number() {
        let path = Some("jit(f)/decoder/layer_*/attn/copy");
        assert_eq!(op("copy.3383", "data_movement", path, [0, 64]).title(), "64 copies in decoder/layer_*/attn");
        assert_eq!(op("copy.3383", "data_movement", None, [0, 64]).title(), "64 copies (data movement)");
        assert_eq!(op("copy.3383", "", None, [0, 64]).title(), "64 copies");
        let layer = Some("jit(f)/decoder/layer_7/attn/dot");
        assert_eq!(op("loop_fusion.2", "matmul", layer, [3, 2]).title(), "3 loop_fusions in decoder/layer_*/attn");
        assert_eq!(
            op("all-to-all.61", "communication", layer, [0, 64]).title(),
            "64 all-to-all ops in decoder/layer_*/attn"
        );
        let one = op("copy.3383", "data_movement", layer, [1, 1]);
        assert_eq!(one.title(), "copy.3383");
        assert_eq!(one.described(), "copy.3383 (data movement, decoder/layer_7/attn)");
        let many =
            Change { source: Some("/a/layer.py:399".to_owned()), ..op("copy.3", "data_movement", path, [64, 64]) };
        assert_eq!(many.described(), "64 copies in decoder/layer_*/attn (data movement, layer.py:399)");
    }

    #[test]
    fn ops_named_differently_are_described_by_class_and_scope() {
        let change = Change {
            matched_by: MatchedBy::FrameworkPath,
            slowdown: None,
            ..op("fusion.7", "matmul", Some("jit(f)/layer_*/attn/dot"), [1, 4])
        };
        assert_eq!(change.title(), "matmul in layer_*/attn");
    }
}
