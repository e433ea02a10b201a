use super::*;

/// Mangled names of real kernels, with the output of GNU c++filt.
const NAMES: &str = include_str!("names.tsv");

#[test]
fn names_are_those_of_cppfilt() {
    let mut wrong = Vec::new();
    for line in NAMES.lines() {
        let (mangled, expected) = line.split_once('\t').unwrap();
        if demangle(mangled).as_deref() != Some(expected) {
            wrong.push(format!("{mangled}\n  is     {:?}\n  is not {expected}", demangle(mangled)));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), NAMES.lines().count(), wrong.join("\n"));
}

#[test]
fn unmangled_and_unsupported_names_stay() {
    for name in [
        "",
        "loop_add_fusion",
        "_Z",
        "_Z1fM1AFivE",
        "_ZN3fooE_",
        "_Z9999999999f",
        "_ZN",
        "_ZS",
        "_Z1fT_",
        "_Z1fIXsr3fooEEvv",
    ] {
        assert_eq!(demangle(name), None, "{name}");
    }
}

#[test]
fn every_cut_and_every_changed_byte_is_survived() {
    let letters = b"_NZSTEIJLPKRDpFA0129vif.";
    for line in NAMES.lines().filter(|line| line.len() < 600) {
        let mangled = line.split('\t').next().unwrap();
        for end in 0..mangled.len() {
            let _ = demangle(&mangled[..end]);
            let mut changed = mangled.as_bytes().to_vec();
            changed[end] = letters[(end * 7 + mangled.len()) % letters.len()];
            let _ = demangle(std::str::from_utf8(&changed).unwrap());
        }
    }
    // Each pair doubles the text. The limits stop it before it fills the memory.
    let doubling = format!("_Z1fI1A{}EvT_", "1BIS_S_E".repeat(200));
    let _ = demangle(&doubling);
    assert_eq!(demangle(&format!("_Z1f{}i", "P".repeat(5_000))), None, "too deep");
}

#[test]
fn short_names_leave_out_types_and_arguments() {
    for (name, short) in [
        ("void tensorflow::functor::ApplyAdamKernel<float>(int, float*)", "tensorflow::functor::ApplyAdamKernel"),
        ("void (anonymous namespace)::copy_kernel<3>(__half const*, __half*)", "(anonymous namespace)::copy_kernel"),
        ("te::populate_rng_state_kernel(long*, long const*, long) [clone .kd]", "te::populate_rng_state_kernel"),
        ("main::{lambda()#1}::operator()() const", "main::{lambda()#1}::operator"),
        ("gemm_fusion_dot_7.kd", "gemm_fusion_dot_7"),
        ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD"),
        ("loop_add_fusion", "loop_add_fusion"),
        ("<>", "<>"),
    ] {
        assert_eq!(short_name(name), short, "{name}");
    }
}
