//! What a node knows: a record of itself and of each peer.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;

use crate::codec::Entry;
use crate::text::Text;

/// A value, and the version at which its owner set it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    pub value: Text,
    pub version: u64,
}

/// A peer's pairs, and the version at which the peer as a whole is known [B-02]: that of its highest pair [B-03],
/// or 0 without pairs [B-04].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    pub version: u64,
    pub pairs: BTreeMap<Text, Pair>,
}

impl Record {
    /// Takes over a pair if its version is above the one known of its key, which is 0 for a key not seen before
    /// [B-36, BA-14]. A version above the record's raises that [B-37]. Returns whether the pair has changed.
    pub fn merge(&mut self, key: &Text, value: &Text, version: u64) -> bool {
        let known = self.pairs.get(key).map_or(0, |pair| pair.version);
        if version <= known {
            return false;
        }
        self.pairs.insert(key.clone(), Pair { value: value.clone(), version });
        self.version = self.version.max(version);
        true
    }

    /// The pairs above a version, from the lowest up; equal ones by key [B-29, B-30, BA-12].
    pub fn newer_than(&self, version: u64) -> Vec<(&Text, &Pair)> {
        let mut pairs: Vec<_> = self.pairs.iter().filter(|(_, pair)| pair.version > version).collect();
        pairs.sort_by_key(|(_, pair)| pair.version);
        pairs
    }
}

/// The records by address [B-01].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    own: Text,
    records: BTreeMap<Text, Record>,
}

impl Store {
    /// Knows the node itself and no other [B-01].
    pub fn new(own: Text) -> Self {
        let records = BTreeMap::from([(own.clone(), Record::default())]);
        Store { own, records }
    }

    /// With records that are given, and one of the node itself in any case.
    pub fn with(own: Text, mut records: BTreeMap<Text, Record>) -> Self {
        records.entry(own.clone()).or_default();
        Store { own, records }
    }

    pub fn own(&self) -> &Record {
        &self.records[&self.own]
    }

    pub fn own_mut(&mut self) -> &mut Record {
        self.records.get_mut(&self.own).expect("a node knows itself")
    }

    pub fn get(&self, addr: &Text) -> Option<&Record> {
        self.records.get(addr)
    }

    pub fn contains(&self, addr: &Text) -> bool {
        self.records.contains_key(addr)
    }

    /// The version at which a peer is known, 0 for one that is not.
    pub fn version_of(&self, addr: &Text) -> u64 {
        self.get(addr).map_or(0, |record| record.version)
    }

    /// All known peers, the node itself among them, by address.
    pub fn records(&self) -> impl Iterator<Item = (&Text, &Record)> {
        self.records.iter()
    }

    /// The addresses of the known peers without the node itself, sorted.
    pub fn others(&self) -> Vec<Text> {
        self.records.keys().filter(|addr| **addr != self.own).cloned().collect()
    }

    /// Stores a peer that was not known, at version 0: a higher one would claim pairs that are not there [B-11].
    /// Returns whether it is new.
    pub fn add(&mut self, addr: &Text) -> bool {
        match self.records.entry(addr.clone()) {
            Slot::Vacant(slot) => {
                slot.insert(Record::default());
                true
            }
            Slot::Occupied(_) => false,
        }
    }

    /// Applies an entry of a delta. One about the node itself or about an unknown peer is ignored [B-06, BA-15].
    /// Returns whether a pair has changed.
    pub fn apply(&mut self, entry: &Entry) -> bool {
        if entry.addr == self.own {
            return false;
        }
        let record = self.records.get_mut(&entry.addr);
        record.is_some_and(|record| record.merge(&entry.key, &entry.value, entry.version))
    }
}
