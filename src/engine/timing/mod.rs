//! Timers: precise ones for starts and short waits, and those of users, which share them.

pub(super) mod alarm;
pub(super) mod standstill;
pub(super) mod timers;
