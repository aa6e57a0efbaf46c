//! Tests of whole runs and of their verdicts.

mod verdict_model;
mod verdicts;
