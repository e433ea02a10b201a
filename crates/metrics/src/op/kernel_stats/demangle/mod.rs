//! Demangles names of C++ kernels: `_Z11flip_filterIffEvPT0_PKT_iiii` becomes `void flip_filter<float, float>(float*, ...)`.
//!
//! Reads the subset of the Itanium C++ ABI's mangling that kernels use: nested and local names, templates with their
//! literals and packs, substitutions, builtin, pointer, function and array types, lambdas. Names with expressions in
//! template arguments or with rarer forms stay unchanged. The output has the format of `c++filt`, which demangling
//! collectors also use.

mod names;
mod types;

/// Maximum length of a name. Longer names stay unchanged.
const MAX_INPUT: usize = 8 * 1024;

/// Maximum length of a demangled name. If substitutions make a name longer, it stays mangled.
const MAX_OUTPUT: usize = 32 * 1024;

/// Maximum nesting depth. Names that nest deeper stay mangled.
const MAX_DEPTH: u32 = 96;

/// Maximum amount of text that the demangler writes for one name. Substitutions can double the amount at every step.
const MAX_WORK: usize = 4 * 1024 * 1024;

/// Demangles a name. Returns `None` if the name is not mangled or uses an unsupported form.
pub fn demangle(name: &str) -> Option<String> {
    let mangled = name.strip_prefix("_Z")?;
    // Compilers append a suffix to clones of a function: `.kd` (ROCm), `.part.0`.
    let (mangled, clone) = mangled.split_at(mangled.find('.').unwrap_or(mangled.len()));
    if mangled.len() > MAX_INPUT || !mangled.is_ascii() {
        return None;
    }
    let mut parser = Parser::new(mangled.as_bytes());
    let text = parser.encoding(true)?;
    if parser.at < parser.bytes.len() {
        return None;
    }
    Some(if clone.is_empty() { text } else { format!("{text} [clone {clone}]") })
}

/// Returns the name without return type, template arguments and parameters: `tensorflow::functor::ApplyAdamKernel`.
pub(crate) fn short_name(name: &str) -> String {
    let name = name.strip_suffix(".kd").unwrap_or(name);
    let name = name.split(" [clone ").next().unwrap_or(name);
    let mut short = String::new();
    let (mut angles, mut braces) = (0u32, 0u32);
    for (at, c) in name.char_indices() {
        match c {
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            '<' if braces == 0 => angles += 1,
            '>' if angles > 0 => {
                angles -= 1;
                continue;
            }
            // `(anonymous namespace)::` belongs to the name, but the parameters do not.
            '(' if angles == 0 && braces == 0 && !name.get(at..).is_some_and(|rest| rest.starts_with("(anon")) => break,
            _ => {}
        }
        if angles == 0 {
            short.push(c);
        }
    }
    let short = short.trim();
    // The name of a template includes the return type, which is `void` for kernels.
    let short = short.strip_prefix("void ").unwrap_or(short);
    if short.is_empty() { name.to_owned() } else { short.to_owned() }
}

/// A type or a name, split into the text before and after the declared name: `void (*` and `)(int)`.
#[derive(Clone, Debug, Default)]
struct Text {
    left: String,
    right: String,
}

impl Text {
    fn new(left: impl Into<String>) -> Text {
        Text { left: left.into(), right: String::new() }
    }

    fn whole(&self) -> String {
        format!("{}{}", self.left, self.right)
    }
}

/// A template argument: a single argument, or a pack of any number of arguments.
#[derive(Clone, Debug)]
enum Argument {
    One(Text),
    Pack(Vec<Text>),
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    substitutions: Vec<Text>,
    /// Arguments that `T_`, `T0_` ... refer to.
    arguments: Vec<Argument>,
    /// Index of the current element while a pack is expanded.
    pack_index: Option<usize>,
    pack_length: usize,
    depth: u32,
    work: usize,
}

impl<'a> Parser<'a> {
    fn new(bytes: &'a [u8]) -> Parser<'a> {
        Parser {
            bytes,
            at: 0,
            substitutions: Vec::new(),
            arguments: Vec::new(),
            pack_index: None,
            pack_length: 0,
            depth: 0,
            work: 0,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(text.as_bytes()))
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Parses a decimal number without sign.
    fn number(&mut self) -> Option<usize> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        std::str::from_utf8(self.bytes.get(start..self.at)?).ok()?.parse().ok()
    }

    /// Parses a sequence number: `_` is 0, `0_` is 1, ... in the given base (36 for substitutions, 10 for others).
    fn sequence(&mut self, base: u32) -> Option<usize> {
        let mut value: Option<usize> = None;
        loop {
            let byte = self.next()?;
            if byte == b'_' {
                return Some(value.map_or(0, |value| value + 1));
            }
            if byte.is_ascii_lowercase() {
                return None;
            }
            let digit = char::from(byte).to_digit(base)? as usize;
            value = Some(value.unwrap_or(0).checked_mul(base as usize)?.checked_add(digit)?);
        }
    }

    /// Limits the length of a text and the total work, so that a name of a few bytes cannot grow without limit.
    fn bounded(&mut self, text: Text) -> Option<Text> {
        let length = text.left.len() + text.right.len();
        self.work += length;
        (length <= MAX_OUTPUT && self.work <= MAX_WORK).then_some(text)
    }

    fn remember(&mut self, text: &Text) -> Option<()> {
        let copy = self.bounded(text.clone())?;
        self.substitutions.push(copy);
        Some(())
    }

    /// Runs `parse` one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.depth += 1;
        let result = if self.depth > MAX_DEPTH { None } else { parse(self) };
        self.depth -= 1;
        result
    }
}

/// Joins the texts with commas. Omits empty packs.
fn join(texts: &[Text]) -> String {
    let texts: Vec<String> = texts.iter().map(Text::whole).filter(|text| !text.is_empty()).collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests;
