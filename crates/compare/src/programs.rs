//! Checks whether the runs executed the same program. Compares the compiler's output (instructions, types and shapes), its
//! version and its flags.

use std::collections::{BTreeMap, BTreeSet};

use super::agreement::{missing, status};
use super::{FairnessCheck, FairnessStatus, Subject, are_of_several_platforms};
use base::{format, sort};
use report::{Program, UnifiedProfile};

/// Maximum number of shapes, versions or flags that are listed for one run if they differ.
const MOST_LISTED: usize = 3;

/// An operand type with at least this share of the bytes in one run and less than
/// [`HARDLY_ANY_PERCENT`] in another is a difference.
const MANY_PERCENT: f64 = 5.0;
const HARDLY_ANY_PERCENT: f64 = 0.5;

/// Types of indices, masks and random bits. The share of these types does not depend on the precision of the model.
const NO_ARITHMETIC: [&str; 7] = ["pred", "s16", "s32", "s64", "u16", "u32", "u64"];

/// Names and values that a run records for one condition.
type Facts = BTreeMap<String, String>;

/// Returns the checks for which at least one run has a value.
pub(crate) fn checks(subjects: &[Subject]) -> Vec<FairnessCheck> {
    let found = [
        program(subjects),
        parameter_shapes(subjects),
        operand_types(subjects),
        by_facts(subjects, "compiler", "Compiler and runtime", versions),
        by_facts(subjects, "compiler_flags", "Compiler flags", flags),
    ];
    found.into_iter().filter(|check| check.values.iter().any(Option::is_some)).collect()
}

fn note(check: &str) -> &'static str {
    match check {
        "program" => "The compiled programs differ. If they do the same work, the comparison measures this difference.",
        "parameter_shapes" => "The steps take arrays of different types or shapes, so they do different work.",
        "operand_types" => "Arithmetic of a different width has a different peak rate and gives different results.",
        "compiler" => "Different compiler versions compile the same source into different programs.",
        _ => "The compiler flags differ.",
    }
}

/// Returns the program with the most device time.
fn main_program(profile: &UnifiedProfile) -> Option<&Program> {
    profile.programs.first()
}

fn status_of(differs: bool, is_known: bool) -> FairnessStatus {
    match (differs, is_known) {
        (true, _) => FairnessStatus::Differs,
        (false, true) => FairnessStatus::Same,
        (false, false) => FairnessStatus::Unknown,
    }
}

fn finished(
    subjects: &[Subject],
    check: &str,
    title: &str,
    status: FairnessStatus,
    values: Vec<Option<String>>,
) -> FairnessCheck {
    let note = match status {
        FairnessStatus::Differs => note(check).to_owned(),
        FairnessStatus::Unknown => format!("Not in the trace of {}.", missing(subjects, &values)),
        FairnessStatus::Same => String::new(),
    };
    FairnessCheck { check: check.to_owned(), title: title.to_owned(), status, values, note }
}

/// Joins the first entries of a list, and adds the number of omitted entries.
fn shortened(list: Vec<String>) -> String {
    let more = list.len().saturating_sub(MOST_LISTED);
    let mut text = list.into_iter().take(MOST_LISTED).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text += &format!(" and {more} more");
    }
    if text.is_empty() { "none".to_owned() } else { text }
}

/// Compares the facts that `of` reads from each run. The status is `Same` if every run has the same names and values.
/// If the facts differ, only the differences are shown.
fn by_facts(subjects: &[Subject], check: &str, title: &str, of: fn(&UnifiedProfile) -> Option<Facts>) -> FairnessCheck {
    let runs: Vec<Option<Facts>> = subjects.iter().map(|it| of(&it.profile)).collect();
    let known = || runs.iter().flatten();
    let names = sort::set(known().flat_map(BTreeMap::keys));
    let differs =
        |name: &&String| known().any(|run| run.get(*name) != known().next().and_then(|first| first.get(*name)));
    let differing: Vec<&String> = names.iter().copied().filter(differs).collect();
    let status = match (differing.is_empty(), runs.iter().all(Option::is_some)) {
        (false, _) => FairnessStatus::Differs,
        (true, true) => FairnessStatus::Same,
        (true, false) => FairnessStatus::Unknown,
    };
    let is_shown = |name: &&String| differing.is_empty() || differing.contains(name);
    let value =
        |run: &Facts| shortened(names.iter().copied().filter(is_shown).filter_map(|it| run.get(it).cloned()).collect());
    let values = runs.iter().map(|run| run.as_ref().map(value)).collect();
    finished(subjects, check, title, status, values)
}

fn program(subjects: &[Subject]) -> FairnessCheck {
    let short = |text: &str| text.get(..8).unwrap_or(text).to_owned();
    let value = |it: &Subject| main_program(&it.profile).map(|it| format!("{} {}", it.name, short(&it.fingerprint)));
    let values: Vec<Option<String>> = subjects.iter().map(value).collect();
    finished(subjects, "program", "Program", status(&values), values)
}

fn parameter_shapes(subjects: &[Subject]) -> FairnessCheck {
    let programs: Vec<Option<&Program>> = subjects.iter().map(|it| main_program(&it.profile)).collect();
    let known: Vec<(&Subject, &Program)> =
        subjects.iter().zip(&programs).filter_map(|(subject, program)| Some((subject, (*program)?))).collect();
    // Shapes of each run that another run does not have.
    let mut only: BTreeSet<&str> = BTreeSet::new();
    // Shapes of partitioned arrays are only comparable for the same number of partitions.
    let mut comparable = known.len() == subjects.len();
    for pair in known.windows(2) {
        let [(subject, program), (other_subject, other)] = pair else { continue };
        if program.parameter_fingerprint == other.parameter_fingerprint {
            continue;
        }
        // If the number of partitions differs, sizes differ too, but types and the number of dimensions do not.
        if program.num_partitions != other.num_partitions && kinds(program) == kinds(other) {
            comparable = false;
            continue;
        }
        let [ours, theirs] = [(program, other), (other, program)].map(|(of, against)| without(of, against));
        if !are_of_another_batch(&ours, &theirs, [&subject.profile, &other_subject.profile]) {
            only.extend(ours.iter().chain(&theirs).map(|(shape, _)| *shape));
            // If the listed shapes are the same, unlisted shapes differ.
            if ours.is_empty() && theirs.is_empty() {
                only.insert("");
            }
        }
    }
    let status = status_of(!only.is_empty(), comparable);
    let value = |program: &&Program| {
        let bytes = program.parameters.iter().fold(0u64, |sum, it| sum.saturating_add(it.bytes));
        let listed = program.parameters.iter().filter(|it| only.contains(it.shape.as_str()));
        let differing: Vec<String> = listed.map(|it| format!("{} x {}", it.count, it.shape)).collect();
        if differing.is_empty() {
            format!("{} arrays, {}", format::count(program.num_parameters), format::bytes(bytes))
        } else {
            shortened(differing)
        }
    };
    let values = programs.iter().map(|program| program.as_ref().map(value)).collect();
    let found = finished(subjects, "parameter_shapes", "Types and shapes of parameters", status, values);
    if status == FairnessStatus::Unknown && known.len() == subjects.len() {
        return FairnessCheck {
            note:
                "The programs are for different numbers of partitions, and each contains the shapes of one partition."
                    .to_owned(),
            ..found
        };
    }
    found
}

/// Counts arrays by type and number of dimensions: `bf16` and 2 for `bf16[8,4]`.
fn kinds(program: &Program) -> BTreeMap<(&str, usize), u64> {
    let mut kinds = BTreeMap::new();
    for it in &program.parameters {
        let data_type = it.shape.split('[').next().unwrap_or_default();
        *kinds.entry((data_type, it.shape.matches(',').count())).or_insert(0u64) += it.count;
    }
    kinds
}

/// Returns the shapes that `program` takes more often than `other`.
fn without<'p>(program: &'p Program, other: &Program) -> Vec<(&'p str, u64)> {
    let theirs = |shape: &str| other.parameters.iter().rfind(|it| it.shape == shape).map_or(0, |it| it.count);
    let more = |shape: &str, count: u64| count.saturating_sub(theirs(shape));
    let ours = program.parameters.iter().map(|it| (it.shape.as_str(), more(&it.shape, it.count)));
    ours.filter(|(_, count)| *count > 0).collect()
}

/// Returns true if each pair of shapes differs in only one dimension, in proportion to the known
/// batch sizes or sequence lengths.
fn are_of_another_batch(ours: &[(&str, u64)], theirs: &[(&str, u64)], profiles: [&UnifiedProfile; 2]) -> bool {
    let [model, other] = profiles.map(|it| &it.model_config);
    let both = [(model.batch_size, other.batch_size), (model.seq_length, other.seq_length)];
    let sizes: Vec<(u64, u64)> =
        both.into_iter().filter_map(|(a, b)| a.zip(b)).filter(|(a, b)| a != b && *a > 0 && *b > 0).collect();
    let is_scaled = |a: &str, b: &str| {
        let (Some((our_type, a)), Some((their_type, b))) = (a.split_once('['), b.split_once('[')) else { return false };
        let numbers = |text: &str| -> Vec<u64> {
            text.trim_end_matches(']').split(',').filter_map(|it| it.trim_start_matches("<=").parse().ok()).collect()
        };
        let (a, b) = (numbers(a), numbers(b));
        let mut unequal = a.iter().zip(&b).filter(|(a, b)| a != b);
        let (Some((a_size, b_size)), None) = (unequal.next(), unequal.next()) else { return false };
        let in_proportion = |(ours, theirs): &(u64, u64)| {
            a_size.checked_mul(*theirs).is_some_and(|it| Some(it) == b_size.checked_mul(*ours))
        };
        our_type == their_type && a.len() == b.len() && sizes.iter().any(in_proportion)
    };
    let mut left: Vec<(&str, u64)> = theirs.to_vec();
    let has_partner = |&(shape, count): &(&str, u64)| {
        let at = left.iter().position(|(other, others)| count == *others && is_scaled(shape, other));
        at.map(|at| left.remove(at)).is_some()
    };
    !ours.is_empty() && ours.iter().all(has_partner) && left.is_empty()
}

/// Compares the types that programs compute with. Skipped across platforms, because platforms store intermediate
/// results in different types.
fn operand_types(subjects: &[Subject]) -> FairnessCheck {
    let types = |subject: &Subject| -> Option<BTreeMap<String, f64>> {
        let listed = subject.profile.step_ops.as_ref().map_or(&[][..], |it| &it.operand_types);
        let computing = listed.iter().filter(|it| !NO_ARITHMETIC.contains(&it.data_type.as_str()));
        let shares = sort::map(computing.map(|it| (it.data_type.clone(), it.percent)));
        (!shares.is_empty()).then_some(shares)
    };
    let across = are_of_several_platforms(subjects);
    let runs: Vec<Option<BTreeMap<String, f64>>> = subjects.iter().map(|it| types(it).filter(|_| !across)).collect();
    let share = |run: &BTreeMap<String, f64>, name: &String| run.get(name).copied().unwrap_or(0.0);
    let known = || runs.iter().flatten();
    let differs = |name: &String| {
        known().any(|run| share(run, name) >= MANY_PERCENT) && known().any(|run| share(run, name) < HARDLY_ANY_PERCENT)
    };
    let names = sort::set(known().flat_map(BTreeMap::keys));
    let differing: Vec<&String> = names.iter().copied().filter(|name| differs(name)).collect();
    let status = match (differing.is_empty(), runs.iter().all(Option::is_some)) {
        (false, _) => FairnessStatus::Differs,
        (true, true) => FairnessStatus::Same,
        (true, false) => FairnessStatus::Unknown,
    };
    let value = |run: &BTreeMap<String, f64>| {
        let is_shown = |name: &&String| {
            if status == FairnessStatus::Differs { differing.contains(name) } else { share(run, name) >= MANY_PERCENT }
        };
        let text = |name: &String| format!("{name} {}", format::percent(share(run, name)));
        shortened(names.iter().copied().filter(is_shown).map(text).collect())
    };
    let values = runs.iter().map(|run| run.as_ref().map(value)).collect();
    finished(subjects, "operand_types", "Types of operands", status, values)
}

/// Returns the versions of the software that compiles and runs the programs.
fn versions(profile: &UnifiedProfile) -> Option<Facts> {
    let is_version = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.ends_with("version") || ["compilation_task_info", "build_changelist"].contains(&name.as_str())
    };
    let environment = &profile.metadata.environment;
    let versions = environment.iter().filter(|(name, _)| is_version(name));
    let listed: Facts = sort::map(versions.map(|(name, value)| (name.clone(), format!("{name} {value}"))));
    (!listed.is_empty()).then_some(listed)
}

/// Returns the compiler flags, from `XLA_FLAGS`, `LIBTPU_INIT_ARGS` and similar environment
/// variables in the profile.
fn flags(profile: &UnifiedProfile) -> Option<Facts> {
    let is_flags = |name: &str| {
        let name = name.to_ascii_lowercase();
        ["xla_flags", "libtpu_init_args", "command_line_args"].iter().any(|it| name.ends_with(it))
    };
    let values = profile.metadata.environment.iter().filter(|(name, _)| is_flags(name)).map(|(_, value)| value);
    let values: Vec<&String> = values.collect();
    // The number of devices has a separate check.
    let is_compared = |it: &&str| {
        (it.starts_with("--xla") || it.starts_with("--megascale"))
            && !it.starts_with("--xla_force_host_platform_device_count")
    };
    let words = values.iter().flat_map(|value| value.split_whitespace()).filter(is_compared);
    let flag = |word: &str| (word.split('=').next().unwrap_or(word).to_owned(), word.to_owned());
    (!values.is_empty()).then(|| sort::map(words.map(flag)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::{OperandType, ProgramParameters, StepOps};

    fn run(fingerprint: &str, parameters: &[(&str, u64)]) -> Subject {
        let mut profile = UnifiedProfile::default();
        let parameters: Vec<ProgramParameters> = parameters
            .iter()
            .map(|(shape, count)| ProgramParameters { shape: (*shape).to_owned(), count: *count, bytes: 1024 * count })
            .collect();
        profile.programs = vec![Program {
            name: "jit_step".to_owned(),
            fingerprint: fingerprint.to_owned(),
            num_partitions: Some(1),
            num_parameters: parameters.iter().map(|it| it.count).sum(),
            parameter_fingerprint: format!("{parameters:?}"),
            parameters,
            ..Program::default()
        }];
        Subject::new(profile)
    }

    fn found(subjects: &[Subject], name: &str) -> Option<(FairnessStatus, Vec<Option<String>>)> {
        checks(subjects).into_iter().find(|it| it.check == name).map(|it| (it.status, it.values))
    }

    fn known(values: [&str; 2]) -> Vec<Option<String>> {
        values.map(|it| Some(it.to_owned())).to_vec()
    }

    #[test]
    fn another_program_may_take_the_same_arrays() {
        let both = [run("0123456789abcdef", &[("bf16[8,4]", 2)]), run("fedcba9876543210", &[("bf16[8,4]", 2)])];
        let program = found(&both, "program").unwrap();
        assert_eq!(program, (FairnessStatus::Differs, known(["jit_step 01234567", "jit_step fedcba98"])));
        let shapes = found(&both, "parameter_shapes").unwrap();
        assert_eq!(shapes, (FairnessStatus::Same, known(["2 arrays, 2.00 KiB"; 2])));
        // A check without a value in any run is omitted.
        assert_eq!(checks(&[Subject::new(UnifiedProfile::default()), Subject::new(UnifiedProfile::default())]), []);
        let one = [both[0].clone(), Subject::new(UnifiedProfile::default())];
        assert_eq!(found(&one, "parameter_shapes").unwrap().0, FairnessStatus::Unknown);
    }

    #[test]
    fn other_types_and_shapes_are_named() {
        let both = [run("a", &[("bf16[8,4]", 2), ("f32[8]", 1)]), run("b", &[("s8[8,4]", 2), ("f32[8]", 1)])];
        let shapes = found(&both, "parameter_shapes").unwrap();
        assert_eq!(shapes, (FairnessStatus::Differs, known(["2 x bf16[8,4]", "2 x s8[8,4]"])));
    }

    #[test]
    fn a_known_batch_size_explains_different_arrays() {
        let mut both =
            [run("a", &[("bf16[8,4]", 2), ("s32[16,128]", 2)]), run("b", &[("bf16[8,4]", 2), ("s32[32,128]", 2)])];
        assert_eq!(found(&both, "parameter_shapes").unwrap().0, FairnessStatus::Differs);
        both[0].profile.model_config.batch_size = Some(4);
        both[1].profile.model_config.batch_size = Some(8);
        assert_eq!(found(&both, "parameter_shapes").unwrap().0, FairnessStatus::Same);
        both[1].profile.model_config.batch_size = Some(16);
        assert_eq!(found(&both, "parameter_shapes").unwrap().0, FairnessStatus::Differs);
    }

    #[test]
    fn shapes_of_different_partition_counts_are_not_compared() {
        let mut both = [run("a", &[("bf16[8,4]", 2)]), run("b", &[("bf16[4,4]", 2)])];
        both[1].profile.programs[0].num_partitions = Some(2);
        assert_eq!(found(&both, "parameter_shapes").unwrap().0, FairnessStatus::Unknown);
        // The types of the whole arrays are compared.
        both[1].profile.programs[0].parameters[0].shape = "s8[4,4]".to_owned();
        assert_eq!(found(&both, "parameter_shapes").unwrap().0, FairnessStatus::Differs);
    }

    #[test]
    fn narrow_weights_are_detected_from_operands() {
        let with = |types: &[(&str, f64)]| {
            let types =
                types.iter().map(|(name, percent)| OperandType { data_type: (*name).to_owned(), percent: *percent });
            let operand_types = types.collect();
            Subject::new(UnifiedProfile {
                step_ops: Some(StepOps { operand_types, ..StepOps::default() }),
                ..UnifiedProfile::default()
            })
        };
        let narrow = with(&[("bf16", 70.0), ("f4e2m1fn", 20.0), ("s32", 10.0)]);
        let wide = with(&[("bf16", 99.0), ("f32", 1.0)]);
        let differs = (FairnessStatus::Differs, known(["f4e2m1fn 20.0 %", "f4e2m1fn 0 %"]));
        assert_eq!(found(&[narrow.clone(), wide.clone()], "operand_types"), Some(differs));
        let rounding = with(&[("bf16", 97.0), ("f32", 3.0)]);
        assert_eq!(found(&[rounding, wide], "operand_types").unwrap().0, FairnessStatus::Same);
    }

    #[test]
    fn versions_and_flags_that_differ_are_named() {
        let with = |environment: &[(&str, &str)]| {
            let mut profile = UnifiedProfile::default();
            profile.metadata.environment =
                environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            Subject::new(profile)
        };
        let a =
            with(&[("jaxlib_version", "0.7.0"), ("cuda_version", "12"), ("XLA_FLAGS", "--xla_a=true --xla_b=1 --v=2")]);
        let b = with(&[("jaxlib_version", "0.7.1"), ("cuda_version", "12"), ("XLA_FLAGS", "--xla_b=1")]);
        let both = [a.clone(), b];
        let versions = (FairnessStatus::Differs, known(["jaxlib_version 0.7.0", "jaxlib_version 0.7.1"]));
        assert_eq!(found(&both, "compiler"), Some(versions));
        assert_eq!(found(&both, "compiler_flags"), Some((FairnessStatus::Differs, known(["--xla_a=true", "none"]))));
        assert_eq!(found(&[a.clone(), a], "compiler_flags").unwrap().0, FairnessStatus::Same);
        let on =
            |count: u32| with(&[("XLA_FLAGS", &format!("--xla_b=1 --xla_force_host_platform_device_count={count}"))]);
        assert_eq!(found(&[on(1), on(8)], "compiler_flags").unwrap().0, FairnessStatus::Same, "devices are compared");
    }
}
