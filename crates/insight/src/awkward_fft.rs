//! Fourier transforms have a length with a large prime factor.
//!
//! FFT libraries are fast for lengths that are products of small primes. For a length with a larger prime factor they
//! compute a convolution instead (Bluestein's algorithm), with transforms of at least twice the length. The rule looks
//! at the `fft` op in the compiled program. A prime factor above 127 is treated as large, because cuFFT has kernels for
//! factors up to 127. Severity: warning from 10 % of the op time (JAX guide, overheads), critical from 50 %, or a note
//! if these ops take less than 10 % of the window. Confidence: high. Remedy: pad the transform to the next fast length.
//! The rule is skipped if the compiled program is missing.

use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use metrics::Op;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "awkward_fft",
    title: "Fourier transforms have an awkward length",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Largest prime factor for which cuFFT has kernels.
const LARGEST_FACTOR: u64 = 127;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let transforms = ops.rows.iter().filter_map(|op| Some((op, awkward_length(numbers, op)?)));
    let found: Vec<(&Op, u64)> = transforms.collect();
    let time: Ps = found.iter().map(|(op, _)| op.self_time).sum();
    let share = numbers.op_percent(time);
    let largest = found.into_iter().max_by_key(|(op, _)| op.self_time);
    let Some((largest, length)) = largest.filter(|_| share >= OVERHEAD_PERCENT.good) else { return Verdict::Fine };
    let (mut severity, limit) = OVERHEAD_PERCENT.severity(share);
    if numbers.of_window(share) < OVERHEAD_PERCENT.good {
        severity = FindingSeverity::Note;
    }
    let factor = largest_prime_factor(length);
    let why = if factor == length {
        "is prime".to_owned()
    } else {
        format!("has the prime factor {}", format::count(factor))
    };
    let message = format!(
        "Fourier transforms whose length has a prime factor above {LARGEST_FACTOR} take {} of the op time. The largest is {}, of \
         length {}, which {why}. The library computes such a transform with several longer ones.",
        format::percent(share),
        numbers.op_with_source(largest),
        format::count(length),
    );
    Draft::new(
        severity,
        Confidence::High,
        &format!("Fourier transforms of awkward lengths take {} of the op time", format::percent(share)),
        message,
    )
    .remedy(&format!(
        "Pad the transform with zeros to a length that has only small prime factors, for example {} instead of {}. For a \
         convolution, the result in the used range stays the same.",
        format::count(next_fast_length(length)),
        format::count(length)
    ))
    .passed("awkward_fft_percent", share, limit)
    .count("fft_length", length)
    .at_stake(numbers.of_window(share))
    .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, largest.name)))
    .fires()
}

/// Among the dimensions of an op's Fourier transform, returns the one with the largest prime factor, if this factor is
/// large.
fn awkward_length(numbers: &Numbers<'_>, op: &Op) -> Option<u64> {
    let (_, instruction) = numbers.instruction(op).filter(|(_, instruction)| instruction.is("fft"))?;
    let lengths = instruction.attributes().fft_length.iter().filter_map(|&length| u64::try_from(length).ok());
    lengths.max_by_key(|&length| largest_prime_factor(length)).filter(|&it| largest_prime_factor(it) > LARGEST_FACTOR)
}

/// Returns the largest prime factor of a number, by trial division. Returns 1 for 0 and 1.
fn largest_prime_factor(number: u64) -> u64 {
    let (mut rest, mut largest, mut factor) = (number, 1, 2);
    // The length of a transform has at most 40 bits, so there are at most a million factors.
    while rest > 1 && factor <= rest / factor {
        if rest.is_multiple_of(factor) {
            rest /= factor;
            largest = factor;
        } else {
            factor += 1;
        }
    }
    if rest > 1 { rest } else { largest }
}

/// Returns the next length that is a product of powers of 2, 3 and 5.
fn next_fast_length(length: u64) -> u64 {
    (length..=length.saturating_mul(2)).find(|&it| largest_prime_factor(it) <= 5).unwrap_or(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us in which a transform of this length takes `time` us.
    fn steps(time: i64, length: i64) -> Trace {
        tpu_steps(12, move |b, at| {
            if at == 0 {
                let main = vec![
                    instruction("x.1", "parameter", "c64[8,131071]"),
                    instruction("fft.1", "fft", "c64[8,131071]").of(&["x.1"]).int(31, 0).int(32, length),
                    instruction("dot.1", "dot", "f32[8,8]").of(&["fft.1"]),
                ];
                add_program(b, 7, vec![("main", main)]);
            }
            op_of(b, 7, ("fft.1", "fft"), at, time);
            op_of(b, 7, ("dot.1", "convolution"), at + time, 1000 - time);
        })
    }

    #[test]
    fn fires_above_its_limits() {
        let found = finding(steps(400, 131_071), &RULE);
        let title = "Fourier transforms of awkward lengths take 40.0 % of the op time";
        assert_eq!((found.severity, found.title.as_str()), (Warning, title));
        assert!(found.message.contains("of length 131\u{202f}071, which is prime."), "{}", found.message);
        assert!(found.remedy.contains("for example 131\u{202f}072 instead"), "{}", found.remedy);
        let found = finding(steps(600, 2 * 131), &RULE);
        assert_eq!(found.severity, Critical);
        assert!(found.message.contains("of length 262, which has the prime factor 131."), "{}", found.message);
        fine(steps(99, 131_071), &RULE);
        // cuFFT has kernels for these factors.
        fine(steps(400, 131_072), &RULE);
        fine(steps(400, 127 * 8), &RULE);
    }

    #[test]
    fn factors_are_found() {
        let factors = [0, 1, 2, 12, 97, 131_071, 131_072, 262].map(largest_prime_factor);
        assert_eq!(factors, [1, 1, 2, 3, 97, 131_071, 2, 131]);
        assert_eq!([7, 131_071, 11].map(next_fast_length), [8, 131_072, 12]);
    }
}
