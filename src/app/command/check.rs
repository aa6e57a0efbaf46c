//! `lgoose check`: loads a plan, reviews it, and shows the run that it would make. It sends nothing.

use super::flags;
use super::screen::{print_text, warn};
use crate::app::{loading, places, prepare};
use crate::cli;
use lgoose_base::error::{Diagnostic, Error, exit};
use lgoose_base::files::DataMemory;
use lgoose_base::units::{counted, show_size};
use lgoose_plan::config::{Config, Settings};
use url::Url;

/// Checks a plan with the options that the flags set. Returns the exit code.
///
/// # Errors
/// A mistake in the plan, in its options or in a flag, or a warning where none is accepted.
pub(super) fn check(flags: &cli::CheckArgs) -> Result<u8, Error> {
    let folder = flags::plan_folder(&flags.plan, flags.allow_files);
    let flags::PlanText { name, source, .. } = flags::read_file(&flags.plan, &folder, false)?;
    let variables = flags::read_variables(flags.env_file.as_deref(), &flags.env, &[])?;
    let memory = loading::MemoryLimits {
        process: None,
        data: flags.data_memory,
    };
    let (program, mut plan, mut settings) =
        loading::load(&name, &source, variables, Some(0), 0, &folder, memory)?;
    lgoose_plan::leave_out_unweighted(&mut plan)?;
    let mut typed = Settings {
        host: flags.host.clone(),
        users: flags.users,
        ..Settings::default()
    };
    if let Some(host) = &typed.host {
        prepare::check_host(host)?;
    }
    places::contain_plan_files(&program, &mut settings, &mut typed, &folder)?;
    prepare::check_hosts_of_plan(&program, &plan, &settings, &typed)?;
    let settings = typed.over(settings);
    let host_path = settings.host.as_deref().and_then(describe_host_path);
    let mut warnings =
        lgoose_lua::review(&program, &plan, settings.request_names.unwrap_or_default());
    let sets_users = settings.users.is_some() || settings.stages.is_some();
    if sets_users || settings.test_plan.is_some() {
        let config = Config::new(settings.clone(), 1, 0)?.run;
        let lanes = plan.lanes(config.users);
        let idle = plan.idle_scenarios(&lanes, &config);
        warnings.extend(idle.map(Diagnostic::new));
    }
    let ambiguous = plan.ambiguous_thresholds(&settings.thresholds.unwrap_or_default());
    warnings.extend(ambiguous.into_iter().map(Diagnostic::new));
    let but = match warnings.len() {
        0 => String::new(),
        1 => ", with 1 warning".to_owned(),
        n => format!(", with {n} warnings"),
    };
    let variable_list = match lgoose_lua::requested_variables(&program)[..] {
        [] => String::new(),
        ref names => {
            let unset = names
                .iter()
                .filter(|name| !lgoose_lua::is_set(&program, name));
            let unset: Vec<&str> = unset.map(String::as_str).collect();
            let unset = match unset[..] {
                [] => String::new(),
                _ => format!("\nnot set: {}", unset.join(", ")),
            };
            format!(
                "\nenvironment variables that it reads: {}{unset}",
                names.join(", ")
            )
        }
    };
    print_text(&format!(
        "{name} is fine{but}\n\n{}{variable_list}{}{}",
        lgoose_plan::outline(&plan),
        describe_data(program.data_memory()),
        host_path.unwrap_or_default()
    ))?;
    for warning in &warnings {
        warn(warning);
    }
    if flags.deny_warnings && !warnings.is_empty() {
        let warnings = counted(warnings.len() as u64, "warning");
        let denied = format!("{name} has {warnings}, and '--deny-warnings' accepts none");
        return Err(Diagnostic::new(denied).into());
    }
    Ok(exit::OK)
}

/// Describes the memory of data files; empty if the plan has none.
fn describe_data(memory: &DataMemory) -> String {
    match memory.taken() {
        0 => String::new(),
        taken => format!(
            "\nmemory of its data files: {} of {} ('--data-memory')",
            show_size(taken as f64),
            show_size(memory.limit() as f64)
        ),
    }
}

/// Describes the effect of the host's path on those of requests; `None` if it has none.
fn describe_host_path(host: &str) -> Option<String> {
    let url = Url::parse(host).ok()?;
    let path = url.path().trim_end_matches('/');
    let origin = url.origin().ascii_serialization();
    (!path.is_empty() && url.has_host()).then(|| {
        format!(
            "\nthe host has the path '{path}': \"/page\" and \"page\" are both {origin}{path}/page; what a page links to, and \
             'expect.redirect', are whole paths"
        )
    })
}
