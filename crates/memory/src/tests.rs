#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use std::sync::Arc;

use proptest::prelude::*;
use wire_writer::message;

use crate::test_program::{ALLOCATE, FREE, SHARE, TestProgram, look_at};
use crate::{Class, Classifier, Confidence, MAIN, Problem, ProgramMemory, blocks, xla_peak};

/// Returns a program with three buffers of 64 bytes in one allocation of temporary values, and an argument.
fn three() -> TestProgram {
    let adds = (1..=3)
        .fold(TestProgram::default(), |program, id| program.instruction(id, "add", "jit(f)/add", 16).buffer(id, 64));
    adds.instruction(4, "parameter", "x", 8).buffer(4, 32).allocation(192, 0, &[1, 2, 3]).allocation(32, 5, &[4])
}

fn peak(program: &ProgramMemory) -> u64 {
    program.space(MAIN).unwrap().peak_bytes()
}

fn problem(program: &TestProgram) -> (Problem, u64) {
    let all = [
        Problem::UnknownBuffer,
        Problem::UnknownInstruction,
        Problem::ImpossibleSize,
        Problem::RepeatedId,
        Problem::AllocatedTwice,
        Problem::FreedTwice,
        Problem::CyclicSharing,
        Problem::UnknownEvent,
        Problem::SeveralAllocations,
    ];
    let counts = program.look(|program| all.map(|problem| (problem, program.problems().count(problem))));
    let found: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0]
}

#[test]
fn the_peak_is_the_first_of_the_fullest_points() {
    let events = [(ALLOCATE, 1, 0), (ALLOCATE, 2, 0), (FREE, 1, 0), (ALLOCATE, 3, 0), (FREE, 2, 0), (FREE, 3, 0)];
    three().trace(&events).look(|program| {
        let space = program.space(MAIN).unwrap();
        assert_eq!((peak(program), xla_peak(&program.assignment), space.total_bytes), (160, 160, 224));
        let heap = space.heap.as_ref().unwrap();
        let bytes: Vec<u64> = heap.points.iter().map(|point| point.bytes).collect();
        assert_eq!((bytes, heap.peak_event), (vec![0, 64, 128, 64, 128, 64, 0], 1));
        let alive: Vec<_> = program.live_at_peak(space).map(|live| (program.name(live.buffer), live.bytes)).collect();
        assert_eq!(alive, [("parameter.4".to_owned(), 32), ("add.1".to_owned(), 64), ("add.2".to_owned(), 64)]);
        // 224 bytes are allocated, 160 are in use, and 192 are for temporary values.
        assert!((space.fragmentation_percent().unwrap() - 100.0 * 64.0 / 192.0).abs() < 1e-9);
        let map: Vec<_> = blocks(program, space).map(|block| (block.offset, block.start, block.end)).collect();
        assert_eq!(map, [(0, 0, 2), (64, 1, 4), (128, 3, 5)]);
        assert!(program.problems().is_empty());
    });
}

#[test]
fn memory_that_is_shared_counts_once() {
    let events = [(ALLOCATE, 1, 0), (SHARE, 2, 1), (FREE, 1, 0), (ALLOCATE, 3, 0), (FREE, 2, 0), (FREE, 3, 0)];
    three().trace(&events).look(|program| {
        let heap = program.space(MAIN).unwrap().heap.clone().unwrap();
        let lifetimes: Vec<_> = heap.lifetimes.iter().map(|it| (it.buffer, it.start, it.end)).collect();
        assert_eq!((lifetimes, heap.peak.bytes), (vec![(0, 0, Some(4)), (2, 3, Some(5))], 128));
    });
    // If a buffer shares freed memory, the memory is taken again, and belongs to that buffer.
    let events = [(ALLOCATE, 1, 0), (FREE, 1, 0), (SHARE, 2, 1), (FREE, 2, 0)];
    three().trace(&events).look(|program| {
        let heap = program.space(MAIN).unwrap().heap.clone().unwrap();
        let lifetimes: Vec<_> = heap.lifetimes.iter().map(|it| (it.buffer, it.memory_of, it.start, it.end)).collect();
        assert_eq!(lifetimes, [(0, 0, 0, Some(1)), (1, 0, 2, Some(3))]);
        assert_eq!(xla_peak(&program.assignment), 96);
    });
}

#[test]
fn what_is_odd_is_said_and_the_rest_counts() {
    for (events, said) in [
        (vec![(ALLOCATE, 1, 0), (FREE, 1, 0), (FREE, 1, 0)], Problem::FreedTwice),
        (vec![(ALLOCATE, 1, 0), (ALLOCATE, 1, 0)], Problem::AllocatedTwice),
        (vec![(ALLOCATE, 1, 0), (SHARE, 2, 1), (SHARE, 1, 2)], Problem::CyclicSharing),
        (vec![(ALLOCATE, 1, 0), (SHARE, 1, 1)], Problem::CyclicSharing),
        (vec![(ALLOCATE, 1, 0), (7, 1, 0)], Problem::UnknownEvent),
        (vec![(ALLOCATE, 1, 0), (ALLOCATE, 99, 0)], Problem::UnknownBuffer),
    ] {
        let program = three().trace(&events);
        assert_eq!(problem(&program), (said, 1), "{events:?}");
        assert_eq!(program.look(peak), 96, "{events:?}");
    }
    let two = three().buffer(5, 64).allocation(64, 0, &[5]).instruction(5, "add", "", 16);
    assert_eq!(problem(&two.trace(&[(ALLOCATE, 1, 0), (ALLOCATE, 5, 0)])), (Problem::SeveralAllocations, 1));
    assert_eq!(problem(&three().buffer(9, 8)), (Problem::UnknownInstruction, 1));
    // A buffer without a location does not belong to the instruction with the number 0.
    let without_location = three().instruction(0, "add", "", 1).raw_buffer(message().int(1, 9).int(2, 8));
    assert_eq!(problem(&without_location), (Problem::UnknownInstruction, 1));
}

#[test]
fn sizes_that_no_memory_has_are_problems_and_no_totals() {
    assert_eq!(problem(&three().instruction(5, "add", "", 1).buffer(5, i64::MIN)), (Problem::ImpossibleSize, 1));
    let five = (5..10).fold(three(), |program, id| {
        program.instruction(id, "add", "", 1).buffer(id, i64::MAX).allocation(i64::MAX, 5, &[id])
    });
    let five = five.trace(&[(ALLOCATE, 1, 0), (FREE, 1, 0), (ALLOCATE, 2, 0)]);
    // Each size is counted once as a buffer and once as an allocation.
    assert_eq!(problem(&five), (Problem::ImpossibleSize, 10));
    five.look(|program| {
        let space = program.space(MAIN).unwrap();
        assert_eq!((space.total_bytes, space.resident_bytes, peak(program)), (224, 32, 96));
    });
    // Each size is possible, but their sum is not.
    let half = (5..8).fold(three(), |program, id| program.allocation(1 << 59, 5, &[]).instruction(id, "add", "", 1));
    assert_eq!(problem(&half), (Problem::ImpossibleSize, 2));
    half.look(|program| assert_eq!(program.space(MAIN).unwrap().total_bytes, (1 << 59) + 224));
}

#[test]
fn an_allocation_that_is_given_again_counts_once() {
    let allocation = || message().int(1, 7).int(2, 1000).int(5, 1);
    let five = (0..5).fold(three(), |program, _| program.raw_allocation(allocation()));
    assert_eq!(problem(&five), (Problem::RepeatedId, 4));
    five.look(|program| assert_eq!(program.space(MAIN).unwrap().total_bytes, 1224));
    assert_eq!(problem(&three().buffer(1, 8)), (Problem::RepeatedId, 1));
}

#[test]
fn damage_costs_one_message() {
    let broken = three().raw_buffer(message().bytes(2, "no size")).trace(&[(ALLOCATE, 1, 0)]);
    broken.look(|program| {
        assert_eq!((peak(program), program.problems().count(Problem::Unreadable)), (96, 1));
    });
    let whole = three().trace(&[(ALLOCATE, 1, 0), (ALLOCATE, 2, 0)]).proto();
    let cut = whole.len() - 3;
    look_at(&whole[..cut], |program| {
        assert_eq!(peak(program), 96, "the first event is there");
        assert!(program.problems().count(Problem::Cut) > 0);
    })
    .unwrap();
    assert!(look_at(&message().message(1, message().bytes(1, "jit_f")).0, |_| ()).is_none(), "no buffer assignment");
}

#[test]
fn buffers_of_a_training_step_have_classes() {
    let forward = "jit(f)/jvp(layer)/dot_general";
    let backward = "jit(f)/transpose(jvp(layer))/dot_general";
    let parameter = |id: i64, number: i64, name: &str| {
        let shape = message().int(2, 11).int(3, 16);
        let named = message().bytes(1, format!("p.{id}")).bytes(2, "parameter").message(3, shape).int(9, number);
        named.message(7, message().bytes(2, name)).int(35, id)
    };
    let mut program = TestProgram::default();
    for (number, name) in ["params['w']", "opt_state[0].mu['w']", "batch['x']", "step"].into_iter().enumerate() {
        let id = 10 + number as i64;
        let allocation =
            message().int(1, id).int(2, 64).int(5, 1).int(6, number as i64).message(9, message().int(1, id));
        program = program.raw_instruction(parameter(id, number as i64, name)).buffer(id, 64).raw_allocation(allocation);
    }
    for (id, opcode, path, elements) in [
        (1, "add", forward, 32),
        (2, "add", backward, 16),
        (3, "add", backward, 32),
        (4, "all-reduce", backward, 16),
        (5, "add", forward, 32),
        (6, "add", "", 32),
    ] {
        program = program.instruction(id, opcode, path, elements).buffer(id, 4 * elements);
    }
    let program = program.allocation(768, 0, &[1, 2, 3, 4, 5, 6]).instruction(7, "tuple", "", 0).trace(&[
        (ALLOCATE, 1, 0),
        (ALLOCATE, 5, 0),
        (ALLOCATE, 6, 0),
        (ALLOCATE, 2, 0),
        (ALLOCATE, 4, 0),
        (ALLOCATE, 3, 0),
        (FREE, 1, 0),
    ]);
    program.look(|program| {
        let space = program.space(MAIN).unwrap();
        let classifier = Classifier::new(&Arc::new(program.clone()));
        let class = |live| {
            let found = classifier.classify(space, &live);
            (program.name(live.buffer), found.class, found.confidence)
        };
        let mut classes: Vec<_> = program.live_at_peak(space).map(class).collect();
        classes.sort();
        let expected = [
            ("add.1", Class::Activation, Confidence::High),
            ("add.2", Class::Gradient, Confidence::Medium),
            ("add.3", Class::Temporary, Confidence::Medium),
            ("add.5", Class::Unknown, Confidence::Low),
            ("add.6", Class::Unknown, Confidence::Low),
            ("all-reduce.4", Class::CollectiveScratch, Confidence::High),
            ("p.10", Class::Parameter, Confidence::High),
            ("p.11", Class::OptimizerState, Confidence::High),
            ("p.12", Class::Input, Confidence::High),
            ("p.13", Class::Input, Confidence::Medium),
        ];
        assert_eq!(classes, expected.map(|(name, class, confidence)| (name.to_owned(), class, confidence)));
    });
}

proptest! {
    #[test]
    fn any_order_of_events_keeps_its_promises(events: Vec<(u8, u8, u8)>) {
        let events: Vec<_> = events.iter().map(|&(a, b, c)| (i64::from(a % 4), i64::from(b % 5), i64::from(c % 5))).collect();
        three().trace(&events).look(|program| {
            let space = program.space(MAIN).unwrap();
            if let Some(heap) = &space.heap {
                assert_eq!(heap.points.len(), events.len() + 1);
                assert_eq!(heap.points.iter().map(|point| point.bytes).max().unwrap(), heap.peak.bytes);
            }
            let alive: u64 = program.live_at_peak(space).map(|live| live.bytes).sum();
            assert_eq!(alive, space.peak_bytes(), "what is alive adds up");
        });
    }

    #[test]
    fn any_damage_is_read(at in 0usize..400, byte: u8) {
        let mut proto = three().trace(&[(ALLOCATE, 1, 0), (SHARE, 2, 1), (FREE, 1, 0)]).proto();
        let at = at % proto.len();
        proto[at] = byte;
        look_at(&proto, |program| {
            let classifier = Classifier::new(&Arc::new(program.clone()));
            for space in &program.spaces {
                let mut classes = program.live_at_peak(space).map(|live| classifier.classify(space, &live).class.label());
                prop_assert!(classes.all(|label| !label.is_empty()));
                prop_assert!(blocks(program, space).count() <= program.assignment.traces.iter().map(|it| it.events.len()).sum());
            }
            xla_peak(&program.assignment);
            Ok(())
        })
        .unwrap_or(Ok(()))?;
    }
}
