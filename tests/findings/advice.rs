//! Tests findings about a gap that dominates, and advice for the framework of the run. The limits of each rule are
//! tested next to the rule.

use crossprof::Settings;
use crossprof::insight::examine;
use crossprof::report::View;
use crossprof::run::Run;
use crossprof::trace::{Framework, Trace, TraceBuilder};

use super::runs::{gpu_steps, host_bound, kernel};

/// A GPU with unknown steps has one gap of 20 ms among short gaps.
#[test]
fn a_gap_that_dominates_the_idle_time_is_reported_separately() {
    let mut b = TraceBuilder::new();
    for at in (0..20_i64).map(|kernel| kernel * 100 + if kernel < 10 { 0 } else { 20_000 }) {
        kernel(&mut b, if at < 1000 { "before" } else { "behind" }, at + 5, at + 10, 60);
    }
    let run = Run { trace: b.build(), ..Run::default() };
    let profile = examine(&run, &Settings::default()).profile;
    let found = profile.findings.iter().find(|it| it.id == "host_overhead").unwrap();
    // The capture begins at the first launch, 5 us before the first kernel. The gap is between kernels 9 and 10.
    let words = "One gap of 20.0 ms makes up 96.5 % of the idle time. It begins 965 µs after the start of the capture, between before \
                 and behind.";
    assert!(found.message.contains(words), "{}", found.message);
    assert_eq!(found.view, Some(View::Devices));
    let number = |name: &str| found.evidence.iter().find(|it| it.name == name).map(|it| it.value);
    assert_eq!((number("longest_gap_start_us"), number("longest_gap_us")), (Some(965.0), Some(20_040.0)));
    // Without steps, the steps page is empty.
    assert!(profile.findings.iter().all(|it| it.view != Some(View::Steps)), "{:#?}", profile.findings);
}

/// A finding gives no advice that only users of another framework can follow.
#[test]
fn advice_fits_the_framework() {
    let input = || {
        gpu_steps(12, |b, at| {
            let loader = b.line("/host:CPU", "loader");
            b.event(loader, "DataLoader.__next__", at, 890);
            kernel(b, "gemm", at + 891, at + 900, 90);
        })
    };
    let mut count = 0;
    for trace in [
        host_bound(100),
        input(),
        gpu_steps(12, |b, at| (0..60).for_each(|i| kernel(b, "k", at + i * 16, at + i * 16 + 5, 4))),
    ] {
        let run = Run { trace: Trace { framework: Framework::PyTorch, ..trace }, ..Run::default() };
        for found in examine(&run, &Settings::default()).profile.findings {
            count += 1;
            for word in ["jax", "jit", "XLA", "xplane", "ProfileOptions", "flax", "tf.data", "Grain"] {
                let text = format!("{} {}", found.message, found.remedy);
                assert!(!text.contains(word), "{}: {word} in {text}", found.id);
            }
        }
    }
    assert!(count > 10, "{count}");
}
