//! Exports part of the timeline as a document. The browser encodes PNG pictures and traces asynchronously.

use crossprof::export::chrome_trace;
use crossprof::timeline::{Document as Picture, Origin, Raster, Scene};
use js_sys::{Array, Function, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, ReadableWritablePair, Response};

use super::timeline::Canvas;
use crate::protocol::timeline::PictureForm;
use crate::protocol::wire::Document;

/// A document that the library has made. The browser may still have to encode the document.
pub enum Made {
    /// Text of an SVG.
    Svg(String),
    /// Pixels of a picture, and pixels per CSS pixel.
    Png(Raster, f64),
    /// Chunks of text that are compressed together.
    Trace(Array),
}

impl Made {
    /// Creates a document of the form `form` from `scene`.
    pub fn new(form: PictureForm, scene: &Scene<'_>, title: &str, names_width: u32) -> Made {
        match form {
            PictureForm::Svg => {
                let mut picture = Picture::default();
                picture.add(title, scene, names_width);
                Made::Svg(picture.finish())
            }
            PictureForm::Png => {
                let pixels = |css: u32| ((f64::from(css) * scene.scale) as u32).max(1);
                let mut raster = Raster::default();
                raster.clear(pixels(names_width + scene.size.0), pixels(scene.size.1), scene.background());
                scene.draw_beside_names(&mut raster, 0, names_width);
                Made::Png(raster, scene.scale)
            }
            PictureForm::Trace => {
                let pieces = Array::new();
                let source = scene.source(Origin::Captured);
                chrome_trace::write(source, scene.zero, scene.viewport.range, None, &mut |text| {
                    pieces.push(&Uint8Array::from(text.as_bytes()));
                });
                Made::Trace(pieces)
            }
        }
    }

    /// Returns the document. Fails if the browser cannot encode the document.
    pub async fn document(self) -> Result<Document, JsValue> {
        let buffer = match self {
            Made::Svg(text) => return Ok(Document::new(&text)),
            Made::Png(raster, scale) => {
                let blob = JsFuture::from(Canvas::default().encode(&raster, scale)?).await?;
                blob.unchecked_into::<Blob>().array_buffer()
            }
            Made::Trace(pieces) => {
                // `web-sys` has this only as an unstable API.
                let make: Function = Reflect::get(&js_sys::global(), &"CompressionStream".into())?.dyn_into()?;
                let gzip: ReadableWritablePair =
                    Reflect::construct(&make, &Array::of1(&"gzip".into()))?.unchecked_into();
                let stream = Blob::new_with_u8_array_sequence(&pieces)?.stream().pipe_through(&gzip);
                Response::new_with_opt_readable_stream(Some(&stream))?.array_buffer()?
            }
        };
        Ok(Document::of(JsFuture::from(buffer).await?.dyn_into()?))
    }
}
