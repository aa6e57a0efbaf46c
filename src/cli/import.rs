//! `lgoose import`: a recording, the description of an API or the test of another tool, and what its plan is to have.

use clap::Args;
use std::path::PathBuf;

/// `lgoose import`.
#[derive(Debug, Args)]
#[command(
    after_help = "The plan goes to standard output, a list of what is left to do to standard error:\n  lgoose import visit.har --to . > plan.lua\n  lgoose import openapi.yaml > plan.lua\n  \
        lgoose import plan.jmx > plan.lua\n  \
        lgoose import - > plan.lua      then paste a command line that a browser copied 'as cURL (bash)'"
)]
pub(crate) struct ImportArgs {
    /// A HAR file, a file of curl command lines, a Postman collection, an OpenAPI document, a JMeter test plan (.jmx), an
    /// Artillery test, a k6 script or a list of targets; '-' reads standard input
    pub file: PathBuf,
    /// Write long bodies into files in this folder, where the plan belongs, too; by default, they are part of the plan
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Take this host of a recording for its site; by default, it is that of the first page
    #[arg(long, value_name = "HOST")]
    pub site: Option<String>,
    /// Keep the requests to these hosts in addition to those to the site; '*' keeps all (repeatable)
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    pub hosts: Vec<String>,
    /// Take values of variables from an environment or globals that Postman exported (repeatable)
    #[arg(long, value_name = "FILE")]
    pub environment: Vec<PathBuf>,
    /// Take variables from the rows of this CSV or JSON file, one row an iteration, as Postman's runner does
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
}
