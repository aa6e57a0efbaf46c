//! Files in place of those that a recording lacks: browsers do not record the contents of uploads, and a site refuses
//! empty ones.

use base64::Engine as _;

/// Pictures of one grey dot, in base64.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg==";
const GIF: &str = "R0lGODdhAQABAIAAAICAgAAAACwAAAAAAQABAAACAkQBADs=";
const JPEG: &str = "/9j/4AAQSkZJRgABAQEAYABgAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////\
    2wBDAf//////////////////////////////////////////////////////////////////////////////////////wAARCAABAAEDASIAAhEBAxEB/8QA\
    HwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkK\
    FhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXG\
    x8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAEC\
    AxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOE\
    hYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwAooooA/9k=";
const WEBP: &str = "UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAUAmJaQAA3AA/v02aAA=";
/// An archive without a file in it.
const ZIP: &str = "UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==";
const PDF: &str = "%PDF-1.4\n1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj\n2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj\n\
    3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 99 99]>> endobj\ntrailer <</Root 1 0 R>>\n%%EOF\n";
const SVG: &str =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1 1\"><path d=\"M0 0h1v1z\"/></svg>\n";

/// Returns a small file of the kind of a name or a media type, and the ending of its name.
pub(super) fn stand_in(name: &str, media: Option<&str>) -> (Vec<u8>, &'static str) {
    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    let ending = ending.as_deref().unwrap_or_default();
    let decoded = |text: &str| {
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .unwrap_or_default()
    };
    let text = |text: &str| text.as_bytes().to_vec();
    match (media.unwrap_or_default(), ending) {
        ("image/jpeg", _) | (_, "jpg" | "jpeg") => (decoded(JPEG), "jpg"),
        ("image/gif", _) | (_, "gif") => (decoded(GIF), "gif"),
        ("image/webp", _) | (_, "webp") => (decoded(WEBP), "webp"),
        ("image/svg+xml", _) | (_, "svg") => (text(SVG), "svg"),
        ("image/png", _) | (_, "png") => (decoded(PNG), "png"),
        ("application/pdf", _) | (_, "pdf") => (text(PDF), "pdf"),
        ("application/zip", _) | (_, "zip") => (decoded(ZIP), "zip"),
        (media, "json") if !media.starts_with("text/") => (text("{}\n"), "json"),
        (_, "csv") => (text("name,value\na,1\n"), "csv"),
        (media, _) if media.starts_with("image/") => (decoded(PNG), "png"),
        _ => (text("a file\n"), "txt"),
    }
}
