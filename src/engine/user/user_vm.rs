//! A user's VM. Freeing one takes a tenth of a millisecond or more, so VMs of a run that is cut off are kept until
//! the shard has handed its figures over.

use crate::lua::Vm;
use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// The VM of one user.
#[derive(Debug)]
pub(crate) struct UserVm {
    /// Taken only when this is dropped.
    vm: Option<Vm>,
    late: Rc<LateVms>,
}

/// VMs of users that were cut off, freed with the shard; none is kept before [`LateVms::keep`].
#[derive(Debug, Default)]
pub(crate) struct LateVms(RefCell<Option<Vec<Vm>>>);

impl LateVms {
    /// Keeps the VMs of users that end from now on.
    pub(crate) fn retain(&self) {
        self.0.borrow_mut().get_or_insert_default();
    }
}

impl UserVm {
    pub(crate) fn new(vm: Vm, late: Rc<LateVms>) -> UserVm {
        UserVm { vm: Some(vm), late }
    }
}

impl Deref for UserVm {
    type Target = Vm;

    fn deref(&self) -> &Vm {
        match &self.vm {
            Some(vm) => vm,
            None => unreachable!("it is taken only when this is dropped"),
        }
    }
}

impl DerefMut for UserVm {
    fn deref_mut(&mut self) -> &mut Vm {
        match &mut self.vm {
            Some(vm) => vm,
            None => unreachable!("it is taken only when this is dropped"),
        }
    }
}

impl Drop for UserVm {
    fn drop(&mut self) {
        if let Some(late) = &mut *self.late.0.borrow_mut() {
            late.extend(self.vm.take());
        }
    }
}
