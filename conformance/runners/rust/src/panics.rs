//! Panics of the implementation, caught without a word on standard error.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, set_hook, take_hook, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

thread_local! {
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<Option<Panic>> = const { RefCell::new(None) };
}

/// A panic: what it says and where, and the stack if `RUST_BACKTRACE` is set.
#[derive(Debug)]
pub(crate) struct Panic {
    pub message: String,
    pub stack: Option<String>,
}

/// Calls a function. Its panic is returned and not printed; those of other threads are printed as before.
pub(crate) fn catch<T>(call: impl FnOnce() -> T) -> Result<T, Panic> {
    install_hook();
    IS_CAUGHT.set(true);
    let result = catch_unwind(AssertUnwindSafe(call));
    IS_CAUGHT.set(false);
    result.map_err(|payload| {
        LAST.take().unwrap_or_else(|| Panic {
            message: message_of(payload.as_ref()),
            stack: None,
        })
    })
}

fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |about| {
            if IS_CAUGHT.get() {
                keep(about)
            } else {
                usual(about)
            }
        }));
    });
}

fn keep(about: &PanicHookInfo) {
    let place = about
        .location()
        .map(|place| format!(" at {place}"))
        .unwrap_or_default();
    let message = format!("panicked{place}: {}", message_of(about.payload()));
    let stack = Backtrace::capture();
    let stack = (stack.status() == BacktraceStatus::Captured).then(|| stack.to_string());
    LAST.set(Some(Panic { message, stack }));
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".into())
}
