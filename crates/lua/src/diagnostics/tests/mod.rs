//! Wrong lines of plans as people write them who come from other languages and tools, each with a part of the message that it
//! must get, and lines that must not get a certain one.

mod habits;
