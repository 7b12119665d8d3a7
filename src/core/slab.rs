//! A generational slab: O(1) insert, look-up and remove by a key that detects its own staleness.

/// Bits of a key's index; the rest of a 53-bit integer holds its generation, so that a key fits an `f64`.
const INDEX_BITS: u32 = 26;
const MAX_INDEX: usize = (1 << INDEX_BITS) - 1;
const MAX_GENERATION: u32 = (1 << (53 - INDEX_BITS)) - 1;
const NO_VACANCY: u32 = u32::MAX;

/// Names one value of a [`Slab`]. After the value is removed the key matches nothing, also when its place is
/// used again (up to 2^27 reuses of one place).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    /// The key as an integer in `[2^26, 2^53)`: the index in the low 26 bits, the generation above.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub const fn to_f64(self) -> f64 {
        ((self.generation as u64) << INDEX_BITS | self.index as u64) as f64
    }

    /// Its place: no two values that are held at once have the same.
    #[must_use]
    pub const fn index(self) -> usize {
        self.index as usize
    }

    /// The reverse of [`Key::to_f64`]. NaN, an infinity or a number below 2^26 gives a key that matches nothing.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturating and masking are wanted: the result of a wrong number is a key that matches nothing"
    )]
    pub const fn from_f64(number: f64) -> Self {
        let bits = number as u64;
        Self { index: (bits & MAX_INDEX as u64) as u32, generation: (bits >> INDEX_BITS) as u32 }
    }
}

#[derive(Debug)]
enum Place<T> {
    Occupied(T),
    /// The next vacant place, or [`NO_VACANCY`].
    Vacant(u32),
}

/// Values with generational keys.
#[derive(Debug)]
pub struct Slab<T> {
    places: Vec<(u32, Place<T>)>,
    vacant: u32,
    len: usize,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { places: Vec::new(), vacant: NO_VACANCY, len: 0 }
    }
}

impl<T> Slab<T> {
    /// How many values are held.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is held.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Stores `value`.
    ///
    /// # Panics
    ///
    /// With 2^26 values held already.
    pub fn insert(&mut self, value: T) -> Key {
        if self.vacant == NO_VACANCY {
            assert!(self.places.len() <= MAX_INDEX, "more than {MAX_INDEX} values at once");
            #[expect(clippy::cast_possible_truncation, reason = "asserted above")]
            let index = self.places.len() as u32;
            self.places.push((1, Place::Occupied(value)));
            self.len += 1;
            return Key { index, generation: 1 };
        }
        let index = self.vacant;
        let (generation, place) = &mut self.places[index as usize];
        if let Place::Vacant(next) = *place {
            self.vacant = next;
        }
        *place = Place::Occupied(value);
        self.len += 1;
        Key { index, generation: *generation }
    }

    /// The value of `key`, if it is still there.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<&T> {
        match self.places.get(key.index as usize) {
            Some((generation, Place::Occupied(value))) if *generation == key.generation => Some(value),
            _ => None,
        }
    }

    /// The value of `key` to change, if it is still there.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        match self.places.get_mut(key.index as usize) {
            Some((generation, Place::Occupied(value))) if *generation == key.generation => Some(value),
            _ => None,
        }
    }

    /// Takes the value of `key` out, if it is still there.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        let (generation, place) = &mut self.places[key.index as usize];
        *generation = if *generation == MAX_GENERATION { 1 } else { *generation + 1 };
        let Place::Occupied(value) = std::mem::replace(place, Place::Vacant(self.vacant)) else { return None };
        self.vacant = key.index;
        self.len -= 1;
        Some(value)
    }

    /// The keys of all values held.
    pub fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.places.iter().enumerate().filter_map(|(index, (generation, place))| match place {
            #[expect(clippy::cast_possible_truncation, reason = "an index is at most 2^26")]
            Place::Occupied(_) => Some(Key { index: index as u32, generation: *generation }),
            Place::Vacant(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_key_matches_nothing_even_when_its_place_is_used_again() {
        let mut slab = Slab::default();
        let first = slab.insert('a');
        assert_eq!(slab.remove(first), Some('a'));
        let second = slab.insert('b');
        assert_eq!(second.index, first.index);
        assert_eq!(slab.get(first), None);
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.get(second), Some(&'b'));
        assert_eq!(slab.len(), 1);
    }

    #[test]
    fn a_key_survives_the_way_through_a_float() {
        for key in [
            Key { index: 0, generation: 1 },
            Key { index: 7, generation: 3 },
            Key { index: (1 << 26) - 1, generation: MAX_GENERATION },
        ] {
            assert_eq!(Key::from_f64(key.to_f64()), key);
        }
    }

    #[test]
    fn numbers_that_are_no_key_match_nothing() {
        let mut slab = Slab::default();
        let key = slab.insert(());
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 0.5, 1e300, -key.to_f64()] {
            assert!(slab.get(Key::from_f64(number)).is_none(), "{number}");
        }
    }

    #[test]
    fn a_generation_wraps_to_one_and_never_to_zero() {
        let mut slab = Slab::default();
        let key = slab.insert(());
        slab.places[0].0 = MAX_GENERATION;
        slab.remove(Key { index: key.index, generation: MAX_GENERATION });
        assert_eq!(slab.insert(()).generation, 1);
    }
}
