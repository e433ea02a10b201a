use super::*;

fn capture(id: &str, ms: f64) -> LakeCapture {
    LakeCapture {
        id: id.to_owned(),
        path: format!("/log/{id}'s run"),
        typical_step_ps: Some(ms * 1e9),
        ..LakeCapture::default()
    }
}

fn slower(first: &str, last: &str, percent: f64) -> LakeVerdict {
    LakeVerdict {
        capture_id: last.to_owned(),
        verdict: "slower".to_owned(),
        change_percent: Some(percent),
        first_bad_capture_id: Some(first.to_owned()),
        last_good_capture_id: Some("a".to_owned()),
        ..LakeVerdict::default()
    }
}

fn workload(program: &str, day: u32, verdicts: Vec<LakeVerdict>) -> LakeWorkload {
    let mut captures = ["a", "b", "c"].map(|id| capture(id, 1.0)).to_vec();
    captures[2].time = Some(format!("2026-11-{day:02}T10:00:00Z"));
    LakeWorkload {
        key: program.to_owned(),
        program: Some(program.to_owned()),
        captures,
        verdicts,
        ..LakeWorkload::default()
    }
}

#[test]
fn slower_workloads_are_first_and_then_the_newest() {
    let faster = LakeVerdict { verdict: "faster".to_owned(), change_percent: Some(-50.0), ..LakeVerdict::default() };
    let no_longer = vec![slower("b", "c", 90.0), LakeVerdict { verdict: "same".to_owned(), ..LakeVerdict::default() }];
    let empty = LakeWorkload { captures: Vec::new(), ..workload("empty", 30, Vec::new()) };
    let workloads = vec![
        workload("old", 1, vec![faster]),
        workload("new", 9, no_longer),
        workload("slow", 2, vec![slower("b", "c", 2.0)]),
        workload("slowest", 1, vec![slower("b", "c", 3.0)]),
        empty,
    ];
    let trends = LakeTrends { workloads };
    let order: Vec<String> = ordered(&trends).into_iter().map(|it| it.name).collect();
    assert_eq!(order, ["slowest", "slow", "new", "old"]);
}

#[test]
fn a_change_that_is_found_again_is_marked_once() {
    let found = workload("f", 1, vec![slower("b", "b", 4.0), slower("b", "c", 5.0), slower("lost", "c", 6.0)]);
    let places: Vec<(usize, Option<f64>)> =
        changes(&found).into_iter().map(|(at, it)| (at, it.change_percent)).collect();
    // Without the first slow capture, the last capture is marked.
    assert_eq!(places, [(1, Some(5.0)), (2, Some(6.0))]);
}

#[test]
fn paths_are_quoted_for_a_shell_and_unsafe_ones_are_not_offered() {
    let command = |path: &str| {
        let mut workload = workload("f", 1, vec![slower("b", "c", 3.0)]);
        workload.captures[1].path = path.to_owned();
        words::sentences(&workload).pop().unwrap()
    };
    assert_eq!(command("/log/b"), r"Compare both: crossprof compare '/log/a'\''s run' /log/b");
    assert!(command("/log/$(x); y").ends_with("'/log/$(x); y'"));
    for path in ["", "-rf", "gs://bucket/run", "/log/\u{1b}[31m", "/log/\u{202e}x", "/a\nb"] {
        assert!(command(path).starts_with("The first slow capture is"), "{path}");
    }
}

#[test]
fn a_lake_without_captures_or_steps_is_a_sentence() {
    let blocks = page(&LakeTrends::default(), &PageQuery::default()).blocks;
    assert_eq!(blocks, [Block::Note { text: "The lake contains no capture.".to_owned() }]);
    let mut unmeasured = workload("f", 1, Vec::new());
    unmeasured.captures.iter_mut().for_each(|it| it.typical_step_ps = None);
    let blocks = page(&LakeTrends { workloads: vec![unmeasured] }, &PageQuery::default()).blocks;
    assert!(!blocks.iter().any(|it| matches!(it, Block::Scatter(_))));
    let notes =
        blocks.iter().find_map(|it| if let Block::Figures { figures } = it { Some(&figures[0].note) } else { None });
    assert_eq!(notes.map(String::as_str), Some("No capture contains steps."));
}
