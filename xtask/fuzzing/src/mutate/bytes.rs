//! Mutations that ignore the format.

use super::NUMBERS;
use crate::Random;

/// Mutates one range of the bytes.
pub(super) fn changed(bytes: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let at = random.below(out.len());
    let end = at + random.size(12).min(out.len() - at);
    match random.below(9) {
        0 => out.truncate(at),
        1 if !out.is_empty() => out[at] ^= 1 << random.below(8),
        2 if !out.is_empty() => out[at] = *random.pick(&[0, 0xff, 0x7f, 0x80, b'"', b'{', b'\n']),
        3 => drop(out.drain(at..end)),
        4 => {
            let copy: Vec<u8> = out[at..end].repeat(1 + random.below(4));
            out.splice(at..at, copy);
        }
        5 => {
            let start = random.below(other.len());
            let piece = &other[start..other.len().min(start + (1 << random.below(13)))];
            out.splice(at..end, piece.iter().copied());
        }
        6 => {
            let number = random.pick(&NUMBERS).to_le_bytes();
            let width = *random.pick(&[1, 2, 4, 8]);
            let end = out.len().min(at + width);
            out[at..end].copy_from_slice(&number[..end - at]);
        }
        7 => out[at..end].reverse(),
        _ => out.splice(at..at, (0..1 + random.below(40)).map(|_| random.next() as u8)).for_each(drop),
    }
    out
}
