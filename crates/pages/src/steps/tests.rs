//! Tests the page on small timelines.

use super::*;
use crate::page;
use document::{Figure, Link, Page, Stack};
use metrics::analyse;
use report::View;
use run::{Run, Settings};
use trace::{Trace, TraceBuilder};

fn page_of(trace: Trace, device: &str) -> Page {
    filtered(trace, device, "")
}

fn filtered(trace: Trace, device: &str, filter: &str) -> Page {
    let run = Run { trace, ..Run::default() };
    let examined = analyse(&run, &Settings::default());
    let options = [("device".to_owned(), device.to_owned())].into();
    let query = PageQuery { options, filter: filter.to_owned(), ..PageQuery::default() };
    page(Source::of_events(examined.context(&run)), View::Steps, &query)
}

fn stacks(page: &Page) -> Vec<&Stack> {
    fn stack(block: &Block) -> Option<&Stack> {
        match block {
            Block::Stack(stack) => Some(stack),
            _ => None,
        }
    }
    page.blocks.iter().filter_map(stack).collect()
}

fn figure<'a>(page: &'a Page, label: &str) -> &'a Figure {
    let Some(Block::Figures { figures }) = page.blocks.first() else { panic!("figures come first") };
    figures.iter().find(|figure| figure.label == label).unwrap()
}

fn steps(count: i64) -> Trace {
    let mut b = TraceBuilder::new();
    for device in 0..2 {
        let steps = b.line(&format!("/device:TPU:{device}"), "Steps");
        let ops = b.line(&format!("/device:TPU:{device}"), "XLA Ops");
        for step in 0..count {
            b.event(steps, &step.to_string(), step * 100, 90);
            b.event(ops, "fusion.1", step * 100, 40 + 20 * device).hlo_category("loop fusion");
        }
    }
    b.build()
}

#[test]
fn the_mean_or_one_device_is_shown() {
    let mean = page_of(steps(5), "mean");
    assert_eq!(figure(&mean, "Mean step").value, Some(100.0));
    assert_eq!(figure(&mean, "Biggest part").value, Some(50.0));
    assert_eq!(figure(&mean, "Overlapped communication").value, None);
    let [by_step, by_device] = stacks(&mean)[..] else { panic!("two charts") };
    assert_eq!(by_step.series.iter().map(|it| it.class.name()).collect::<Vec<_>>(), ["compute", "other_idle"]);
    assert_eq!(by_step.rows[0].parts, [50.0, 50.0]);
    assert_eq!(by_device.rows[1].parts, [60.0, 40.0]);
    let one = page_of(steps(5), "/device:TPU:1");
    assert_eq!(stacks(&one)[0].rows[0].parts, [60.0, 40.0]);
}

/// A click on a part of a step filters by step and part.
#[test]
fn the_events_of_a_part_are_listed() {
    fn table<'a>(page: &'a Page, title: &str) -> Option<&'a TableBlock> {
        page.blocks.iter().find_map(|block| match block {
            Block::Table(table) if table.title.starts_with(title) => Some(table),
            _ => None,
        })
    }
    assert!(table(&page_of(steps(5), "mean"), "Events").is_none());
    let page = filtered(steps(5), "mean", "step=1 part=compute");
    let found = table(&page, "Events of step 1").unwrap();
    let cells = |table: &TableBlock, key: &str| -> Vec<Cell> {
        let at = table.columns.iter().position(|column| column.key == key).unwrap();
        table.rows.iter().map(|row| row[at].clone()).collect()
    };
    assert_eq!(cells(found, "time_us"), [Cell::Float(40.0), Cell::Float(60.0)]);
    assert_eq!(cells(found, "hlo_op_name"), [Cell::Text("fusion.1".into()), Cell::Text("fusion.1".into())]);
    assert_eq!(table(&page, "All steps by device").unwrap().lacking, ["part"]);
    let idle = filtered(steps(5), "mean", "step=\"1\" part=other_idle");
    assert_eq!(cells(table(&idle, "Events of step 1").unwrap(), "time_us"), [Cell::Float(60.0), Cell::Float(40.0)]);
    let several = filtered(steps(5), "mean", "step>=1 step<=3");
    assert_eq!(table(&several, "Events of step 1 to step 3").unwrap().total_rows, 12);
    assert!(table(&filtered(steps(5), "mean", "step=9"), "Events").is_none());
    let [chart, _] = stacks(&page)[..] else { panic!("two charts") };
    let filter = |link: &Option<Link>| link.as_ref().map(|link| (link.view, link.filter.clone())).unwrap();
    assert_eq!(filter(&chart.series[0].link), (View::Steps, "part=compute".to_owned()));
    assert_eq!(filter(&chart.rows[1].link), (View::Steps, "step=1".to_owned()));
}

#[test]
fn many_steps_are_shown_in_groups() {
    let page = page_of(steps(450), "mean");
    let chart = stacks(&page)[0];
    assert_eq!((chart.rows.len(), chart.rows[0].label.as_str()), (150, "step 0 to step 2"));
    assert_eq!(chart.rows[0].parts, [50.0, 50.0]);
    assert_eq!(chart.rows[0].link.as_ref().map(|link| link.filter.as_str()), Some("step>=0 step<=2"));
}

#[test]
fn without_steps_the_page_explains_how_to_mark_them() {
    let mut b = TraceBuilder::new();
    let stream = b.line("/device:GPU:0", "Stream #1(Compute)");
    b.event(stream, "k", 0, 10);
    let page = page_of(b.build(), "mean");
    assert_eq!(figure(&page, "Active span").value, Some(10.0));
    assert!(
        matches!(&page.blocks[1], Block::Empty { remedy: Some(remedy), .. } if remedy.contains("StepTraceAnnotation"))
    );
}

#[test]
fn without_ops_only_the_reason_is_shown() {
    assert!(matches!(page_of(Trace::default(), "mean").blocks[..], [Block::Empty { .. }]));
}
