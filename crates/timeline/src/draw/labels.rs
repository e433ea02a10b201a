//! Labels on the marks of a lane. Adjacent marks with the same name share a label.

use base::format::{printable, shorten};
use trace::StrId;

use crate::draw::layout::LANE_HEIGHT;
use crate::draw::paint::Paint;
use crate::draw::scene::Scene;
use crate::surface::canvas::{Canvas, TextStyle};

/// Width of each letter in the name of an event, in hundredths of a CSS pixel.
const LETTER_WIDTH: i32 = 665;

/// Marks with the same name share a label if the gap between them is smaller than this, in CSS pixels.
const SAME_LABEL: i32 = 3;

/// Shortens a name to at most `letters` letters. A very short result contains only the start of the name, because a
/// fragment of the end would not be informative.
pub fn fitting(name: &str, letters: usize) -> String {
    if letters >= 24 || name.chars().count() <= letters {
        return shorten(name, letters);
    }
    name.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

/// A label, which becomes wider with each further mark of the same name.
#[derive(Clone, Copy)]
struct Label {
    name: StrId,
    paint: Paint,
    from: i32,
    to: i32,
    /// Number of pixel columns below the label that are filled to at least half of the lane's height.
    filled: i32,
}

/// Writes the labels of a lane from left to right.
pub(crate) struct Labels<'s, 'a> {
    scene: &'s Scene<'a>,
    y: i32,
    height: i32,
    label: Option<Label>,
}

impl<'s, 'a> Labels<'s, 'a> {
    /// Creates the labels of a lane at a vertical position of the canvas.
    pub(crate) fn new(scene: &'s Scene<'a>, y: i32, height: i32) -> Labels<'s, 'a> {
        Labels { scene, y, height, label: None }
    }

    /// Adds a mark with this name, between a left and a right edge.
    pub(crate) fn add<'t>(
        &mut self,
        canvas: &mut dyn Canvas,
        text: &dyn Fn(StrId) -> &'t str,
        name: StrId,
        paint: Paint,
        (from, to): (i32, i32),
        is_filled: bool,
    ) {
        let filled = if is_filled { to - from } else { 0 };
        match &mut self.label {
            Some(label) if label.name == name && from - label.to <= self.scene.px(SAME_LABEL) => {
                label.to = to;
                label.filled += filled;
            }
            _ => {
                self.write(canvas, text);
                self.label = Some(Label { name, paint, from, to, filled });
            }
        }
    }

    /// Writes the pending label if at least four letters fit.
    pub(crate) fn write<'t>(&mut self, canvas: &mut dyn Canvas, text: &dyn Fn(StrId) -> &'t str) {
        let Some(label) = self.label.take() else { return };
        let (scene, from) = (self.scene, label.from.max(0));
        let room = (f64::from(label.to - from) / scene.scale) as i32 - 6;
        let letters = room * 100 / LETTER_WIDTH;
        if letters < 4 || self.height < scene.px(LANE_HEIGHT as i32 - 4) {
            return;
        }
        let text = fitting(&printable(text(label.name)), letters as usize);
        let is_on_fill = label.filled * 2 >= label.to - label.from;
        let (_, ink) = label.paint.colours(scene.dark);
        let ink = if is_on_fill { ink } else { scene.theme().ink };
        let x = from + scene.px(3);
        canvas.write(x, self.y + self.height / 2, label.to - x, &text, ink, TextStyle::Event);
    }
}
