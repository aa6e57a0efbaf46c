//! Options of `lgoose URL`: the request that is made again and again.

use super::values::header;
use clap::Args;

/// Options of the request to a URL that stands for a plan.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct OneRequest {
    /// A header of every request, such as 'Accept: text/html' (repeatable)
    #[arg(long, value_name = "'NAME: VALUE'", value_parser = header)]
    pub header: Vec<(String, String)>,
    /// With a URL: the method [default: GET, or POST with a body]
    #[arg(long, value_name = "METHOD")]
    pub method: Option<String>,
    /// With a URL: the body, or @FILE
    #[arg(long, value_name = "TEXT")]
    pub body: Option<String>,
    /// With a URL: read the response while it comes, and count its events or lines
    #[arg(long)]
    pub stream: bool,
    /// The subprotocols of a WebSocket, which stand among the options of the target.
    #[arg(skip)]
    pub subprotocol: Vec<String>,
}
