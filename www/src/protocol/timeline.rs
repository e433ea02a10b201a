//! What the analyst is asked about a run's timeline: pictures of it, and what is done on it.

use crossprof::pages::PageQuery;
use crossprof::pages::timeline::Action;
use crossprof::timeline::Sight;
use js_sys::Array;
use serde::{Deserialize, Serialize};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::ImageBitmap;

use super::wire::Body;

/// Make a part of what the first picture needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrepareRequest {
    /// Number of the run within this load.
    pub run: u32,
}

/// What a [`PrepareRequest`] leaves to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Left {
    /// Another part is left.
    Part,
    /// To show the deputy what the run says of memory, of which there is some and not too much.
    Memory,
    /// Nothing is left.
    Nothing,
}

/// Draw a picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameRequest {
    /// Number of the run within this load.
    pub run: u32,
    /// What is to be seen.
    pub sight: Sight,
}

/// As what a part of the timeline is saved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum PictureForm {
    /// The picture, names included, as a vector graphic.
    Svg,
    /// The picture, names included, in the pixels of the screen.
    Png,
    /// The range of the picture, as a compressed Chrome trace.
    Trace,
}

/// Make a document of a part of the timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PictureRequest {
    /// Number of the run within this load.
    pub run: u32,
    /// What is to be seen.
    pub sight: Sight,
    /// What stands above the picture.
    pub title: String,
    /// Form of the picture.
    pub form: PictureForm,
}

/// A picture: its parts are transferred, and shown without a copy.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The names of the tracks.
    pub names: ImageBitmap,
    /// The events.
    pub events: ImageBitmap,
    /// What the picture shows.
    pub seen: Seen,
}

/// What a picture shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// Start and end of all that there is, in picoseconds from the start of the capture.
    pub all_ps: (i64, i64),
    /// Start and end of the range that was drawn, in picoseconds from the start of the capture.
    pub range_ps: (i64, i64),
    /// Height of all rows.
    pub height: u32,
    /// How far the rows are scrolled up.
    pub scroll: u32,
    /// What the edge of a range that is dragged to the pointer snaps to, in picoseconds from the start of the capture.
    pub edge_ps: Option<i64>,
    /// What is said of the event below the pointer, a line each.
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

/// Draw the slim picture of the whole capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StripRequest {
    /// Number of the run within this load.
    pub run: u32,
    /// Size in pixels of the screen.
    pub size: (u32, u32),
    /// The dark theme.
    pub dark: bool,
}

/// The slim picture.
#[derive(Clone, Debug, PartialEq)]
pub struct StripPicture {
    /// The picture.
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

/// Do something on the timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimelineRequest {
    /// Number of the run within this load.
    pub run: u32,
    /// What is seen.
    pub sight: Sight,
    /// What is done.
    pub action: Action,
    /// The orders and choices of the tables that come of it.
    pub query: PageQuery,
}
