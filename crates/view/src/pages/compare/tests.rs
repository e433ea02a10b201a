use super::*;
use compare::MetricVerdict;

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
    let cell = delta_cell(-2000.0, 4000.0);
    assert_eq!((cell.text.as_str(), cell.status, cell.bar), ("▲ −2.00 ms", Some(CellStatus::Better), Some(0.5)));
}
