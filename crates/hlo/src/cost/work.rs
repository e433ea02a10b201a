//! Operations and bytes that a cost analysis adds up.

use crate::{ArrayShape, DataType, Shape};

/// Operations and bytes of an instruction or a computation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) flops: f64,
    pub(super) transcendentals: f64,
    pub(super) read: f64,
    pub(super) written: f64,
    /// True if all of the work could be counted.
    pub(super) known: bool,
    /// True if part of the work was derived from the shapes of a library call.
    pub(super) from_shapes: bool,
    pub(super) arithmetic: Arithmetic,
}

impl Default for Work {
    fn default() -> Work {
        Work {
            flops: 0.0,
            transcendentals: 0.0,
            read: 0.0,
            written: 0.0,
            known: true,
            from_shapes: false,
            arithmetic: Arithmetic::default(),
        }
    }
}

impl Work {
    /// Work that is unknown.
    pub(super) const UNKNOWN: Work = Work {
        flops: 0.0,
        transcendentals: 0.0,
        read: 0.0,
        written: 0.0,
        known: false,
        from_shapes: false,
        arithmetic: Arithmetic { product: None, other: None },
    };

    /// Creates work that only moves bytes.
    pub(super) fn moves(read: f64, written: f64) -> Work {
        Work { read, written, ..Work::default() }
    }

    /// Adds other work.
    pub(super) fn plus(self, other: Work) -> Work {
        Work {
            flops: self.flops + other.flops,
            transcendentals: self.transcendentals + other.transcendentals,
            read: self.read + other.read,
            written: self.written + other.written,
            known: self.known && other.known,
            from_shapes: self.from_shapes || other.from_shapes,
            arithmetic: self.arithmetic.or(other.arithmetic),
        }
    }

    /// Multiplies the work by `times`.
    pub(super) fn times(self, times: f64) -> Work {
        Work {
            flops: self.flops * times,
            transcendentals: self.transcendentals * times,
            read: self.read * times,
            written: self.written * times,
            arithmetic: self.arithmetic.times(times),
            ..self
        }
    }

    /// Combines the work of two branches into the maximum of each number, because only one of the branches runs.
    pub(super) fn or(self, other: Work) -> Work {
        Work {
            flops: self.flops.max(other.flops),
            transcendentals: self.transcendentals.max(other.transcendentals),
            read: self.read.max(other.read),
            written: self.written.max(other.written),
            known: self.known && other.known,
            from_shapes: self.from_shapes || other.from_shapes,
            arithmetic: self.arithmetic.or(other.arithmetic),
        }
    }

    /// Sets the FLOPs of a matrix product. The operand's data type becomes the data type of the whole work.
    pub(super) fn product(mut self, flops: f64, operand: &Shape) -> Work {
        self.flops = flops;
        self.arithmetic.product = operand.first_array().map(|array| (array.data_type, flops));
        self
    }
}

/// Data types of the arithmetic, each with its number of operations.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arithmetic {
    /// The largest matrix multiplication or convolution.
    pub(super) product: Option<(DataType, f64)>,
    /// The data type with the most operations in all other arithmetic.
    pub(super) other: Option<(DataType, f64)>,
}

impl Arithmetic {
    /// Creates the arithmetic of an operation on an array that is not a matrix product.
    pub(super) fn other(array: &ArrayShape, flops: f64) -> Arithmetic {
        Arithmetic { product: None, other: Some((array.data_type, flops)) }
    }

    /// Returns the data type of the products, or of the other arithmetic if there are no products.
    pub(super) fn data_type(self) -> Option<DataType> {
        self.product.or(self.other).map(|(data_type, _)| data_type)
    }

    /// Keeps the larger product and the larger other arithmetic of `self` and `other`. If they have equally many
    /// operations, keeps the wider data type.
    pub(super) fn or(self, other: Arithmetic) -> Arithmetic {
        Arithmetic { product: larger(self.product, other.product), other: larger(self.other, other.other) }
    }

    fn times(self, times: f64) -> Arithmetic {
        let scale = |(data_type, flops)| (data_type, flops * times);
        Arithmetic { product: self.product.map(scale), other: self.other.map(scale) }
    }
}

fn larger(a: Option<(DataType, f64)>, b: Option<(DataType, f64)>) -> Option<(DataType, f64)> {
    match (a, b) {
        (Some(a), Some(b)) => {
            let wider = b.1 > a.1 || (b.1 == a.1 && b.0.bits() > a.0.bits());
            Some(if wider { b } else { a })
        }
        (a, b) => a.or(b),
    }
}
