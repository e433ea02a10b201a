//! Shapes: types and sizes of values, and their HLO text.

use std::fmt::Write as _;

use super::DataType;

/// Type and size of a value.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub enum Shape {
    /// An array. A scalar has no dimensions.
    Array(ArrayShape),
    /// Several values.
    Tuple(Vec<Shape>),
    /// A token, which orders side effects and has no data.
    Token,
    /// Data that is opaque to HLO.
    Opaque,
    /// A shape that is missing from the file or has an unknown kind.
    #[default]
    Unknown,
}

/// Type, size and layout of an array.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct ArrayShape {
    /// Type of the elements.
    pub data_type: DataType,
    /// Number of elements in each dimension (upper bounds of dynamic dimensions).
    pub dimensions: Vec<u64>,
    /// True for each dynamic dimension. Empty if no dimension is dynamic.
    pub dynamic: Vec<bool>,
    /// Memory layout, if the file records it.
    pub layout: Option<Layout>,
}

/// Memory layout of an array.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Layout {
    /// Dimensions, from the fastest-varying to the slowest-varying.
    pub minor_to_major: Vec<i64>,
    /// Tiles, in the order of application. Sizes are from major to minor.
    pub tiles: Vec<Vec<i64>>,
    /// Bits per element if this number differs from the type's own size. Zero otherwise.
    pub element_bits: i64,
    /// Memory space: 0 is the device's main memory. Other numbers depend on the backend (on TPUs, 1 is VMEM and 5 is the
    /// host).
    pub memory_space: i64,
}

impl ArrayShape {
    /// Returns the number of elements, the product of all dimensions.
    pub fn elements(&self) -> f64 {
        self.dimensions.iter().map(|&size| size as f64).product()
    }

    /// Returns the bytes of the array. If the layout packs elements, returns the packed size. Excludes the padding of
    /// tiles.
    pub fn bytes(&self) -> f64 {
        match self.layout.as_ref().map_or(0, |layout| layout.element_bits) {
            bits if bits > 0 && bits < 8 => (self.elements() * bits as f64 / 8.0).ceil(),
            _ => self.elements() * self.data_type.bytes() as f64,
        }
    }

    /// Returns the size of a dimension. Returns `None` if the shape has no such dimension.
    pub fn dimension(&self, index: i64) -> Option<u64> {
        self.dimensions.get(usize::try_from(index).ok()?).copied()
    }
}

impl Shape {
    /// Returns the array, if the shape is an array.
    pub fn array(&self) -> Option<&ArrayShape> {
        if let Shape::Array(array) = self { Some(array) } else { None }
    }

    /// Returns the elements of a tuple. The result is empty for other shapes.
    pub fn tuple(&self) -> &[Shape] {
        if let Shape::Tuple(shapes) = self { shapes } else { &[] }
    }

    /// Returns the array, or the first array of a tuple.
    pub fn first_array(&self) -> Option<&ArrayShape> {
        match self {
            Shape::Array(array) => Some(array),
            Shape::Tuple(shapes) => shapes.iter().find_map(Shape::first_array),
            _ => None,
        }
    }

    /// Returns every array in the shape, in order.
    pub fn arrays(&self) -> Vec<&ArrayShape> {
        let mut found = Vec::new();
        self.collect(&mut found);
        found
    }

    /// Collects the arrays. The recursion is not deep, because the reader of modules limits the nesting of tuples.
    fn collect<'a>(&'a self, found: &mut Vec<&'a ArrayShape>) {
        match self {
            Shape::Array(array) => found.push(array),
            Shape::Tuple(shapes) => shapes.iter().for_each(|shape| shape.collect(found)),
            _ => {}
        }
    }

    /// Returns the number of elements in all arrays of the shape.
    pub fn elements(&self) -> f64 {
        self.arrays().iter().map(|array| array.elements()).sum()
    }

    /// Returns the bytes of all arrays of the shape.
    pub fn bytes(&self) -> f64 {
        self.arrays().iter().map(|array| array.bytes()).sum()
    }

    /// Returns the shape as HLO text, with layouts (`bf16[8,4096]{1,0}`) or without.
    pub fn text(&self, layouts: bool) -> String {
        let mut out = String::new();
        self.write(&mut out, layouts);
        out
    }

    /// Appends the result of [`Shape::text`].
    pub fn write(&self, out: &mut String, layouts: bool) {
        match self {
            Shape::Array(array) => array.write(out, layouts),
            Shape::Tuple(shapes) => {
                out.push('(');
                for (i, shape) in shapes.iter().enumerate() {
                    if i > 0 {
                        out.push_str(", ");
                        // XLA writes an index every five elements, so that long lists can be counted.
                        if i % 5 == 0 {
                            let _ = write!(out, "/*index={i}*/");
                        }
                    }
                    shape.write(out, layouts);
                }
                out.push(')');
            }
            Shape::Token => out.push_str("token[]"),
            Shape::Opaque => out.push_str("opaque[]"),
            Shape::Unknown => out.push_str("invalid"),
        }
    }
}

impl ArrayShape {
    fn write(&self, out: &mut String, layouts: bool) {
        out.push_str(self.data_type.name());
        out.push('[');
        for (i, size) in self.dimensions.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            let bound = if self.dynamic.get(i) == Some(&true) { "<=" } else { "" };
            let _ = write!(out, "{comma}{bound}{size}");
        }
        out.push(']');
        if let (true, Some(layout)) = (layouts, &self.layout) {
            layout.write(out, self.dimensions.is_empty());
        }
    }
}

impl Layout {
    /// Appends the layout. The layout of a scalar is written only if it contains more than the order of dimensions.
    fn write(&self, out: &mut String, scalar: bool) {
        let mut more = String::new();
        if !self.tiles.is_empty() {
            more.push('T');
            for tile in &self.tiles {
                let _ = write!(more, "({})", join(tile));
            }
        }
        if self.element_bits != 0 {
            let _ = write!(more, "E({})", self.element_bits);
        }
        if self.memory_space != 0 {
            let _ = write!(more, "S({})", self.memory_space);
        }
        if scalar && more.is_empty() {
            return;
        }
        out.push('{');
        out.push_str(&join(&self.minor_to_major));
        if !more.is_empty() {
            let _ = write!(out, ":{more}");
        }
        out.push('}');
    }
}

/// Joins numbers with commas.
pub(super) fn join(numbers: &[i64]) -> String {
    let mut out = String::new();
    for (i, number) in numbers.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        let _ = write!(out, "{comma}{number}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(name: &str, dimensions: &[u64], layout: Option<Layout>) -> Shape {
        let data_type = DataType::from_name(name).unwrap();
        Shape::Array(ArrayShape { data_type, dimensions: dimensions.to_vec(), dynamic: Vec::new(), layout })
    }

    #[test]
    fn sizes_count_packed_elements() {
        let packed = Layout { minor_to_major: vec![0], element_bits: 4, ..Layout::default() };
        assert_eq!(array("s4", &[7], Some(packed)).bytes(), 4.0);
        assert_eq!(array("s4", &[7], None).bytes(), 7.0);
        assert_eq!(array("bf16", &[8, 4], None).bytes(), 64.0);
        assert_eq!(array("f32", &[], None).bytes(), 4.0);
        let tuple = Shape::Tuple(vec![array("f32", &[3], None), Shape::Token, array("pred", &[5], None)]);
        assert_eq!((tuple.bytes(), tuple.elements()), (17.0, 8.0));
    }

    #[test]
    fn text_is_that_of_hlo() {
        let layout = Layout {
            minor_to_major: vec![1, 0],
            tiles: vec![vec![8, 128], vec![2, 1]],
            element_bits: 0,
            memory_space: 1,
        };
        assert_eq!(array("bf16", &[8, 256], Some(layout)).text(true), "bf16[8,256]{1,0:T(8,128)(2,1)S(1)}");
        assert_eq!(array("f32", &[], Some(Layout::default())).text(true), "f32[]");
        let tuple = Shape::Tuple(vec![array("s32", &[2], None); 6]);
        assert_eq!(tuple.text(false), "(s32[2], s32[2], s32[2], s32[2], s32[2], /*index=5*/s32[2])");
    }
}
