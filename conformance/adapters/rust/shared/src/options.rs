//! What a program is given on its command line: `--name value`, and flags.

use std::str::FromStr;

/// The options that were given, in their order.
pub struct Options(Vec<(String, String)>);

/// Options without a value.
const FLAGS: [&str; 1] = ["--json"];

impl Options {
    /// Reads the arguments of the program; only these options are known.
    pub fn parse(known: &[&str], arguments: impl IntoIterator<Item = String>) -> Result<Options, String> {
        let mut given = Vec::new();
        let mut arguments = arguments.into_iter();
        while let Some(name) = arguments.next() {
            if FLAGS.contains(&name.as_str()) {
                continue;
            }
            if !known.contains(&name.as_str()) {
                return Err(format!("there is no option {name}; there are {}", known.join(", ")));
            }
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            given.push((name, value));
        }
        Ok(Options(given))
    }

    /// All values of an option that may be repeated.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// The last value of an option.
    pub fn last(&self, name: &str) -> Option<&str> {
        self.all(name).last()
    }

    /// The last value of an option, as a number.
    pub fn number<T: FromStr>(&self, name: &str, default: T) -> Result<T, String> {
        match self.last(name) {
            None => Ok(default),
            Some(value) => value.parse().map_err(|_| format!("{name} is an integer, and not {value}")),
        }
    }
}

/// The parts of `KEY=VALUE`.
pub fn pair(text: &str) -> Result<(&str, &str), String> {
    text.split_once('=').ok_or_else(|| format!("{text} is no KEY=VALUE"))
}
