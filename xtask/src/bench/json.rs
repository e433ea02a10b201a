//! Writes a run as Chrome trace JSON in JAX's style. The JSON is one line without spaces, and every argument is a
//! string.

use super::generate::{Event, Line, Sink, Value};
use std::fmt::Write as _;
use std::io::{Result, Write};

/// Writes trace JSON.
pub struct JsonSink<W> {
    out: W,
    /// Buffer for the text of one event. The buffer is reused to save allocations.
    text: String,
}

impl<W: Write> JsonSink<W> {
    /// Starts the document.
    pub fn new(mut out: W) -> Result<Self> {
        out.write_all(br#"{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":["#)?;
        Ok(Self { out, text: String::new() })
    }

    /// Ends the document. As in JAX's files, the last event of the list is empty.
    pub fn finish(mut self) -> Result<W> {
        self.out.write_all(b"{}]}")?;
        Ok(self.out)
    }
}

impl<W: Write> Sink for JsonSink<W> {
    fn process(&mut self, pid: u32, name: &str) -> Result<()> {
        write!(
            self.out,
            r#"{{"ph":"M","pid":{pid},"name":"process_name","args":{{"name":"{name}"}}}},{{"ph":"M","pid":{pid},"name":"process_sort_index","args":{{"sort_index":{pid}}}}},"#
        )
    }

    fn line(&mut self, Line { pid, tid }: Line, name: &str) -> Result<()> {
        write!(
            self.out,
            r#"{{"ph":"M","pid":{pid},"tid":{tid},"name":"thread_name","args":{{"name":"{name}"}}}},{{"ph":"M","pid":{pid},"tid":{tid},"name":"thread_sort_index","args":{{"sort_index":{tid}}}}},"#
        )
    }

    fn event(&mut self, event: &Event) -> Result<()> {
        let text = &mut self.text;
        text.clear();
        let Line { pid, tid } = event.line;
        // Writing to a String cannot fail. No text of a synthetic run needs escapes.
        let _ = write!(text, r#"{{"ph":"X","pid":{pid},"tid":{tid},"ts":"#);
        microseconds(text, event.start_ps);
        text.push_str(r#","dur":"#);
        microseconds(text, event.duration_ps);
        let _ = write!(text, r#","name":"{}","args":{{"#, event.name);
        for (index, arg) in event.args.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let _ = match arg.value {
                Value::Text(value) => write!(text, r#"{comma}"{}":"{value}""#, arg.key),
                Value::Number(value) => write!(text, r#"{comma}"{}":"{value}""#, arg.key),
            };
        }
        text.push_str("}},");
        self.out.write_all(text.as_bytes())
    }
}

/// Formats a time in microseconds with 17 significant digits, like C's `%.17g`. The time is given in picoseconds.
fn microseconds(text: &mut String, ps: i64) {
    let scientific = format!("{:.16e}", ps as f64 / 1e6);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let point = exponent + 1;
    let plain = if exponent < -4 {
        let (first, rest) = digits.split_at(1);
        let rest = rest.trim_end_matches('0');
        let dot = if rest.is_empty() { "" } else { "." };
        text.push_str(&format!("{first}{dot}{rest}e-{:02}", -exponent));
        return;
    } else if point <= 0 {
        format!("0.{}{digits}", "0".repeat(point.unsigned_abs() as usize))
    } else {
        let (whole, part) = digits.split_at((point as usize).min(digits.len()));
        format!("{whole}.{part}")
    };
    text.push_str(plain.trim_end_matches('0').trim_end_matches('.'));
}

#[cfg(test)]
mod tests {
    use super::microseconds;

    #[test]
    fn microseconds_are_printed_as_c_does() {
        // Printed by `printf("%.17g", ps / 1e6)`.
        let cases = [
            (5_000_000_000, "5000"),
            (5_000_030_123, "5000.0301229999995"),
            (1, "9.9999999999999995e-07"),
            (123_456, "0.123456"),
            (100, "0.0001"),
            (99, "9.8999999999999994e-05"),
            (4_123_456_789_012, "4123456.789012"),
        ];
        for (ps, expected) in cases {
            let mut text = String::new();
            microseconds(&mut text, ps);
            assert_eq!(text, expected);
        }
    }
}
