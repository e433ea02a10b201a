//! Checks that the promises hold for undamaged samples, and for cases that once failed.

use std::path::Path;

use fuzzing::{Format, corpus, drive};

/// Number of samples per format that this test drives. The test drives the smallest samples. A run of the fuzzer drives
/// all samples.
const SAMPLES: usize = 5;

#[test]
fn samples_keep_the_promises() {
    let mut samples = corpus::all().expect("readable fixtures");
    samples.sort_by_key(|sample| sample.bytes.len());
    for format in Format::ALL {
        let of_format: Vec<_> = samples.iter().filter(|sample| sample.format == format).take(SAMPLES).collect();
        assert_eq!(of_format.len(), SAMPLES, "{format:?}");
        for sample in of_format {
            assert_eq!(drive::drive(format, &sample.bytes), Ok(()), "{}", sample.name);
        }
    }
    // Cases that failed and were fixed, named by `cargo xtask fuzz`. There may be none.
    let found = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("found")).into_iter().flatten().flatten();
    for path in found.map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let format = Format::of_file_name(&name).unwrap_or_else(|| panic!("{name}: unknown format"));
        assert_eq!(drive::drive(format, &std::fs::read(path).expect("a readable case")), Ok(()), "{name}");
    }
}
