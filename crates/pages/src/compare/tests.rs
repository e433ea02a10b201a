use super::numbers::judged;
use super::*;
use compare::{ComparedMetric, Direction, MetricVerdict};
use document::{html, markdown, terminal, title};

fn metric(ratio: f64, verdict: MetricVerdict, winner: Option<u32>) -> ComparedMetric {
    ComparedMetric {
        metric: "step_timing.avg_step_time_us".to_owned(),
        unit: "us".to_owned(),
        direction: Direction::Lower,
        ratios: vec![Some(1.0), Some(ratio)],
        verdicts: vec![None, Some(verdict)],
        winner,
        ..ComparedMetric::default()
    }
}

#[test]
fn the_faster_run_is_called_twice_as_fast() {
    let (text, status) = judged(&metric(2.0, MetricVerdict::Better, Some(1)), 1);
    assert_eq!((text.as_str(), status), ("▲ 2.00x faster ★ best", Some(CellStatus::Better)));
    let (text, status) = judged(&metric(0.5, MetricVerdict::Worse, Some(0)), 1);
    assert_eq!((text.as_str(), status), ("▼ 2.00x slower", Some(CellStatus::Worse)));
    assert_eq!(judged(&metric(0.5, MetricVerdict::Worse, Some(0)), 0).0, "★ best");
}

#[test]
fn changes_within_the_noise_have_no_colour() {
    let (text, status) = judged(&metric(1.01, MetricVerdict::WithinNoise, None), 1);
    assert_eq!((text.as_str(), status), ("≈ 1.01x faster, within the noise", None));
    assert_eq!(judged(&metric(1.0, MetricVerdict::Equal, None), 1), ("= the same".to_owned(), None));
}

#[test]
fn more_time_is_worse_and_signed() {
    let cell = delta_cell(Judgement::of_time(-2000.0), -2000.0, 4000.0);
    assert_eq!((cell.text.as_str(), cell.status, cell.bar), ("▲ −2.00 ms", Some(CellStatus::Better), Some(0.5)));
}

/// The page and every report contain the title of each section, so all have the same sections.
#[test]
fn the_page_and_all_reports_have_the_same_sections() {
    let comparison = ::compare::example::comparison();
    let sections = sections(&comparison, None);
    let page = serde_json::to_string(&page(&comparison, "")).unwrap();
    let text = terminal::render(&sections) + &terminal::omitted(&sections);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let markdown = markdown::render_all(&sections);
    let html: String = sections.iter().map(|section| html::section(section).into_string()).collect();
    let shown: Vec<&Section> = sections.iter().filter(|it| !it.is_empty()).collect();
    assert!(shown.len() > 14, "{}", shown.len());
    for section in shown {
        for output in [&page, &html] {
            assert!(output.contains(&section.title), "{}: {output}", section.title);
        }
        // Text reports omit the heading above a block that has a title.
        let first = section.blocks.iter().find_map(title).unwrap_or(&section.title);
        for output in [&text, &markdown] {
            assert!(output.contains(&section.title) || output.contains(first), "{}: {output}", section.title);
        }
    }
}
