//! Uses one name for matrix products on two platforms. XLA runs most matrix products of a TPU as convolutions, and names them
//! convolutions.
//!
//! ```text
//! TPU            other platform             both are called
//! convolution    matmul                     matmul
//! convolution    convolution                convolution
//! convolution    matmul and convolution     matmul_or_convolution: the class of a TPU's op does not distinguish them
//! ```

use super::{Subject, steps};
use report::Platform;

const MATMUL: &str = "matmul";
const CONVOLUTION: &str = "convolution";
const EITHER: &str = "matmul_or_convolution";

/// Common names for the classes of matrix products and convolutions of two runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Products {
    /// Keeps the names of each run.
    #[default]
    AsStated,
    /// Treats convolutions as matrix products.
    Matmul,
    /// Merges matrix products and convolutions, because they cannot be distinguished.
    Either,
}

impl Products {
    /// Chooses the names for two runs. The names change only if exactly one of the runs ran on a TPU.
    pub(crate) fn of(ours: &Subject, theirs: &Subject) -> Products {
        let is_tpu = |subject: &Subject| subject.profile.metadata.platform() == Some(Platform::Tpu);
        let other = match (is_tpu(ours), is_tpu(theirs)) {
            (true, false) => theirs,
            (false, true) => ours,
            _ => return Products::AsStated,
        };
        let classes = steps::families(&other.profile);
        let has = |class: &str| classes.iter().any(|(name, ..)| name == class);
        match (has(MATMUL), has(CONVOLUTION)) {
            (false, _) => Products::AsStated,
            (true, false) => Products::Matmul,
            (true, true) => Products::Either,
        }
    }

    /// Returns the common name of a class.
    pub(crate) fn class(self, class: &str) -> &str {
        match self {
            Products::Matmul if class == CONVOLUTION => MATMUL,
            Products::Either if class == MATMUL || class == CONVOLUTION => EITHER,
            _ => class,
        }
    }

    /// Renames classes with their time and count, and adds up the classes that get the same name.
    pub(crate) fn classes(self, classes: Vec<(String, f64, f64)>) -> Vec<(String, f64, f64)> {
        let mut named: Vec<(String, f64, f64)> = Vec::with_capacity(classes.len());
        for (class, time_us, count) in classes {
            let name = self.class(&class);
            match named.iter_mut().find(|(known, ..)| known == name) {
                Some((_, time, sum)) => (*time, *sum) = (*time + time_us, *sum + count),
                None => named.push((name.to_owned(), time_us, count)),
            }
        }
        named
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::{StepFamily, StepOps, UnifiedProfile};

    fn run(platform: &str, classes: &[&str]) -> Subject {
        let family = |it: &&str| StepFamily { family: (*it).to_owned(), self_time_us: 1.0, occurrences: 2.0 };
        let mut profile = UnifiedProfile::default();
        profile.metadata.platform = platform.to_owned();
        profile.step_ops = Some(StepOps { families: classes.iter().map(family).collect(), ..StepOps::default() });
        Subject::new(profile)
    }

    #[test]
    fn convolutions_of_a_tpu_get_the_name_of_the_other_platform() {
        let tpu = run("TPU", &["convolution", "elementwise"]);
        let of = |platform: &str, classes: &[&str]| {
            let other = run(platform, classes);
            assert_eq!(Products::of(&tpu, &other), Products::of(&other, &tpu));
            Products::of(&tpu, &other).class(CONVOLUTION).to_owned()
        };
        assert_eq!(of("GPU", &["matmul", "attention"]), "matmul");
        assert_eq!(of("CPU", &["matmul"]), "matmul");
        assert_eq!(of("GPU", &["convolution"]), "convolution");
        assert_eq!(of("GPU", &["convolution", "matmul"]), "matmul_or_convolution");
        assert_eq!(of("TPU", &["matmul"]), "convolution", "one platform names its ops alike");
    }

    #[test]
    fn classes_of_one_name_are_added_up() {
        let classes = ["matmul", "reduction", "convolution"].map(|it| (it.to_owned(), 1.5, 2.0));
        let named = Products::Either.classes(classes.to_vec());
        let expected = [("matmul_or_convolution", 3.0, 4.0), ("reduction", 1.5, 2.0)];
        assert_eq!(named, expected.map(|(name, us, n)| (name.to_owned(), us, n)));
    }
}
