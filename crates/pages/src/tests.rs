//! Makes every page from a trace and from the profile of the same run, and checks that both pages agree on the data that
//! they share.

use crate::*;
use document::{Bars, Figure, FindingBlock, Link, Stack};
use insight::examine;
use report::UnifiedProfile;
use run::{Run, Settings};
use trace::{Trace, TraceBuilder};

/// Two chips that compute, wait and reduce, in eight steps. The last step ends with the capture.
fn tpu() -> Trace {
    let mut b = TraceBuilder::new();
    for device in 0..2 {
        let plane = format!("/device:TPU:{device}");
        let (steps, ops) = (b.line(&plane, "Steps"), b.line(&plane, "XLA Ops"));
        for step in 0..8 {
            let start = step * 1000;
            b.event(steps, &step.to_string(), start, 990);
            b.event(ops, "fusion.1", start, 400 + 100 * device).hlo_category("loop fusion");
            b.event(ops, "all-reduce.2", start + 500, 200).hlo_category("all-reduce");
            b.event(ops, "copy.3", start + 800, 50).hlo_category("copy");
        }
    }
    let python = b.line("/host:CPU", "python");
    b.event(python, "train", 0, 8000);
    b.build()
}

/// A GPU with kernels and a copy, without steps.
fn gpu() -> Trace {
    let mut b = TraceBuilder::new();
    let stream = b.line("/device:GPU:0", "Stream #1(Compute)");
    let copies = b.line("/device:GPU:0", "Stream #2(MemcpyH2D)");
    for at in 0..20 {
        b.event(stream, "sm80_gemm_f16", at * 100, 60);
        b.event(stream, "loop_add_fusion", at * 100 + 70, 5);
    }
    b.event(copies, "MemcpyH2D", 40, 30);
    b.build()
}

/// A capture of a host only.
fn host() -> Trace {
    let mut b = TraceBuilder::new();
    let python = b.line("/host:CPU", "python");
    b.event(python, "PjitFunction(f)", 0, 50);
    b.event(python, "TfrtCpuExecutable::Execute", 10, 20);
    b.build()
}

/// Returns the page of a view from the events, and from a document of the same run.
fn both(trace: Trace, view: View) -> (Page, Page) {
    let run = Run { trace, ..Run::default() };
    let examined = examine(&run, &Settings::default());
    let context = examined.context(&run);
    let text = serde_json::to_string(&examined.profile).unwrap();
    let profile: UnifiedProfile = serde_json::from_str(&text).unwrap();
    let query = PageQuery::default();
    (page(Source::of_events(context), view, &query), page(Source::of_profile(&profile), view, &query))
}

fn figures(page: &Page) -> Vec<&Figure> {
    page.blocks
        .iter()
        .filter_map(|block| if let Block::Figures { figures } = block { Some(figures) } else { None })
        .flatten()
        .collect()
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// Compares the contents of both pages, and returns the number of figures, charts and tables
/// compared.
fn agreements(view: View, of_trace: &Page, of_profile: &Page) -> usize {
    let mut count = 0;
    let known = figures(of_trace);
    for figure in figures(of_profile) {
        let Some(other) = known.iter().find(|other| other.label == figure.label) else { continue };
        assert_eq!((figure.unit, &figure.metric, figure.level), (other.unit, &other.metric, other.level), "{view:?}");
        match (figure.value, other.value) {
            (Some(a), Some(b)) => assert!(same(a, b), "{view:?}: {}: {a} and {b}", figure.label),
            (a, b) => assert_eq!(a, b, "{view:?}: {}", figure.label),
        }
        count += 1;
    }
    for block in &of_profile.blocks {
        let found = of_trace.blocks.iter().any(|other| match (block, other) {
            (Block::Stack(a), Block::Stack(b)) if a.title == b.title => {
                let labels =
                    |stack: &Stack| stack.series.iter().map(|it| (it.label.clone(), it.class)).collect::<Vec<_>>();
                assert_eq!(
                    (labels(a), a.unit, &a.note, a.rows.len()),
                    (labels(b), b.unit, &b.note, b.rows.len()),
                    "{view:?}"
                );
                for (a, b) in a.rows.iter().zip(&b.rows) {
                    assert_eq!((&a.label, &a.mark), (&b.label, &b.mark), "{view:?}");
                    assert!(a.parts.iter().zip(&b.parts).all(|(a, b)| same(*a, *b)), "{view:?}: {a:?} and {b:?}");
                }
                true
            }
            (Block::Bars(a), Block::Bars(b)) if a.title == b.title => {
                let bars = |bars: &Bars| {
                    bars.bars.iter().map(|it| (it.label.clone(), it.class, it.note.clone())).collect::<Vec<_>>()
                };
                assert_eq!((bars(a), a.unit, &a.note), (bars(b), b.unit, &b.note), "{view:?}");
                assert!(a.bars.iter().zip(&b.bars).all(|(a, b)| same(a.value, b.value)), "{view:?}: {a:?} and {b:?}");
                true
            }
            (Block::Table(a), Block::Table(b)) if a.table == b.table && a.title == b.title => {
                assert_eq!((&a.columns, a.rows.len()), (&b.columns, b.rows.len()), "{view:?}: {}", a.title);
                true
            }
            (Block::Findings { findings: a }, Block::Findings { findings: b }) => {
                // Only a trace has events to show, and a list of ops to link to.
                let of_both = |it: &FindingBlock| {
                    let link = it.link.clone().filter(|_| it.id != "most_expensive");
                    FindingBlock { in_timeline: None, in_graph: None, link, ..it.clone() }
                };
                b.iter().map(of_both).eq(a.iter().map(of_both))
            }
            _ => false,
        });
        count += usize::from(found);
    }
    count
}

#[test]
fn a_trace_and_its_profile_have_the_same_pages() {
    for (trace, views) in [
        (
            tpu as fn() -> Trace,
            &[
                // The overview of a trace lists ops; the overview of a profile lists only kernels.
                (View::Overview, 8),
                (View::Findings, 1),
                (View::Steps, 8),
                (View::Kernels, 5),
                (View::Communication, 4),
                (View::Devices, 3),
                (View::Checklist, 3),
            ][..],
        ),
        (gpu, &[(View::Overview, 8), (View::Steps, 5), (View::Kernels, 5), (View::Transfers, 1), (View::Devices, 3)]),
        (host, &[(View::Overview, 6)]),
    ] {
        for &(view, least) in views {
            let (of_trace, of_profile) = both(trace(), view);
            let count = agreements(view, &of_trace, &of_profile);
            assert!(count >= least, "{view:?}: {count} agree\n{of_trace:?}\n{of_profile:?}");
        }
    }
}

#[test]
fn findings_are_cards_or_a_table() {
    let run = Run { trace: gpu(), ..Run::default() };
    let examined = examine(&run, &Settings::default());
    let shown = |form: &str| {
        let options = BTreeMap::from([("form".to_owned(), form.to_owned())]);
        let query = PageQuery { options, ..PageQuery::default() };
        page(Source::of_events(examined.context(&run)), View::Findings, &query).blocks
    };
    let (cards, table) = (shown("cards"), shown("table"));
    let [Block::Choice(_), Block::Findings { findings }, cards @ ..] = &cards[..] else { panic!("{cards:?}") };
    let [Block::Choice(_), Block::Table(table), below @ ..] = &table[..] else { panic!("{table:?}") };
    assert!(!findings.is_empty());
    // The source lines with the most time are a card after the table, not a row.
    let [Block::Fold { title, blocks }] = cards else { panic!("{cards:?}") };
    let [Block::Findings { findings: most_time }] = below else { panic!("{below:?}") };
    assert!(most_time.len() == 1 && findings.contains(&most_time[0]), "{findings:?}");
    let [Block::Facts(facts)] = &blocks[..] else { panic!("{blocks:?}") };
    let lacking = examined.profile.findings.iter().filter(|it| it.severity == report::FindingSeverity::NotChecked);
    assert_eq!((facts.facts.len(), title), (lacking.count(), &format!("Not checked: {}", facts.facts.len())));
    assert!(facts.facts.iter().all(|fact| fact.label.ends_with('?') && !fact.value.starts_with("Not checked")));
    assert_eq!(table.total_rows as usize, examined.profile.findings.len());
}

#[test]
fn an_earlier_result_has_every_page_or_a_reason() {
    let profile = report::example::profile();
    for view in View::ALL {
        let found = page(Source::of_profile(&profile), view, &PageQuery::default());
        assert_eq!(found.blocks.is_empty(), view == View::Model, "{view:?}");
        let is_empty = matches!(found.blocks[..], [Block::Empty { .. }]);
        let lacks = match view {
            View::Ops | View::Timeline | View::Graph => true,
            View::Memory => profile.memory.is_none(),
            View::Roofline => profile.roofline.is_none(),
            View::Communication => profile.communication.is_none() && profile.megascale.is_none(),
            _ => false,
        };
        assert_eq!(is_empty, lacks, "{view:?}: {found:?}");
    }
    let empty = UnifiedProfile { metadata: profile.metadata.clone(), ..UnifiedProfile::default() };
    for view in
        [View::Steps, View::Ops, View::Kernels, View::Roofline, View::Communication, View::Transfers, View::Devices]
    {
        let found = page(Source::of_profile(&empty), view, &PageQuery::default());
        let [Block::Empty { reason, .. }] = &found.blocks[..] else { panic!("{view:?}: {found:?}") };
        assert!(reason.ends_with('.'), "{reason}");
    }
}

/// The links on a page of a profile lead to rows that exist on the target page.
#[test]
fn links_of_an_earlier_result_have_targets() {
    let profile = report::example::profile();
    let overview = page(Source::of_profile(&profile), View::Overview, &PageQuery::default());
    let mut links: Vec<Link> = Vec::new();
    for block in &overview.blocks {
        match block {
            Block::Bars(bars) => links.extend(bars.bars.iter().filter_map(|bar| bar.link.clone())),
            Block::Stack(stack) => links.extend(stack.rows.iter().filter_map(|row| row.link.clone())),
            Block::Table(table) => links.extend(table.links.iter().flatten().cloned()),
            _ => {}
        }
    }
    assert!(links.len() >= 3, "{links:?}");
    for link in links {
        let query = PageQuery { filter: link.filter.clone(), ..PageQuery::default() };
        let found = page(Source::of_profile(&profile), link.view, &query);
        let rows = found.blocks.iter().any(|block| match block {
            Block::Table(table) => table.matched_rows > 0 && table.lacking.is_empty(),
            _ => false,
        });
        assert!(rows, "{link:?}");
    }
}

#[test]
fn every_figure_of_the_overview_that_is_a_field_has_its_definition() {
    let page = page(Source::of_profile(&report::example::profile()), View::Overview, &PageQuery::default());
    let metrics: Vec<_> = figures(&page).into_iter().filter(|figure| figure.metric.is_some()).collect();
    assert!(metrics.len() >= 5, "{metrics:?}");
    assert!(metrics.iter().all(|figure| figure.definition.ends_with('.')), "{metrics:?}");
}

/// Computed by hand: 3 MB move in the 15 µs from 20 to 35, which is 200 GB/s. The profile contains only the 20 µs of
/// both transfers, which gives 150 GB/s.
#[test]
fn a_bandwidth_states_its_time() {
    let mut b = TraceBuilder::new();
    let copies = b.line("/device:GPU:0", "Stream #2(MemcpyH2D)");
    for (start, bytes) in [(20, 1_000_000), (25, 2_000_000)] {
        b.event(copies, "MemcpyH2D", start, 10).args(|args| args.copy_bytes = Some(bytes));
    }
    let (of_trace, of_profile) = both(b.build(), View::Transfers);
    let said = |page: &Page| {
        let figure = figures(page)[0];
        (figure.value.unwrap(), figure.note.clone())
    };
    let in_flight = "2 transfers: 2.86 MiB in 15.0 µs while a transfer is in flight; they overlap, so their times add up to 20.0 µs";
    assert_eq!(said(&of_trace), (200.0, in_flight.to_owned()));
    assert_eq!(said(&of_profile), (150.0, "2 transfers: 2.86 MiB in 20.0 µs, added up".to_owned()));
}

/// Computed by hand: four fusions with a duration, and four starts of copies without one. Nothing repeats at regular
/// intervals.
#[test]
fn ops_without_duration_are_not_counted_as_kernels() {
    let mut b = TraceBuilder::new();
    let ops = b.line("/device:TPU:0", "XLA Ops");
    for at in 0..4 {
        let at = at * at * at * 100;
        b.event(ops, "fusion.1", at, 50).hlo_category("loop fusion");
        b.event(ops, "copy-start.2", at + 60, 0).hlo_category("copy-start");
    }
    for page in <[Page; 2]>::from(both(b.build(), View::Kernels)) {
        let figure = figures(&page)[0];
        assert_eq!(figure.value, Some(4.0));
        assert_eq!(figure.note, "1 distinct (by name, launch shape and op); 4 without a duration are left out");
    }
}

#[test]
fn devices_that_did_nothing_are_listed_behind_those_that_worked() {
    let mut b = TraceBuilder::new();
    let ops = b.line("/device:TPU:1", "XLA Ops");
    b.line("/device:TPU:0", "XLA Ops");
    b.event(ops, "fusion.1", 0, 50).hlo_category("loop fusion");
    for page in <[Page; 2]>::from(both(b.build(), View::Devices)) {
        let bars =
            page.blocks.iter().find_map(|block| if let Block::Bars(bars) = block { Some(&bars.bars) } else { None });
        let said: Vec<_> = bars.unwrap().iter().map(|bar| (bar.label.as_str(), bar.value, bar.note.as_str())).collect();
        assert_eq!(said, [("/device:TPU:1", 100.0, "no gap"), ("/device:TPU:0", 0.0, "not used")]);
    }
}

#[test]
fn a_report_lists_phases_and_layers_if_ops_have_paths() {
    use report::{LayerTime, Layers, Phase, PhaseTime};
    let of = |profile: &UnifiedProfile| {
        let found = sections::sections(profile).into_iter().find(|section| section.id == "layers").unwrap();
        let bars = found.blocks.into_iter().filter_map(|block| match block {
            Block::Bars(bars) => Some(bars.bars.into_iter().map(|bar| (bar.label, bar.value)).collect()),
            _ => None,
        });
        bars.collect::<Vec<Vec<(String, f64)>>>()
    };
    let mut profile = report::example::profile();
    profile.layers = None;
    assert!(of(&profile).is_empty());
    let layer = |path: &str, self_time_us| LayerTime {
        path: path.to_owned(),
        members: 1,
        self_time_us,
        ..LayerTime::default()
    };
    let phase = |phase, self_time_us| PhaseTime { phase, self_time_us, ..PhaseTime::default() };
    profile.layers = Some(Layers {
        phases: vec![phase(Phase::Forward, 40.0), phase(Phase::Backward, 60.0)],
        layers: vec![layer("jit_f", 100.0), layer("jit_f/encoder", 70.0), layer("jit_f/head", 30.0)],
        ..Layers::default()
    });
    let name = |name: &str, value| (name.to_owned(), value);
    assert_eq!(
        of(&profile),
        [vec![name("Forward", 40.0), name("Backward", 60.0)], vec![name("encoder", 70.0), name("head", 30.0)]]
    );
}
