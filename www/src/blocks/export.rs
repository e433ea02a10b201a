//! Exports a chart as a file: reads the rendered elements and writes them as SVG. The same code exports every kind of
//! chart. Boxes become rectangles, text stays text, and drawings keep their shapes. The file contains all colours and
//! fonts of the current theme, so it does not depend on the page. A PNG is the same SVG, rendered at twice the size.

use crossprof::text::number::decimal;
use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{
    Blob, BlobPropertyBag, CanvasRenderingContext2d, CssStyleDeclaration, DomRect, Element, HtmlCanvasElement,
    HtmlImageElement, Node, Url,
};

use crate::browser;
use crate::plot::paint::{escaped, paint};
use crate::state::State;

/// Position of the text baseline as a fraction of the line height. Other typefaces differ from this fraction by only a
/// few percent.
const BASELINE: f64 = 0.79;
/// Number of PNG pixels per CSS pixel.
const PNG_SCALE: f64 = 2.0;
/// Largest width and height of a canvas that browsers accept.
const MAX_CANVAS_PX: f64 = 16_000.0;

/// A chart as SVG, with its size in pixels.
pub struct Picture {
    /// The SVG document.
    pub svg: String,
    width_px: f64,
    height_px: f64,
}

impl Picture {
    /// Returns the picture of an SVG document with its size in pixels.
    pub fn of(svg: String, (width_px, height_px): (f64, f64)) -> Picture {
        Picture { svg, width_px, height_px }
    }
}

/// Converts a chart to SVG. The class `exporting` hides buttons and expands scrolling lists while the elements are
/// measured.
pub fn picture(figure: &Element) -> Picture {
    // Fails only for a malformed class name.
    let _ = figure.class_list().add_1("exporting");
    let place = figure.get_bounding_client_rect();
    let (width_px, height_px) = (place.width().max(1.0).ceil(), place.height().max(1.0).ceil());
    let mut pen = Pen { out: String::new(), left: place.left(), top: place.top(), family: String::new() };
    if let Some(style) = style_of(figure) {
        pen.family = value(&style, "font-family");
        let family = pen.family.clone();
        pen.open("svg", place.left(), place.top(), width_px, height_px);
        pen.attribute("xmlns", "http://www.w3.org/2000/svg");
        pen.attribute("font-family", &family);
        pen.out.push_str("><title>");
        pen.out.push_str(&escaped(&figure.get_attribute("data-chart").unwrap_or_default()));
        pen.out.push_str("</title>");
        pen.open("rect", place.left(), place.top(), width_px, height_px);
        pen.paint("fill", paint(&value(&style, "background-color")).unwrap_or(("#ffffff".to_owned(), 1.0)));
        pen.out.push_str("/>");
        pen.children(figure);
        pen.out.push_str("</svg>\n");
    }
    let _ = figure.class_list().remove_1("exporting");
    Picture { svg: pen.out, width_px, height_px }
}

struct Pen {
    out: String,
    /// Position of the drawing in the window.
    left: f64,
    top: f64,
    /// Default font family. The export sets the font family only on elements with a different font.
    family: String,
}

impl Pen {
    fn attribute(&mut self, name: &str, value: &str) {
        for part in [" ", name, "=\"", &escaped(value), "\""] {
            self.out.push_str(part);
        }
    }

    /// Writes an attribute whose value is a number, rounded to hundredths.
    fn number(&mut self, name: &str, value: f64) {
        self.attribute(name, &((value * 100.0).round() / 100.0).to_string());
    }

    /// Starts an element with a position and a size.
    fn open(&mut self, tag: &str, x: f64, y: f64, width: f64, height: f64) {
        self.out.push('<');
        self.out.push_str(tag);
        self.number("x", x - self.left);
        self.number("y", y - self.top);
        self.number("width", width);
        self.number("height", height);
    }

    /// Writes a colour, and the opacity of the colour if the opacity is below 1.
    fn paint(&mut self, name: &str, (colour, strength): (String, f64)) {
        self.attribute(name, &colour);
        if strength < 1.0 {
            self.number(&format!("{name}-opacity"), strength);
        }
    }

    fn children(&mut self, element: &Element) {
        let mut next = element.first_child();
        while let Some(node) = next {
            match node.dyn_ref::<Element>() {
                Some(child) => self.element(child),
                None => self.text(element, &node),
            }
            next = node.next_sibling();
        }
    }

    fn element(&mut self, element: &Element) {
        let Some(style) = style_of(element) else { return };
        let place = element.get_bounding_client_rect();
        let display = value(&style, "display");
        if display == "none"
            || value(&style, "visibility") == "hidden"
            || element.get_attribute("class").is_some_and(|class| class == "visually-hidden")
        {
            return;
        }
        if element.tag_name() == "svg" {
            return self.drawing(element, &place);
        }
        if let Some(picture) = element.dyn_ref::<HtmlCanvasElement>().and_then(|canvas| canvas.to_data_url().ok()) {
            self.open("image", place.left(), place.top(), place.width(), place.height());
            self.attribute("href", &picture);
            self.attribute("preserveAspectRatio", "none");
            self.attribute("image-rendering", "pixelated");
            self.out.push_str("/>");
            return;
        }
        self.frame(&style, &place);
        // Clip the content in the same way as the box.
        if display != "inline" && value(&style, "overflow-x") != "visible" {
            let outer = (self.left, self.top);
            self.open("svg", place.left(), place.top(), place.width(), place.height());
            self.out.push('>');
            (self.left, self.top) = (place.left(), place.top());
            self.children(element);
            (self.left, self.top) = outer;
            self.out.push_str("</svg>");
        } else {
            self.children(element);
        }
    }

    fn frame(&mut self, style: &CssStyleDeclaration, place: &DomRect) {
        let (x, y, width, height) = (place.left(), place.top(), place.width(), place.height());
        let border = |side: &str| {
            let wide = pixels(&value(style, &format!("border-{side}-width")));
            let colour = paint(&value(style, &format!("border-{side}-color")));
            colour.filter(|_| wide > 0.0).map(|colour| (wide, colour))
        };
        let sides = ["left", "top", "right", "bottom"].map(border);
        let is_round = sides.iter().all(Option::is_some);
        let ground = paint(&value(style, "background-color"));
        if (ground.is_some() || is_round) && width > 0.0 {
            self.open("rect", x, y, width, height);
            self.paint("fill", ground.unwrap_or(("none".to_owned(), 1.0)));
            let radius = value(style, "border-top-left-radius");
            self.number("rx", if radius.ends_with('%') { width.min(height) / 2.0 } else { pixels(&radius) });
            self.attribute("opacity", &value(style, "opacity"));
            if let (true, Some((wide, colour))) = (is_round, &sides[0]) {
                self.paint("stroke", colour.clone());
                self.number("stroke-width", *wide);
            }
            self.out.push_str("/>");
        }
        if is_round {
            return;
        }
        for (at, side) in sides.into_iter().enumerate() {
            let Some((wide, colour)) = side else { continue };
            let (x, y, width, height) = match at {
                0 => (x, y, wide, height),
                1 => (x, y, width, wide),
                2 => (x + width - wide, y, wide, height),
                _ => (x, y + height - wide, width, wide),
            };
            self.open("rect", x, y, width, height);
            self.paint("fill", colour);
            self.out.push_str("/>");
        }
    }

    /// Copies an SVG drawing of the page and sets its colours explicitly.
    fn drawing(&mut self, svg: &Element, place: &DomRect) {
        self.open("svg", place.left(), place.top(), place.width(), place.height());
        for name in ["viewBox", "preserveAspectRatio"] {
            if let Some(value) = svg.get_attribute(name) {
                self.attribute(name, &value);
            }
        }
        self.out.push('>');
        let mut next = svg.first_element_child();
        while let Some(shape) = next {
            if let Some(style) = style_of(&shape) {
                self.out.push('<');
                self.out.push_str(&shape.tag_name());
                for name in ["d", "x", "y", "width", "height", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx"] {
                    if let Some(at) = shape.get_attribute(name) {
                        self.attribute(name, &at);
                    }
                }
                for name in ["fill", "stroke"] {
                    self.paint(name, paint(&value(&style, name)).unwrap_or(("none".to_owned(), 1.0)));
                }
                for name in ["stroke-width", "opacity", "vector-effect"] {
                    self.attribute(name, &value(&style, name));
                }
                self.out.push_str("/>");
            }
            next = shape.next_element_sibling();
        }
        self.out.push_str("</svg>");
    }

    /// Writes text with the same line breaks as in the browser.
    fn text(&mut self, parent: &Element, node: &Node) {
        let text = node.text_content().unwrap_or_default();
        if node.node_type() != Node::TEXT_NODE || text.trim().is_empty() {
            return;
        }
        let (Some(style), Ok(range)) = (style_of(parent), document().create_range()) else { return };
        let mut lines: Vec<(String, DomRect)> = Vec::new();
        let mut at = 0u32;
        for word in text.split_inclusive(' ') {
            let begin = at;
            at += word.encode_utf16().count() as u32;
            // The offsets are within the text, so neither call fails.
            if word == " " || range.set_start(node, begin).and_then(|()| range.set_end(node, at)).is_err() {
                continue;
            }
            let place = range.get_bounding_client_rect();
            match lines.last_mut() {
                Some((line, first)) if (first.top() - place.top()).abs() < 2.0 => {
                    line.push_str(word);
                    first.set_width(place.right() - first.left());
                }
                _ => lines.push((word.to_owned(), place)),
            }
        }
        let Some(colour) = paint(&value(&style, "color")) else { return };
        let align = value(&style, "text-align");
        for (line, place) in lines {
            if place.width() <= 0.0 {
                continue;
            }
            // Keep the aligned edge fixed, because the program that shows the file may have other fonts.
            let (anchor, x) = match align.as_str() {
                "right" | "end" => ("end", place.right()),
                "center" => ("middle", (place.left() + place.right()) / 2.0),
                _ => ("start", place.left()),
            };
            self.out.push_str("<text");
            self.number("x", x - self.left);
            self.number("y", place.top() + BASELINE * place.height() - self.top);
            self.attribute("text-anchor", anchor);
            self.paint("fill", colour.clone());
            for name in ["font-size", "font-weight", "font-family"] {
                let named = value(&style, name);
                if named != self.family {
                    self.attribute(name, &named);
                }
            }
            self.out.push('>');
            self.out.push_str(&escaped(line.trim()));
            self.out.push_str("</text>");
        }
    }
}

fn style_of(element: &Element) -> Option<CssStyleDeclaration> {
    window().get_computed_style(element).ok().flatten()
}

fn value(style: &CssStyleDeclaration, name: &str) -> String {
    style.get_property_value(name).unwrap_or_default()
}

fn pixels(text: &str) -> f64 {
    decimal(text.trim_end_matches("px")).unwrap_or(0.0)
}

/// Renders a picture at twice its size and saves it as PNG.
pub fn save_png(state: State, name: String, picture: Picture) {
    spawn_local(async move {
        if png(&name, &picture).await.is_err() {
            state.say("The browser could not draw this picture. Download the SVG instead.".to_owned());
        }
    });
}

async fn png(name: &str, picture: &Picture) -> Result<(), JsValue> {
    let options = BlobPropertyBag::new();
    options.set_type("image/svg+xml");
    let blob = Blob::new_with_str_sequence_and_options(&js_sys::Array::of1(&picture.svg.as_str().into()), &options)?;
    let address = Url::create_object_url_with_blob(&blob)?;
    let image = HtmlImageElement::new()?;
    image.set_src(&address);
    let decoded = JsFuture::from(image.decode()).await;
    let _ = Url::revoke_object_url(&address);
    decoded?;
    let canvas: HtmlCanvasElement = document().create_element("canvas")?.unchecked_into();
    let scale = PNG_SCALE.min(MAX_CANVAS_PX / picture.width_px.max(picture.height_px));
    let (width, height) = (picture.width_px * scale, picture.height_px * scale);
    canvas.set_width(width as u32);
    canvas.set_height(height as u32);
    let context = canvas.get_context("2d")?.ok_or(JsValue::NULL)?.unchecked_into::<CanvasRenderingContext2d>();
    context.draw_image_with_html_image_element_and_dw_and_dh(&image, 0.0, 0.0, width, height)?;
    let name = name.to_owned();
    let save = Closure::once_into_js(move |blob: Option<Blob>| {
        if let Some(blob) = blob {
            browser::download_blob(&name, &blob);
        }
    });
    canvas.to_blob(save.unchecked_ref())
}
