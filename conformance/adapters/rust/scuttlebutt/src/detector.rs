//! The failure detector: phi accrual, in integers.

use std::collections::VecDeque;

/// How suspicion is measured, and from which suspicion on something is done. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detector {
    /// How many intervals are remembered of each peer.
    pub window: usize,
    /// The first interval of each window.
    pub bootstrap: u64,
    /// Thousandths of phi above which a peer is critical.
    pub critical: u64,
    /// Thousandths of phi above which a peer is down.
    pub down: u64,
}

impl Default for Detector {
    fn default() -> Self {
        Detector { window: 100, bootstrap: 2000, critical: 5000, down: 8000 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Up,
    Down,
}

/// 1/ln 10, exact to thirteen digits, as numerator and denominator [BA-28].
const ONE_BY_LN_10: (u128, u128) = (4_342_944_819_033, 10_000_000_000_000);

/// The signs of life of one peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    pub status: Status,
    /// When the last sign of life came, or when the peer was stored.
    pub last: u64,
    /// The distances between signs of life, the oldest first.
    pub intervals: VecDeque<u64>,
    /// When the last digest that is not yet answered was sent [BA-30].
    pub digest_sent: Option<u64>,
}

impl Window {
    /// Opens when the peer is stored, with the bootstrap interval as its first sample [BA-29].
    pub fn open(detector: &Detector, now: u64) -> Self {
        Window { status: Status::Up, last: now, intervals: VecDeque::from([detector.bootstrap]), digest_sent: None }
    }

    /// A sign of life. Returns the round-trip time if a digest was sent since the last one [BA-23, BA-30].
    pub fn heartbeat(&mut self, detector: &Detector, now: u64) -> Option<u64> {
        self.intervals.push_back(now.saturating_sub(self.last));
        while self.intervals.len() > detector.window {
            self.intervals.pop_front();
        }
        self.last = now;
        self.digest_sent.take().map(|sent| now.saturating_sub(sent))
    }

    /// Whether phi is strictly above a threshold, in thousandths: the silence by the mean interval, times 1/ln 10.
    /// A mean below one millisecond counts as one [BA-28].
    pub fn phi_exceeds(&self, threshold: u64, now: u64) -> bool {
        let count = self.intervals.len().max(1) as u128;
        let sum = self.intervals.iter().map(|interval| u128::from(*interval)).sum::<u128>().max(count);
        let silence = u128::from(now.saturating_sub(self.last));
        let (numerator, denominator) = ONE_BY_LN_10;
        let phi = (silence * count).saturating_mul(1000 * numerator);
        phi > (u128::from(threshold) * sum).saturating_mul(denominator)
    }
}
