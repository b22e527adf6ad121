//! The readings of clauses that an implementation declares (docs/explanation/document-or-decision).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::verdict::{Status, Verdict};

pub(crate) type Readings = BTreeMap<String, String>;

/// Declared readings that are not described. Clauses of other protocols have another first letter.
pub(crate) fn unknown(described: &Value, declared: &Readings) -> Vec<String> {
    let is_own = |clause: &str| {
        let mut own = described.as_object().into_iter().flatten();
        own.any(|(name, _)| name.get(..1) == clause.get(..1))
    };
    let unknown = declared.iter().filter(|(clause, name)| {
        is_own(clause) && described[clause.as_str()].get(name.as_str()).is_none()
    });
    unknown
        .map(|(clause, name)| {
            let names = described[clause].as_object().into_iter().flatten();
            let names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
            let there_are = match names.join(", ") {
                none if none.is_empty() => "no other reading of it is described".to_string(),
                names => format!("described are {names}"),
            };
            format!("the offer declares {clause} as '{name}'; {there_are}")
        })
        .collect()
}

/// The declared readings that explain a failure with one of these outcomes; `basis` is that of the place where it was.
pub(crate) fn explaining(declared: &Readings, basis: &Value, outcomes: &[&str]) -> Vec<String> {
    if declared.is_empty() {
        return Vec::new();
    }
    for (key, others) in basis.as_object().into_iter().flatten() {
        for names in outcomes
            .iter()
            .filter_map(|outcome| others[*outcome].as_str())
        {
            let mut taken = key.split(' ').zip(names.split(' '));
            if taken.all(|(decision, names)| is_declared(declared, decision, names)) {
                let decisions = key.split(' ');
                return decisions
                    .map(|decision| format!("{decision}: {}", declared[decision]))
                    .collect();
            }
        }
    }
    Vec::new()
}

/// Whether one of the readings of a decision is declared; their names have | between them.
fn is_declared(declared: &Readings, decision: &str, names: &str) -> bool {
    let name = declared.get(decision);
    name.is_some_and(|name| names.split('|').any(|one| one == name))
}

/// What is wrong with declared readings: no case confirms them, though some could have.
pub(crate) fn unconfirmed(declared: &Readings, verdicts: &[Verdict]) -> Vec<String> {
    let has_run = |one: &&Verdict| !matches!(one.status, Status::Skipped | Status::Undetermined);
    let mut problems = Vec::new();
    for (clause, name) in declared {
        let citing = verdicts
            .iter()
            .filter(has_run)
            .filter(|one| one.clauses.contains(clause));
        let count = citing.count();
        let confirmed = format!("{clause}: {name}");
        if count > 0 && !verdicts.iter().any(|one| one.readings.contains(&confirmed)) {
            problems.push(format!(
                "the offer declares {clause} as '{name}', but none of {count} cases that cite it confirms that"
            ));
        }
    }
    problems
}
