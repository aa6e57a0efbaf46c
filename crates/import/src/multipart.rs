//! Multipart bodies as recordings have them: with all of their text, or without the contents of files.

use super::exchange::RecordedPart;

/// Reads a body; `None` if it is not multipart.
pub(super) fn read(content_type: &str, text: &str) -> Option<Vec<RecordedPart>> {
    let boundary = parameter(content_type, "boundary")?;
    let delimiter = format!("--{boundary}");
    let mut parts = Vec::new();
    let mut pieces = text.split(delimiter.as_str());
    pieces.next()?;
    for piece in pieces {
        if piece.starts_with("--") {
            break;
        }
        let piece = piece.trim_start_matches("\r\n").trim_start_matches('\n');
        let (head, data) = piece
            .split_once("\r\n\r\n")
            .or_else(|| piece.split_once("\n\n"))
            .unwrap_or((piece, ""));
        let data = data
            .strip_suffix("\r\n")
            .or_else(|| data.strip_suffix('\n'))
            .unwrap_or(data);
        let line = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(':'));
            let found = lines.find(|(key, _)| key.trim().eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.trim().to_owned())
        };
        let disposition = line("content-disposition")?;
        let filename = parameter(&disposition, "filename");
        // Browsers leave out the contents of files.
        let is_omitted = filename.is_some()
            && (data.is_empty() || data == "(binary)" || data.contains('\u{fffd}'));
        parts.push(RecordedPart {
            content: None,
            name: parameter(&disposition, "name")?,
            filename,
            media: line("content-type").map(|value| super::exchange::media_of(&value)),
            data: (!is_omitted).then(|| data.to_owned()),
        });
    }
    Some(parts)
}

/// Returns a parameter of a header's value, such as `name` of `form-data; name="a"`.
fn parameter(header: &str, name: &str) -> Option<String> {
    header.split(';').skip(1).find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        let value = value.trim();
        let value = value
            .strip_prefix('"')
            .and_then(|value| value.strip_suffix('"'))
            .unwrap_or(value);
        key.trim()
            .eq_ignore_ascii_case(name)
            .then(|| value.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_names_types_and_data_unless_it_was_omitted() {
        let body = "--X\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\na b\r\n\
                    --X\r\nContent-Disposition: form-data; name=\"f\"; filename=\"c.png\"\r\nContent-Type: image/png\r\n\r\n\r\n--X--\r\n";
        let parts = read("multipart/form-data; boundary=X", body).expect("a body");
        assert_eq!(parts.len(), 2);
        assert_eq!(
            (parts[0].name.as_str(), parts[0].data.as_deref()),
            ("title", Some("a b"))
        );
        assert_eq!(parts[1].filename.as_deref(), Some("c.png"));
        assert_eq!(
            (parts[1].media.as_deref(), parts[1].data.as_deref()),
            (Some("image/png"), None)
        );
        assert_eq!(read("multipart/form-data", body), None);
    }
}
