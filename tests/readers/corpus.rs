//! Inputs that fuzzing has found, kept in `fuzz/corpus`: they break no rule of their reader.

#[allow(unreachable_pub, reason = "it is a library where it is fuzzed")]
#[path = "../../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::path::Path;

#[test]
fn what_fuzzing_has_found_breaks_no_rule() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, target) in targets::TARGETS {
        let inputs =
            fs::read_dir(corpus.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut count = 0;
        for input in inputs {
            let path = input.expect("it can be listed").path();
            let bytes = fs::read(&path).expect("it can be read");
            let run = std::panic::catch_unwind(|| target(&bytes));
            assert!(run.is_ok(), "{}", path.display());
            count += 1;
        }
        assert!(count > 0, "{name} has no inputs");
    }
}
