//! Writes Chrome traces in JAX's form: one line, args as strings, times in microseconds, and an empty event at the end.

use std::fmt::Write;

/// A trace under construction. Times are in picoseconds.
pub(crate) struct ChromeTrace {
    text: String,
    /// State of the random generator that makes durations look measured. The first state is fixed, so that every run
    /// writes the same trace.
    random: u64,
}

impl ChromeTrace {
    pub(crate) fn new() -> ChromeTrace {
        let head = r#"{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":["#;
        ChromeTrace { text: head.to_owned(), random: 0x2545_f491_4f6c_dd1d }
    }

    pub(crate) fn process(&mut self, pid: u32, name: &str) {
        let _ = write!(
            self.text,
            r#"{{"ph":"M","pid":{pid},"name":"process_name","args":{{"name":"{name}"}}}},{{"ph":"M","pid":{pid},"name":"process_sort_index","args":{{"sort_index":{pid}}}}},"#
        );
    }

    pub(crate) fn thread(&mut self, pid: u32, tid: u32, name: &str) {
        let _ = write!(
            self.text,
            r#"{{"ph":"M","pid":{pid},"tid":{tid},"name":"thread_name","args":{{"name":"{name}"}}}},"#
        );
    }

    pub(crate) fn event(
        &mut self,
        (pid, tid): (u32, u32),
        name: &str,
        start_ps: u64,
        length_ps: u64,
        args: &[(&str, &str)],
    ) {
        let (ts, dur) = (microseconds(start_ps), microseconds(length_ps));
        let _ = write!(self.text, r#"{{"ph":"X","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"name":"{name}""#);
        if !args.is_empty() {
            self.text.push_str(r#","args":{"#);
            for (index, (key, value)) in args.iter().enumerate() {
                let comma = if index > 0 { "," } else { "" };
                let _ = write!(self.text, r#"{comma}"{key}":"{value}""#);
            }
            self.text.push('}');
        }
        self.text.push_str("},");
    }

    /// Returns a random value in whole nanoseconds that differs from `mean_ps` by at most `percent`.
    pub(crate) fn jitter(&mut self, mean_ps: u64, percent: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let spread = mean_ps * percent / 100;
        let value = mean_ps - spread + self.random % (2 * spread + 1);
        value / 1000 * 1000
    }

    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("{}]}");
        self.text
    }
}

/// Formats microseconds exactly, without trailing zeros: `1234.5`.
fn microseconds(ps: u64) -> String {
    let text = format!("{}.{:06}", ps / 1_000_000, ps % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
