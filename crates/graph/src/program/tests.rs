use super::*;
use crate::{Grouping, Listing};
use base::Ps;

/// A program with two identical layers, a fusion and the computation that it calls.
const TEXT: &str = r#"HloModule jit_f, is_scheduled=true

%fused (a: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  ROOT %sine = f32[8]{0} sine(%a), metadata={op_name="jit(f)/layer_0/sin"}
}

ENTRY %main (x: f32[8]) -> (f32[8], f32[8]) {
  %x = f32[8]{0} parameter(0)
  %fusion.1 = f32[8]{0} fusion(%x), kind=kLoop, calls=%fused, metadata={op_name="jit(f)/layer_0/sin" source_file="f.py" source_line=3}
  %tanh.1 = f32[8]{0} tanh(%fusion.1), metadata={op_name="jit(f)/layer_0/tanh"}
  %tanh.2 = f32[8]{0} tanh(%tanh.1), metadata={op_name="jit(f)/layer_1/tanh"}
  %copy.1 = f32[8]{0} copy(%x)
  ROOT %tuple = (f32[8]{0}, f32[8]{0}) tuple(%tanh.2, %copy.1)
}
"#;

fn us(us: i64) -> Numbers {
    Numbers { time: Some(Ps::new(us * 1_000_000)), ..Numbers::default() }
}

fn program() -> Program {
    let ops = [("fusion.1", 30), ("tanh.1", 20), ("tanh.2", 20), ("copy.1", 45)];
    let ops: Vec<(String, Numbers)> = ops.iter().map(|&(name, time)| (name.to_owned(), us(time))).collect();
    Program::read("jit_f(1)", TEXT.as_bytes(), &ops)
}

fn look() -> Look {
    Look { grouping: Grouping::Scopes, ..Look::default() }
}

fn names(picture: &Picture) -> Vec<&str> {
    picture.nodes.iter().map(|node| node.id.as_str()).collect()
}

#[test]
fn a_whole_computation_has_closed_groups_and_a_critical_path() {
    let picture = program().picture(&look()).unwrap();
    assert_eq!((picture.computation.as_str(), picture.is_entry, picture.missing.clone()), ("main", true, None));
    assert_eq!(names(&picture), ["%x", "layer_0", "layer_1", "%copy.1"]);
    // `fusion.1`, `tanh.1` and `tanh.2` form a chain that takes 70 us, which is more than the copy takes.
    assert_eq!(picture.critical, Some((Ps::new(70_000_000), Ps::new(115_000_000))));
    let critical: Vec<bool> = picture.nodes.iter().map(|node| node.is_critical).collect();
    assert_eq!(critical, [false, true, true, false]);
    let layer = &picture.nodes[1];
    assert!(layer.opens && !layer.is_open && layer.name.is_none());
    assert_eq!(picture.edges.len(), 3, "x to layer_0, x to copy.1, layer_0 to layer_1");
}

#[test]
fn the_groups_around_an_op_are_open_and_others_closed() {
    let op = Some("tanh.1".to_owned());
    let picture = program().picture(&Look { op, ..look() }).unwrap();
    assert_eq!(names(&picture), ["%x", "layer_0", "layer_0/%fusion.1", "layer_0/%tanh.1", "layer_1", "%copy.1"]);
    assert!(picture.nodes[3].is_centre && picture.nodes[1].is_open);
}

#[test]
fn a_neighbourhood_has_open_groups_and_a_call_opens_on_request() {
    let op = Some("fusion.1".to_owned());
    let near = Look { op, radius: Some(1), opened: vec!["layer_0/%fusion.1".to_owned()], ..look() };
    let picture = program().picture(&near).unwrap();
    assert_eq!(
        names(&picture),
        [
            "%x",
            "layer_0",
            "layer_0/%fusion.1",
            "layer_0/%fusion.1/%a",
            "layer_0/%fusion.1/layer_0",
            "layer_0/%fusion.1/layer_0/%sine",
            "layer_0/%tanh.1"
        ]
    );
}

#[test]
fn an_unknown_op_is_named_and_an_unknown_computation_is_an_error() {
    let op = Some("fusion.7".to_owned());
    let picture = program().picture(&Look { op, ..look() }).unwrap();
    assert_eq!((picture.missing.as_deref(), picture.nodes.len()), (Some("fusion.7"), 4));
    let computation = Some("nowhere".to_owned());
    let error = program().picture(&Look { computation, ..look() }).unwrap_err();
    assert_eq!(error, "This program has no computation nowhere.");
    let cut = Program::read("cut", b"HloModule cut", &[]);
    assert!(cut.picture(&look()).unwrap_err().contains("no entry computation"));
}

#[test]
fn the_computation_of_a_fusion_names_its_caller() {
    let computation = Some("fused".to_owned());
    let picture = program().picture(&Look { computation, ..look() }).unwrap();
    assert_eq!((picture.is_entry, picture.callers.clone()), (false, vec!["fusion.1".to_owned()]));
}

#[test]
fn lines_have_times_and_links_with_their_places() {
    let mut program = program();
    let all = program.listing("main", Some("tanh.2"), 0, 100).unwrap();
    assert_eq!((all.lines, all.centre), (8, Some(4)));
    let row = &all.rows[2];
    assert_eq!((row.name.as_deref(), row.time.as_str()), (Some("fusion.1"), "30.0 µs"));
    let links: Vec<(&str, &str, bool)> = row
        .links
        .iter()
        .map(|it| (&row.text[it.start as usize..it.end as usize], it.name.as_str(), it.is_computation))
        .collect();
    assert_eq!(links, [("%x", "x", false), ("%fused", "fused", true)]);
    // A part of the listing has the same lines as the whole.
    let part = program.listing("main", None, 2, 3).unwrap();
    assert_eq!((part.first, &part.rows[..]), (2, &all.rows[2..5]));
    assert_eq!(program.listing("main", None, 90, 3).unwrap().rows, []);
    assert!(program.listing("nowhere", None, 0, 1).is_err());
}

#[test]
fn a_long_line_is_cut_and_keeps_its_first_links() {
    let many = (0..3_000).map(|at| format!("%v{at}")).collect::<Vec<_>>().join(", ");
    let values: String = (0..3_000).map(|at| format!("  %v{at} = f32[] parameter({at})\n")).collect();
    let text =
        format!("HloModule m\n\nENTRY %main (v0: f32[]) -> f32[] {{\n{values}  ROOT %t = f32[] fusion({many})\n}}\n");
    let mut program = Program::read("m", text.as_bytes(), &[]);
    let Listing { rows, .. } = program.listing("main", None, 3_001, 1).unwrap();
    assert!(rows[0].text.len() < 2_100 && rows[0].text.contains('…'), "{}", rows[0].text.len());
    let links = &rows[0].links;
    assert!(links.len() > 100 && links.iter().all(|it| rows[0].text.get(it.start as usize..it.end as usize).is_some()));
    assert!(links.iter().all(|it| rows[0].text[it.start as usize..it.end as usize] == format!("%{}", it.name)));
}

#[test]
fn details_are_those_of_the_instruction() {
    let details = program().details("%fusion.1").unwrap();
    let fact = |label: &str| details.facts.iter().find(|(name, _)| name == label).map(|(_, value)| value.as_str());
    assert_eq!(fact("Self time"), Some("30.0 µs"));
    assert_eq!(fact("Source"), Some("f.py:3"));
    assert_eq!(fact("Shape"), Some("f32[8]{0}"));
    assert_eq!((fact("Users"), details.called, details.is_measured), (Some("1"), vec!["fused".to_owned()], true));
    let input = program().details("x").unwrap();
    assert_eq!((input.is_measured, input.users), (false, vec!["fusion.1".to_owned(), "copy.1".to_owned()]));
    assert!(program().details("y").is_err());
}

#[test]
fn a_search_finds_names_and_scopes_with_the_most_time_first() {
    let program = program();
    let found = |text: &str| program.search(text).into_iter().map(|it| it.name).collect::<Vec<_>>();
    assert_eq!(found("LAYER_0"), ["fusion.1", "tanh.1", "sine"]);
    assert_eq!(found(" %tanh.2"), ["tanh.2"]);
    assert_eq!(found("copy")[0], "copy.1");
    assert!(found("no such op").is_empty());
}

#[test]
fn files_contain_the_drawn_part() {
    let near = Look { op: Some("tanh.1".to_owned()), radius: Some(1), ..look() };
    let file = |format| program().export(&near, format).unwrap();
    assert!(file(Format::Svg).starts_with("<svg") && file(Format::Svg).contains("tanh.1"));
    assert!(file(Format::Dot).starts_with("digraph") && !file(Format::Dot).contains("copy.1"));
    assert!(file(Format::ModelExplorer).contains("tanh.1"));
    assert!(file(Format::Text).contains("copy(%x)"), "the text is the whole program");
}
