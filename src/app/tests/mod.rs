//! Tests of whole runs and of what is said about them.

mod verdict_model;
mod verdicts;
