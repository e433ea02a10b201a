//! Export for Graphviz.

use std::fmt::Write as _;

use base::format::printable;

use crate::drawing::Drawing;
use crate::visible::Visible;

/// Returns the visible graph in the DOT language. Opened groups become clusters.
pub fn dot(title: &str, visible: &Visible, drawing: &Drawing) -> String {
    let mut out = format!("digraph {} {{\n  rankdir=TB;\n", quoted(title));
    out.push_str("  node [shape=box, style=\"rounded,filled\", fontname=\"monospace\", fontsize=10];\n");
    // Frames that are open at this point of the list: a frame precedes its contents.
    let mut open: Vec<u32> = Vec::new();
    for (index, (node, drawn)) in (0u32..).zip(visible.nodes.iter().zip(&drawing.nodes)) {
        while open.last().copied() != node.parent && open.pop().is_some() {
            let _ = writeln!(out, "{}}}", "  ".repeat(open.len() + 1));
        }
        let indent = "  ".repeat(open.len() + 1);
        let (fill, border) = drawn.class.colours();
        let label = quoted(&drawn.lines.join("\n"));
        if node.is_open {
            let _ = writeln!(out, "{indent}subgraph cluster_{index} {{ label={label}; color=\"{border}\";");
            // Edges to the frame end at this invisible node.
            let _ = writeln!(out, "{indent}  n{index} [shape=point, style=invis];");
            open.push(index);
        } else {
            let id = quoted(&node.id);
            let _ = writeln!(
                out,
                "{indent}n{index} [label={label}, tooltip={id}, fillcolor=\"{fill}\", color=\"{border}\"];"
            );
        }
    }
    while open.pop().is_some() {
        let _ = writeln!(out, "{}}}", "  ".repeat(open.len() + 1));
    }
    for edge in &visible.edges {
        let label = if edge.count > 1 { format!(" [label=\"{}\", penwidth=2]", edge.count) } else { String::new() };
        let _ = writeln!(out, "  n{} -> n{}{label};", edge.from, edge.to);
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(printable).collect();
    let escaped = lines.join("\n").replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}
