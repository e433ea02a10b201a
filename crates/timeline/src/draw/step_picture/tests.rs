use super::*;
use crate::events::source::{Caches, Source};
use gathering::{events, merged};
use proptest::prelude::*;
use trace::{ByLine, Interval, Trace, TraceBuilder};

const US: i64 = 1_000_000;

fn trace(events: &[(i64, i64)]) -> Trace {
    let mut b = TraceBuilder::new();
    let line = b.line("/device:GPU:0", "Stream #1");
    for &(start, length) in events {
        b.event(line, "f", start, length);
    }
    b.build()
}

proptest! {
    #[test]
    fn marks_are_as_busy_as_their_lane_however_coarse_they_are(
        given in prop::collection::vec((0i64..2_000, 0i64..60), 1..200),
        start in 0i64..2_000, length in 1i64..500, finest in 0i64..400,
    ) {
        let trace = trace(&given);
        let (by_line, caches) = (ByLine::new(&trace), Caches::new(&trace));
        let source = Source::new(&trace, &by_line, &caches);
        let line = trace.events.iter().next().unwrap().line;
        let range = Interval::new(Ps::new(start * US), Ps::new((start + length) * US));
        for lane in source.lanes(line) {
            let marks = merged(&mut events(source, lane, range), Ps::new(finest * US));
            prop_assert_eq!(marks.iter().map(|mark| mark.busy).sum::<Ps>(), lane.covered_in(&trace, range));
            prop_assert!(marks.windows(2).all(|pair| pair[0].time.end <= pair[1].time.start));
            for mark in marks {
                prop_assert!(mark.time.start >= range.start && mark.time.end <= range.end);
                prop_assert!(mark.longest <= mark.busy && mark.busy <= mark.time.length());
                // A mark that is not short is a single event with its own time.
                prop_assert!(mark.is_short || mark.busy == mark.time.length());
            }
        }
    }

    #[test]
    fn no_text_is_too_odd(text in "([0-9]{1,3}\t?|=[a-z\t]*\n|#[a-z]*\n|\n|\\PC){0,30}") {
        if let Some(picture) = StepPicture::parse(&text) {
            prop_assert_eq!(StepPicture::parse(&picture.to_string()), Some(picture));
        }
    }
}

fn picture() -> StepPicture {
    let mark = |start, length, busy, name| StepMark {
        start: Ps::new(start),
        length: Ps::new(length),
        busy: Ps::new(busy),
        name,
    };
    let name = |name: &str, op: &str, family: &str| MarkName {
        name: name.to_owned(),
        op: op.to_owned(),
        family: family.to_owned(),
    };
    let lane = |line: &str, marks: &[StepMark]| StepLane { line: line.to_owned(), marks: marks.to_vec() };
    StepPicture {
        step: "7".to_owned(),
        device: "GPU:0".to_owned(),
        length: Ps::new(1_000),
        names: vec![name("gemm <f32>", "dot.1", "matmul"), name("=x", "", "")],
        lanes: vec![lane("Stream", &[mark(5, 20, 20, 0), mark(25, 10, 3, 1)]), lane("", &[mark(990, 10, 10, 0)])],
    }
}

#[test]
fn a_text_holds_a_picture() {
    let text = picture().to_string();
    assert_eq!(
        text,
        "7\t1000\tGPU:0\n=gemm <f32>\tdot.1\tmatmul\n==x\t\t\n#Stream\n5\t20\t0\n0\t10\t1\t3\n#\n990\t10\t0"
    );
    assert_eq!(StepPicture::parse(&text), Some(picture()));
}

#[test]
fn a_damaged_text_is_no_picture() {
    let text = picture().to_string();
    for (whole, damaged) in [
        ("7\t1000", "7\t0"),
        ("990\t10", "991\t10"),
        ("990\t10\t0", "990\t10\t2"),
        ("\t1\t3\n", "\t1\t11\n"),
        ("5\t20", "-5\t20"),
        ("\tdot.1\tmatmul", ""),
        ("#Stream\n", ""),
    ] {
        assert!(text.contains(whole), "{whole}");
        assert_eq!(StepPicture::parse(&text.replacen(whole, damaged, 1)), None, "{damaged}");
    }
    assert_eq!(StepPicture::parse(""), None);
}
