//! Extracts the numbers of an error from individual lines of a log: bytes requested, available, in use, free and
//! contiguous. Each runtime has its own wording, so the parser looks for the word next to each size.

use super::numbers::{behind, size, size_before, size_behind};
use super::{HOST, OutOfMemory, Padded, rounds_to};

/// Names of the totals in the texts of errors.
const SUMS: [&str; 13] = [
    "parameter allocation",
    "constant allocation",
    "maybe_live_out allocation",
    "preallocated temp allocation",
    "preallocated temp fragmentation",
    "total allocation",
    "total fragmentation",
    "reserved",
    "program",
    "arguments",
    "global",
    "scoped",
    "HLO temp",
];

/// Maximum number of characters of a statement.
const LONGEST_STATEMENT: usize = 400;

/// Texts that precede the size of the allocation that failed.
const REQUESTS: [&str; 7] = [
    "allocate request for ",
    "allocate ",
    "allocating ",
    "reserve ",
    "Scoped allocation with size ",
    "allocate memory of size ",
    "requested ",
];

/// Reads the line that starts an error.
pub(super) fn error(line: &str) -> OutOfMemory {
    let mut stated = OutOfMemory { statement: statement(line), ..OutOfMemory::default() };
    stated.memory_space = space(line);
    stated.device = device(line);
    if let Some((needed, rest)) = behind(line, " Used ").and_then(size) {
        stated.needed_bytes = Some(needed);
        stated.capacity_bytes = size_behind(rest, " of ");
        let exceeded = || behind(rest, "xceeded ").and_then(|rest| size_behind(rest, " by "));
        stated.capacity_bytes = stated.capacity_bytes.or_else(|| needed.checked_sub(exceeded()?));
    }
    stated.requested_bytes = REQUESTS.iter().find_map(|mark| exact(behind(line, mark)?)).or_else(|| tensor(line));
    // Old versions of PyTorch write `38.44 MiB free`. New versions write `of which 1.21 GiB is free`. TPUs write
    // `There are 142.58M free`.
    stated.free_bytes = [" is free", " free"].iter().find_map(|mark| size_before(line, mark));
    stated.largest_free_bytes = size_before(line, " reservable").or_else(|| largest(line));
    if stated.largest_free_bytes.is_some() && line.contains("If fragmentation is eliminated") {
        stated.largest_free_bytes = size_before(line, " reservable.").or(stated.largest_free_bytes);
    }
    stated.in_use_bytes = [" memory in use", " already allocated"].iter().find_map(|mark| size_before(line, mark));
    stated.reserved_unused_bytes = size_before(line, " is reserved by PyTorch but unallocated");
    let capacity = [" total capacity", " limit", " available on"].iter().find_map(|mark| size_before(line, mark));
    let limits = ["total capacity of ", "max allowed: ", "and limit ", "exceeding available bytes: "];
    let capacity = capacity.or_else(|| limits.iter().find_map(|mark| size_behind(line, mark)));
    stated.capacity_bytes = stated.capacity_bytes.or(capacity);
    cores(line, &mut stated);
    killed(line, &mut stated);
    stated.is_survived = line.contains("not a failure");
    stated
}

/// Reads a line near an error: statistics of an allocator, and totals.
pub(super) fn note(line: &str, open: &mut OutOfMemory) {
    for (mark, field) in [
        ("InUse:", &mut open.in_use_bytes),
        ("Limit:", &mut open.capacity_bytes),
        ("LargestFreeBlock:", &mut open.largest_free_bytes),
    ] {
        if line.split_whitespace().any(|word| word == mark) {
            *field = size_behind(line, mark);
        }
    }
    let Some((name, bytes)) = sum(line) else { return };
    if open.sum(name).is_none() {
        open.sums.push((name.to_owned(), bytes));
    }
    if name == "HLO temp" {
        let size_of = |mark| size_behind(line, mark);
        let padded = size_of("Unpadded (").zip(size_of(" Padded ("));
        open.padded =
            padded.map(|(unpadded_bytes, padded_bytes)| Padded { unpadded_bytes, padded_bytes }).or(open.padded);
    }
}

/// Returns a total with its name. The name must directly follow any prefix that the log adds to the line.
fn sum(line: &str) -> Option<(&'static str, u64)> {
    SUMS.iter().find_map(|&name| {
        let (before, rest) = line.split_once(name)?;
        // A single word occurs in many lines of a log, so it is used only in an aligned column of sizes.
        let is_word = name.contains(' ') || before.is_empty() || before.ends_with([' ', '\t', '"']);
        let value = rest.strip_prefix(':').unwrap_or(rest);
        let is_aligned =
            value.starts_with("  ") || value.starts_with('\t') || (name.contains(' ') && value.starts_with(' '));
        let (bytes, behind) = size(value).filter(|_| is_word && is_aligned)?;
        let is_end = behind.trim_start().chars().next().is_none_or(|c| matches!(c, '(' | '"' | '\'' | '\\' | ','));
        is_end.then_some((name, bytes))
    })
}

/// Returns the size at the start of a text, or the exact size in parentheses after it: `39.59G (42505076736 bytes)`,
/// `27.93GiB (rounded to 29995136256)`.
fn exact(text: &str) -> Option<u64> {
    let (stated, rest) = size(text)?;
    let inner = rest.trim_start().strip_prefix('(').map(|inner| inner.trim_start_matches("rounded to "));
    let exact = inner.and_then(size).map(|(bytes, _)| bytes).filter(|&bytes| rounds_to(bytes, stated));
    Some(exact.unwrap_or(stated))
}

/// Returns the bytes of a tensor that TensorFlow could not allocate: `OOM when allocating tensor with shape[128,256]
/// and type float`.
fn tensor(line: &str) -> Option<u64> {
    let (sizes, rest) = behind(line, "tensor with shape")?.trim_start().strip_prefix('[')?.split_once(']')?;
    let kind = behind(rest, "type ")?.split([' ', ',']).next()?.trim_start_matches("DT_").to_ascii_lowercase();
    let bytes: u64 = match kind.as_str() {
        "bool" | "int8" | "uint8" | "qint8" => 1,
        "half" | "bfloat16" | "float16" | "int16" | "uint16" => 2,
        "float" | "float32" | "int32" | "uint32" => 4,
        "double" | "float64" | "int64" | "uint64" | "complex64" => 8,
        "complex128" => 16,
        _ => return None,
    };
    sizes.split(',').try_fold(bytes, |product, size| product.checked_mul(size.trim().parse().ok()?))
}

/// Returns the size after a mention of the largest free block: `largest free block is 1.2G`.
fn largest(line: &str) -> Option<u64> {
    let rest = behind(line, "argest ")?;
    let (words, _) = rest.split_at_checked(rest.find(|c: char| c.is_ascii_digit())?)?;
    let is_piece = ["block", "chunk", "contiguous", "region"].iter().any(|word| words.contains(word));
    (is_piece && words.len() <= 60).then(|| size(rest.get(words.len()..)?)).flatten().map(|(bytes, _)| bytes)
}

/// Reads the usage of a TPU's two cores, which share the TPU's memory.
fn cores(line: &str, stated: &mut OutOfMemory) {
    let usage = |core: &str| {
        let rest = behind(line, core)?;
        size(rest.trim_start_matches(':')).map(|(bytes, _)| bytes)
    };
    let parts = [("TensorCore", usage("TensorCore Hbm usage")), ("SparseCore", usage("SparseCore Hbm usage"))];
    for (core, bytes) in parts {
        let Some(bytes) = bytes else { continue };
        stated.memory_space = "hbm".to_owned();
        stated.needed_bytes = Some(stated.needed_bytes.unwrap_or(0).saturating_add(bytes));
        stated.sums.push((core.to_owned(), bytes));
    }
}

/// Recognises the messages of Linux, Kubernetes, Python and C++:
/// `Out of memory: Killed process 12 (python3) total-vm:9kB, anon-rss:8kB`.
fn killed(line: &str, stated: &mut OutOfMemory) {
    let is_of_host = ["Killed process ", "OOMKilled", "bad_alloc"].iter().any(|word| line.contains(word));
    if is_of_host || (line.contains("MemoryError") && !line.contains("OutOfMemoryError")) {
        stated.memory_space = HOST.to_owned();
        stated.in_use_bytes = size_behind(line, "anon-rss:").or(stated.in_use_bytes);
    }
}

fn space(line: &str) -> String {
    let named = behind(line, "in memory space ").map(name);
    let known =
        ["vmem", "smem", "hbm"].into_iter().find(|space| line.to_ascii_lowercase().contains(&format!("{space} ")));
    named.filter(|name| !name.is_empty()).or(known).unwrap_or_default().to_owned()
}

fn device(line: &str) -> String {
    let allocator = behind(line, "Allocator (").or_else(|| behind(line, "by allocator ")).map(name);
    let number =
        |mark| behind(line, mark).map(name).filter(|it| it.bytes().all(|c| c.is_ascii_digit()) && !it.is_empty());
    // This is the position of a chip in the slice, and the chip's memory: `(0x3x0_HBM1)`.
    let core = line.split(['(', ')']).find(|part| part.contains("_HBM") && *part == name(part));
    let gpu = number("GPU ").or_else(|| number("device ordinal ")).map(|number| format!("GPU {number}"));
    allocator.or(core).map(str::to_owned).or(gpu).unwrap_or_default()
}

/// Returns the word at the start of a text.
pub(super) fn name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Returns the sentence that states the error, starting at the word that names the error.
fn statement(line: &str) -> String {
    let marks = [
        "RESOURCE_EXHAUSTED",
        "Resource exhausted",
        "Allocator (",
        "OutOfMemoryError",
        "OOM ",
        "Out of memory",
        "out of memory",
    ];
    let at = marks.iter().filter_map(|mark| line.find(mark)).min().unwrap_or(0);
    let text: String = line.get(at..).unwrap_or_default().chars().take(LONGEST_STATEMENT).collect();
    text.trim().trim_end_matches(['"', '\'', ')', '}', ',']).to_owned()
}
