//! Transposes, copies and reshapes run as separate ops.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};
use trace::Framework;

/// The rule.
pub(super) const RULE: Rule = Rule { id: "unfused_data_formatting", title: "Changes of layout are not fused", check };

/// Share of the device time (ours: a tenth, as the JAX guide draws the line of overheads).
const WARNING_PERCENT: f64 = 10.0;

/// XLA's category of transpose, copy and reshape, and what producers without categories call them.
const CATEGORIES: [&str; 5] = ["data formatting", "transpose", "reshape", "copy", "copy fusion"];

fn check(numbers: &Numbers<'_>) -> Verdict {
    if numbers.platform.is_none() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    let share = numbers.category_percent(&|name| CATEGORIES.contains(&name));
    if share < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let is_formatting = |category: &str| CATEGORIES.contains(&category);
    let top = numbers.profile.kernels.top_kernels.iter().find(|kernel| is_formatting(&kernel.category));
    let (view, filter) = numbers.link_to(&is_formatting);
    let message = format!(
        "Transposes, copies and reshapes as ops of their own take {} of the time of all device ops.{}",
        format::percent(share),
        top.map_or(String::new(), |top| format!(
            " The largest is {} with {}.",
            format::printable(&format::shorten(&top.name, 60)),
            format::optional_percent(top.percent)
        ))
    );
    Draft::new(FindingSeverity::Warning, Confidence::High, "Changes of layout take much of the device time", message)
        .remedy(&format!(
            "Give ops the layout they compute in: channels last for convolutions ({}), the \
             contracted axis last for matrix products, einsum instead of transpose and reshape around a product; remove \
             transposes that undo each other.",
            match numbers.trace.framework {
                Framework::PyTorch => "memory_format=torch.channels_last",
                Framework::TensorFlow => "data_format=\"channels_last\"",
                Framework::Jax | Framework::Unknown => "dimension_numbers NHWC or NDHWC",
            }
        ))
        .passed("data_formatting_percent", share, WARNING_PERCENT)
        .at_stake(numbers.of_window(share))
        .link(view, &filter)
        .fires()
}
