//! Reading and writing of files, and the rules for those that a plan names. Knows nothing about their contents.

mod data_memory;
mod mark;
mod named_file;
mod plan_folder;
mod reading;
mod sorter;
mod writing;

pub use data_memory::{DataCharge, DataMemory, DataMemoryFull};
pub use named_file::{CreatedFile, NamedFile};
pub use plan_folder::{FileError, FileReach, FileUse, PathRefusal, PlanFolder, WriteFolder};
pub use reading::{
    is_handed_over, open, open_of_any_size, or_here, read, read_all, read_text, read_to_string,
};
pub use sorter::{LineKey, Sorter};
pub use writing::{create, is_device, replace};
