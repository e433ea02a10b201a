//! Requests to the analyst about the timeline: pictures and actions.

use crossprof::pages::PageQuery;
use crossprof::pages::timeline::Action;
use crossprof::timeline::Sight;
use js_sys::Array;
use serde::{Deserialize, Serialize};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::ImageBitmap;

use super::wire::Body;

/// Prepares part of the data that the first picture needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrepareRequest {
    /// Index of the run within the load.
    pub run: u32,
}

/// Remaining work after a [`PrepareRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Left {
    /// Another part of the timeline must be prepared.
    Part,
    /// The timeline is ready. The run's memory records are small enough to be sent to the second analyst in advance.
    Memory,
    /// Nothing is left.
    Nothing,
}

/// Draws a picture of the timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameRequest {
    /// Index of the run within the load.
    pub run: u32,
    /// Range, size and state of the picture.
    pub sight: Sight,
}

/// Formats in which a part of the timeline can be saved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum PictureForm {
    /// The picture with names, as SVG.
    Svg,
    /// The picture with names, as PNG at screen resolution.
    Png,
    /// The events in the picture's time range, as a compressed Chrome trace.
    Trace,
}

/// Saves a part of the timeline as a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PictureRequest {
    /// Index of the run within the load.
    pub run: u32,
    /// Range, size and state of the picture.
    pub sight: Sight,
    /// Title above the picture.
    pub title: String,
    /// Format of the document.
    pub form: PictureForm,
}

/// A picture of the timeline. The page shows the bitmaps of the picture without copying them.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Names of the tracks.
    pub names: ImageBitmap,
    /// The events.
    pub events: ImageBitmap,
    /// Description of the visible content.
    pub seen: Seen,
}

/// Describes the content of a picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// Start and end of the whole timeline, in picoseconds from the start of the capture.
    pub all_ps: (i64, i64),
    /// Start and end of the drawn range, in picoseconds from the start of the capture.
    pub range_ps: (i64, i64),
    /// Height of all rows, in CSS pixels.
    pub height: u32,
    /// Vertical scroll offset of the rows.
    pub scroll: u32,
    /// Time to which the edge of a dragged range snaps, in picoseconds from the start of the capture.
    pub edge_ps: Option<i64>,
    /// Description of the event below the pointer, one string per line.
    pub tip: Vec<String>,
}

impl Body for Frame {
    fn to_js(&self, transferred: &Array) -> Option<JsValue> {
        transferred.push(&self.names);
        transferred.push(&self.events);
        Some(Array::of3(&self.names, &self.events, &self.seen.to_js(transferred)?).into())
    }

    fn from_js(body: JsValue) -> Option<Frame> {
        let parts: Array = body.dyn_into().ok()?;
        let bitmap = |at: u32| parts.get(at).dyn_into::<ImageBitmap>().ok();
        Some(Frame { names: bitmap(0)?, events: bitmap(1)?, seen: Body::from_js(parts.get(2))? })
    }
}

/// Draws the small picture of the whole capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StripRequest {
    /// Index of the run within the load.
    pub run: u32,
    /// Width and height in device pixels.
    pub size: (u32, u32),
    /// True for the dark theme.
    pub dark: bool,
}

/// The small picture of the whole capture.
#[derive(Clone, Debug, PartialEq)]
pub struct StripPicture {
    /// The bitmap.
    pub bitmap: ImageBitmap,
    /// Length of the capture in picoseconds.
    pub length_ps: i64,
}

impl Body for StripPicture {
    fn to_js(&self, transferred: &Array) -> Option<JsValue> {
        transferred.push(&self.bitmap);
        Some(Array::of2(&self.bitmap, &self.length_ps.to_js(transferred)?).into())
    }

    fn from_js(body: JsValue) -> Option<StripPicture> {
        let parts: Array = body.dyn_into().ok()?;
        Some(StripPicture { bitmap: parts.get(0).dyn_into().ok()?, length_ps: Body::from_js(parts.get(1))? })
    }
}

/// Performs an action on the timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimelineRequest {
    /// Index of the run within the load.
    pub run: u32,
    /// Range, size and state of the picture.
    pub sight: Sight,
    /// Action to perform.
    pub action: Action,
    /// Sorting and options of the tables in the result.
    pub query: PageQuery,
}
