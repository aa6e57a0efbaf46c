//! A user's VM, in which the task and its jobs take their steps, one at a time. Freeing one takes a tenth of a millisecond or
//! more, so VMs of a run that is cut off are kept until the shard has handed its figures over.

use lgoose_lua::{JobState, Vm};
use std::cell::{RefCell, RefMut};
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// The VM of one user, as its task or one of its jobs has it.
#[derive(Debug)]
pub(crate) struct UserVm {
    // Never borrowed across an await.
    vm: Rc<RefCell<OwnedVm>>,
    /// State of the job that has the VM, if it is one.
    job: Option<Box<JobState>>,
}

#[derive(Debug)]
struct OwnedVm {
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
        let vm = Some(vm);
        UserVm {
            vm: Rc::new(RefCell::new(OwnedVm { vm, late })),
            job: None,
        }
    }

    /// Returns it as the job of that state has it.
    pub(crate) fn of_job(&self, job: JobState) -> UserVm {
        UserVm {
            vm: self.vm.clone(),
            job: Some(Box::new(job)),
        }
    }

    /// Enters the VM for a step, with the state of the job in place.
    pub(crate) fn enter(&mut self) -> EnteredVm<'_> {
        let mut vm = RefMut::map(self.vm.borrow_mut(), |owned| match &mut owned.vm {
            Some(vm) => vm,
            None => unreachable!("it is taken only when this is dropped"),
        });
        let mut job = self.job.as_deref_mut();
        if let Some(job) = &mut job {
            vm.exchange(job);
        }
        EnteredVm { vm, job }
    }
}

/// A VM for one step of a task or a job.
#[derive(Debug)]
pub(crate) struct EnteredVm<'a> {
    vm: RefMut<'a, Vm>,
    job: Option<&'a mut JobState>,
}

impl Deref for EnteredVm<'_> {
    type Target = Vm;

    fn deref(&self) -> &Vm {
        &self.vm
    }
}

impl DerefMut for EnteredVm<'_> {
    fn deref_mut(&mut self) -> &mut Vm {
        &mut self.vm
    }
}

impl Drop for EnteredVm<'_> {
    fn drop(&mut self) {
        if let Some(job) = &mut self.job {
            self.vm.exchange(job);
        }
    }
}

impl Drop for OwnedVm {
    fn drop(&mut self) {
        if let Some(late) = &mut *self.late.0.borrow_mut() {
            late.extend(self.vm.take());
        }
    }
}
