//! Mutations of archives. The mutations change header fields or content, or truncate the archive at the border of a
//! member.

use super::{NUMBERS, bytes, hostile_text, json, repacked};
use crate::Random;
use crate::corpus::pack::{TAR_BLOCK, tar_checksum};

/// Mutates a header or the content of the archive.
pub(super) fn changed(archive: &[u8], random: &mut Random) -> Vec<u8> {
    match archive {
        [0x1f, 0x8b, ..] => gzip(archive, random),
        [b'P', b'K', ..] => zip(archive, random),
        _ if archive.get(257..262) == Some(b"ustar") => tar(archive, random),
        _ => bytes::changed(archive, archive, random),
    }
}

fn gzip(archive: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = archive.to_vec();
    let length = out.len();
    match random.below(8) {
        // Flags. Each flag announces a part of the header.
        0 if length > 3 => out[3] = random.next() as u8,
        // Checksum and length at the end.
        1 if length > 8 => out[length - 1 - random.below(8)] ^= 1 << random.below(8),
        2 => out.truncate(length - random.below(length.min(20))),
        // Appends another stream, whole or truncated.
        3 => out.extend_from_slice(&archive[..random.below(length)]),
        4 => out.extend_from_within(..),
        _ => {
            let change = |plain: &[u8]| match plain {
                [b'{' | b'[', ..] => json::changed(plain, random),
                _ => changed(plain, random),
            };
            return repacked(archive, change)
                .unwrap_or_else(|| bytes::changed(archive, archive, &mut Random::of_bytes(archive)));
        }
    }
    out
}

/// Offsets and widths of the header fields that can be mutated.
type Fields = &'static [(usize, usize)];

/// Signatures of the records of a zip file, with the fields of each record.
const ZIP_RECORDS: [(&[u8; 4], Fields); 5] = [
    // Local header of a member: version, flags, method, checksum, sizes, lengths of name and extra field.
    (b"PK\x03\x04", &[(4, 2), (6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2)]),
    // Data descriptor after a member of unknown size.
    (b"PK\x07\x08", &[(4, 4), (8, 4), (12, 4)]),
    // Entry of the member in the central directory.
    (b"PK\x01\x02", &[(8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (42, 4)]),
    // End records of a normal and of a large archive.
    (b"PK\x05\x06", &[(8, 2), (10, 2), (12, 4), (16, 4), (20, 2)]),
    (b"PK\x06\x06", &[(4, 8), (24, 8), (32, 8), (40, 8), (48, 8)]),
];

fn zip(archive: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = archive.to_vec();
    let records: Vec<(usize, Fields)> = ZIP_RECORDS
        .iter()
        .flat_map(|(signature, fields)| {
            let starts = archive.windows(4).enumerate().filter(move |(_, bytes)| bytes == signature);
            starts.map(|(at, _)| (at, *fields))
        })
        .collect();
    if records.is_empty() {
        return bytes::changed(archive, archive, random);
    }
    let (at, fields) = *random.pick(&records);
    match random.below(6) {
        0 => out.truncate(at),
        1 => drop(out.drain(..at)),
        // Repeats a member.
        2 => {
            let from = random.pick(&records).0;
            let end = archive.len().min(from + (1 << random.below(14)));
            out.splice(at..at, archive[from..end].iter().copied());
        }
        // The name, which follows the fixed part of the header.
        3 => {
            let name = hostile_text(random).into_bytes();
            let start = out.len().min(at + 30);
            let end = out.len().min(start + name.len().min(12));
            out[start..end].copy_from_slice(&name[..end - start]);
        }
        _ => {
            let (offset, width) = *random.pick(fields);
            let end = out.len().min(at + offset + width);
            let start = end.min(at + offset);
            let mut number = random.pick(&NUMBERS).to_le_bytes();
            if random.once_in(2) {
                number[..end - start].copy_from_slice(&out[start..end]);
                number[0] ^= 1 << random.below(8);
            }
            out[start..end].copy_from_slice(&number[..end - start]);
        }
    }
    out
}

/// Fields of a tar header: name, mode, size, time, checksum, type, link, magic, prefix.
const TAR_FIELDS: Fields =
    &[(0, 100), (100, 8), (124, 12), (136, 12), (148, 8), (156, 1), (157, 100), (257, 8), (345, 155)];

fn tar(archive: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = archive.to_vec();
    let headers: Vec<usize> =
        (0..out.len()).step_by(TAR_BLOCK).filter(|at| out.get(at + 257..at + 262) == Some(b"ustar")).collect();
    let at = *random.pick(&headers);
    if random.once_in(4) {
        let blocks = out.len() / TAR_BLOCK;
        out.truncate(TAR_BLOCK * random.below(blocks + 1) + random.below(2));
        return out;
    }
    let Some(header) = out.get_mut(at..at + TAR_BLOCK) else { return out };
    let (start, width) = *random.pick(TAR_FIELDS);
    let value = match random.below(5) {
        0 => hostile_text(random).into_bytes(),
        1 => format!("{:o}", random.pick(&NUMBERS)).into_bytes(),
        // GNU format of large numbers, in base 256.
        2 => [&[0x80, 0, 0, 0][..], &random.pick(&NUMBERS).to_be_bytes()].concat(),
        3 => vec![*random.pick(b"01234567xgLKSV")],
        _ => vec![b' '; width],
    };
    let length = value.len().min(width);
    header[start..start + length].copy_from_slice(&value[..length]);
    // Reading stops at a wrong checksum, so most headers get a correct one.
    if !random.once_in(5) {
        tar_checksum(header);
    }
    out
}
