//! Runs `lgoose new`: writes a first plan and the files that an editor needs to complete and check it. In a folder
//! that already has them, it only renews the stubs. It overwrites nothing else.

use crate::cli::PlanTemplate;
use lgoose_base::error::{Diagnostic, Error, Trouble};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Name of the plan.
const PLAN: &str = "plan.lua";
const SETTINGS: (&str, &str) = (
    ".luarc.json",
    include_str!("../../../lua/starter/luarc.json"),
);
/// Folder of the stubs, which `.luarc.json` names.
const LIBRARY: &str = ".lgoose";

/// Returns the plan of a template.
fn plan_of(template: PlanTemplate) -> &'static str {
    match template {
        PlanTemplate::Starter => include_str!("../../../lua/starter/plan.lua"),
        PlanTemplate::Drupal => include_str!("../../../plans/drupal.lua"),
        PlanTemplate::Wordpress => include_str!("../../../plans/wordpress.lua"),
        PlanTemplate::Api => include_str!("../../../plans/rest-api.lua"),
    }
}

/// Writes the plan of a template into a folder, which it creates if necessary, and returns a message about it.
pub(super) fn start(folder: &Path, template: PlanTemplate) -> Result<String, Error> {
    let files = files(template);
    if is_ours(folder) {
        return renew(folder);
    }
    if let Some(taken) = files
        .iter()
        .map(|(path, _)| folder.join(path))
        .find(|path| {
            // A dangling link counts as something that exists.
            path.symlink_metadata().is_ok()
        })
    {
        return Err(occupied(&taken));
    }
    for (path, text) in &files {
        write(&folder.join(path), text)?;
    }
    let plan = folder.join(PLAN);
    let plan = plan.strip_prefix(".").unwrap_or(&plan).display();
    let first = match template {
        // There is no built-in site for this plan.
        PlanTemplate::Wordpress => String::new(),
        _ => format!("  lgoose {plan} -u 5 -t 10s       # run it against the built-in demo site\n"),
    };
    Ok(format!(
        "{plan} is a plan to start from; beside it are .luarc.json and {LIBRARY}/, for completion and type \
         checks\nin any editor with the Lua language server\n\n\
         next:\n{first}  lgoose check {plan}             # look for mistakes, send nothing\n  \
         lgoose {plan} -H URL -u 5       # run it against your own site"
    ))
}

/// Returns whether a folder has stubs that lgoose has written, in any version.
fn is_ours(folder: &Path) -> bool {
    let (first, _) = lgoose_lua::STUBS[0];
    let library = folder.join(LIBRARY);
    let is_folder = library.symlink_metadata().is_ok_and(|found| found.is_dir());
    let stub = std::fs::read_to_string(library.join(first));
    is_folder && stub.is_ok_and(|text| text.starts_with("---@meta"))
}

/// Replaces the stubs that differ from those of this lgoose, and returns a message about it.
fn renew(folder: &Path) -> Result<String, Error> {
    let library = folder.join(LIBRARY);
    let mut renewed = 0;
    for (path, text) in lgoose_lua::STUBS {
        let path = library.join(path);
        if std::fs::read(&path).is_ok_and(|found| found == text.as_bytes()) {
            continue;
        }
        // A link or a folder is not a stub.
        match path.symlink_metadata() {
            Ok(found) if !found.is_file() => return Err(occupied(&path)),
            Ok(_) => std::fs::remove_file(&path)
                .map_err(|error| Trouble::cannot("replace").with_path(&path).because(error))?,
            Err(_) => {}
        }
        write(&path, text)?;
        renewed += 1;
    }
    let shown = library.strip_prefix(".").unwrap_or(&library).display();
    Ok(match renewed {
        0 => format!("{shown}/ is up to date; nothing was changed"),
        _ => format!("{shown}/ now fits this lgoose; your plan and .luarc.json were not changed"),
    })
}

/// Returns the path below the folder and the text of each file.
fn files(template: PlanTemplate) -> Vec<(PathBuf, &'static str)> {
    let stubs = lgoose_lua::STUBS
        .iter()
        .map(|(path, text)| (Path::new(LIBRARY).join(path), *text));
    [(PLAN, plan_of(template)), SETTINGS]
        .map(|(path, text)| (path.into(), text))
        .into_iter()
        .chain(stubs)
        .collect()
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    let cannot = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => occupied(path),
        _ => Trouble::cannot("write")
            .with_path(path)
            .because(error)
            .into(),
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(cannot)?;
    }
    let mut file = std::fs::File::create_new(path).map_err(cannot)?;
    file.write_all(text.as_bytes()).map_err(cannot)
}

fn occupied(path: &Path) -> Error {
    Diagnostic::new(format!("'{}' is there already", path.display()))
        .help(format!(
            "'lgoose new' writes plan.lua, .luarc.json and {LIBRARY}/ and overwrites nothing: name another folder, \
             as in 'lgoose new load-test', or move what is there away"
        ))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lgoose_plan::config::RequestNames;
    use std::collections::BTreeMap;

    /// Returns the path of a folder for one test, which does not exist yet.
    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("lgoose-{name}-{}", std::process::id()));
        // It exists only if an earlier test with the same process number was killed.
        let _absent = std::fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn every_template_loads_without_a_warning() {
        for (template, host) in [
            (PlanTemplate::Starter, Some("demo:drupal")),
            (PlanTemplate::Drupal, Some("demo:drupal")),
            (PlanTemplate::Api, Some("demo:api")),
            (PlanTemplate::Wordpress, None),
        ] {
            let text = plan_of(template);
            let (program, plan, settings) =
                lgoose_lua::load(PLAN, text, BTreeMap::new(), 0).expect("it loads");
            assert_eq!(settings.host.as_deref(), host, "{template:?}");
            let warnings = lgoose_lua::review(&program, &plan, RequestNames::default());
            assert!(warnings.is_empty(), "{template:?}");
        }
    }

    #[test]
    fn everything_is_written_once_and_nothing_over_anything() {
        let folder = scratch("starter");
        start(&folder, PlanTemplate::Starter).expect("the folder is new");
        for (path, text) in files(PlanTemplate::Starter) {
            let written = std::fs::read_to_string(folder.join(&path)).expect("it was written");
            assert_eq!(written, text, "{}", path.display());
        }
        std::fs::write(folder.join("plan.lua"), "mine").expect("the folder takes a file");
        let message = start(&folder, PlanTemplate::Starter).expect("its stubs are ours");
        assert!(message.contains("nothing was changed"), "{message}");
        let stub = folder.join(LIBRARY).join("user.lua");
        std::fs::write(&stub, "---@meta\n-- of before").expect("the folder takes a file");
        let message = start(&folder, PlanTemplate::Starter).expect("its stubs are ours");
        assert!(message.contains("now fits this lgoose"), "{message}");
        let renewed = std::fs::read_to_string(&stub).expect("it is there");
        assert!(renewed.len() > 1_000, "{renewed}");
        let content = std::fs::read_to_string(folder.join("plan.lua")).expect("it is there");
        assert_eq!(content, "mine");
        std::fs::remove_dir_all(&folder).expect("the folder is ours");
    }

    #[test]
    fn a_file_that_is_there_prevents_the_others_from_being_written() {
        let folder = scratch("occupied");
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        std::fs::write(folder.join(".luarc.json"), "{}").expect("the folder takes a file");
        assert_eq!(
            start(&folder, PlanTemplate::Starter).map_err(|error| error.exit_code()),
            Err(2)
        );
        assert!(!folder.join("plan.lua").exists());
        std::fs::remove_dir_all(&folder).expect("the folder is ours");
    }

    #[test]
    fn the_editors_settings_are_json_and_name_the_stubs() {
        let settings: serde_json::Value = serde_json::from_str(SETTINGS.1).expect("it is JSON");
        assert_eq!(settings["workspace.library"][0], LIBRARY);
    }
}
