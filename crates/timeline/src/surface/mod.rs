//! The surfaces on which pictures are drawn: pixels, or an SVG.

pub(crate) mod canvas;
pub(crate) mod raster;
pub(crate) mod svg;
