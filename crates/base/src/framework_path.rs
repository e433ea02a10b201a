//! Paths that frameworks give to ops, and names that compilers give to them.
//!
//! ```text
//! jit(train)/transpose(jvp(layer_3))/attn/dot_general
//!            |         |             |    |
//!            |         |             |    primitive
//!            backward  scopes, as the program names them: layer_3, attn
//! ```
//!
//! The paths of a model's layers differ only in a number. `layer_*` stands for all layers.

use memchr::memmem;

/// Replaces each layer number in a path with `*`. Keeps digits directly before a letter: `conv2d_6` becomes `conv2d_*`.
pub fn layered(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, digits) = rest.split_at(at);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let (number, after) = digits.split_at(end);
        text.push_str(before);
        text.push_str(if after.starts_with(|c: char| c.is_ascii_alphabetic()) { number } else { "*" });
        rest = after;
    }
    text.push_str(rest);
    text
}

/// Splits a path into its segments. A slash inside parentheses does not separate segments: `jvp(a/b)` is one segment.
pub fn segments(path: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0i32;
    let segments = path.trim_end_matches(':').split(move |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == '/' && depth <= 0
    });
    segments.filter(|segment| !segment.is_empty())
}

/// Splits off the first of several paths that XLA joined. Returns the part that all paths have in common, and the rest of
/// the first path. Joined paths are separated by `;`, or by `:` inside parentheses after their common part:
/// `jit(f)/(jvp(a)/dot:jvp(b)/dot)`.
fn first_path(path: &str) -> (&str, &str) {
    let first = path.split(';').next().unwrap_or(path);
    let Some((common, joined)) = first.split_once("/(") else { return (first, "") };
    let mut depth = 0i32;
    let end = joined.find(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth < 0 || (c == ':' && depth == 0)
    });
    (common, joined.split_at(end.unwrap_or(joined.len())).0)
}

/// Splits a path into its segments, or only the first path if XLA joined several.
fn first_segments(path: &str) -> impl Iterator<Item = &str> {
    let (common, rest) = first_path(path);
    segments(common).chain(segments(rest))
}

/// Segments that describe how the program is compiled and run, and that name no part of the model.
const STRUCTURE: [&str; 9] = [
    "main",
    "while",
    "body",
    "cond",
    "closed_call",
    "checkpoint",
    "rematted_computation",
    "custom_jvp_call",
    "custom_vjp_call",
];

/// Transformations that enclose the name of a scope.
const TRANSFORMATIONS: [&str; 6] = ["transpose(", "jvp(", "vmap(", "remat(", "checkpoint(", "shard_map("];

/// Returns the scopes that the user's program gave to a path, outermost first. Compiled functions, transformations and
/// the primitive at the end are left out. If XLA joined several paths, returns the scopes of the first one.
pub fn scopes(path: &str) -> Vec<&str> {
    let mut scopes: Vec<&str> = first_segments(path).flat_map(|segment| untransformed(segment).split('/')).collect();
    scopes.pop();
    scopes.retain(|scope| {
        !scope.is_empty() && !scope.starts_with("jit(") && !scope.starts_with("pjit(") && !STRUCTURE.contains(scope)
    });
    scopes
}

/// Returns the primitive of a path: its last segment. `None` for an empty path.
pub fn primitive(path: &str) -> Option<&str> {
    first_segments(path).last().and_then(|segment| untransformed(segment).rsplit('/').next())
}

/// Strips transformations: `transpose(jvp(layer_3))` becomes `layer_3`.
fn untransformed(segment: &str) -> &str {
    let mut inner = segment;
    while let Some(rest) = TRANSFORMATIONS.iter().find_map(|name| inner.strip_prefix(name)) {
        inner = rest.strip_suffix(')').unwrap_or(rest);
    }
    inner
}

/// Returns `forward`, `backward` or `recomputed`, or `None` if the path does not belong to a pass of a training step.
pub fn training_pass(path: &str) -> Option<&'static str> {
    let has = |mark: &str| memmem::find(path.as_bytes(), mark.as_bytes()).is_some();
    [("rematted_computation", "recomputed"), ("transpose(", "backward"), ("jvp(", "forward")]
        .into_iter()
        .find_map(|(mark, pass)| has(mark).then_some(pass))
}

/// Strips the number from a name: `fusion.12`, `fusion.12.remat2` and `fusion_12` become `fusion`. A name that is only
/// a number stays unchanged.
pub fn name_without_number(name: &str) -> &str {
    let mut base = name;
    loop {
        let stripped = base.trim_end_matches(|c: char| c.is_ascii_digit());
        let stripped = stripped.strip_suffix(['.', '_']).or_else(|| stripped.strip_suffix(".remat"));
        match stripped {
            Some(shorter) if !shorter.is_empty() && shorter.len() < base.len() => base = shorter,
            _ => return base,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_one() {
        for (path, all) in [
            ("jit(f)/layer_3/attn/dot_general", "jit(f)/layer_*/attn/dot_general"),
            ("layers.12/conv2d_6/Conv2D", "layers.*/conv2d_*/Conv2D"),
            ("h/7/mlp", "h/*/mlp"),
            ("transpose(jvp(block3))/add", "transpose(jvp(block*))/add"),
            ("bsd,de->bse", "bsd,de->bse"),
        ] {
            assert_eq!(layered(path), all);
        }
    }

    #[test]
    fn scopes_are_those_of_the_program() {
        for (path, found) in [
            ("jit(f)/jit(main)/transpose(jvp(layer_3))/attn/dot_general", vec!["layer_3", "attn"]),
            ("jit(f)/while/body/checkpoint/rematted_computation/mlp/mul", vec!["mlp"]),
            ("jit(loss)/transpose(jvp())/dot", vec![]),
            ("jvp(block/mlp)/dot:", vec!["block", "mlp"]),
            ("jit(f)/dot", vec![]),
            ("jit(f)/a/mul;jit(f)/b/add", vec!["a"]),
            ("jit(f)/(transpose(jvp(a))/dot:transpose(jvp(b/c))/dot:jvp()/sum)", vec!["a"]),
            ("jit(f)/a/(b/dot", vec!["a", "b"]),
        ] {
            assert_eq!(scopes(path), found);
        }
    }

    #[test]
    fn the_primitive_is_the_last_segment() {
        for (path, name) in [
            ("jit(f)/a/dot_general", Some("dot_general")),
            ("jvp(a/mul):", Some("mul")),
            ("", None),
            ("f/(jvp(a)/dot:b)", Some("dot")),
            ("f/a;f/b", Some("a")),
        ] {
            assert_eq!(primitive(path), name);
        }
    }

    #[test]
    fn passes_are_detected_by_their_transformation() {
        let pass = |path| training_pass(path);
        assert_eq!(pass("jit(f)/transpose(jvp(a))/dot"), Some("backward"));
        assert_eq!(pass("jit(f)/jvp(a)/dot"), Some("forward"));
        assert_eq!(pass("jit(f)/transpose(jvp(a))/rematted_computation/dot"), Some("recomputed"));
        assert_eq!(pass("jit(f)/a/dot"), None);
    }

    #[test]
    fn names_without_their_numbers() {
        for (name, base) in [
            ("fusion.12", "fusion"),
            ("fusion.12.remat2", "fusion"),
            ("copy", "copy"),
            ("12", "12"),
            ("wrapped_add_3", "wrapped_add"),
        ] {
            assert_eq!(name_without_number(name), base);
        }
    }
}
