//! Everything that another machine needs to load the same plan: its text, the modules and data files that it has read,
//! and the variables.

use super::digest;
use super::program::Program;
use lgoose_base::error::{Diagnostic, Error, Trouble};
use lgoose_base::secrets;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use tempfile::TempDir;

/// A plan with all that it has read. Its files are named as seen from the plan's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// The plan's name as messages show it.
    pub name: String,
    /// The plan's text.
    pub source: String,
    /// The texts of its modules.
    pub modules: BTreeMap<PathBuf, String>,
    /// The bytes of its data files.
    pub data: BTreeMap<PathBuf, Vec<u8>>,
    /// The variables that were set for it, and those of the environment that it has read. May hold secrets.
    pub variables: BTreeMap<String, String>,
    /// The seed of the run.
    pub seed: u64,
}

impl Bundle {
    /// Collects the files that a plan has read so far. Data files are read again and must not have changed.
    ///
    /// # Errors
    /// Trouble that names the file that cannot be read or has changed.
    pub fn of(program: &Program) -> Result<Bundle, Error> {
        let sources = program.sources.all();
        let folder = Path::new(&program.file).parent().unwrap_or(Path::new(""));
        let mut sources = sources.iter();
        let plan = sources.next().map(|source| source.text.clone());
        let modules = sources.map(|source| {
            let path = Path::new(&source.name);
            let path = path.strip_prefix(folder).unwrap_or(path);
            (path.to_owned(), source.text.clone())
        });
        let mut data = BTreeMap::new();
        for (file, known) in program.data.digests() {
            if !is_inside(Path::new(&file)) {
                let message =
                    format!("'{file}' is not in the plan's folder, and workers get nothing else");
                return Err(Diagnostic::new(message)
                    .help("put it beside the plan or below")
                    .into());
            }
            let cannot = |error| Trouble::cannot("read").with_path(&file).because(error);
            let bytes = program.data.named(&file).read().map_err(cannot)?;
            if digest::of_bytes(&bytes) != known {
                let changed =
                    format!("'{file}' has changed since the plan read it: load the plan anew");
                return Err(Error::trouble(changed));
            }
            data.insert(PathBuf::from(file), bytes);
        }
        Ok(Bundle {
            name: program.file.clone(),
            source: plan.unwrap_or_default(),
            modules: modules.collect(),
            data,
            variables: program.variables.to_map(),
            seed: program.seed,
        })
    }

    /// Writes modules and data into a folder of their own, which is removed when the result is dropped.
    ///
    /// # Errors
    /// Trouble that names the file that cannot be written, or that lies outside of the folder.
    pub(crate) fn unpack(&self) -> Result<TempDir, Error> {
        let folder = secrets::temporary_folder()?;
        let modules = self.modules.iter();
        let texts = modules.map(|(path, text)| (path, text.as_bytes()));
        let data = self
            .data
            .iter()
            .map(|(path, bytes)| (path, bytes.as_slice()));
        for (path, bytes) in texts.chain(data) {
            if !is_inside(path) {
                let outside = format!(
                    "a plan's file '{}' lies outside of its folder",
                    path.display()
                );
                return Err(Error::trouble(outside));
            }
            secrets::write(&folder.path().join(path), bytes)?;
        }
        Ok(folder)
    }
}

/// Returns whether a path leads nowhere but into the folder that it starts from.
fn is_inside(path: &Path) -> bool {
    let mut parts = path.components();
    parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EnvVariables, load, load_bundle, load_watched};
    use lgoose_base::files::{DataMemory, FileReach, PlanFolder};
    use std::fs;
    use std::sync::Arc;

    /// A plan with a module, data and variables, in a folder that is gone when it is loaded again.
    fn bundle() -> (Bundle, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |file: &str, text: &str| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
            fs::write(path, text).expect("it is written");
        };
        write("lib/names.lua", "return { first = \"front page\" }");
        write("data/users.csv", "name\nann\nbob\n");
        write("photo.bin", "bytes");
        let part = "syntax = \"proto3\"; message Part { int32 n = 1; }";
        write("protos/in/part.proto", part);
        let shop = "syntax = \"proto3\"; import \"in/part.proto\"; message All { Part part = 1; }\n\
            service Shop { rpc Get(All) returns (All); }";
        write("protos/shop.proto", shop);
        let source = "local names = require \"lib.names\"\n\
            local users = data.csv \"data/users.csv\"\n\
            local photo = file \"photo.bin\"\n\
            assert(photo.size == 5 and data.bytes(photo) == \"bytes\")\n\
            assert(grpc.load({ \"shop.proto\", paths = { \"protos\" } })[1] == \"Shop/Get\")\n\
            plan { users = #users * tonumber(env(\"TIMES\", \"1\")) }\n\
            task { names.first, function(user) user:get(\"/\") end }";
        let name = folder.path().join("plan.lua").display().to_string();
        let variables = BTreeMap::from([("TIMES".to_owned(), "3".to_owned())]);
        let (program, ..) = load(&name, source, variables, 7).expect("a plan");
        (
            Bundle::of(&program).expect("all is there"),
            program.digest(),
        )
    }

    #[test]
    fn a_bundle_loads_where_the_plans_files_are_not() {
        let (bundle, digest) = bundle();
        let json = serde_json::to_vec(&bundle).expect("plain data");
        let bundle: Bundle = serde_json::from_slice(&json).expect("what was written");
        let (program, plan, settings) =
            load_bundle(&bundle, &DataMemory::default(), &Arc::default()).expect("it brings all");
        assert_eq!(program.digest(), digest);
        assert_eq!(settings.users, Some(6));
        assert_eq!(plan.scenarios[0].tasks[0].title(), "front page");
        assert_eq!(
            Bundle::of(&program).expect("all is there"),
            bundle,
            "and again"
        );
    }

    #[test]
    fn a_file_that_has_changed_is_not_bundled() {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("rows.txt");
        fs::write(&data, "a\n").expect("it is written");
        let name = folder.path().join("plan.lua").display().to_string();
        let source = "local rows = data.lines \"rows.txt\"\ntask { function() end }";
        let (program, ..) = load(&name, source, BTreeMap::new(), 1).expect("a plan");
        fs::write(&data, "b\n").expect("it is written");
        let message = Bundle::of(&program)
            .expect_err("it has changed")
            .to_string();
        assert!(message.contains("'rows.txt' has changed"), "{message}");
    }

    #[test]
    fn a_file_outside_of_the_plans_folder_is_not_bundled() {
        let folder = tempfile::tempdir().expect("a folder");
        let plans = folder.path().join("plans");
        fs::create_dir(&plans).expect("a folder");
        fs::write(folder.path().join("rows.txt"), "a\n").expect("it is written");
        let anywhere = PlanFolder::new(&plans, FileReach::Anywhere);
        let absolute = folder.path().join("rows.txt").display().to_string();
        for file in ["../rows.txt", "sub/../../rows.txt", &absolute] {
            fs::create_dir_all(plans.join("sub")).expect("a folder");
            let source = format!("local rows = data.lines '{file}'\ntask {{ function() end }}");
            let name = plans.join("plan.lua").display().to_string();
            let (variables, heartbeat) = (EnvVariables::default(), Arc::default());
            let loaded = load_watched(
                &name,
                &source,
                variables,
                1,
                &anywhere,
                &DataMemory::default(),
                &heartbeat,
            );
            let (program, ..) = loaded.expect("it may read any file");
            let message = Bundle::of(&program).expect_err(file).to_string();
            assert!(message.contains("is not in the plan's folder"), "{message}");
        }
    }

    #[test]
    fn no_file_of_a_bundle_is_written_outside_of_its_folder() {
        let (mut bundle, _) = bundle();
        for path in ["../evil.lua", "/tmp/evil.lua", "a/../../evil.lua"] {
            bundle.modules = BTreeMap::from([(PathBuf::from(path), String::new())]);
            let message = load_bundle(&bundle, &DataMemory::default(), &Arc::default())
                .expect_err(path)
                .to_string();
            assert!(message.contains("outside of its folder"), "{message}");
        }
    }
}
