//! Recordings and their plans.
