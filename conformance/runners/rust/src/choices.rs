//! Answers to random choices: as the vector says, else from a stream of the seed, the site and the number of its questions.

use std::collections::HashMap;

use serde_json::Value;

use crate::blake2b::blake2b;
use crate::implementation::Question;

/// The answers of one case.
pub(crate) struct Choices {
    pub seed: String,
    count: HashMap<String, usize>,
    script: Vec<(String, Vec<Value>)>,
    /// The first question that the vector answers otherwise.
    pub wrong: Option<String>,
}

impl Choices {
    pub fn new(seed: String) -> Choices {
        Choices {
            seed,
            count: HashMap::new(),
            script: Vec::new(),
            wrong: None,
        }
    }

    /// Sets the next answers, the `picks` of an action, and discards earlier ones that are left.
    pub fn script(&mut self, picks: Option<&Value>) {
        let picks = picks.and_then(Value::as_array).into_iter().flatten();
        self.script = picks
            .map(|answer| {
                let picked = answer["pick"].as_array().cloned().unwrap_or_default();
                (
                    answer["site"].as_str().unwrap_or_default().to_string(),
                    picked,
                )
            })
            .collect();
    }

    /// Returns the indices of the chosen options.
    pub fn answer(&mut self, question: Question) -> Vec<usize> {
        let Question {
            site,
            options,
            some,
            ..
        } = question;
        let count = self.count.entry(site.clone()).or_default();
        let number = *count;
        *count += 1;
        if let Some(at) = self.script.iter().position(|(name, _)| *name == site) {
            let (_, answer) = self.script.remove(at);
            let picked: Vec<usize> = answer
                .iter()
                .filter_map(|wanted| options.iter().position(|option| option == wanted))
                .collect();
            if answer.len() == some && picked.len() == some {
                return picked;
            }
            let (asked, answers) = (
                literal(&Value::Array(options.clone())),
                literal(&Value::Array(answer)),
            );
            let wrong = format!(
                "asked at {site} for {some} of {asked}, where the vector answers {answers}"
            );
            self.wrong.get_or_insert(wrong);
        }
        let mut indices: Vec<usize> = (0..options.len()).collect();
        if options.len() > 1 {
            indices.sort_by_cached_key(|index| {
                blake2b(&format!("{}/{site}/{number}/{index}", self.seed), 8)
            });
        }
        indices.truncate(some);
        indices
    }
}

/// A value in the notation in which outcomes with options are hashed: texts in single quotes.
fn literal(value: &Value) -> String {
    match value {
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(literal).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(members) => {
            let shown: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("'{name}': {}", literal(value)))
                .collect();
            format!("{{{}}}", shown.join(", "))
        }
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}

/// Returns the indices of the options without repetitions: numbers in their order, then texts in that of their bytes.
pub(crate) fn sorted_options(options: &[Value]) -> Vec<usize> {
    let key = |index: &usize| match &options[*index] {
        Value::Number(number) => (0, number.as_i128(), Vec::new()),
        Value::String(text) => (1, None, text.clone().into_bytes()),
        other => match other["hex"].as_str() {
            Some(digits) => (1, None, unhex(digits).unwrap_or_default()),
            None => (2, None, Vec::new()),
        },
    };
    let mut places: Vec<usize> = (0..options.len())
        .filter(|&index| !options[..index].contains(&options[index]))
        .collect();
    places.sort_by_cached_key(key);
    places
}

/// Returns the bytes of hexadecimal digits, or None if these are none.
pub(crate) fn unhex(digits: &str) -> Option<Vec<u8>> {
    if digits.len() % 2 != 0
        || !digits
            .bytes()
            .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    {
        return None;
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok())
        .collect()
}

/// Returns the hexadecimal digits of bytes.
pub(crate) fn hex(data: &[u8]) -> String {
    data.iter().map(|byte| format!("{byte:02x}")).collect()
}
