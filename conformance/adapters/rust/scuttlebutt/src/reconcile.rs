//! What goes into a datagram: digests, and deltas that answer them.

use std::cmp::Reverse;

use crate::codec::{Digest, Entry, TYPE_SIZE};
use crate::store::Store;
use crate::text::Text;

/// The entries of a digest that fit into a datagram. It ends before the first that does not; later, smaller ones are not
/// tried [B-24, BA-06].
pub fn until_full(entries: impl IntoIterator<Item = Digest>, limit: usize) -> Vec<Digest> {
    let mut used = TYPE_SIZE;
    let fits = |entry: &Digest| {
        used += entry.size();
        used <= limit
    };
    entries.into_iter().take_while(fits).collect()
}

/// The pairs that the sender of a digest lacks of the peers that it lists, as many as fit [B-13, B-26, B-27, BA-08].
///
/// The peer furthest behind comes first, and of peers equally far behind the smaller address [B-28, BA-12]. An address that
/// is listed twice is treated twice [BA-13].
pub fn delta(store: &Store, digest: &[Digest], limit: usize) -> Vec<Entry> {
    let mut outdated: Vec<_> = digest
        .iter()
        .filter_map(|entry| {
            let record = store.get(&entry.addr)?;
            let lead = record.version.checked_sub(entry.version).filter(|lead| *lead > 0)?;
            Some((Reverse(lead), &entry.addr, entry.version, record))
        })
        .collect();
    outdated.sort_by_key(|(lead, addr, ..)| (*lead, *addr));

    let mut entries = Vec::new();
    let mut used = TYPE_SIZE;
    for (_, addr, version, record) in outdated {
        for (key, pair) in record.newer_than(version) {
            let entry =
                Entry { addr: addr.clone(), key: key.clone(), value: pair.value.clone(), version: pair.version };
            if TYPE_SIZE + entry.size() > limit {
                break; // No datagram can hold it: it ends its own peer only [BA-07].
            }
            if used + entry.size() > limit {
                return entries; // The datagram is full [B-31].
            }
            used += entry.size();
            entries.push(entry);
        }
    }
    entries
}

/// The peers of a digest that this node knows at a lower version, at that version and in the order of the digest
/// [B-14, BA-10, BA-11]. The node itself is never among them [BA-16].
pub fn lacking(store: &Store, own: &Text, digest: &[Digest], limit: usize) -> Vec<Digest> {
    let behind = digest.iter().filter(|entry| entry.addr != *own && store.version_of(&entry.addr) < entry.version);
    let known = behind.map(|entry| Digest { addr: entry.addr.clone(), version: store.version_of(&entry.addr) });
    until_full(known, limit)
}
