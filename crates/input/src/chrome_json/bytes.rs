//! Compares byte slices in words of several bytes. In WebAssembly, `==` on slices calls a routine that compares byte by
//! byte. Decoding a repeated event consists mostly of such comparisons, of a few hundred bytes each.

/// Returns true if both slices contain the same bytes.
#[inline]
pub(super) fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let ((a_words, a_rest), (b_words, b_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    a_words.iter().zip(b_words).all(|(a, b)| u128::from_le_bytes(*a) == u128::from_le_bytes(*b))
        && tail(a, b, a_rest, b_rest)
}

/// Compares the last bytes (fewer than 16) as one word. The word overlaps bytes that are already known to be equal.
#[inline]
fn tail(a: &[u8], b: &[u8], a_rest: &[u8], b_rest: &[u8]) -> bool {
    if a_rest.is_empty() {
        return true;
    }
    if let (Some(a), Some(b)) = (a.last_chunk::<16>(), b.last_chunk::<16>()) {
        return u128::from_le_bytes(*a) == u128::from_le_bytes(*b);
    }
    let ends =
        |bytes: &[u8]| Some((u64::from_le_bytes(*bytes.first_chunk()?), u64::from_le_bytes(*bytes.last_chunk()?)));
    match (ends(a), ends(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a_rest.iter().zip(b_rest).all(|(a, b)| a == b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_differing_byte_is_found_at_every_place() {
        for length in 0..70u8 {
            let bytes: Vec<u8> = (0..length).collect();
            assert!(equal(&bytes, &bytes.clone()));
            assert!(!equal(&bytes, &[bytes.as_slice(), b"x"].concat()));
            for at in 0..bytes.len() {
                let mut other = bytes.clone();
                other[at] ^= 0x80;
                assert!(!equal(&bytes, &other), "{at} of {length}");
            }
        }
    }
}
