//! Reads the source memory and the target memory of an XLA copy from the copy's expression.
//!
//! A layout names its memory: `f32[8]{0:T(256)S(5)}` is in the host's memory (`S(5)`, pinned). An array is in device
//! memory if its layout has another number or no number. Programs that offload activations or optimizer state copy
//! between device memory and host memory.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// Memory of the chip: HBM, VMEM or another kind.
    Device,
    /// Memory of the host.
    Host,
}

const HOST: &str = "S(5)";

/// Returns `(source, target)` of the copy with this expression, or `None` if the expression is truncated or not a copy.
///
/// ```text
/// %copy-start = (target, source, context) copy-start(source %x)
/// %copy-done  = target copy-done((target, source, context) %copy-start)
/// %copy       = target copy(source %x)
/// ```
pub(crate) fn spaces(expression: &str) -> Option<(Space, Space)> {
    let (_, shapes) = expression.split_once(" = ")?;
    if let Some((result, _)) = shapes.split_once(" copy-start(") {
        return of_tuple(result);
    }
    if let Some((_, operand)) = shapes.split_once(" copy-done(") {
        return of_tuple(operand);
    }
    let (target, source) = shapes.split_once(" copy(")?;
    Some((space(source.get(..element_end(source))?), space(target)))
}

/// Returns true if an op of this category copies between device memory and host memory, or waits for such a copy.
pub(crate) fn crosses_host_link(category: &str, expression: &str) -> bool {
    match category {
        "memcpy h2d" | "memcpy d2h" => true,
        "copy" | "copy-start" | "copy-done" => spaces(expression).is_some_and(|(source, target)| source != target),
        _ => false,
    }
}

/// Returns the memory spaces of the first two elements of `(target, source, ...)`.
fn of_tuple(tuple: &str) -> Option<(Space, Space)> {
    let elements = tuple.strip_prefix('(')?;
    let (target, rest) = elements.split_at_checked(element_end(elements))?;
    let rest = rest.strip_prefix(',')?;
    let source = rest.get(..element_end(rest))?;
    Some((space(source), space(target)))
}

/// Returns the end of the first element of a list: the first comma or closing bracket that is not inside brackets.
fn element_end(list: &str) -> usize {
    let mut depth = 0u32;
    let end = list.bytes().position(|byte| {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' if depth == 0 => return true,
            b')' | b']' | b'}' => depth -= 1,
            b',' => return depth == 0,
            _ => {}
        }
        false
    });
    end.unwrap_or(list.len())
}

fn space(shape: &str) -> Space {
    if shape.contains(HOST) { Space::Host } else { Space::Device }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offloaded_arrays_have_a_direction() {
        let device = "f32[5,1024]{1,0:T(8,128)}";
        let host = "f32[5,1024]{1,0:T(8,128)S(5)}";
        let start = |target: &str, source: &str| {
            spaces(&format!("%copy-start.1 = ({target}, {source}, u32[]{{:S(2)}}) copy-start({source} %x)"))
        };
        assert_eq!(start(device, host), Some((Space::Host, Space::Device)));
        assert_eq!(start(host, device), Some((Space::Device, Space::Host)));
        assert_eq!(start(device, device), Some((Space::Device, Space::Device)));
        let done = format!("%copy-done.1 = {host} copy-done(({host}, {device}, u32[]{{:S(2)}}) %copy-start.1)");
        assert_eq!(spaces(&done), Some((Space::Device, Space::Host)));
        assert_eq!(spaces(&format!("%copy.3 = {device} copy({host} %x)")), Some((Space::Host, Space::Device)));
    }

    #[test]
    fn copies_of_device_and_host_cross_the_link() {
        let copy = |source: &str| format!("%copy.3 = f32[8]{{0:T(256)}} copy(f32[8]{{0:T(256){source}}} %x)");
        assert!(crosses_host_link("copy", &copy("S(5)")) && crosses_host_link("memcpy h2d", ""));
        assert!(!crosses_host_link("copy", &copy("")) && !crosses_host_link("memcpy d2d", ""));
        assert!(!crosses_host_link("loop fusion", &copy("S(5)")));
    }

    #[test]
    fn other_text_has_no_spaces() {
        for text in ["", "copy.3", "%a = f32[] add(f32[] %b)", "%c = ( copy-start(", "%c = (f32[], copy-start(x)"] {
            assert!(spaces(text).is_none_or(|both| both == (Space::Device, Space::Device)), "{text}");
        }
    }
}
