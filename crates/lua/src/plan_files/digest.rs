//! The digest of a plan: SHA-256 over the plan, its modules and its data, so that reports show whether two runs had the
//! same plan.

use super::sources::SourceFile;
use lgoose_base::files::{FileError, NamedFile};
use sha2::{Digest as _, Sha256};
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

/// A SHA-256 digest.
pub(super) type ContentDigest = [u8; 32];

/// Computes the digest of a file.
pub(super) fn of_file(file: &NamedFile) -> Result<ContentDigest, FileError> {
    let mut file = file.open_of_any_size()?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finalize().into()),
            length => hash.update(&buffer[..length]),
        }
    }
}

/// Computes the digest of a file's bytes.
pub(super) fn of_bytes(bytes: &[u8]) -> ContentDigest {
    Sha256::digest(bytes).into()
}

/// Computes the digest of a plan in hexadecimal digits. `sources` are the texts of its files, its own first; `data` are
/// the data files by their paths as seen from the plan.
pub(super) fn of_plan(
    plan: &str,
    sources: &[Arc<SourceFile>],
    data: Vec<(String, ContentDigest)>,
) -> String {
    let folder = Path::new(plan).parent().unwrap_or(Path::new(""));
    let modules = sources.iter().skip(1).map(|source| {
        let path = Path::new(&source.name);
        let path = path.strip_prefix(folder).unwrap_or(path);
        let digest: ContentDigest = Sha256::digest(&source.text).into();
        (path.display().to_string(), digest)
    });
    let mut files: Vec<(String, ContentDigest)> = modules.chain(data).collect();
    files.sort();
    files.dedup();
    let mut hash = Sha256::new();
    if let Some(plan) = sources.first() {
        hash.update(Sha256::digest(&plan.text));
    }
    for (path, digest) in files {
        hash.update(path.as_bytes());
        hash.update([0]);
        hash.update(digest);
    }
    let bytes: ContentDigest = hash.finalize().into();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    fn digest(plan: &Path) -> String {
        let (name, source) = crate::read(plan).expect("it was written");
        let (program, ..) = crate::load(&name, &source, BTreeMap::new(), 1).expect("a plan");
        program.digest()
    }

    #[test]
    fn the_digest_depends_on_the_contents_and_not_on_their_place() {
        let plan = "local rows = data.lines 'rows.txt'\nlocal m = require 'part'\n\
                    task { function(user) user:get(m.path) end }";
        let write = |folder: &Path, rows: &str, part: &str| {
            fs::write(folder.join("plan.lua"), plan).expect("written");
            fs::write(folder.join("rows.txt"), rows).expect("written");
            fs::write(folder.join("part.lua"), part).expect("written");
            digest(&folder.join("plan.lua"))
        };
        let (one, other) = (tempfile::tempdir(), tempfile::tempdir());
        let (one, other) = (one.expect("a folder"), other.expect("a folder"));
        let part = "return { path = '/' }";
        let first = write(one.path(), "a\nb\n", part);
        assert_eq!(first.len(), 64);
        assert_eq!(write(other.path(), "a\nb\n", part), first);
        assert_ne!(write(other.path(), "a\nc\n", part), first, "other data");
        let changed = write(other.path(), "a\nb\n", "return { path = '/x' }");
        assert_ne!(changed, first, "another module");
    }
}
