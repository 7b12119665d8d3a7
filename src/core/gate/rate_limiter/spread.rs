//! A hasher for keys that are hashes already, of 53 bits: they only have to be spread over all 64.
//!
//! A product with the golden ratio, its halves folded into each other. A hash map needs good bits at both ends.

use std::hash::Hasher;

/// The hasher.
#[derive(Debug, Default)]
pub struct Spread(u64);

impl Hasher for Spread {
    #[expect(clippy::cast_possible_truncation, reason = "both halves of the product are used")]
    fn write_u64(&mut self, key: u64) {
        let product = u128::from(key ^ self.0) * 0x9E37_79B9_7F4A_7C15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::{BuildHasher, BuildHasherDefault};

    use super::*;

    #[test]
    fn neighbouring_keys_differ_in_the_highest_and_in_the_lowest_bits_of_their_hash() {
        let build = BuildHasherDefault::<Spread>::default();
        let hashes: Vec<u64> = (0..128_u64).map(|key| build.hash_one(key)).collect();
        for bits in [|hash: &u64| hash >> 57, |hash: &u64| hash & 127] {
            let distinct: HashSet<u64> = hashes.iter().map(bits).collect();
            assert!(distinct.len() > 64, "{}", distinct.len());
        }
    }
}
