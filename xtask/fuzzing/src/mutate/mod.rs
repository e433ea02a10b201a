//! Mutations of individual bytes, and of the structure of each format. Structural mutations produce damage that passes
//! the first checks of a reader.

mod archive;
mod bytes;
mod json;
mod protobuf;
mod words;

use crate::corpus::{Sample, pack};
use crate::{Format, Random};

/// Markup that is written into names. No page or Markdown output may contain this markup unescaped.
pub const MARKUP: &str = "<fuzz-tag onload=x>";

/// Maximum size of an input. Larger inputs do not reveal more problems.
const MOST_BYTES: usize = 2 << 20;

/// Returns case `number` of a seed, which is a damaged sample. The result does not depend on other cases.
///
/// # Panics
///
/// Panics if the corpus has no samples.
pub fn case(corpus: &[Sample], seed: u64, number: u64) -> (Format, Vec<u8>) {
    let mut random = Random::of_case(seed, number);
    let format = *random.pick(&Format::ALL);
    let of_format: Vec<&Sample> = corpus.iter().filter(|sample| sample.format == format).collect();
    let sample = *random.pick(&of_format);
    let other = *random.pick(&of_format);
    let mut bytes = sample.bytes.clone();
    for _ in 0..1 + random.below(4) {
        bytes = once(format, &bytes, &other.bytes, &mut random);
        bytes.truncate(MOST_BYTES);
    }
    (format, bytes)
}

/// Applies one mutation.
fn once(format: Format, bytes: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    if random.once_in(5) {
        return bytes::changed(bytes, other, random);
    }
    match format {
        Format::ChromeJson => json::changed(bytes, random),
        Format::Xplane | Format::Hlo | Format::HloDump | Format::MemoryProfile => protobuf::changed(bytes, random),
        Format::Archives => archive::changed(bytes, random),
        Format::ProfileJson if bytes.starts_with(b"<") => words::changed(bytes, random),
        Format::ProfileJson => json::changed(bytes, random),
        Format::Budgets | Format::OutOfMemory | Format::HloText => words::changed(bytes, random),
    }
}

/// Returns a text that has caused trouble in other programs.
fn hostile_text(random: &mut Random) -> String {
    match random.below(14) {
        0 => MARKUP.to_owned(),
        1 => format!("</script>{MARKUP}"),
        2 => "\u{202e}gnp.exe\u{2066}".to_owned(),
        3 => "\u{1b}[2J\u{7}\0".to_owned(),
        4 => "x".repeat(1 << random.below(18)),
        5 => "é".repeat(random.below(300)),
        6 => String::new(),
        7 => "=HYPERLINK(1)".to_owned(),
        8 => "| a | **b** `c`\r\n# d".to_owned(),
        9 => format!("fusion.{}", u64::MAX),
        10 => "../../../etc/passwd".to_owned(),
        11 => "jit_f(18446744073709551616)/a/b//c:".to_owned(),
        12 => "(((((((((([[[[[[[[[[{{{{{{{{{{".repeat(1 << random.below(10)),
        _ => {
            const WORDS: [&str; 12] = [
                "XLA Ops",
                "XLA Modules",
                "Steps",
                "/device:TPU:0",
                "/device:GPU:1",
                "/host:CPU",
                "all-reduce-start.1",
                "Stream #13(Compute)",
                "MemcpyH2D",
                "train",
                "while.1",
                "/device:CUSTOM:Megascale Trace",
            ];
            (*random.pick(&WORDS)).to_owned()
        }
    }
}

/// Whole numbers at the limits of integer types.
const NUMBERS: [u64; 14] = [
    0,
    1,
    2,
    127,
    255,
    65_536,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 32,
    1 << 53,
    0x7fff_ffff_ffff_ffff,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// Unpacks compressed bytes, changes the content, and compresses the content again.
fn repacked(bytes: &[u8], change: impl FnOnce(&[u8]) -> Vec<u8>) -> Option<Vec<u8>> {
    Some(pack::gzip(&change(&pack::gunzip(bytes)?)))
}

#[cfg(test)]
mod tests;
