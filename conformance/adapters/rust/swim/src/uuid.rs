//! The name of a node [SA-19].

use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub u128);

/// Where hyphens stand in its text.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl Uuid {
    /// From its text; letters may be capitals.
    pub fn parse(text: &str) -> Option<Uuid> {
        let is_place =
            |(place, byte): (usize, u8)| if HYPHENS.contains(&place) { byte == b'-' } else { byte.is_ascii_hexdigit() };
        if text.len() != 36 || !text.bytes().enumerate().all(is_place) {
            return None;
        }
        u128::from_str_radix(&text.replace('-', ""), 16).ok().map(Uuid)
    }

    /// From its halves, the high one first.
    pub fn from_halves(high: u64, low: u64) -> Uuid {
        Uuid(u128::from(high) << 64 | u128::from(low))
    }

    /// Both halves as they are written, signed [SA-61].
    pub fn halves(self) -> [i64; 2] {
        [(self.0 >> 64) as i64, self.0 as i64]
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:032x}", self.0);
        let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
        formatter.write_str(&parts.join("-"))
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}
