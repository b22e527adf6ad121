//! Transit's cache of strings that are written in full once and as a code afterwards [SA-62].

use std::collections::HashMap;

/// How many entries a cache has.
const CAPACITY: usize = 1936;

/// How many codes have one character.
const SHORT: usize = 44;

/// The first character of a code's digits.
const ZERO: usize = 48;

/// Characters, not bytes, that a string has at least to be cached.
const MIN_CHARACTERS: usize = 4;

/// Whether a string, as it is written, takes a place in the cache.
fn is_cached(string: &str, is_key: bool) -> bool {
    let has_name = ["~:", "~$", "~#"].iter().any(|start| string.starts_with(start));
    (is_key || has_name) && string.chars().count() >= MIN_CHARACTERS
}

/// The code of an index.
fn code_of(index: usize) -> String {
    let digit = |value: usize| char::from((ZERO + value) as u8);
    match index {
        0..SHORT => format!("^{}", digit(index)),
        _ => format!("^{}{}", digit(index / SHORT), digit(index % SHORT)),
    }
}

/// The index of a code. A code of two characters for an index below 44 is none.
fn index_of(code: &str) -> Option<usize> {
    let digit = |byte: &u8| usize::from(*byte).checked_sub(ZERO).filter(|value| *value < SHORT);
    match code.as_bytes() {
        [b'^', one] => digit(one),
        [b'^', high, low] => Some(digit(high)? * SHORT + digit(low)?).filter(|index| *index >= SHORT),
        _ => None,
    }
}

/// The strings that a writer has written.
#[derive(Default)]
pub struct Written(HashMap<String, usize>);

impl Written {
    /// What is written for a string: the string itself, or its code.
    pub fn shorten(&mut self, string: &str, is_key: bool) -> String {
        if !is_cached(string, is_key) {
            return string.to_owned();
        }
        if let Some(index) = self.0.get(string) {
            return code_of(*index);
        }
        if self.0.len() == CAPACITY {
            self.0.clear();
        }
        self.0.insert(string.to_owned(), self.0.len());
        string.to_owned()
    }
}

/// The strings that a reader has found. One that it finds in full a second time is another entry.
#[derive(Default)]
pub struct Found(Vec<String>);

impl Found {
    /// What a string stands for that is read; none for a code without entry.
    pub fn resolve(&mut self, string: String, is_key: bool) -> Option<String> {
        if string.starts_with('^') {
            return self.0.get(index_of(&string)?).cloned();
        }
        if is_cached(&string, is_key) {
            if self.0.len() == CAPACITY {
                self.0.clear();
            }
            self.0.push(string.clone());
        }
        Some(string)
    }
}
