//! Draws timelines. The library renders the pixels of the timeline, and the browser draws the text on top. The page
//! receives the picture as a bitmap.

use crossprof::timeline::{Lettering, Raster, Scene, TextStyle};
use js_sys::{Promise, Uint8ClampedArray, Uint32Array};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ImageBitmap, ImageData, OffscreenCanvas, OffscreenCanvasRenderingContext2d};

/// A canvas that is reused for all pictures.
#[derive(Default)]
pub struct Canvas {
    raster: Raster,
    canvas: Option<(OffscreenCanvas, OffscreenCanvasRenderingContext2d)>,
}

impl Canvas {
    /// Draws a picture of the given size in CSS pixels.
    pub fn draw(
        &mut self,
        scene: &Scene<'_>,
        size: (u32, u32),
        draw: impl FnOnce(&mut Raster),
    ) -> Result<ImageBitmap, JsValue> {
        let pixels = |css: u32| ((f64::from(css) * scene.scale) as u32).max(1);
        let (width, height) = (pixels(size.0), pixels(size.1));
        let mut raster = std::mem::take(&mut self.raster);
        raster.clear(width, height, scene.background());
        draw(&mut raster);
        let shown = self.show(&raster, scene.scale);
        self.raster = raster;
        shown
    }

    /// Converts pixels and text to a bitmap. Fails if the browser has no `OffscreenCanvas`.
    pub fn show(&mut self, raster: &Raster, scale: f64) -> Result<ImageBitmap, JsValue> {
        self.put(raster, scale)?.transfer_to_image_bitmap()
    }

    /// Encodes the picture as PNG. Returns a promise of a blob.
    pub fn encode(&mut self, raster: &Raster, scale: f64) -> Result<Promise, JsValue> {
        self.put(raster, scale)?.convert_to_blob()
    }

    fn put(&mut self, raster: &Raster, scale: f64) -> Result<OffscreenCanvas, JsValue> {
        let (width, height) = (raster.width(), raster.height());
        let (canvas, context) = self.canvas(width, height)?;
        let bytes = Uint8ClampedArray::new(&Uint32Array::from(raster.pixels()).buffer());
        let image = ImageData::new_with_js_u8_clamped_array_and_sh(&bytes, width, height)?;
        context.put_image_data(&image, 0.0, 0.0)?;
        write(&context, &raster.letterings, scale)?;
        Ok(canvas)
    }

    fn canvas(
        &mut self,
        width: u32,
        height: u32,
    ) -> Result<(OffscreenCanvas, OffscreenCanvasRenderingContext2d), JsValue> {
        if let Some((canvas, context)) = &self.canvas {
            if canvas.width() != width || canvas.height() != height {
                canvas.set_width(width);
                canvas.set_height(height);
            }
            return Ok((canvas.clone(), context.clone()));
        }
        let canvas = OffscreenCanvas::new(width, height)?;
        let context = canvas.get_context("2d")?.ok_or(JsValue::NULL)?.unchecked_into();
        Ok(self.canvas.insert((canvas, context)).clone())
    }
}

fn write(context: &OffscreenCanvasRenderingContext2d, letterings: &[Lettering], scale: f64) -> Result<(), JsValue> {
    context.set_text_baseline("middle");
    let (mut style, mut ink) = (None, None);
    for it in letterings {
        if style != Some(it.style) {
            style = Some(it.style);
            let pixels = 11.0 * scale;
            context.set_font(&match it.style {
                TextStyle::Event => {
                    format!("{pixels}px ui-monospace, Menlo, Consolas, \"DejaVu Sans Mono\", monospace")
                }
                TextStyle::Plain => format!("{pixels}px system-ui, sans-serif"),
                TextStyle::Heading => format!("600 {pixels}px system-ui, sans-serif"),
            });
        }
        if ink != Some(it.ink) {
            ink = Some(it.ink);
            let crossprof::timeline::Rgb(red, green, blue) = it.ink;
            context.set_fill_style_str(&format!("rgb({red} {green} {blue})"));
        }
        let (x, y) = (f64::from(it.x), f64::from(it.y));
        // Track names are cut here, because the browser must measure them. Event names are already cut.
        match it.style {
            TextStyle::Event => context.fill_text(&it.text, x, y)?,
            TextStyle::Plain | TextStyle::Heading => {
                let text = fitting(context, &it.text, f64::from(it.width))?;
                context.fill_text(&text, x, y)?;
            }
        }
    }
    Ok(())
}

fn fitting(context: &OffscreenCanvasRenderingContext2d, text: &str, width: f64) -> Result<String, JsValue> {
    let full = context.measure_text(text)?.width();
    if full <= width {
        return Ok(text.to_owned());
    }
    let letters = text.chars().count() as f64 * width / full;
    Ok(crossprof::text::format::shorten(text, letters as usize))
}
