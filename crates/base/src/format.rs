//! Formats numbers and names for display. Cards show three significant digits, and tooltips and exports show the full
//! value. A dash means "not measured".

use crate::number;

/// Shown in place of a number that was not measured.
pub const DASH: &str = "–";

/// Default number of significant digits.
pub const DIGITS: usize = 3;

/// Separates groups of digits without allowing a line break.
const THIN_SPACE: char = '\u{202f}';

/// Formats a count with its noun, in the plural unless the count is 1: `1 thread`, `12 threads`.
pub fn counted(value: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(value), if value == 1 { "" } else { "s" })
}

/// Replaces thin spaces inside numbers with plain spaces, for terminals and for programs that read crossprof's output:
/// `2048`, `25 000`.
pub fn with_plain_spaces(text: &str) -> String {
    let is_of_number = |c: char| c.is_ascii_digit() || c == THIN_SPACE;
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_of_number) {
        let (before, from) = rest.split_at(start);
        let (number, after) = from.split_at(from.find(|c| !is_of_number(c)).unwrap_or(from.len()));
        plain.push_str(before);
        // Up to four digits need no space.
        let is_short = number.chars().filter(char::is_ascii_digit).count() <= 4;
        plain.push_str(&number.replace(THIN_SPACE, if is_short { "" } else { " " }));
        rest = after;
    }
    plain.push_str(rest);
    plain
}

const SI: [(f64, &str); 10] = [
    (1e18, "E"),
    (1e15, "P"),
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
];

/// Formats a value to three significant digits with an SI prefix: `si(1.638e12, "B/s")` is `1.64 TB/s`.
pub fn si(value: f64, unit: &str) -> String {
    if !value.is_finite() {
        return DASH.to_owned();
    }
    si_of_digits(value, unit, DIGITS)
}

/// Formats a value with an SI prefix and a unit, to `digits` (at least three) significant digits.
pub fn si_of_digits(value: f64, unit: &str, digits: usize) -> String {
    if !value.is_finite() {
        return DASH.to_owned();
    }
    let value = round_significant(value, digits);
    if value == 0.0 {
        return format!("0 {unit}").trim_end().to_owned();
    }
    let size = value.abs();
    // No value is smaller than a picosecond, so smaller scales are not needed.
    let (scale, prefix) = SI.iter().find(|(scale, _)| size >= *scale).copied().unwrap_or((1e-12, "p"));
    let scaled = value / scale;
    format!("{} {prefix}{unit}", significant(scaled, digits)).trim_end().to_owned()
}

/// Formats a time in microseconds: `33.1 ms`, `784 ms`, `2.31 s`.
pub fn time_us(us: f64) -> String {
    // Traces count whole picoseconds, so less than half a picosecond is rounding noise of floating-point sums.
    let is_nothing = us.abs() < HALF_A_PICOSECOND_US;
    si(if is_nothing { 0.0 } else { us / 1e6 }, "s")
}

const HALF_A_PICOSECOND_US: f64 = 0.5e-6;

/// Removes zeros at the end of a formatted number's decimals: `80.0 %` becomes `80 %`.
pub fn without_zeros(text: &str) -> String {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number} {unit}").trim_end().to_owned()
}

/// Formats a time in microseconds, or returns a dash.
pub fn optional_time_us(us: Option<f64>) -> String {
    us.map_or_else(|| DASH.to_owned(), time_us)
}

/// Formats a time in microseconds with all its digits: `33 123.456 µs`.
pub fn full_time_us(us: f64) -> String {
    format!("{} µs", full(us))
}

/// Formats a percentage to one decimal: `85.2 %`, `0.3 %`, `<0.1 %`. Only exact values become `0 %` and `100 %`.
pub fn percent(percent: f64) -> String {
    percent_of_decimals(percent, 1)
}

/// Formats a percentage to `decimals` (at least one) decimals.
pub fn percent_of_decimals(percent: f64, decimals: usize) -> String {
    if !percent.is_finite() {
        return DASH.to_owned();
    }
    // With two decimals, these are `0.01` and `99.99`.
    let least = format!("0.{}1", "0".repeat(decimals.saturating_sub(1)));
    let most = format!("99.{}", "9".repeat(decimals.max(1)));
    let text = format!("{:.decimals$}", percent.abs());
    let sign = if percent < 0.0 { "-" } else { "" };
    let rounds_to = |whole: f64| number::decimal(&text) == Some(whole);
    match percent.abs() {
        0.0 => "0 %".to_owned(),
        100.0 => format!("{sign}100 %"),
        _ if rounds_to(0.0) => format!("{}{least} %", if percent > 0.0 { "<" } else { ">-" }),
        size if size < 100.0 && rounds_to(100.0) => format!("{}{most} %", if percent > 0.0 { ">" } else { "<-" }),
        size if size >= 1000.0 => format!("{sign}{} %", group(&format!("{size:.0}"))),
        _ => format!("{sign}{text} %"),
    }
}

/// Formats a percentage, or returns a dash.
pub fn optional_percent(value: Option<f64>) -> String {
    value.map_or_else(|| DASH.to_owned(), percent)
}

/// Formats a whole number in groups of three digits: `1 234 567`.
pub fn count(value: u64) -> String {
    group(&value.to_string())
}

/// Formats a rate or a mean without a prefix: `1.28`, `240`, `25 431`, `0.0034`. Rounds to three significant digits,
/// but keeps all digits before the decimal point.
pub fn number(value: f64) -> String {
    number_of_digits(value, DIGITS)
}

/// Formats a rate or a mean without a prefix, to `digits` (at least three) significant digits.
pub fn number_of_digits(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return DASH.to_owned();
    }
    let (sign, size) = (if value < 0.0 { "-" } else { "" }, value.abs());
    let rounded = round_significant(size, digits);
    let text = match rounded {
        0.0 => "0.00".to_owned(),
        _ if size >= 999.5 && digits <= DIGITS => group(&format!("{size:.0}")),
        it if it < SMALLEST => format!("{size:.*e}", digits.saturating_sub(1)),
        it if it < 1.0 => fraction(it),
        it => {
            // A large number keeps its digits: rounding would turn them into zeros.
            let text = significant(if size >= 1000.0 { size } else { it }, digits);
            let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
            group(whole) + rest
        }
    };
    format!("{sign}{text}")
}

/// Numbers below this limit are written with a power of ten.
const SMALLEST: f64 = 1e-6;

/// Formats a number below 1 with all its digits, and with at least two decimals.
fn fraction(rounded: f64) -> String {
    let text = rounded.to_string();
    if text.len() < "0.00".len() { format!("{rounded:.2}") } else { text }
}

/// Formats a memory size in binary units: `15.8 GiB`.
pub fn bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    for (index, unit) in units.iter().enumerate() {
        let rounded = round_significant(value, DIGITS);
        // 1023.9 KiB would round to 1020 KiB, so it keeps four digits.
        if rounded < 1000.0 || (value < 1023.5 && index > 0) || index + 1 == units.len() {
            return if index == 0 || value >= 1000.0 {
                format!("{value:.0} {unit}")
            } else {
                format!("{} {unit}", significant(value, DIGITS))
            };
        }
        if index == 0 && value < 1024.0 {
            return format!("{value:.0} {unit}");
        }
        value /= 1024.0;
    }
    format!("{bytes} B")
}

/// Formats a number with all its digits, and puts the digits before the decimal point into groups of three: `33
/// 123.456`.
pub fn full(value: f64) -> String {
    if !value.is_finite() {
        return DASH.to_owned();
    }
    let text = value.abs().to_string();
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), ""), |(whole, fraction)| (whole, fraction));
    let sign = if value < 0.0 { "-" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{fraction}", group(whole))
}

/// Shortens a name to at most `width` characters. Cuts in the middle, because the start of a name shows the kind and
/// the end shows the number. A source line (`file:line`) is cut at its start, and the name of a C++ kernel at its end.
pub fn shorten(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_owned();
    }
    let kept = width.saturating_sub(1);
    if let Some(bare) = kernel(name) {
        return if bare.chars().count() <= width { bare } else { bare.chars().take(kept).chain(['…']).collect() };
    }
    if is_place(name) {
        let tail: String = name.chars().skip(length - kept).collect();
        // Start at a folder if possible, because half the name of a folder is useless.
        let whole =
            tail.find('/').filter(|&at| at + 1 < tail.len()).and_then(|at| tail.get(at..)).unwrap_or(tail.as_str());
        return format!("…{whole}");
    }
    cut(name, width)
}

/// Shortens any text to at most `width` characters by cutting in the middle.
pub fn cut(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let head: String = text.chars().take(kept.div_ceil(2)).collect();
    let tail: String = text.chars().skip(length - kept / 2).collect();
    format!("{head}…{tail}")
}

/// Strips the return type and the namespaces from the name of a C++ kernel, because they are similar for all kernels.
/// For example, `void at::native::(anonymous namespace)::softmax<float>(float*)` becomes `softmax<float>(float*)`.
/// Returns `None` for other names.
fn kernel(name: &str) -> Option<String> {
    if !name.contains("::") || !name.contains(['<', '(']) {
        return None;
    }
    let mut rest = name.strip_prefix("void ").unwrap_or(name);
    let mut bare = String::with_capacity(rest.len());
    while let Some((before, behind)) = rest.split_once("::") {
        bare.push_str(before);
        let anonymous = bare.strip_suffix("(anonymous namespace)");
        let kept = anonymous.unwrap_or(bare.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_')).len();
        // Without a namespace before it, `::` belongs to a class or function, so it stays.
        if kept < bare.len() {
            bare.truncate(kept);
        } else {
            bare.push_str("::");
        }
        rest = behind;
    }
    bare.push_str(rest);
    Some(bare)
}

/// Returns true if a text ends like a source line: `/home/me/train.py:12`.
fn is_place(name: &str) -> bool {
    let line = name.rsplit_once(':').map(|(_, line)| line);
    name.contains('/')
        && !name.contains(' ')
        && line.is_some_and(|line| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Escapes control characters and marks that reorder text (`\u{202e}`), so that a hostile name can neither control a
/// terminal nor disguise itself.
pub fn printable(name: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
    };
    if !name.contains(hidden) {
        return name.to_owned();
    }
    let mut text = String::with_capacity(name.len() + 8);
    for c in name.chars() {
        match c {
            '\n' | '\r' | '\t' => text.push(' '),
            c if hidden(c) => text.extend(c.escape_unicode()),
            c => text.push(c),
        }
    }
    text
}

/// Rounds to `digits` significant digits, so that 999.6 becomes 1000 before the prefix is chosen.
fn round_significant(value: f64, digits: usize) -> f64 {
    number::decimal(&format!("{value:.*e}", digits.saturating_sub(1))).unwrap_or(value)
}

/// Formats a value of at least 1 to `digits` significant digits. Larger values get fewer decimals.
fn significant(value: f64, digits: usize) -> String {
    let mut decimals = digits.saturating_sub(1);
    let mut limit = 10.0;
    while decimals > 0 && value.abs() >= limit {
        decimals -= 1;
        limit *= 10.0;
    }
    format!("{value:.decimals$}")
}

fn group(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(THIN_SPACE);
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_significant_digits_and_the_right_prefix() {
        for (us, text) in [
            (33_123.456, "33.1 ms"),
            (784_100.0, "784 ms"),
            (999.6, "1.00 ms"),
            (2_310_000.0, "2.31 s"),
            (97_654_000.0, "97.7 s"),
            (0.0, "0 s"),
            (3e-13, "0 s"),
            (1e-6, "1.00 ps"),
            (0.6, "600 ns"),
            (390.0, "390 µs"),
            (-12.5, "-12.5 µs"),
        ] {
            assert_eq!(time_us(us), text);
        }
        assert_eq!(si(1.638e12, "B/s"), "1.64 TB/s");
        assert_eq!(si(f64::NAN, "s"), DASH);
        assert_eq!(number(1.2345), "1.23");
        assert_eq!(number(25_000.0), "25\u{202f}000");
        assert_eq!(number(-1234.0), "-1\u{202f}234");
        assert_eq!(si_of_digits(784_130.0, "s", 5), "784.13 ks");
    }

    #[test]
    fn different_numbers_look_different_and_zero_is_never_negative() {
        // The two numbers appear in the same table: FLOPs of a model and of all its replicas.
        assert_eq!(number(2_496_500_000.0), "2\u{202f}496\u{202f}500\u{202f}000");
        assert_eq!(number(2_500_000_000.0), "2\u{202f}500\u{202f}000\u{202f}000");
        for (value, text) in [
            (0.0, "0.00"),
            (-0.0, "0.00"),
            (-0.001, "-0.001"),
            (0.05, "0.05"),
            (0.5, "0.50"),
            (0.053_44, "0.0534"),
            (0.999_9, "1.00"),
            (-3.4e-7, "-3.40e-7"),
            (999.4, "999"),
            (999.6, "1\u{202f}000"),
        ] {
            assert_eq!(number(value), text, "{value}");
        }
        assert_eq!([number_of_digits(1234.5, 6), number_of_digits(12.0, 4)], ["1\u{202f}234.50", "12.00"]);
        assert_eq!(number_of_digits(123_456.7, 4), "123\u{202f}457");
        for (share, text) in [
            (-0.0, "0 %"),
            (-0.04, ">-0.1 %"),
            (-0.06, "-0.1 %"),
            (99.94, "99.9 %"),
            (99.97, ">99.9 %"),
            (100.04, "100.0 %"),
            (-100.0, "-100 %"),
            (12_345.6, "12\u{202f}346 %"),
        ] {
            assert_eq!(percent(share), text, "{share}");
        }
        assert_eq!([99.97, 0.04].map(|share| percent_of_decimals(share, 2)), ["99.97 %", "0.04 %"]);
        assert_eq!(si(-0.0, "s"), "0 s");
    }

    #[test]
    fn shares_counts_and_sizes() {
        assert_eq!(percent(85.194), "85.2 %");
        assert_eq!(percent(0.01), "<0.1 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(100.0), "100 %");
        assert_eq!(optional_percent(None), DASH);
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(with_plain_spaces(&format!("{}, {} µs, x", count(2048), number(25_000.0))), "2048, 25 000 µs, x");
        assert_eq!([counted(1, "thread"), counted(0, "thread")], ["1 thread", "0 threads"]);
        assert_eq!(count(12), "12");
        assert_eq!(bytes(16_911_433_728), "15.8 GiB");
        assert_eq!(bytes(1_048_576), "1.00 MiB");
        assert_eq!(bytes(1_023), "1023 B");
        assert_eq!(bytes(1_048_000), "1023 KiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
        assert_eq!(full_time_us(33_123.456), "33\u{202f}123.456 µs");
        assert_eq!(full(-1e6), "-1\u{202f}000\u{202f}000");
    }

    #[test]
    fn names_are_cut_in_the_middle_and_made_harmless() {
        assert_eq!(shorten("loop_fusion_kernel.123", 11), "loop_…l.123");
        assert_eq!(shorten("short", 11), "short");
        assert_eq!(shorten("/home/me/tools/train_step.py:100", 24), "…/train_step.py:100");
        assert_eq!(shorten("/home/a_very_long_name_of_a_file.py:100", 12), "…file.py:100");
        assert_eq!(shorten("日本語の名前です", 5), "日本…です");
        let kernel = "void at::native::(anonymous namespace)::softmax_forward<4, c10::Half>(c10::Half*, int)";
        assert_eq!(shorten(kernel, 46), "softmax_forward<4, Half>(Half*, int)");
        assert_eq!(shorten(kernel, 20), "softmax_forward<4, …");
        assert_eq!(shorten("void a::f<a::g<int>::h, b::i>(a::j) const", 30), "f<g<int>::h, i>(j) const");
        assert_eq!(shorten("PjRtCpuExecutable::ExecuteHelper", 16), "PjRtCpuE…eHelper");
        assert_eq!(printable("a\u{1b}[31mb\nc\u{202e}d\u{61c}"), "a\\u{1b}[31mb c\\u{202e}d\\u{61c}");
        assert_eq!(printable("<img onerror=x>"), "<img onerror=x>");
    }
}
