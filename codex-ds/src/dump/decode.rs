//! Undoes `content-encoding` for the copy that is written down. What passes is not touched.

use std::io::Read;

/// A decoded body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) bytes: Vec<u8>,
    /// Whether there was more than the limit.
    pub(super) cut: bool,
}

/// Decodes `bytes`, and stops after `limit` of them.
///
/// # Errors
/// In words, when the encoding is not known, or the bytes are not in it.
pub(super) fn decode(
    encoding: Option<&str>,
    bytes: Vec<u8>,
    limit: usize,
) -> Result<Decoded, String> {
    let encoding = encoding.unwrap_or("identity").trim().to_ascii_lowercase();
    let broken = |error: std::io::Error| format!("not {encoding}, as it says: {error}");
    match encoding.as_str() {
        "" | "identity" => Ok(Decoded { bytes, cut: false }),
        "gzip" | "x-gzip" => {
            read(flate2::read::MultiGzDecoder::new(&bytes[..]), limit).map_err(broken)
        }
        "deflate" => read(flate2::read::ZlibDecoder::new(&bytes[..]), limit).map_err(broken),
        "zstd" => {
            let mut source = &bytes[..];
            let decoder = ruzstd::decoding::StreamingDecoder::new(&mut source)
                .map_err(|error| format!("not zstd, as it says: {error}"))?;
            read(decoder, limit).map_err(broken)
        }
        other => Err(format!("content-encoding {other} is not understood")),
    }
}

fn read(reader: impl Read, limit: usize) -> std::io::Result<Decoded> {
    let mut bytes = Vec::new();
    let room = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    reader.take(room).read_to_end(&mut bytes)?;
    let cut = bytes.len() > limit;
    bytes.truncate(limit);
    Ok(Decoded { bytes, cut })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("a vector takes all");
        encoder.finish().expect("a vector takes all")
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn what_was_encoded_comes_back() {
        let plain = b"{\"a\":1}".repeat(1000);
        for (encoding, bytes) in [
            (None, plain.clone()),
            (Some("identity"), plain.clone()),
            (Some("GZIP"), gzip(&plain)),
            (Some("zstd"), zstd(&plain)),
        ] {
            let decoded = decode(encoding, bytes, 1 << 20).expect("decodes");
            assert_eq!(
                decoded,
                Decoded {
                    bytes: plain.clone(),
                    cut: false
                },
                "{encoding:?}"
            );
        }
    }

    #[test]
    fn a_bomb_is_cut() {
        let plain = vec![b'x'; 50 << 20];
        for (encoding, bytes) in [("gzip", gzip(&plain)), ("zstd", zstd(&plain))] {
            assert!(bytes.len() < 1 << 20);
            let decoded = decode(Some(encoding), bytes, 1000).expect("decodes");
            assert_eq!((decoded.bytes.len(), decoded.cut), (1000, true));
        }
    }

    #[test]
    fn what_is_not_in_its_encoding_says_so() {
        for (encoding, says) in [
            ("gzip", "not gzip"),
            ("zstd", "not zstd"),
            ("br", "br is not understood"),
        ] {
            let error = decode(Some(encoding), b"hello".to_vec(), 10).expect_err("no such bytes");
            assert!(error.contains(says), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for encoding in ["gzip", "deflate", "zstd"] {
                let _ = decode(Some(encoding), bytes.clone(), 100);
            }
        }
    }
}
