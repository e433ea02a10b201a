//! Words that show that a program ran out of memory.

use memchr::memmem;

/// Words that appear only in errors of runtimes and frameworks, with the spelling that those errors use.
const ERRORS: [&str; 6] =
    ["RESOURCE_EXHAUSTED", "esource exhausted", "OUT_OF_MEMORY", "OutOfMemoryError", PEAK_BUFFERS, LARGEST_ALLOCATIONS];

/// Words of out-of-memory errors that may also appear in other texts.
const WORDS: [&str; 8] = [
    "ut of memory",
    "OutOfMemory",
    OOM,
    "MemoryError",
    "bad_alloc",
    "That was not possible",
    "exceeding available bytes",
    "exceeded scoped vmem limit",
];

/// Matches only at the start of a word, so ZOOM and BLOOM do not match.
const OOM: &str = "OOM";

/// Heading of XLA's list of buffers on GPUs and CPUs.
pub const PEAK_BUFFERS: &str = "Peak buffers:";

/// Heading of XLA's list of buffers on TPUs. The name of the memory space follows the heading.
pub const LARGEST_ALLOCATIONS: &str = "Largest program allocations in ";

/// Returns true if the text contains a runtime error. This test is stricter than [`is_said`].
pub fn is_error(text: &[u8]) -> bool {
    ERRORS.iter().any(|word| memmem::find(text, word.as_bytes()).is_some())
}

/// Returns true if the text reports that memory ran out, or lists the buffers of such an error.
pub fn is_said(text: &[u8]) -> bool {
    let is_letter = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphabetic);
    let is_there = |word: &str| {
        memmem::find_iter(text, word.as_bytes()).any(|at| word != OOM || !at.checked_sub(1).is_some_and(is_letter))
    };
    is_error(text) || WORDS.iter().any(|word| is_there(word))
}

#[cfg(test)]
mod tests {
    use super::is_said;

    #[test]
    fn words_of_all_runtimes_are_known() {
        for text in [
            "XlaRuntimeError: RESOURCE_EXHAUSTED: x",
            "Resource exhausted: Ran out of memory",
            "torch.cuda.OutOfMemoryError: CUDA",
            "CUDA_ERROR_OUT_OF_MEMORY",
            "OOM when allocating tensor",
            "reason: OOMKilled",
            "[OOM]",
        ] {
            assert!(is_said(text.as_bytes()), "{text}");
        }
        for text in ["", "step 1 loss 3.2", "ZOOM", "room"] {
            assert!(!is_said(text.as_bytes()), "{text}");
        }
    }
}
