//! The command that writes a first plan.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `lgoose new`.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The folder to write into, created if it does not exist
    #[arg(default_value = ".")]
    pub dir: PathBuf,
    /// What the plan is for: a first look, a site of that kind, or an API; 'lgoose import' makes plans of recorded visits
    #[arg(long, value_enum, default_value_t = PlanTemplate::Starter, value_name = "NAME")]
    pub template: PlanTemplate,
}

/// Plans that `lgoose new` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanTemplate {
    /// A first plan, on the built-in site
    Starter,
    /// Readers and members of a Drupal site
    Drupal,
    /// Readers and commenters of a WordPress
    Wordpress,
    /// Customers of an API in JSON, with a login by token
    Api,
}
