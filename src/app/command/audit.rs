//! `lgoose audit`: reads a report and the logs of both sides, and prints what agrees and what does not.

use super::outputs::{apart, read, write};
use super::screen::{self, print_text, report_error, terminal_width};
use crate::cli;
use lgoose_audit::AuditInput;
use lgoose_base::console;
use lgoose_base::error::{Error, exit};

/// Compares the files that the flags name, and returns the exit code.
///
/// # Errors
/// A mistake for a file that cannot be read or is something else, or that an output would overwrite.
pub(super) fn audit(flags: &cli::AuditArgs) -> Result<u8, Error> {
    let inputs = [&flags.report].into_iter().chain(&flags.access_log);
    apart(inputs.chain(&flags.request_log), &flags.output)?;
    let (report_file, text) = read(&flags.report)?;
    let report = lgoose_report::json::from_json(&text, &report_file)?;
    let audit = lgoose_audit::audit(&AuditInput {
        report: &report,
        report_file: &report_file,
        request_log: flags.request_log.as_deref(),
        access_logs: &flags.access_log,
        log_format: flags.log_format.as_deref(),
        user_agents: &flags.user_agent,
        tolerance: flags.tolerance,
        clock_offset_ns: flags.clock_offset.unwrap_or(0),
        shown: flags.lines as usize,
    })?;
    let mut troubles = Vec::new();
    for output in &flags.output {
        let json = lgoose_audit::json(&audit);
        let written = json.and_then(|json| write(output.path.as_deref(), json.as_bytes()));
        troubles.extend(written.err());
    }
    screen::written(console::out().settle(None))?;
    if flags.output.iter().all(|output| output.path.is_some()) {
        print_text(lgoose_audit::text(&audit, terminal_width()).trim_end())?;
    }
    for trouble in &troubles {
        report_error(trouble, false);
    }
    Ok(match (troubles.is_empty(), audit.agrees) {
        (false, _) => exit::TROUBLE,
        (true, true) => exit::OK,
        (true, false) => exit::VERDICT,
    })
}
