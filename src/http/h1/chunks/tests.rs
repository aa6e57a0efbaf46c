//! Tests of the chunk decoder, as tables.

use super::*;

/// Decodes in pieces of every size, so that each state is entered at each place.
fn chunked(text: &str) -> Result<(String, bool, usize), Failure> {
    let mut outcomes = Vec::new();
    for size in 1..=text.len() {
        let (mut chunks, mut body, mut done, mut left) =
            (ChunkDecoder::default(), BytesMut::new(), false, 0);
        for mut piece in text.as_bytes().chunks(size) {
            if !done {
                done = chunks.decode(&mut piece, &mut body)?;
            }
            left += piece.len();
        }
        outcomes.push((String::from_utf8_lossy(&body).into_owned(), done, left));
    }
    assert!(
        outcomes.windows(2).all(|pair| pair[0] == pair[1]),
        "{outcomes:?}"
    );
    Ok(outcomes.remove(0))
}

#[test]
fn chunks_are_joined_however_they_arrive() {
    let body = |text: &str| chunked(text).expect("valid");
    assert_eq!(
        body("4\r\nWiki\r\n5\r\npedia\r\n0\r\n\r\n"),
        ("Wikipedia".to_owned(), true, 0)
    );
    assert_eq!(
        body("A;name=value\r\n0123456789\r\n0\r\nx: y\r\n\r\nleft"),
        ("0123456789".to_owned(), true, 4)
    );
    assert_eq!(body("3\nabc\n0\n\n"), ("abc".to_owned(), true, 0));
    assert!(!body("4\r\nWi").1);
}

#[test]
fn wrong_chunks_are_refused() {
    for text in [
        "x\r\n",
        "-1\r\n",
        "FFFFFFFFFFFFFFFFF\r\n",
        "2\r\nabc\r\n",
        "\r\n",
    ] {
        assert_eq!(
            chunked(text).expect_err(text).class,
            ErrorClass::Protocol,
            "{text}"
        );
    }
    let endless = format!("1;{}", "x".repeat(MAX_OVERHEAD));
    let failure = ChunkDecoder::default().decode(&mut endless.as_bytes(), &mut BytesMut::new());
    assert!(failure.is_err());
}
