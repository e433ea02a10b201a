//! Kinds of arithmetic for which devices have units, and a rate for each kind.

use base::number::decimal;

/// A kind of arithmetic, named after the type of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arithmetic {
    /// bfloat16.
    Bf16,
    /// Half precision.
    Fp16,
    /// 8-bit floating point.
    Fp8,
    /// 4-bit floating point.
    Fp4,
    /// Integers of at most 8 bits.
    Int8,
    /// Single precision whose mantissa the matrix units reduce to 10 bits.
    Tf32,
    /// Single precision.
    Fp32,
    /// Double precision.
    Fp64,
}

impl Arithmetic {
    /// All kinds of arithmetic, in the column order of the CSV tables.
    pub const ALL: [Arithmetic; 8] = [
        Arithmetic::Bf16,
        Arithmetic::Fp16,
        Arithmetic::Fp8,
        Arithmetic::Fp4,
        Arithmetic::Int8,
        Arithmetic::Tf32,
        Arithmetic::Fp32,
        Arithmetic::Fp64,
    ];

    /// Returns the name that reports use.
    pub fn label(self) -> &'static str {
        match self {
            Arithmetic::Bf16 => "bf16",
            Arithmetic::Fp16 => "fp16",
            Arithmetic::Fp8 => "fp8",
            Arithmetic::Fp4 => "fp4",
            Arithmetic::Int8 => "int8",
            Arithmetic::Tf32 => "tf32",
            Arithmetic::Fp32 => "fp32",
            Arithmetic::Fp64 => "fp64",
        }
    }

    /// Returns the kind of arithmetic that a device uses instead if it has no unit for this kind.
    fn widened(self) -> Option<Arithmetic> {
        Some(match self {
            Arithmetic::Fp4 => Arithmetic::Fp8,
            Arithmetic::Fp8 | Arithmetic::Int8 => Arithmetic::Fp16,
            // A TPU reads half precision as bfloat16. Older GPUs compute both in single precision.
            Arithmetic::Fp16 => Arithmetic::Bf16,
            Arithmetic::Bf16 | Arithmetic::Tf32 | Arithmetic::Fp64 => Arithmetic::Fp32,
            Arithmetic::Fp32 => return None,
        })
    }
}

/// A rate for each kind of arithmetic that a device has a unit for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates([Option<f64>; Arithmetic::ALL.len()]);

impl Rates {
    /// Reads the cells of a table row, which has one cell for each kind in [`Arithmetic::ALL`]. Returns `None` if a
    /// cell is not a number.
    pub(super) fn parse(cells: &[&str]) -> Option<Rates> {
        let mut rates = Rates::default();
        for (rate, cell) in rates.0.iter_mut().zip(cells) {
            *rate = if cell.is_empty() { None } else { Some(decimal(cell)?) };
        }
        (cells.len() == Arithmetic::ALL.len()).then_some(rates)
    }

    /// Returns the rate of the device's own unit for this arithmetic.
    pub fn get(&self, arithmetic: Arithmetic) -> Option<f64> {
        self.0.get(arithmetic as usize).copied().flatten()
    }

    /// Returns the rate for operands of this type, and the kind of arithmetic that the device uses for them. If the
    /// device has no unit for the type, the operands are widened to a type for which it has one. TPUs compute single
    /// precision in the bfloat16 unit, because XLA's default precision rounds the operands to bfloat16.
    pub fn reached(&self, arithmetic: Arithmetic) -> Option<(Arithmetic, f64)> {
        let mut unit = Some(arithmetic);
        while let Some(kind) = unit {
            if let Some(rate) = self.get(kind) {
                return Some((kind, rate));
            }
            unit = kind.widened();
        }
        self.get(Arithmetic::Bf16).map(|rate| (Arithmetic::Bf16, rate))
    }

    /// Multiplies every rate by `factor`.
    pub fn scaled(self, factor: f64) -> Rates {
        Rates(self.0.map(|rate| rate.map(|rate| rate * factor)))
    }

    /// Sets the rate of one kind of arithmetic.
    pub fn set(&mut self, arithmetic: Arithmetic, rate: f64) {
        if let Some(slot) = self.0.get_mut(arithmetic as usize) {
            *slot = Some(rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_in_numeric_order() {
        assert!(Arithmetic::ALL.iter().enumerate().all(|(index, &kind)| kind as usize == index));
    }

    #[test]
    fn operands_are_widened_to_the_next_unit() {
        let volta = Rates::parse(&["", "125", "", "", "", "", "15.7", "7.8"]).unwrap();
        assert_eq!(volta.reached(Arithmetic::Fp16), Some((Arithmetic::Fp16, 125.0)));
        assert_eq!(volta.reached(Arithmetic::Bf16), Some((Arithmetic::Fp32, 15.7)));
        assert_eq!(volta.reached(Arithmetic::Tf32), Some((Arithmetic::Fp32, 15.7)));
        let tpu = Rates::parse(&["275", "", "", "", "275", "", "", ""]).unwrap();
        assert_eq!(tpu.reached(Arithmetic::Fp32), Some((Arithmetic::Bf16, 275.0)));
        assert_eq!(tpu.reached(Arithmetic::Fp8), Some((Arithmetic::Bf16, 275.0)));
        assert_eq!(Rates::default().reached(Arithmetic::Fp64), None);
        assert_eq!(Rates::parse(&["1"]), None);
    }
}
