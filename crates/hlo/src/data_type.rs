//! Element types of HLO arrays (`xla.PrimitiveType`).

/// The element type of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataType(u8);

/// `(number in xla.PrimitiveType, name in HLO text, bits per element)`, by number.
const TYPES: &[(u8, &str, u32)] = &[
    (1, "pred", 1),
    (2, "s8", 8),
    (3, "s16", 16),
    (4, "s32", 32),
    (5, "s64", 64),
    (6, "u8", 8),
    (7, "u16", 16),
    (8, "u32", 32),
    (9, "u64", 64),
    (10, "f16", 16),
    (11, "f32", 32),
    (12, "f64", 64),
    (15, "c64", 64),
    (16, "bf16", 16),
    (18, "c128", 128),
    (19, "f8e5m2", 8),
    (20, "f8e4m3fn", 8),
    (21, "s4", 4),
    (22, "u4", 4),
    (23, "f8e4m3b11fnuz", 8),
    (24, "f8e5m2fnuz", 8),
    (25, "f8e4m3fnuz", 8),
    (26, "s2", 2),
    (27, "u2", 2),
    (28, "f8e4m3", 8),
    (29, "f8e3m4", 8),
    (30, "s1", 1),
    (31, "u1", 1),
    (32, "f4e2m1fn", 4),
    (33, "f8e8m0fnu", 8),
];

impl DataType {
    /// Single precision.
    pub const F32: DataType = DataType(11);
    /// Boolean.
    pub const PRED: DataType = DataType(1);

    /// Returns the type that has this number in `xla.PrimitiveType`. Returns `None` for tuples, tokens, opaque values
    /// and unknown numbers.
    pub fn from_proto(number: i64) -> Option<DataType> {
        let number = u8::try_from(number).ok()?;
        TYPES.iter().find(|row| row.0 == number).map(|row| DataType(row.0))
    }

    /// Returns the type that has this name in HLO text (`bf16`).
    pub fn from_name(name: &str) -> Option<DataType> {
        TYPES.iter().find(|row| row.1 == name).map(|row| DataType(row.0))
    }

    fn row(self) -> (u8, &'static str, u32) {
        TYPES.iter().copied().find(|row| row.0 == self.0).unwrap_or((0, "invalid", 0))
    }

    /// Returns the name of the type in HLO text (`bf16`, `f8e4m3fn`).
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Returns the number of bits per element. A boolean has one bit, although it is stored in a byte.
    pub fn bits(self) -> u32 {
        self.row().2
    }

    /// Returns the number of bytes of an element that is not packed. The number is at least one.
    pub fn bytes(self) -> u64 {
        u64::from(self.bits().div_ceil(8))
    }

    /// Returns true if the type is a floating-point or complex type.
    pub fn is_floating(self) -> bool {
        let name = self.name();
        name.starts_with(['f', 'c']) || name == "bf16"
    }

    /// Returns true if the type is complex.
    pub fn is_complex(self) -> bool {
        self.name().starts_with('c')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_two_ways_to_the_same_type() {
        for row in TYPES {
            assert_eq!(DataType::from_proto(i64::from(row.0)), DataType::from_name(row.1), "{}", row.1);
        }
        assert_eq!(DataType::from_proto(13), None, "a tuple is not an array");
        assert_eq!(DataType::from_name("bf16").map(|t| (t.bits(), t.bytes(), t.is_floating())), Some((16, 2, true)));
        assert_eq!(DataType::from_name("s4").map(|t| (t.bits(), t.bytes(), t.is_floating())), Some((4, 1, false)));
    }
}
