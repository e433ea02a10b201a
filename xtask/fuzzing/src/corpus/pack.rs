//! Builds the archives of the corpus.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::{DeflateEncoder, GzEncoder};

/// Block size of tar.
pub const TAR_BLOCK: usize = 512;

/// Maximum size of the unpacked content. If the content is larger, the archive is not unpacked.
const MOST_UNPACKED_BYTES: u64 = 16 << 20;

/// Compresses bytes to a gzip stream.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// Returns the content of a gzip stream. Returns `None` if the bytes are not a gzip stream, or are damaged.
pub fn gunzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    MultiGzDecoder::new(bytes).take(MOST_UNPACKED_BYTES).read_to_end(&mut plain).ok()?;
    Some(plain)
}

/// Builds a tar archive from named members.
pub fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes) in members {
        let mut header = [0; TAR_BLOCK];
        let name = &name.as_bytes()[..name.len().min(100)];
        header[..name.len()].copy_from_slice(name);
        header[100..107].copy_from_slice(b"0000644");
        header[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        tar_checksum(&mut header);
        out.extend(header);
        out.extend_from_slice(bytes);
        out.resize(out.len().next_multiple_of(TAR_BLOCK), 0);
    }
    out.resize(out.len() + 2 * TAR_BLOCK, 0);
    out
}

/// Writes the checksum of a tar header into the header.
pub fn tar_checksum(header: &mut [u8]) {
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
}

/// Builds a zip archive from named members. The members are deflated or only stored.
pub fn zip(members: &[(&str, &[u8])], deflated: bool) -> Vec<u8> {
    let (mut out, mut list) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        let mut sum = flate2::Crc::new();
        sum.update(bytes);
        let packed = if deflated { deflate(bytes) } else { bytes.to_vec() };
        let mut common = Vec::new();
        for number in [20, 0, if deflated { 8 } else { 0 }, 0, 0x21] {
            common.extend(u16::to_le_bytes(number));
        }
        for number in [sum.sum(), packed.len() as u32, bytes.len() as u32] {
            common.extend(number.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0; 2]);
        list.extend(b"PK\x01\x02\x14\x00");
        list.extend(&common);
        list.extend([0; 10]);
        list.extend((out.len() as u32).to_le_bytes());
        list.extend(name.as_bytes());
        out.extend(b"PK\x03\x04");
        out.extend(&common);
        out.extend(name.as_bytes());
        out.extend(packed);
    }
    let start = out.len() as u32;
    out.extend(&list);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([(members.len() as u16).to_le_bytes(); 2].concat());
    out.extend((list.len() as u32).to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0; 2]);
    out
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossprof::Session;

    #[test]
    fn archives_are_read() {
        let json = br#"{"traceEvents":[{"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:TPU:0"}},
            {"ph":"M","pid":3,"tid":1,"name":"thread_name","args":{"name":"XLA Ops"}},
            {"ph":"X","pid":3,"tid":1,"ts":0,"dur":60,"name":"fusion.1"},{}]}"#;
        let members = [("a/t.trace.json", &json[..]), ("b/t.trace.json.gz", &gzip(json))];
        let tar = tar(&members);
        assert_eq!(gunzip(&gzip(&tar)).as_deref(), Some(&tar[..]));
        for archive in [zip(&members, true), zip(&members, false), gzip(&tar), tar] {
            let mut session = Session::new();
            let file = session.begin("archive", None);
            session.push(file, &archive);
            let result = session.finish(file);
            assert_eq!((result.error, result.warnings, result.events), (None, Vec::new(), 2));
        }
    }
}
