//! Recognises from a file's name whether the file was saved before or after the profiled work.

/// Words in the name of a file that was saved before the profiled work.
const START: [&str; 6] = ["start", "begin", "before", "first", "initial", "init"];
/// Words in the name of a file that was saved after the profiled work.
const END: [&str; 5] = ["end", "after", "last", "final", "finish"];

/// When a file was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// Before the profiled work.
    Start,
    /// Unknown.
    Unknown,
    /// After the profiled work.
    End,
}

/// Returns the moment that a file name indicates. The first word of the name that means the start or the end decides.
pub fn of_name(name: &str) -> Moment {
    let name = name.to_lowercase();
    let mut words = name.split(|letter: char| !letter.is_alphabetic());
    let found = words.find_map(|word| {
        if START.contains(&word) { Some(Moment::Start) } else { END.contains(&word).then_some(Moment::End) }
    });
    found.unwrap_or(Moment::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_names_state_the_moment() {
        assert_eq!(of_name("host.memory_start.prof"), Moment::Start);
        assert_eq!(of_name("After-7.prof"), Moment::End);
        assert_eq!(of_name("ending.prof"), Moment::Unknown);
    }
}
