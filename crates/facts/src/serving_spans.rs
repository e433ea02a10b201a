//! Names that inference engines give to their forward passes in traces, with the batch that each name describes.
//!
//! ```text
//! execute_context_2(512)_generation_8(8)   vLLM: 2 requests prefill 512 tokens, 8 requests decode 8 tokens
//! step[EXTEND bs=15 toks=15360]            SGLang: 15 requests prefill 15,360 tokens
//! ```

/// Forms of the names of forward passes. `{field}` stands for a number, and `*` for any text. The first form that
/// matches a name is used.
const FORMS: [&str; 14] = [
    // vLLM, `Worker.annotate_profile` (vllm/v1/worker/gpu_worker.py).
    "execute_context_{prefill_requests}({prefill_tokens})_generation_{decode_requests}({decode_tokens})*",
    "context_{prefill_requests}({prefill_tokens})_generation_{decode_requests}({decode_tokens})*",
    // The same form with sums over the tokens of queries (sq) and keys (sk), for rooflines of attention.
    "execute_{tokens}_context_{prefill_requests}(sq{prefill_tokens}sk*)_generation_{decode_requests}(sq{decode_tokens}sk*",
    // Older versions of vLLM, which did not count tokens: new requests prefill, and running requests decode.
    "execute_new_{prefill_requests}_cached_{decode_requests}",
    // SGLang, `build_step_span_name` (sglang/srt/utils/profile_utils.py).
    "step[EXTEND bs={prefill_requests} toks={prefill_tokens}*]",
    "step[DECODE bs={decode_requests}*]",
    "step[TARGET_VERIFY bs={decode_requests}*]",
    "step[MIXED bs={requests} toks={tokens}*]",
    "step[MIXED bs={requests}*]",
    // ATOM.
    "prefill[bs={prefill_requests} tok={prefill_tokens}*]",
    "decode[bs={decode_requests} tok={decode_tokens}*]",
    // TensorRT-LLM, `_forward_step` (tensorrt_llm/_torch/pyexecutor/py_executor.py).
    "[Executor] _forward_step*: {prefill_requests} ctx reqs, {decode_requests} gen reqs",
    "_forward_step*: {prefill_requests} ctx reqs, {decode_requests} gen reqs",
    // tpu-inference, `execute_model` (tpu_inference/runner/tpu_runner.py).
    "execute_model: {requests} reqs, {tokens} toks",
];

/// Common name for the annotations of forward passes in a profile. The names of these annotations differ from pass to
/// pass.
pub const FORWARD_PASS: &str = "forward pass";

/// Returns true if `name` is the name of a span that marks a step. `annotation` is the profile's name for the
/// annotations that mark steps.
pub fn marks_step(annotation: Option<&str>, name: &str) -> bool {
    annotation.is_some_and(|it| {
        it == name
            || (it == FORWARD_PASS && ServedBatch::of_span(name).or_else(|| ServedBatch::of_call(name)).is_some())
    })
}

/// Phase of a forward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServingPhase {
    /// Computes prompts only.
    Prefill,
    /// Computes prompts and next tokens, or has a name that does not contain the phase.
    Mixed,
    /// Computes next tokens only.
    Decode,
}

impl ServingPhase {
    /// All phases, in display order.
    pub const ALL: [ServingPhase; 3] = [ServingPhase::Prefill, ServingPhase::Mixed, ServingPhase::Decode];

    /// Returns the name that the report uses.
    pub fn label(self) -> &'static str {
        match self {
            ServingPhase::Prefill => "prefill",
            ServingPhase::Mixed => "mixed",
            ServingPhase::Decode => "decode",
        }
    }
}

/// Batch of one forward pass, read from the name of its span. Numbers that the name does not contain are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServedBatch {
    requests: Option<u64>,
    tokens: Option<u64>,
    prefill_requests: Option<u64>,
    prefill_tokens: Option<u64>,
    decode_requests: Option<u64>,
    decode_tokens: Option<u64>,
    /// Phase of a call whose name contains nothing else about the batch.
    phase: Option<ServingPhase>,
}

/// Words in the names of functions that compute prompts (`PREFILL_WORDS`) or next tokens (`DECODE_WORDS`).
const PREFILL_WORDS: [&str; 1] = ["prefill"];
const DECODE_WORDS: [&str; 3] = ["decode", "generate", "decoding"];

impl ServedBatch {
    /// Parses the name of a span. Returns `None` if no form matches.
    pub fn of_span(name: &str) -> Option<ServedBatch> {
        FORMS.iter().find_map(|form| matched(form, name))
    }

    /// Reads the phase from the call of a compiled function (`PjitFunction(decode_step)`). Returns `None` for any other name.
    pub fn of_call(name: &str) -> Option<ServedBatch> {
        let function = name.strip_prefix("PjitFunction(")?.strip_suffix(')')?;
        let has = |words: &[&str]| function.split('_').any(|word| words.contains(&word));
        let phase = match (has(&PREFILL_WORDS), has(&DECODE_WORDS)) {
            (true, false) => ServingPhase::Prefill,
            (false, true) => ServingPhase::Decode,
            _ => return None,
        };
        Some(ServedBatch { phase: Some(phase), ..ServedBatch::default() })
    }

    /// Returns the phase of the forward pass. Returns `None` if the pass serves no request, for example if it only
    /// keeps ranks synchronised.
    pub fn phase(&self) -> Option<ServingPhase> {
        if self.phase.is_some() {
            return self.phase;
        }
        match (self.prefill_requests.unwrap_or(0) > 0, self.decode_requests.unwrap_or(0) > 0) {
            (true, true) => Some(ServingPhase::Mixed),
            (true, false) => Some(ServingPhase::Prefill),
            (false, true) => Some(ServingPhase::Decode),
            (false, false) => {
                let requests = self.requests.filter(|&requests| requests > 0)?;
                Some(if self.tokens == Some(requests) { ServingPhase::Decode } else { ServingPhase::Mixed })
            }
        }
    }

    /// Returns the number of requests in the batch.
    pub fn requests(&self) -> Option<u64> {
        let parts = || {
            let (prefill, decode) = (self.prefill_requests, self.decode_requests);
            (prefill.is_some() || decode.is_some()).then(|| prefill.unwrap_or(0).saturating_add(decode.unwrap_or(0)))
        };
        self.requests.or_else(parts)
    }

    /// Returns the number of prompt tokens that the pass computes.
    pub fn prefill_tokens(&self) -> Option<u64> {
        match self.phase().filter(|_| self.phase.is_none()) {
            Some(ServingPhase::Decode) => Some(0),
            Some(ServingPhase::Prefill) => self.prefill_tokens.or(self.tokens),
            _ => self.prefill_tokens,
        }
    }

    /// Returns the number of tokens that the pass computes for requests in the decode phase. If the name does not
    /// contain this number, each request in the decode phase is assumed to need one token.
    pub fn decode_tokens(&self) -> Option<u64> {
        match self.phase().filter(|_| self.phase.is_none()) {
            Some(ServingPhase::Prefill) => Some(0),
            Some(ServingPhase::Decode) => self.decode_tokens.or(self.tokens).or(self.decode_requests),
            _ => self.decode_tokens.or(self.decode_requests),
        }
    }

    /// Returns the number of prompt tokens and decoded tokens together.
    pub fn tokens(&self) -> Option<u64> {
        self.tokens.or_else(|| Some(self.prefill_tokens()?.saturating_add(self.decode_tokens()?)))
    }

    /// Returns the combined batch of two hosts that serve different requests at the same time.
    pub fn plus(self, other: ServedBatch) -> ServedBatch {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        ServedBatch {
            requests: sum(self.requests, other.requests),
            tokens: sum(self.tokens, other.tokens),
            prefill_requests: sum(self.prefill_requests, other.prefill_requests),
            prefill_tokens: sum(self.prefill_tokens, other.prefill_tokens),
            decode_requests: sum(self.decode_requests, other.decode_requests),
            decode_tokens: sum(self.decode_tokens, other.decode_tokens),
            phase: self.phase.or(other.phase),
        }
    }

    fn set(&mut self, field: &str, value: u64) {
        let place = match field {
            "requests" => &mut self.requests,
            "tokens" => &mut self.tokens,
            "prefill_requests" => &mut self.prefill_requests,
            "prefill_tokens" => &mut self.prefill_tokens,
            "decode_requests" => &mut self.decode_requests,
            _ => &mut self.decode_tokens,
        };
        *place = Some(value);
    }
}

/// Reads the fields of a name that has this form. A `*` matches as little text as possible.
fn matched(mut form: &str, mut name: &str) -> Option<ServedBatch> {
    let mut batch = ServedBatch::default();
    loop {
        if let Some((field, rest)) = form.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            let digits = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len());
            let (number, after) = name.split_at_checked(digits)?;
            batch.set(field, number.parse().ok()?);
            (form, name) = (rest, after);
            continue;
        }
        let skips = form.strip_prefix('*');
        form = skips.unwrap_or(form);
        let literal = form.find(['{', '*']).unwrap_or(form.len());
        let (text, rest) = form.split_at_checked(literal)?;
        let found = if skips.is_some() { name.find(text)? } else { name.starts_with(text).then_some(0)? };
        name = name.get(found + text.len()..)?;
        form = rest;
        if form.is_empty() {
            let is_whole = name.is_empty() || (skips.is_some() && text.is_empty());
            return is_whole.then_some(batch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ServingPhase::{Decode, Mixed, Prefill};

    /// The phase, the number of requests, and the numbers of prompt tokens, of decoded tokens and of all tokens.
    type Read = (Option<ServingPhase>, Option<u64>, [Option<u64>; 3]);

    fn read(name: &str) -> Option<Read> {
        let batch = ServedBatch::of_span(name)?;
        Some((batch.phase(), batch.requests(), [batch.prefill_tokens(), batch.decode_tokens(), batch.tokens()]))
    }

    #[test]
    fn names_of_engines_are_parsed() {
        let roofline =
            "execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)";
        let decoding = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)";
        let known = [
            ("execute_context_2(512)_generation_8(8)", Some(Mixed), 10, [Some(512), Some(8), Some(520)]),
            ("execute_context_0(0)_generation_8(24)", Some(Decode), 8, [Some(0), Some(24), Some(24)]),
            ("execute_context_1(2048)_generation_0(0)", Some(Prefill), 1, [Some(2048), Some(0), Some(2048)]),
            ("execute_context_0(0)_generation_0(0)", None, 0, [Some(0), Some(0), Some(0)]),
            (decoding, Some(Decode), 32, [Some(0), Some(32), Some(32)]),
            (roofline, Some(Mixed), 46, [Some(8155), Some(37), Some(8192)]),
            ("execute_new_3_cached_5", Some(Mixed), 8, [None, Some(5), None]),
            ("execute_new_3_cached_0", Some(Prefill), 3, [None, Some(0), None]),
            ("step[EXTEND bs=15 toks=15360]", Some(Prefill), 15, [Some(15360), Some(0), Some(15360)]),
            ("step[EXTEND bs=2 toks=12 c_sqsq=80 c_sqsk=120 c_sk=20]", Some(Prefill), 2, [Some(12), Some(0), Some(12)]),
            ("step[DECODE bs=32]", Some(Decode), 32, [Some(0), Some(32), Some(32)]),
            ("step[MIXED bs=6 toks=518]", Some(Mixed), 6, [None, None, Some(518)]),
            ("step[MIXED bs=6]", Some(Mixed), 6, [None, None, None]),
            ("prefill[bs=2 tok=16384]", Some(Prefill), 2, [Some(16384), Some(0), Some(16384)]),
            ("decode[bs=64 tok=128]", Some(Decode), 64, [Some(0), Some(128), Some(128)]),
            ("[Executor] _forward_step 12: 3 ctx reqs, 4 gen reqs", Some(Mixed), 7, [None, Some(4), None]),
            ("_forward_step: 0 ctx reqs, 4 gen reqs", Some(Decode), 4, [Some(0), Some(4), Some(4)]),
            ("execute_model: 8 reqs, 8 toks", Some(Decode), 8, [Some(0), Some(8), Some(8)]),
            ("execute_model: 8 reqs, 1031 toks", Some(Mixed), 8, [None, None, Some(1031)]),
        ];
        for (name, phase, requests, tokens) in known {
            assert_eq!(read(name), Some((phase, Some(requests), tokens)), "{name}");
        }
    }

    #[test]
    fn hosts_with_requests_of_their_own_add_up() {
        let [a, b] = ["step[DECODE bs=3]", "step[EXTEND bs=1 toks=9]"].map(|name| ServedBatch::of_span(name).unwrap());
        let both = a.plus(b);
        assert_eq!((both.phase(), both.requests(), both.tokens()), (Some(Mixed), Some(4), Some(12)));
    }

    #[test]
    fn calls_have_a_phase_alone() {
        let phase = |name| ServedBatch::of_call(name).and_then(|batch| batch.phase());
        assert_eq!(phase("PjitFunction(prefill)"), Some(Prefill));
        assert_eq!(phase("PjitFunction(llama_decode_step)"), Some(Decode));
        for other in ["PjitFunction(decoder)", "PjitFunction(prefill_and_decode)", "decode", "PjitFunction(train)"] {
            assert_eq!(phase(other), None, "{other}");
        }
        let batch = ServedBatch::of_call("PjitFunction(decode)").unwrap();
        assert_eq!(
            (batch.requests(), batch.prefill_tokens(), batch.decode_tokens(), batch.tokens()),
            (None, None, None, None)
        );
    }

    #[test]
    fn annotations_of_passes_mark_steps() {
        assert!(marks_step(Some(FORWARD_PASS), "step[DECODE bs=3]"));
        assert!(marks_step(Some("train"), "train"));
        assert!(!marks_step(Some("train"), "step[DECODE bs=3]"));
        assert!(!marks_step(None, "train"));
    }

    #[test]
    fn other_names_are_no_passes() {
        let others = [
            "",
            "execute_model",
            "execute_context_3",
            "execute_context_2(512)_generation_",
            "step[DECODE bs=]",
            "step[DRAFT_EXTEND bs=3]",
            "step[EXTEND bs=2 toks=12",
            "train_step",
            "execute_new_99999999999999999999_cached_1",
            "_forward_step 3",
        ];
        for name in others {
            assert_eq!(read(name), None, "{name}");
        }
    }
}
