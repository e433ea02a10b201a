//! Whole samples and cases that once failed keep the promises.

use std::path::Path;

use fuzzing::{Format, corpus, drive};

#[test]
fn samples_keep_the_promises() {
    let mut samples = corpus::all().expect("readable fixtures");
    samples.sort_by_key(|sample| sample.bytes.len());
    for format in Format::ALL {
        let of_format: Vec<_> = samples.iter().filter(|sample| sample.format == format).take(5).collect();
        assert!(!of_format.is_empty(), "{format:?}");
        for sample in of_format {
            assert_eq!(drive::drive(format, &sample.bytes), Ok(()), "{}", sample.name);
        }
    }
}

#[test]
fn cases_that_failed_keep_the_promises() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("found");
    let mut driven = 0;
    for entry in std::fs::read_dir(folder).expect("the folder of the cases") {
        let path = entry.expect("a case").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let format = Format::of_file_name(&name).unwrap_or_else(|| panic!("{name}: of which format?"));
        assert_eq!(drive::drive(format, &std::fs::read(path).expect("a readable case")), Ok(()), "{name}");
        driven += 1;
    }
    assert!(driven > 0, "no case was found");
}
