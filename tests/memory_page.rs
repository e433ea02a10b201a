//! Checks that the charts of the memory page add up to its figures, for programs that JAX compiled and for every real
//! profile.

use crate::support::{samples, xprof};
use crossprof::document::{Block, Icicle, Page, Scatter};
use crossprof::pages::{PageQuery, View};
use crossprof::{Session, Settings};

fn page(session: &mut Session, options: &[(&str, &str)]) -> Page {
    let options = options.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let query = PageQuery { options, ..PageQuery::default() };
    session.page(0, &Settings::default(), View::Memory, &query).unwrap()
}

fn figure(page: &Page, label: &str) -> Option<f64> {
    let figures = page.blocks.iter().filter_map(|block| match block {
        Block::Figures { figures } => Some(figures),
        _ => None,
    });
    // The figures of a program come last.
    figures.flatten().rfind(|figure| figure.label == label)?.value
}

fn scatters(page: &Page) -> Vec<&Scatter> {
    page.blocks.iter().filter_map(|block| if let Block::Scatter(it) = block { Some(it) } else { None }).collect()
}

/// Checks that the children of each span add up to the span, if all children are shown.
fn adds_up(icicle: &Icicle) {
    let mut sums = vec![0.0; icicle.nodes.len()];
    for node in &icicle.nodes {
        if let Some(parent) = node.parent {
            sums[parent as usize] += node.value;
        }
    }
    assert_eq!(sums[0], icicle.nodes[0].value, "{}", icicle.title);
    for (node, sum) in icicle.nodes.iter().zip(&sums) {
        assert!(*sum == node.value || *sum == 0.0, "{}: {sum} of {}", node.label, node.value);
    }
}

/// Checks that no two rectangles share a byte at the same time.
fn is_free_of_overlap(map: &Scatter) {
    let rects: Vec<_> = map.points.iter().map(|point| (point, point.extent.unwrap())).collect();
    for (at, (a, (aw, ah))) in rects.iter().enumerate() {
        for (b, (bw, bh)) in &rects[at + 1..] {
            let apart = a.x + aw <= b.x || b.x + bw <= a.x || a.y + ah <= b.y || b.y + bh <= a.y;
            assert!(apart, "{} and {}", a.label, b.label);
        }
    }
}

/// Checks that the charts of a program add up to the program's figures. Returns the number of charts.
fn look(page: &Page) -> usize {
    let Some(peak) = figure(page, "Peak by XLA").and(figure(page, "Peak")) else { return 0 };
    for block in &page.blocks {
        if let Block::Icicle(icicle) = block {
            assert_eq!(icicle.nodes[0].value, peak);
            adds_up(icicle);
        }
    }
    for chart in scatters(page) {
        if chart.title.starts_with("Address map") {
            is_free_of_overlap(chart);
        } else if chart.title.starts_with("Memory in program order") {
            let unit = match chart.y_label.split(['(', ')']).nth(1).unwrap() {
                "GiB" => 1u64 << 30,
                "MiB" => 1 << 20,
                "KiB" => 1 << 10,
                _ => 1,
            };
            let top = chart.lines[0].points.iter().map(|point| point.1).fold(0.0, f64::max);
            assert_eq!((top * unit as f64).round(), peak, "{}", chart.title);
        }
    }
    1
}

#[test]
fn charts_of_a_program_add_up_to_its_figures() {
    let mut session = Session::new();
    for path in samples::files(&samples::root().join("tests/data/jax-cpu-memory"), &[".hlo.pb.gz"]) {
        let id = session.begin(&format!("dump/{}", path.file_name().unwrap().to_string_lossy()), None);
        session.push(id, &std::fs::read(path).unwrap());
        session.finish(id);
    }
    session.runs();
    let first = page(&mut session, &[]);
    let Some(Block::Choice(choice)) = first.blocks.iter().find(|block| matches!(block, Block::Choice(_))) else {
        panic!("programs to choose among")
    };
    assert_eq!((choice.option.as_str(), choice.values.len()), ("program", 5));
    let names: Vec<String> = choice.values.iter().map(|(name, _)| name.clone()).collect();
    let looked: usize = names.iter().map(|name| look(&page(&mut session, &[("program", name)]))).sum();
    assert_eq!(looked, 5);
    // Another program has different figures.
    let peaks: Vec<f64> =
        names.iter().map(|name| figure(&page(&mut session, &[("program", name)]), "Peak").unwrap()).collect();
    assert!(peaks.is_sorted_by(|a, b| a >= b) && peaks[0] > peaks[4], "{peaks:?}");
}

#[test]
#[ignore = "reads real profiles"]
fn pages_of_real_profiles_add_up() {
    let (mut programs, mut curves) = (0, 0);
    for folder in xprof::folders("memory_profile") {
        let mut session = xprof::open(&xprof::xplane(&folder));
        let page = page(&mut session, &[]);
        programs += look(&page);
        for chart in scatters(&page).into_iter().filter(|chart| chart.title.starts_with("Memory in use over time")) {
            // The peak is on the curve.
            let peak = &chart.points[0];
            assert!(chart.lines[0].points.contains(&(peak.x, peak.y)), "{folder}: {}", chart.title);
            curves += 1;
        }
    }
    assert!(programs >= 2 && curves >= 4, "{programs} programs, {curves} curves");
}
