use std::io::Write as _;

use proptest::prelude::*;

use super::*;

/// Decompressed content, and the code, offset and count of each warning.
type Inflated = (Vec<u8>, Vec<(String, Option<u64>, Option<u64>)>);

fn inflate(stored: &[u8], chunk: usize) -> Inflated {
    let mut content = Vec::new();
    let mut warnings = Vec::new();
    let limit = InflateLimit::default();
    let mut sink = |item: GzipItem<'_>| match item {
        GzipItem::Data(bytes) => content.extend_from_slice(bytes),
        GzipItem::Warning(warning) => {
            assert_eq!(warning.file.as_deref(), Some("a.gz"));
            warnings.push((warning.code, warning.byte_offset, warning.count));
        }
    };
    let mut decoder = GzipDecoder::new("a.gz");
    for piece in stored.chunks(chunk) {
        limit.add_stored(piece.len());
        decoder.push(piece, &limit, &mut sink);
    }
    decoder.finish(&mut sink);
    (content, warnings)
}

/// Decompresses the file in one chunk and in chunks of several sizes, and asserts that all results are identical.
fn inflate_all_ways(stored: &[u8]) -> Inflated {
    let whole = inflate(stored, stored.len().max(1));
    for chunk in [1, 7, 4096] {
        assert_eq!(inflate(stored, chunk), whole, "chunks of {chunk}");
    }
    whole
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).expect("in memory");
    encoder.finish().expect("in memory")
}

fn text() -> Vec<u8> {
    (0..20_000u32).flat_map(|i| format!("{{\"ts\":{},\"dur\":{}}},", i * 17, i % 101).into_bytes()).collect()
}

#[test]
fn one_member() {
    assert_eq!(inflate_all_ways(&gzip(&text())), (text(), vec![]));
    assert_eq!(inflate_all_ways(&gzip(b"")), (vec![], vec![]));
}

#[test]
fn every_optional_part_of_the_header() {
    let plain = gzip(b"content");
    let mut stored = vec![0x1f, 0x8b, 8, 1 | FLAG_HEADER_CRC | FLAG_EXTRA | FLAG_NAME | FLAG_COMMENT];
    stored.extend([0; 6]);
    stored.extend([3, 0, b'x', 0, b'y']);
    stored.extend(b"name\0a comment\0");
    stored.extend([0xab, 0xcd]);
    stored.extend(&plain[10..]);
    assert_eq!(inflate_all_ways(&stored), (b"content".to_vec(), vec![]));
}

#[test]
fn concatenated_members_and_padding() {
    let mut stored = gzip(b"one ");
    stored.extend(gzip(b""));
    stored.extend(gzip(&text()));
    stored.extend([0; 1000]);
    let mut content = b"one ".to_vec();
    content.extend(text());
    assert_eq!(inflate_all_ways(&stored), (content, vec![]));
}

#[test]
fn foreign_bytes_after_the_end() {
    for foreign in [&b"garbage"[..], b"\x1f", b"\x1f\x8b\x08\xff", b"\0\0\x1f\x8bno"] {
        let mut stored = gzip(&text());
        let zeros = foreign.iter().take_while(|byte| **byte == 0).count();
        let (start, count) = ((stored.len() + zeros) as u64, (foreign.len() - zeros) as u64);
        stored.extend(foreign);
        let warning = ("gzip_trailing_bytes".to_owned(), Some(start), Some(count));
        assert_eq!(inflate_all_ways(&stored), (text(), vec![warning]));
    }
}

#[test]
fn any_truncation_keeps_the_data_before_it() {
    let stored = gzip(&text());
    let mut before = 0;
    for cut in (1..stored.len() - 8).step_by(97) {
        let (content, warnings) = inflate_all_ways(&stored[..cut]);
        assert!(text().starts_with(&content));
        assert!(content.len() >= before);
        before = content.len();
        assert_eq!(warnings, [("gzip_truncated".to_owned(), Some(cut as u64), None)]);
    }
    assert!(before > text().len() * 9 / 10);
}

#[test]
fn cut_in_the_checksum_keeps_all() {
    let stored = gzip(&text());
    for cut in stored.len() - 8..stored.len() {
        let warning = ("gzip_checksum_missing".to_owned(), Some(cut as u64), None);
        assert_eq!(inflate_all_ways(&stored[..cut]), (text(), vec![warning]));
    }
}

#[test]
fn a_wrong_checksum_or_size_keeps_all() {
    for back in [8, 1] {
        let mut stored = gzip(&text());
        let at = stored.len() - back;
        stored[at] ^= 1;
        let warning = ("gzip_checksum".to_owned(), Some(stored.len() as u64 - 8), None);
        assert_eq!(inflate_all_ways(&stored), (text(), vec![warning]));
    }
}

#[test]
fn a_damaged_stream_keeps_the_data_before_the_damage() {
    // A flush ends in an empty stored block with its length stored twice: 00 00 ff ff. Make the two disagree.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&text()).expect("in memory");
    encoder.flush().expect("in memory");
    let flushed = encoder.get_ref().len();
    encoder.write_all(b"what is lost").expect("in memory");
    let mut stored = encoder.finish().expect("in memory");
    assert_eq!(stored[flushed - 4..flushed], [0, 0, 0xff, 0xff]);
    stored[flushed - 2] = 0xfe;
    let warning = ("gzip_corrupt".to_owned(), Some(flushed as u64), None);
    assert_eq!(inflate_all_ways(&stored), (text(), vec![warning]));
}

#[test]
fn a_bomb_stops_at_the_limit() {
    // Members with 16 MB of zeros in 16 kB: a ratio of 1030.
    let member = gzip(&vec![0u8; 16 << 20]);
    let limit = InflateLimit::default();
    // Use up most of the first gigabyte, in which any ratio is allowed.
    assert!(limit.allow((1 << 30) - (100 << 20)));
    let mut decoder = GzipDecoder::new("bomb.gz");
    let (mut inflated, mut warnings) = (0u64, Vec::new());
    for _ in 0..150 {
        limit.add_stored(member.len());
        decoder.push(&member, &limit, &mut |item| match item {
            GzipItem::Data(bytes) => inflated += bytes.len() as u64,
            GzipItem::Warning(warning) => warnings.push(warning),
        });
        if decoder.is_stopped() {
            break;
        }
    }
    assert!(decoder.is_stopped());
    assert!((100 << 20..101 << 20).contains(&inflated), "{inflated}");
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].code, "inflate_limit");
    assert!(
        warnings[0].message.contains("64 GiB, or 400 times the size of the file but at least 1 GiB"),
        "{}",
        warnings[0].message
    );
}

proptest! {
    #[test]
    fn random_bytes_never_panic(tail in prop::collection::vec(any::<u8>(), 0..400), flags in any::<u8>()) {
        let mut stored = vec![0x1f, 0x8b, 8, flags];
        stored.extend(tail);
        inflate(&stored, 5);
    }

    #[test]
    fn a_flipped_bit_never_panics_and_never_adds(at in any::<prop::sample::Index>(), bit in 0..8u32) {
        let mut stored = gzip(&text());
        let at = at.index(stored.len());
        stored[at] ^= 1 << bit;
        // Even then, the content does not depend on the chunks.
        let (content, _) = inflate(&stored, 4096);
        prop_assert_eq!(inflate(&stored, 7).0, content);
    }
}
