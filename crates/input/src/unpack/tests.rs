//! Tests archives that Python's zipfile and tarfile wrote (`tests/data/archives/make.py`).

use std::io::Write as _;

use proptest::prelude::*;

use super::*;

/// Path and content of each member, and code and offset of each warning.
type Result = (Vec<(String, Vec<u8>)>, Vec<(String, Option<u64>)>);

fn unpack(path: &str, file: &[u8], chunk: usize) -> Result {
    let (mut members, mut warnings, mut open) = (Vec::<(String, Vec<u8>)>::new(), Vec::new(), false);
    let mut unpacker = Unpacker::new(path);
    let mut sink = |item: Unpacked<'_>| match item {
        Unpacked::Begin { path, .. } => {
            assert!(!open, "a member begins inside another");
            open = true;
            members.push((path.to_owned(), Vec::new()));
        }
        Unpacked::Data(bytes) => {
            assert!(open, "data outside a member");
            members.last_mut().expect("a member").1.extend_from_slice(bytes);
        }
        Unpacked::End => {
            assert!(open, "an end without a member");
            open = false;
        }
        Unpacked::Warning(warning) => warnings.push((warning.code, warning.byte_offset)),
    };
    for piece in file.chunks(chunk) {
        unpacker.push(piece, &mut sink);
    }
    unpacker.finish(&mut sink);
    assert!(!open, "a member has no end");
    (members, warnings)
}

/// Unpacks the file in one chunk and in chunks of several sizes, and asserts that all results are identical.
fn unpack_all_ways(path: &str, file: &[u8]) -> Result {
    let whole = unpack(path, file, file.len().max(1));
    for chunk in [1, 7, 4096] {
        assert_eq!(unpack(path, file, chunk), whole, "chunks of {chunk}");
    }
    whole
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).expect("in memory");
    encoder.finish().expect("in memory")
}

fn large() -> Vec<u8> {
    (0..1500).flat_map(|i| format!("{{\"ts\":{},\"dur\":{}}},", i * 17, i % 101).into_bytes()).collect()
}

/// Returns the files that `make.py` packs, in the order in which it packs them.
fn content(archive: &str) -> Vec<(String, Vec<u8>)> {
    let long = format!("run/{}/long.json", ["a-folder-with-a-long-name"; 8].join("/"));
    [
        ("run/small.json", b"{\"traceEvents\":[]}".to_vec()),
        ("run/empty.json", vec![]),
        ("run/large.json", large()),
        (&long, b"a long name".to_vec()),
        ("../../outside.json", b"a hostile name".to_vec()),
        ("run/packed.json", b"packed inside".to_vec()),
    ]
    .map(|(path, bytes)| (format!("{archive}/{path}"), bytes))
    .to_vec()
}

macro_rules! archive {
    ($name:literal) => {
        include_bytes!(concat!("../../../../tests/data/archives/", $name))
    };
}

#[test]
fn a_plain_file_is_its_own_member() {
    for bytes in [&b""[..], b"{", b"{\"traceEvents\":[]}", &large()] {
        assert_eq!(unpack_all_ways("d/a.json", bytes), (vec![("d/a.json".to_owned(), bytes.to_vec())], vec![]));
    }
    let big = large().repeat(40);
    let (members, _) = unpack("a", &big, 100_000);
    assert_eq!(members, [("a".to_owned(), big)]);
}

#[test]
fn a_gzip_file_loses_its_suffix_only() {
    for (path, member) in [("d/a.json.gz", "d/a.json"), ("A.GZ", "A"), ("a.prof", "a.prof"), (".gz", ".gz")] {
        assert_eq!(unpack_all_ways(path, &gzip(&large())), (vec![(member.to_owned(), large())], vec![]));
    }
}

#[test]
fn gzip_in_gzip() {
    let twice = gzip(&gzip(&large()));
    assert_eq!(unpack_all_ways("a.json.gz", &twice).0, [("a.json".to_owned(), large())]);
}

#[test]
fn zips_of_every_kind() {
    for (name, bytes) in [
        ("stored.zip", &archive!("stored.zip")[..]),
        ("deflated.zip", archive!("deflated.zip")),
        ("piped.zip", archive!("piped.zip")),
        ("piped-zip64.zip", archive!("piped-zip64.zip")),
        ("zip64.zip", archive!("zip64.zip")),
    ] {
        assert_eq!(unpack_all_ways(name, bytes), (content(name), vec![]), "{name}");
    }
}

#[test]
fn tars_of_every_kind() {
    for (name, bytes) in [
        ("gnu.tar.gz", &archive!("gnu.tar.gz")[..]),
        ("pax.tar.gz", archive!("pax.tar.gz")),
        ("ustar.tar.gz", archive!("ustar.tar.gz")),
    ] {
        assert_eq!(unpack_all_ways(name, bytes), (content(name), vec![]), "{name}");
        let (tar, _) = unpack_gzip(bytes);
        assert_eq!(unpack_all_ways("plain.tar", &tar), (content("plain.tar"), vec![]), "{name}");
    }
}

fn unpack_gzip(bytes: &[u8]) -> (Vec<u8>, usize) {
    let mut plain = Vec::new();
    let read = std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(bytes), &mut plain).expect("valid");
    (plain, read)
}

#[test]
fn unsupported_entries_are_named_and_skipped() {
    let (members, warnings) = unpack_all_ways("a.zip", archive!("bzip2.zip"));
    assert_eq!(members, []);
    assert!(warnings.iter().all(|(code, _)| code == "archive_unsupported"));
    // The folder has no content. Each of the other entries causes a warning.
    assert_eq!(warnings.len(), content("").len());

    let mut encrypted = archive!("deflated.zip").to_vec();
    let first = encrypted.windows(4).skip(1).position(|w| w == b"PK\x03\x04").expect("a second entry") + 1;
    encrypted[first + 6] |= 1;
    let (members, warnings) = unpack_all_ways("a.zip", &encrypted);
    assert_eq!(members, content("a.zip")[1..]);
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].0, "archive_encrypted");
}

#[test]
fn a_cut_zip_keeps_the_entries_before() {
    let bytes = archive!("deflated.zip");
    let (mut before, large) = (0, large());
    for cut in (31..bytes.len()).step_by(113) {
        let (members, warnings) = unpack_all_ways("a.zip", &bytes[..cut]);
        assert!(members.len() >= before);
        before = members.len();
        for ((path, found), (expected_path, expected)) in members.iter().zip(content("a.zip")) {
            assert_eq!(path, &expected_path);
            assert!(expected.starts_with(found) || large.starts_with(found));
        }
        let directory = bytes.windows(4).position(|w| w == b"PK\x01\x02").expect("a directory");
        if cut < directory {
            assert!(warnings.iter().any(|(code, _)| code == "archive_truncated" || code == "gzip_truncated"), "{cut}");
        }
    }
    assert_eq!(before, content("").len());
}

#[test]
fn a_damaged_zip_entry_does_not_hide_the_next() {
    for (name, bytes) in [("stored.zip", &archive!("stored.zip")[..]), ("deflated.zip", archive!("deflated.zip"))] {
        let mut damaged = bytes.to_vec();
        let at = damaged.windows(14).position(|w| w == b"run/large.json").expect("the entry") + 14 + 4000;
        damaged[at..at + 8].fill(0xff);
        let (members, warnings) = unpack_all_ways(name, &damaged);
        let paths: Vec<_> = members.iter().map(|(path, _)| path.clone()).collect();
        let expected: Vec<_> = content(name).into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, expected);
        assert_eq!(members.last(), content(name).last());
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(["archive_checksum", "archive_corrupt"].contains(&warnings[0].0.as_str()));
    }
}

#[test]
fn a_damaged_tar_header_does_not_hide_the_next() {
    let (mut tar, _) = unpack_gzip(archive!("ustar.tar.gz"));
    let at = tar.windows(14).position(|w| w == b"run/empty.json").expect("the header");
    assert_eq!(at % 512, 0);
    tar[at] = b'R';
    let (members, warnings) = unpack_all_ways("a.tar", &tar);
    let mut expected = content("a.tar");
    expected.remove(1);
    assert_eq!(members, expected);
    assert_eq!(warnings, [("archive_corrupt".to_owned(), Some(at as u64))]);
}

#[test]
fn a_cut_tar_keeps_the_entries_before() {
    let (tar, _) = unpack_gzip(archive!("pax.tar.gz"));
    for cut in (512..tar.len() - 20_000).step_by(1711) {
        let (members, _) = unpack_all_ways("a.tar", &tar[..cut]);
        for ((path, found), (expected_path, expected)) in members.iter().zip(content("a.tar")) {
            assert_eq!(path, &expected_path);
            assert!(expected.starts_with(found));
        }
    }
}

/// If an archive ends between two entries, or in the padding of an entry, no data is lost. Only the missing end mark
/// reveals that the archive is incomplete.
#[test]
fn a_tar_without_its_end_mark_is_noted() {
    let (tar, _) = unpack_gzip(archive!("ustar.tar.gz"));
    let header = tar.windows(14).position(|w| w == b"run/empty.json").expect("the header");
    let missing = |end: usize| vec![("archive_end_missing".to_owned(), Some(end as u64))];
    for cut in [header, header - 100] {
        let (members, warnings) = unpack_all_ways("a.tar", &tar[..cut]);
        assert_eq!((members.as_slice(), warnings), (&content("a.tar")[..1], missing(cut)));
    }
    let content_end = tar.iter().rposition(|byte| *byte != 0).expect("content") + 1;
    let end = content_end.next_multiple_of(512);
    assert_eq!(unpack_all_ways("a.tar", &tar[..end]), (content("a.tar"), missing(end)));
    // One of the two empty blocks shows that nothing follows.
    assert_eq!(unpack_all_ways("a.tar", &tar[..end + 512]), (content("a.tar"), vec![]));
}

#[test]
fn a_cut_gzip_in_a_zip_names_the_member() {
    let stored = gzip(&large());
    let mut unpacker = Unpacker::new("a.zip");
    let mut zip = b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0".to_vec();
    let cut = stored.len() / 2;
    let crc = {
        let mut crc = flate2::Crc::new();
        crc.update(&stored[..cut]);
        crc.sum()
    };
    for number in [crc, cut as u32, cut as u32] {
        zip.extend(number.to_le_bytes());
    }
    zip.extend([9, 0, 0, 0]);
    zip.extend(b"x.json.gz");
    zip.extend(&stored[..cut]);
    zip.extend(b"PK\x05\x06");
    let mut warnings = Vec::new();
    let mut sink = |item: Unpacked<'_>| {
        if let Unpacked::Warning(warning) = item {
            warnings.push(warning);
        }
    };
    unpacker.push(&zip, &mut sink);
    unpacker.finish(&mut sink);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert_eq!(warnings[0].code, "gzip_truncated");
    assert_eq!(warnings[0].file.as_deref(), Some("a.zip/x.json.gz"));
    assert_eq!(warnings[0].byte_offset, Some(cut as u64));
}

#[test]
fn nesting_is_bounded() {
    let mut bytes = b"innermost".to_vec();
    for _ in 0..10 {
        bytes = gzip(&bytes);
    }
    let (members, warnings) = unpack("a.gz", &bytes, 4096);
    assert_eq!(members.len(), 1);
    assert!(looks_like_gzip(&members[0].1));
    assert_eq!(warnings, []);
}

proptest! {
    #[test]
    fn random_bytes_never_panic(kind in 0..4usize, bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut file = [&b""[..], b"PK\x03\x04", b"\x1f\x8b\x08\0", b"PK\x07\x08"][kind].to_vec();
        file.extend(bytes);
        prop_assert_eq!(unpack("a", &file, 3), unpack("a", &file, 100));
    }

    #[test]
    fn damage_anywhere_never_panics(
        which in 0..4usize,
        at in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let tar = unpack_gzip(archive!("gnu.tar.gz")).0;
        let file: [&[u8]; 4] = [archive!("piped-zip64.zip"), archive!("stored.zip"), archive!("pax.tar.gz"), &tar];
        let mut file = file[which].to_vec();
        let at = at.index(file.len());
        file[at] = byte;
        file.truncate(cut.index(file.len()).max(file.len() / 2));
        prop_assert_eq!(unpack("a", &file, 61), unpack("a", &file, 100_000));
    }
}
