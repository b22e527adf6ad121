//! Random choices. A node asks for them, so that a test can make them instead.

/// How many of the options are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of them.
    One,
    /// All of them, in a random order.
    Permutation,
    /// So many different ones.
    Sample(usize),
}

/// Whatever makes the random choices of a node, whose options are of type `T`.
pub trait Chance<T> {
    /// Indices into the options, in the order to use. The options are sorted; `site` says where the protocol asks.
    fn pick(&mut self, site: &'static str, kind: Kind, options: &[T]) -> Vec<usize>;
}

/// One of the options. A single option is no question.
pub fn one<T: Clone>(chance: &mut dyn Chance<T>, site: &'static str, options: &[T]) -> Option<T> {
    match options {
        [] => None,
        [only] => Some(only.clone()),
        _ => Some(options[chance.pick(site, Kind::One, options)[0]].clone()),
    }
}

/// All options, shuffled.
pub fn shuffled<T: Clone>(chance: &mut dyn Chance<T>, site: &'static str, options: &[T]) -> Vec<T> {
    if options.len() < 2 {
        return options.to_vec();
    }
    at(options, &chance.pick(site, Kind::Permutation, options))
}

/// So many different ones of the options, or all if there are fewer, in a random order.
pub fn sample<T: Clone>(chance: &mut dyn Chance<T>, site: &'static str, some: usize, options: &[T]) -> Vec<T> {
    let some = some.min(options.len());
    if some == 0 || options.len() == 1 {
        return options[..some].to_vec();
    }
    at(options, &chance.pick(site, Kind::Sample(some), options))
}

fn at<T: Clone>(options: &[T], indices: &[usize]) -> Vec<T> {
    indices.iter().map(|index| options[*index].clone()).collect()
}

/// A random number generator (SplitMix64), for nodes that make their own choices.
pub struct Generator(u64);

impl Generator {
    pub fn new(seed: u64) -> Self {
        Generator(seed)
    }

    /// From what the operating system gives to hash maps: another sequence in each process.
    pub fn from_entropy() -> Self {
        use std::hash::{BuildHasher, RandomState};
        Generator(RandomState::new().hash_one(std::process::id()))
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// An integer below a bound; the high half of the product is as good as uniform for the sizes of a cluster.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }
}

impl<T> Chance<T> for Generator {
    fn pick(&mut self, _site: &'static str, kind: Kind, options: &[T]) -> Vec<usize> {
        let wanted = match kind {
            Kind::One => 1,
            Kind::Permutation => options.len(),
            Kind::Sample(some) => some,
        };
        let mut indices: Vec<usize> = (0..options.len()).collect();
        for place in 0..wanted {
            let other = place + self.below(indices.len() - place);
            indices.swap(place, other);
        }
        indices.truncate(wanted);
        indices
    }
}
