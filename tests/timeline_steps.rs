//! Checks that the pictures of median steps in reports match the tables for these steps.

use std::path::Path;

use crate::support::samples;
use crossprof::tables::{AreaQuery, LineQuery};
use crossprof::timeline::{StepPicture, median_step};
use crossprof::{Cell, Ps, Query, Session, Settings, TableName};

/// Draws the median step of a file. Counts the drawn lines for which the times of the marks add up to the line's time
/// in the `range` table.
fn lines_that_agree(path: &Path) -> usize {
    let bytes = std::fs::read(path).unwrap();
    let (mut session, settings) = (Session::new(), Settings::default());
    let file = session.begin(path.to_str().unwrap(), Some(bytes.len() as u64));
    session.push(file, &bytes);
    session.finish(file);
    session.runs();
    let picture = StepPicture::parse(&session.median_step(0, &settings).unwrap()).unwrap();
    assert!(picture.lanes.iter().map(|lane| lane.marks.len()).sum::<usize>() <= 2_000);
    // The range of the step on the drawn device, and the device's lines with all their lanes.
    let (range, lanes) = session
        .timeline(0, &settings, |context, timeline| {
            let (analysis, trace) = (context.analysis, context.captured_trace());
            let at = analysis.captured.used.iter().position(|device| device.name == picture.device).unwrap();
            let step = analysis.steps.windows[at][median_step(context).unwrap()].unwrap().interval;
            assert_eq!(step.length(), picture.length);
            let zero = crossprof::timeline::extent(context).start;
            let source = timeline.source(context, crossprof::timeline::Origin::Captured);
            let mut lanes = Vec::new();
            for (index, line, _) in source.by_line.lines_of(trace, analysis.captured.used[at].plane) {
                lanes.push((
                    index as u32,
                    trace.text(line.name).to_owned(),
                    source.lanes(trace.line_id(index).unwrap()).len(),
                ));
            }
            (((step.start - zero).as_ps(), (step.end - zero).as_ps()), lanes)
        })
        .unwrap();
    let mut agree = 0;
    let mut drawn = picture.lanes.as_slice();
    while let Some((first, rest)) = drawn.split_first() {
        let deeper = rest.iter().take_while(|lane| lane.line.is_empty()).count();
        let of_line = [std::slice::from_ref(first), &rest[..deeper]].concat();
        drawn = &rest[deeper..];
        let named: Vec<_> = lanes.iter().filter(|(_, name, _)| *name == first.line).collect();
        let [(index, _, count)] = named.as_slice() else { continue };
        let busy: Ps = of_line.iter().flat_map(|lane| &lane.marks).map(|mark| mark.busy).sum();
        let area = AreaQuery {
            from_ps: Some(range.0),
            to_ps: Some(range.1),
            lines: LineQuery::Indices(vec![*index]),
            ..AreaQuery::default()
        };
        let table = session.table_of_area(0, &settings, TableName::Range, "line", &area, &Query::default());
        let table = table.unwrap().unwrap();
        let column = table.columns.iter().position(|column| column.key == "total_us").unwrap();
        let total: f64 = table
            .rows
            .iter()
            .map(|row| match &row[column] {
                Cell::Float(value) => *value,
                other => panic!("{other:?}"),
            })
            .sum();
        // If a line has more lanes than are shown, the inner lanes are omitted.
        if of_line.len() == *count {
            assert!((busy.as_us() - total).abs() < 1e-6 * total, "{}: {} {total}", first.line, busy.as_us());
            agree += 1;
        } else {
            assert!(busy.as_us() <= total * (1.0 + 1e-9), "{}", first.line);
        }
    }
    agree
}

#[test]
fn marks_add_up_to_the_table_of_their_range() {
    let examples = samples::root().join("www/assets/examples");
    assert_eq!(lines_that_agree(&examples.join("gpu-training.trace.json.gz")), 4);
    assert_eq!(lines_that_agree(&examples.join("tpu-training.trace.json.gz")), 1);
}

#[test]
#[ignore = "reads real profiles"]
fn marks_of_real_captures_add_up_to_the_table_of_their_range() {
    for path in ["tpu-qwen3-runs/run-a.trace.json.gz", "tpu-qwen3-runs/run-b.trace.json.gz"] {
        assert_eq!(lines_that_agree(&samples::real(path)), 1, "{path}");
    }
    for path in ["kineto/rank-0.json.gz", "kineto/rank-1.json.gz"] {
        assert_eq!(lines_that_agree(&samples::real(path)), 5, "{path}");
    }
}
