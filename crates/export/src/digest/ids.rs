//! Ids of items in a digest. An id is the same in every digest of a run, and short enough to type.

use base::format::shorten;
use report::TopOp;

/// Maximum length of a text that is itself used as an id.
const LONGEST: usize = 100;

/// Returns the part of an id that identifies a text. The result is the text itself or, if the text is long or contains
/// unusual characters, the hash of the text.
pub fn of_text(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { format!("~{:016x}", hash(text)) }
}

/// Returns true if a text can be used as an id. In single quotation marks, such a text can also be part of a command.
/// Such a text has no space, so it is not a sentence.
pub fn is_plain(text: &str) -> bool {
    let is_usual = |c: char| c.is_ascii_alphanumeric() || "_.-/*[]()=:,<>{}#%+".contains(c);
    !text.is_empty() && text.len() <= LONGEST && text.chars().all(is_usual)
}

/// Returns the text for display, if the text's id is only a hash.
pub fn name_of(text: &str) -> Option<String> {
    (!is_plain(text)).then(|| super::quotable(&shorten(text, super::NAME), super::NAME)).filter(|name| !name.is_empty())
}

/// Returns true if an id identifies this text.
pub fn fits(id: &str, text: &str) -> bool {
    id == text || (id.starts_with('~') && id == of_text(text))
}

/// Returns the id of an op. The id is the op's name, followed by the number of its program if another program in `all`
/// has an op with the same name.
pub fn of_op(op: &TopOp, all: &[TopOp]) -> String {
    let is_other = |it: &&TopOp| it.name == op.name && it.program_id != op.program_id;
    match (&op.program_id, all.iter().find(is_other)) {
        (Some(program), Some(_)) => format!("{}@{}", of_text(&op.name), of_text(program)),
        _ => of_text(&op.name),
    }
}

/// Splits the id of an op into the part that identifies the op's name, and the number of the op's program.
pub fn parts_of_op(id: &str) -> (&str, Option<&str>) {
    let id = id.strip_prefix("op:").unwrap_or(id);
    match id.rsplit_once('@') {
        Some((name, program)) => (name, Some(program)),
        None => (id, None),
    }
}

/// Returns the 64-bit FNV-1a hash of a text.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_are_ids_and_other_names_are_hashed() {
        for name in ["fusion.12", "jit_train_step/layer_*/attention", "step_timing.avg_step_time_us"] {
            assert_eq!(of_text(name), name);
        }
        // The hash of FNV-1a's reference: "a" gives af63dc4c8601ec8c.
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        for name in ["a b", "x; rm -rf", "`id`", "$(id)", "", "a\nb", &"x".repeat(101), "a@b", "it's"] {
            assert!(of_text(name).starts_with('~') && of_text(name).len() == 17, "{name}");
            assert!(fits(&of_text(name), name) && !fits(&of_text(name), "other"));
        }
    }

    #[test]
    fn an_op_of_two_programs_is_named_with_its_program() {
        let op = |name: &str, program: &str| TopOp {
            name: name.to_owned(),
            program_id: Some(program.to_owned()),
            ..TopOp::default()
        };
        let all = [op("dot.1", "7"), op("dot.1", "8"), op("add.2", "7")];
        assert_eq!(all.each_ref().map(|it| of_op(it, &all)), ["dot.1@7", "dot.1@8", "add.2"]);
        assert_eq!(parts_of_op("op:dot.1@7"), ("dot.1", Some("7")));
        assert_eq!(parts_of_op("dot.1"), ("dot.1", None));
    }
}
