//! Colours of events. An op has the colour of its family, as in every view, or a colour that shows whether the op
//! became slower or faster than in another run. The colour of any other event depends on the event's name without
//! digits, so that `fusion.1` and `fusion.27` look alike.

use metrics::{OpFamily, StepPart};
use serde::{Deserialize, Serialize};

/// A colour: red, green and blue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// Returns the colour written as `0xrrggbb`.
    pub const fn hex(value: u32) -> Rgb {
        let [_, red, green, blue] = value.to_be_bytes();
        Rgb(red, green, blue)
    }

    /// Blends with another colour. `share` is the weight of the other colour, as a number out of 256.
    pub fn towards(self, other: Rgb, share: u32) -> Rgb {
        let mix = |a: u8, b: u8| ((u32::from(a) * (256 - share.min(256)) + u32::from(b) * share.min(256)) / 256) as u8;
        Rgb(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }
}

/// The colour of an event: an index into the palette. The light and the dark theme each have a colour for each index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paint(u8);

/// Change of an op in comparison with another run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// The op takes more time.
    Lost,
    /// The op takes less time.
    Gained,
    /// The other run has no such op.
    Alone,
    /// The op takes the same time, or cannot be compared.
    Same,
}

impl Change {
    /// Text of the legend for a picture of two runs, one above the other.
    pub const LEGEND: [(Change, &str); 4] = [
        (Change::Lost, "slower below"),
        (Change::Gained, "faster below"),
        (Change::Alone, "in one run only"),
        (Change::Same, "the same"),
    ];
}

/// Number of hues for events without a family.
const HUES: usize = 10;
/// Index of the first idle colour in the palette.
const FIRST_IDLE: u8 = 8;
const FIRST_CHANGE: u8 = FIRST_IDLE + 6;
const FIRST_HUE: u8 = FIRST_CHANGE + 4;

/// The colours of a shape and of the text on the shape, in the light and in the dark theme.
struct Entry {
    light: (u32, u32),
    dark: (u32, u32),
}

const fn entry(light: u32, light_ink: u32, dark: u32, dark_ink: u32) -> Entry {
    Entry { light: (light, light_ink), dark: (dark, dark_ink) }
}

const WHITE: u32 = 0xff_ffff;
const INK: u32 = 0x17_1b21;
const PALE: u32 = 0xe8_eaee;
const NIGHT: u32 = 0x0c_1016;

/// The colours of the op families, of the idle parts of a step, of changes, and of other events, in this order.
const PALETTE: [Entry; FIRST_HUE as usize + HUES] = [
    entry(0x00_68b4, WHITE, 0x4d_9fe6, NIGHT),
    entry(0x00_7d62, WHITE, 0x2b_b08d, NIGHT),
    entry(0xb3_458a, WHITE, 0xdd_7fb8, NIGHT),
    entry(0x3b_92c8, NIGHT, 0x8c_c8ee, NIGHT),
    entry(0x8a_6d00, WHITE, 0xcf_ae3a, NIGHT),
    entry(0x6f_7884, WHITE, 0x8f_99a7, NIGHT),
    entry(0xcc_5200, WHITE, 0xf0_8a4b, NIGHT),
    entry(0x71_57b8, WHITE, 0xa4_8be6, NIGHT),
    entry(0xb8_998a, INK, 0x6d_5448, PALE),
    entry(0x92_ab9b, INK, 0x4b_6354, PALE),
    entry(0xb3_a66f, INK, 0x6b_6340, PALE),
    entry(0x8e_99ab, INK, 0x5d_6b85, PALE),
    entry(0xdc_e1e7, INK, 0x2b_323d, PALE),
    entry(0xc3_cad3, INK, 0x3d_4552, PALE),
    entry(0xc4_4a00, WHITE, 0xf2_8e52, NIGHT),
    entry(0x00_68b4, WHITE, 0x4d_9fe6, NIGHT),
    entry(0x8e_3f8e, WHITE, 0xd3_8ad3, NIGHT),
    entry(0xc9_cfd8, INK, 0x3a_424e, PALE),
    entry(0xb9_d3ec, INK, 0x2c_4a66, PALE),
    entry(0xc4_e0cf, INK, 0x2d_5141, PALE),
    entry(0xea_cfe0, INK, 0x5b_3a50, PALE),
    entry(0xf3_d9bf, INK, 0x60_4529, PALE),
    entry(0xd8_d2ef, INK, 0x45_3d66, PALE),
    entry(0xe9_e2b6, INK, 0x55_4e22, PALE),
    entry(0xbf_e0e2, INK, 0x25_5256, PALE),
    entry(0xf0_cfc9, INK, 0x62_3b36, PALE),
    entry(0xd6_e3b8, INK, 0x47_5527, PALE),
    entry(0xd2_d8e0, INK, 0x42_4a56, PALE),
];

impl Paint {
    /// Returns the paint for a family of ops.
    pub fn of_family(family: OpFamily) -> Paint {
        Paint(family as u8)
    }

    /// Returns the family that has this paint.
    pub fn family(self) -> Option<OpFamily> {
        OpFamily::ALL.get(usize::from(self.0)).copied()
    }

    /// Returns the paint for a part of a step.
    pub fn of_part(part: StepPart) -> Paint {
        match part {
            StepPart::Compute => Paint::of_family(OpFamily::Matmul),
            StepPart::Communication => Paint::of_family(OpFamily::Communication),
            part if part.is_idle() => Paint(FIRST_IDLE + (part as u8 - StepPart::Barrier as u8)),
            _ => Paint::of_family(OpFamily::DataMovement),
        }
    }

    /// Returns the paint for a change.
    pub fn of_change(change: Change) -> Paint {
        Paint(FIRST_CHANGE + change as u8)
    }

    /// Returns the colour of a shape with this paint, and the colour of the text on the shape.
    pub fn colours(self, dark: bool) -> (Rgb, Rgb) {
        let entry = PALETTE.get(self.0 as usize);
        let (fill, ink) = entry.map_or((0, WHITE), |entry| if dark { entry.dark } else { entry.light });
        (Rgb::hex(fill), Rgb::hex(ink))
    }
}

/// Returns the paint for an event that has this name and no family.
pub(crate) fn hue(name: &str) -> Paint {
    if let Some(part) = StepPart::ALL.into_iter().find(|part| part.title() == name) {
        return Paint::of_part(part);
    }
    let letters = name.bytes().filter(|byte| !byte.is_ascii_digit());
    // FNV-1a.
    let hash = letters.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    Paint(FIRST_HUE + (hash % HUES as u32) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the contrast. Uses squares instead of sRGB's power of 2.2. The error is below a tenth.
    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let linear = |channel: u8| f64::from(channel) * f64::from(channel) / (255.0 * 255.0);
        let light = |c: Rgb| 0.2126 * linear(c.0) + 0.7152 * linear(c.1) + 0.0722 * linear(c.2) + 0.05;
        let (a, b) = (light(a), light(b));
        if a > b { a / b } else { b / a }
    }

    #[test]
    fn what_is_written_on_a_colour_can_be_read() {
        for paint in (0..PALETTE.len() as u8).map(Paint) {
            for dark in [false, true] {
                let (fill, ink) = paint.colours(dark);
                assert!(contrast(fill, ink) >= 3.8, "{paint:?} {dark}: {}", contrast(fill, ink));
            }
        }
    }

    #[test]
    fn numbers_do_not_change_the_colour_of_a_name() {
        assert_eq!(hue("fusion.1"), hue("fusion.27"));
        assert_ne!(hue("fusion.1"), hue("copy.1"));
        for (index, family) in OpFamily::ALL.into_iter().enumerate() {
            assert_eq!(Paint::of_family(family), Paint(index as u8));
        }
        assert_eq!(hue(StepPart::OtherIdle.title()), Paint(13));
    }
}
