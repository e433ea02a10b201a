use super::*;
use document::{Bars, Grid};
use metrics::analyse;
use run::{Run, Settings, WindowChoice};
use trace::TraceBuilder;

/// Uses two devices and two annotated steps. `fusion.1` runs twice on the first device and once on the second.
fn blocks(name: TableName, query: &Query, index: u32) -> Vec<Block> {
    let mut b = TraceBuilder::new();
    for (device, starts) in [(0, &[0, 100][..]), (1, &[10][..])] {
        let steps = b.line(&format!("/device:TPU:{device}"), "Steps");
        b.event(steps, "0", 0, 100);
        b.event(steps, "1", 100, 100);
        let ops = b.line(&format!("/device:TPU:{device}"), "XLA Ops");
        for &start in starts {
            let stack = "/me/train.py:9:4\n/me/model.py:3:8\n/x/site-packages/flax/linen/linear.py:287:6\n";
            let stack = b.trace_mut().strings.intern(stack);
            let op = b.event(ops, "fusion.1", start, 30).hlo_category("loop fusion").tf_op("jit(f)/layer/add");
            let _ = op.args(|args| args.source_stack = stack);
        }
        b.event(ops, "copy.2", 150, 10 + 5 * device).hlo_category("copy");
    }
    let run = Run { trace: b.build(), ..Run::default() };
    let examined = analyse(&run, &Settings { window: WindowChoice::All, ..Settings::default() });
    row(Source::of_events(examined.context(&run)), name, "", query, index).blocks
}

fn facts(blocks: &[Block]) -> Vec<(&str, &str)> {
    let all = blocks.iter().flat_map(|block| match block {
        Block::Facts(facts) => facts.facts.iter().map(|fact| (fact.label.as_str(), fact.value.as_str())).collect(),
        Block::Fold { blocks, .. } => self::facts(blocks),
        _ => Vec::new(),
    });
    all.collect()
}

#[test]
fn the_details_of_an_op_list_its_runs() {
    let found = blocks(TableName::Ops, &Query::default(), 0);
    assert!(matches!(&found[0], Block::Heading { text, .. } if text == "fusion.1"), "{found:?}");
    let Block::Links { links } = &found[1] else { panic!("{found:?}") };
    let expect = Link::to(View::Roofline, "hlo_op_name=\"fusion.1\"");
    assert!(links.iter().any(|(label, link)| label == "Roofline: fusion.1" && *link == expect), "{links:?}");
    let (longest, run) = &links[0];
    assert_eq!(longest, "Timeline: longest fusion.1 in step 0");
    assert_eq!((run.view, run.around_ps), (View::Timeline, Some((0, 30_000_000))));
    assert!(run.event.is_some(), "{run:?}");
    assert_eq!(links[1], ("Ops of model.py:3".to_owned(), Link::to(View::Ops, "source_info=\"/me/model.py:3\"")));
    let facts = facts(&found);
    for fact in [
        ("Category", "loop fusion"),
        ("Executions", "3"),
        ("Source", "/me/model.py:3"),
        ("Self time", "90.0 µs"),
        ("Devices", "2"),
    ] {
        assert!(facts.contains(&fact), "{fact:?} in {facts:?}");
    }
    let grids: Vec<&Grid> =
        found.iter().filter_map(|it| if let Block::Grid(grid) = it { Some(grid) } else { None }).collect();
    let texts: Vec<Vec<&str>> =
        grids[1].rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect()).collect();
    // The whole stack, innermost first, comes before the times on each device.
    let stack: Vec<&str> = grids[0].rows.iter().map(|row| row[0].text.as_str()).collect();
    assert_eq!(stack, ["/x/site-packages/flax/linen/linear.py:287", "/me/model.py:3", "/me/train.py:9"]);
    assert_eq!(
        texts,
        [
            ["/device:TPU:0", "2", "60.0 µs", "30.0 µs", "30.0 µs"],
            ["/device:TPU:1", "1", "30.0 µs", "30.0 µs", "30.0 µs"]
        ]
    );
    let bars: Vec<&Bars> =
        found.iter().filter_map(|it| if let Block::Bars(bars) = it { Some(bars) } else { None }).collect();
    let steps: Vec<(&str, f64, &str)> =
        bars[0].bars.iter().map(|bar| (bar.label.as_str(), bar.value, bar.note.as_str())).collect();
    assert_eq!(steps, [("step 0", 60.0, "2 runs"), ("step 1", 30.0, "1 run")]);
}

#[test]
fn the_row_is_counted_among_those_that_are_asked_for() {
    let asked = Query { filter: "copy".to_owned(), ..Query::default() };
    let found = blocks(TableName::Ops, &asked, 0);
    assert!(matches!(&found[0], Block::Heading { text, .. } if text == "copy.2"), "{found:?}");
    assert!(facts(&found).contains(&("Self time", "25.0 µs")), "{found:?}");
    assert!(facts(&found).contains(&("Source", "None: XLA added this op itself.")), "{found:?}");
    assert!(
        facts(&found).iter().any(|(label, value)| *label == "Bound by" && value.starts_with("Unknown")),
        "{found:?}"
    );
    assert!(blocks(TableName::Ops, &asked, 1).is_empty());
    // The code comes first, and columns that are not leading are folded.
    let places = |wanted: fn(&Block) -> bool| found.iter().position(wanted).unwrap();
    let code = places(|it| matches!(it, Block::Facts(it) if it.facts[0].label == "Source"));
    let numbers = places(|it| matches!(it, Block::Facts(it) if it.facts.iter().any(|it| it.label == "Self time")));
    let folded = places(|it| matches!(it, Block::Fold { .. }));
    assert!(code < numbers && numbers < folded && folded == found.len() - 1, "{found:?}");
    let Block::Facts(shown) = &found[numbers] else { panic!("{found:?}") };
    assert!(shown.facts.len() <= 8, "{shown:?}");
    // A table without ops shows the data of its columns.
    let device = blocks(TableName::Devices, &Query::default(), 1);
    assert!(matches!(&device[0], Block::Heading { text, .. } if text == "/device:TPU:1"), "{device:?}");
    assert_eq!(device.len(), 3, "{device:?}");
    assert!(matches!(&device[2], Block::Fold { .. }), "{device:?}");
}
