//! Converts between 16-bit floating-point types and single precision.

/// Returns the value of a `bf16`.
pub(super) fn bfloat16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Returns the value of an `f16`.
pub(super) fn float16(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let fraction = u32::from(bits & 0x3ff);
    match u32::from(bits >> 10 & 0x1f) {
        // Subnormal numbers are multiples of 2^-24.
        0 => f32::from_bits(sign | (fraction as f32 / 16_777_216.0).to_bits()),
        31 => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        exponent => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

/// Returns the nearest number that a `bf16` can store.
pub(super) fn nearest_bfloat16(number: f32) -> f32 {
    keep_bits(number, 16)
}

/// Returns the nearest number that an `f16` can store. The given number must be in the range of an `f16`.
pub(super) fn nearest_float16(number: f32) -> f32 {
    // Below the smallest normal number, 2^-14, all numbers are multiples of 2^-24.
    if number.abs() >= 6.103_515_6e-5 {
        return keep_bits(number, 13);
    }
    // Numbers of this size have no bits after the point.
    const WHOLE: f32 = 12_582_912.0;
    (number * 16_777_216.0 + WHOLE - WHOLE) / 16_777_216.0
}

/// Drops the last bits of the mantissa, and rounds to nearest even.
fn keep_bits(number: f32, dropped: u32) -> f32 {
    if !number.is_finite() {
        return number;
    }
    let bits = number.to_bits();
    let half = (1 << (dropped - 1)) - 1 + (bits >> dropped & 1);
    f32::from_bits((bits + half) >> dropped << dropped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_types() {
        assert_eq!([bfloat16(0x3f80), bfloat16(0xff80), bfloat16(0x3dcd)], [1.0, f32::NEG_INFINITY, 0.100_097_656]);
        assert_eq!([float16(0x3c00), float16(0xc500), float16(0x7c00)], [1.0, -5.0, f32::INFINITY]);
        assert_eq!([float16(1), float16(0x3ff)], [1.0 / 16_777_216.0, 1023.0 / 16_777_216.0]);
        assert!(float16(0x7e00).is_nan());
        for bits in 0..0x7c00 {
            let number = float16(bits);
            assert_eq!(nearest_float16(number), number, "{bits:x}");
            // XLA writes about five digits.
            assert_eq!(nearest_float16(number * 1.000_01), number, "{bits:x}");
        }
        assert_eq!(nearest_bfloat16(0.1001), bfloat16(0x3dcd));
        assert_eq!(nearest_bfloat16(f32::NEG_INFINITY), f32::NEG_INFINITY);
    }
}
