//! Places and texts of the visible nodes.
//!
//! Opened groups are laid out separately, innermost first. A group that has been laid out has a size like any other
//! node. An edge that leaves a group passes through a port in the group's border. A port is a node without height in
//! the first or last layer. In this way, edges avoid nodes in other groups.

use base::format::{bytes, count, cut, time_us};
use hlo::Module;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::class::Class;
use crate::layout::{Graph, Layout, Pin, Point, Spacing, layered};
use crate::visible::{Node, Visible};

/// Width of a letter in pixels, if letters are 12 pixels high.
const LETTER: f64 = 6.8;

/// Height of a line of text.
const LINE: f64 = 15.0;

/// Maximum length of a line of text in a node, in letters.
const LONGEST: usize = 38;

/// Space for the button that opens a node in an interactive drawing.
const SWITCH: f64 = 16.0;

/// Free space between a frame and its contents.
const PADDING: f64 = 16.0;

/// Height of the title of a frame.
const TITLE: f64 = 26.0;

/// Space around the whole drawing.
const MARGIN: f64 = 16.0;

/// Maximum number of ports on one side of a frame. All further edges on that side share one port.
const MOST_PORTS: usize = 32;

/// A drawn node. Lengths are in pixels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// Left border.
    pub x: f64,
    /// Upper border.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
    /// Text of the node, or title of a frame.
    pub lines: Vec<String>,
    /// Class, which determines the colour.
    pub class: Class,
}

/// Drawn nodes and edges of [`Visible`], in the same order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// Width and height of the picture.
    pub size: (f64, f64),
    /// Nodes. A frame precedes the nodes inside it.
    pub nodes: Vec<Drawn>,
    /// Corners of each edge. Empty for an edge that cannot be drawn.
    pub routes: Vec<Vec<Point>>,
}

/// Direction of a port.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    In,
    Out,
}

/// Contents of a frame, or of the whole picture.
#[derive(Default)]
struct Inside {
    /// Visible nodes directly inside the frame.
    children: Vec<u32>,
    /// Indices of the ports in `graph`, by direction and by the node outside the frame. `u32::MAX` stands for all
    /// further nodes.
    ports: FxHashMap<(Side, u32), usize>,
    /// Indices of the edges in `graph`, by the indices of their two nodes.
    edges: FxHashMap<(usize, usize), usize>,
    graph: Graph,
    layout: Layout,
}

/// One part of an edge: the index of the frame, and the index of the edge in the frame's graph.
type Part = (usize, usize);

/// Draws visible nodes.
pub fn draw(module: &Module, visible: &Visible) -> Drawing {
    let mut drawing =
        Drawing { nodes: visible.nodes.iter().map(|node| measured(module, node)).collect(), ..Drawing::default() };
    // Frame number 0 is the picture, number n + 1 the node n.
    let frame_of = |node: u32| {
        visible.nodes.get(node as usize).and_then(|node| node.parent).map_or(0, |parent| parent as usize + 1)
    };
    let mut frames: Vec<Inside> = Vec::new();
    frames.resize_with(visible.nodes.len() + 1, Inside::default);
    let mut place = vec![0usize; visible.nodes.len()];
    for (index, _) in (0u32..).zip(&visible.nodes) {
        if let (Some(frame), Some(place)) = (frames.get_mut(frame_of(index)), place.get_mut(index as usize)) {
            *place = frame.children.len();
            frame.children.push(index);
        }
    }
    for frame in &mut frames {
        frame.graph.sizes.resize(frame.children.len(), (0.0, 0.0));
    }
    let parts: Vec<Vec<Part>> =
        visible.edges.iter().map(|edge| parts(&mut frames, &place, &frame_of, edge.from, edge.to)).collect();
    // A frame precedes its contents, so the reverse order starts with the innermost.
    for index in (0..frames.len()).rev() {
        let is_frame = index == 0 || visible.nodes.get(index - 1).is_some_and(|node| node.is_open);
        let Some(frame) = frames.get_mut(index).filter(|_| is_frame) else { continue };
        for (size, &child) in frame.graph.sizes.iter_mut().zip(&frame.children) {
            if let Some(child) = drawing.nodes.get(child as usize) {
                *size = (child.width, child.height);
            }
        }
        frame.layout = layered(&frame.graph, Spacing::default());
        let (width, height) = frame.layout.size;
        if let Some(node) = index.checked_sub(1).and_then(|index| drawing.nodes.get_mut(index)) {
            node.width = node.width.max(width + 2.0 * PADDING);
            node.height = height + TITLE + 2.0 * PADDING;
        } else {
            drawing.size = (width + 2.0 * MARGIN, height + 2.0 * MARGIN);
        }
    }
    // Upper left corner of the contents of each frame.
    let mut origins: Vec<Point> = vec![(MARGIN, MARGIN); frames.len()];
    for index in 0..visible.nodes.len() {
        let outer = frame_of(index as u32);
        let origin = origins.get(outer).copied().unwrap_or_default();
        let place = place.get(index).copied().unwrap_or_default();
        let centre = frames.get(outer).and_then(|frame| frame.layout.centres.get(place)).copied().unwrap_or_default();
        let Some(node) = drawing.nodes.get_mut(index) else { continue };
        (node.x, node.y) = (origin.0 + centre.0 - node.width / 2.0, origin.1 + centre.1 - node.height / 2.0);
        let inner = frames.get(index + 1).map_or(0.0, |frame| frame.layout.size.0);
        if let Some(origin) = origins.get_mut(index + 1) {
            *origin = (node.x + (node.width - inner) / 2.0, node.y + TITLE + PADDING);
        }
    }
    drawing.routes = parts.iter().map(|parts| route(&frames, &origins, parts)).collect();
    drawing
}

/// Splits an edge into its parts: out of the frames around the first node, across the innermost common frame, and into the
/// frames around the second node.
fn parts(frames: &mut [Inside], place: &[usize], frame_of: &impl Fn(u32) -> usize, from: u32, to: u32) -> Vec<Part> {
    // Nodes that contain each end, innermost first, with the end itself.
    let chain = |node: u32| -> Vec<u32> {
        std::iter::successors(Some(node), |&at| u32::try_from(frame_of(at).checked_sub(1)?).ok()).collect()
    };
    let (mut out, mut into) = (chain(from), chain(to));
    while out.len() > 1 && into.len() > 1 && out.last() == into.last() {
        out.pop();
        into.pop();
    }
    let (Some(&source), Some(&target)) = (out.last(), into.last()) else { return Vec::new() };
    let mut parts = Vec::new();
    let place = |node: u32| place.get(node as usize).copied().unwrap_or_default();
    for pair in out.windows(2) {
        let [node, frame] = *pair else { continue };
        let port = port(frames, frame as usize + 1, Side::Out, target);
        parts.push(edge(frames, frame as usize + 1, place(node), port));
    }
    parts.push(edge(frames, frame_of(source), place(source), place(target)));
    for pair in into.windows(2).rev() {
        let [node, frame] = *pair else { continue };
        let port = port(frames, frame as usize + 1, Side::In, source);
        parts.push(edge(frames, frame as usize + 1, port, place(node)));
    }
    parts
}

/// Returns the index of a port in the graph of a frame. Adds the port if it is new.
fn port(frames: &mut [Inside], frame: usize, side: Side, other: u32) -> usize {
    let Some(inside) = frames.get_mut(frame) else { return 0 };
    let on_side = inside.ports.keys().filter(|(of, _)| *of == side).count();
    let is_known = inside.ports.contains_key(&(side, other));
    let key = if is_known || on_side < MOST_PORTS { (side, other) } else { (side, u32::MAX) };
    let graph = &mut inside.graph;
    *inside.ports.entry(key).or_insert_with(|| {
        graph.sizes.push((4.0, 0.0));
        graph.pins.resize(graph.sizes.len(), Pin::Free);
        if let Some(pin) = graph.pins.last_mut() {
            *pin = if side == Side::In { Pin::Top } else { Pin::Bottom };
        }
        graph.sizes.len() - 1
    })
}

/// Returns an edge of a frame. Adds the edge if it is new.
fn edge(frames: &mut [Inside], frame: usize, from: usize, to: usize) -> Part {
    let Some(inside) = frames.get_mut(frame) else { return (frame, usize::MAX) };
    let next = inside.graph.edges.len();
    let index = *inside.edges.entry((from, to)).or_insert(next);
    if index == next {
        inside.graph.edges.push((from, to));
    }
    (frame, index)
}

/// Joins the parts of an edge.
fn route(frames: &[Inside], origins: &[Point], parts: &[Part]) -> Vec<Point> {
    let mut joined: Vec<Point> = Vec::new();
    // A part that leaves a frame ends at the lower border, and a part that enters a frame starts at the upper border.
    let across = parts.iter().enumerate().min_by_key(|(_, (frame, _))| *frame).map_or(0, |(at, _)| at);
    for (index, &(frame, edge)) in parts.iter().enumerate() {
        let origin = origins.get(frame).copied().unwrap_or_default();
        let local = frames.get(frame).and_then(|frame| frame.layout.routes.get(edge)).map(Vec::as_slice);
        let mut points: Vec<Point> =
            local.unwrap_or_default().iter().map(|point| (origin.0 + point.0, origin.1 + point.1)).collect();
        if points.is_empty() {
            return Vec::new();
        }
        // The part outside of the frame begins or ends at the frame's port.
        if index > 0
            && index <= across
            && let (Some(&port), Some(first)) = (joined.last(), points.first_mut())
        {
            *first = (port.0, first.1);
        }
        if index > across
            && let (Some(&port), Some(last)) = (points.first(), joined.last_mut())
        {
            *last = (port.0, last.1);
        }
        joined.append(&mut points);
    }
    joined.dedup();
    joined
}

/// Returns a node with its texts and its size.
fn measured(module: &Module, node: &Node) -> Drawn {
    let instruction = node.instruction.and_then(|index| module.at(index));
    let is_group = instruction.is_none() || node.is_open;
    let class = match instruction {
        Some(instruction) if !is_group => Class::of_opcode(&instruction.opcode),
        _ => Class::Group,
    };
    let copies = if node.copies > 1 { format!(" \u{d7}{}", node.copies) } else { String::new() };
    let mut lines = vec![format!("{}{copies}", cut(&node.label, LONGEST))];
    if let (Some(instruction), false) = (instruction, is_group) {
        lines.push(cut(&instruction.shape.text(false), LONGEST));
    }
    if is_group && !node.is_open {
        lines.push(count_of(u64::from(node.instructions), "instruction"));
    }
    let mut facts: Vec<String> = Vec::new();
    facts.extend(node.numbers.time.map(|time| time_us(time.as_us())));
    if !node.numbers.bound_by.is_empty() {
        facts.push(node.numbers.bound_by.clone());
    }
    if let (Some(instruction), None, false) = (instruction, node.numbers.time, is_group) {
        let size = instruction.shape.bytes();
        if size >= 1024.0 {
            facts.push(bytes(size as u64));
        }
    }
    if node.is_open {
        lines = vec![std::iter::once(lines.concat()).chain(facts).collect::<Vec<_>>().join(" \u{b7} ")];
    } else if !facts.is_empty() {
        lines.push(facts.join(" \u{b7} "));
    }
    if !node.is_open {
        lines.extend(node.constants.iter().take(3).map(|constant| cut(constant, LONGEST)));
        if node.omitted.operands > 0 {
            lines.push(format!("{} not shown", count_of(node.omitted.operands as u64, "operand")));
        }
        if node.omitted.users > 0 {
            lines.push(format!("{} not shown", count_of(node.omitted.users as u64, "user")));
        }
    }
    let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    Drawn {
        width: (longest as f64 * LETTER + if node.opens { SWITCH } else { 0.0 } + 20.0).max(60.0),
        height: lines.len() as f64 * LINE + 12.0,
        lines,
        class,
        ..Drawn::default()
    }
}

fn count_of(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}
