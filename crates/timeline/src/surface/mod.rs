//! Targets of drawing: pixels, or an SVG.

pub(crate) mod canvas;
pub(crate) mod raster;
pub(crate) mod svg;
