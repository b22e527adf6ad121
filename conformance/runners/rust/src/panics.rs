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
    let stack = (stack.status() == BacktraceStatus::Captured)
        .then(|| without_panicking(&stack.to_string()).to_string());
    LAST.set(Some(Panic { message, stack }));
}

/// A stack without the frames that only panic: up to `rust_begin_unwind`, and of the standard library after it.
fn without_panicking(stack: &str) -> &str {
    const LIBRARIES: [&str; 6] = [
        "core::", "alloc::", "std::", "<core::", "<alloc::", "<std::",
    ];
    let mut is_after = false;
    let mut at = 0;
    for line in stack.split_inclusive('\n') {
        if let Some((number, name)) = line.split_once(": ") {
            let is_frame = number.trim().parse::<usize>().is_ok();
            if is_after && is_frame && !LIBRARIES.iter().any(|library| name.starts_with(library)) {
                return &stack[at..];
            }
            is_after |= is_frame && name.contains("rust_begin_unwind");
        }
        at += line.len();
    }
    stack
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".into())
}

#[cfg(test)]
mod tests {
    use super::without_panicking;

    #[test]
    fn a_stack_begins_where_the_implementation_panics() {
        let own = "  12: mine::node::Node::recv\n             at ./src/node.rs:3:5\n  13: core::ops::call\n";
        let before = "   0: std::backtrace::Backtrace::capture\n   1: peerproof_vectors::panics::keep\n             \
             at ./vectors/src/panics.rs:55:17\n   9: __rustc::rust_begin_unwind\n  10: core::panicking::panic_fmt\n  \
             11: <core::option::Option<T>>::unwrap\n             at /rustc/library/core/src/option.rs:1:2\n";

        assert_eq!(without_panicking(&format!("{before}{own}")), own);
        for whole in [own, before, "", "   0: <unknown>\n"] {
            assert_eq!(without_panicking(whole), whole);
        }
    }
}
