//! Parses shapes in HLO text: `f32[32,4096,4096]{1,2,0:T(8,128)(2,1)}`.

use hlo::{ArrayShape, DataType, Layout};

/// Parses the array at the start of a text. Returns `None` if the text does not start with an array.
pub(super) fn array(text: &str) -> Option<ArrayShape> {
    let text = text.trim_start().trim_start_matches('(');
    let (name, rest) = text.split_once('[')?;
    let (sizes, rest) = rest.split_once(']')?;
    let data_type = DataType::from_name(name.trim())?;
    let size = |size: &str| size.trim().trim_start_matches("<=").parse::<u64>().ok();
    let dimensions: Vec<u64> =
        if sizes.is_empty() { Vec::new() } else { sizes.split(',').map(size).collect::<Option<_>>()? };
    let layout = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(inner, _)| layout(inner));
    Some(ArrayShape { data_type, dimensions, dynamic: Vec::new(), layout })
}

/// Parses the text between the braces: the order of the dimensions, tiles after a `T`, the memory space after an `S`.
fn layout(text: &str) -> Layout {
    let (order, more) = text.split_once(':').unwrap_or((text, ""));
    let mut layout = Layout { minor_to_major: numbers(order), ..Layout::default() };
    let mut kind = ' ';
    let mut rest = more;
    while let Some(letter) = rest.chars().next() {
        if letter != '(' {
            kind = letter;
            rest = rest.get(letter.len_utf8()..).unwrap_or_default();
            continue;
        }
        let Some((inner, behind)) = rest.get(1..).and_then(|rest| rest.split_once(')')) else { break };
        match (kind, numbers(inner).as_slice()) {
            ('T', tile) => layout.tiles.push(tile.to_vec()),
            ('E', [bits]) => layout.element_bits = *bits,
            ('S', [space]) => layout.memory_space = *space,
            _ => {}
        }
        rest = behind;
    }
    layout
}

fn numbers(text: &str) -> Vec<i64> {
    text.split(',').filter_map(|number| number.trim().parse().ok()).collect()
}
