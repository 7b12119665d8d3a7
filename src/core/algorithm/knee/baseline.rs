//! The latency without a queue, for each kind of operation.

/// Kinds that are told apart; the others share one baseline.
pub const MAX_OPERATIONS: usize = 64;

/// One kind, with its calls in the present window.
#[derive(Clone, Copy, Debug, Default)]
struct Operation {
    /// Zero before its first call.
    base: f64,
    sum: f64,
    calls: f64,
}

/// All kinds.
#[derive(Clone, Debug, Default)]
pub struct Baselines {
    /// Calls without a kind, and of kinds beyond [`MAX_OPERATIONS`].
    other: Operation,
    /// By number; only as many as are in use.
    kinds: Vec<Operation>,
}

impl Baselines {
    /// Adds an answered call; gives its base.
    pub fn add(&mut self, operation: Option<u8>, rtt: f64) -> f64 {
        let kind = match operation.map(usize::from).filter(|kind| *kind < MAX_OPERATIONS) {
            None => &mut self.other,
            Some(kind) => {
                if kind >= self.kinds.len() {
                    self.kinds.reserve_exact(kind + 1 - self.kinds.len());
                    self.kinds.resize(kind + 1, Operation::default());
                }
                &mut self.kinds[kind]
            }
        };
        if kind.base == 0.0 {
            kind.base = rtt;
        }
        kind.calls += 1.0;
        kind.sum += rtt;
        kind.base
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Operation> {
        self.kinds.iter_mut().chain(std::iter::once(&mut self.other))
    }

    /// Begins a window.
    pub fn open(&mut self) {
        for kind in self.all() {
            kind.sum = 0.0;
            kind.calls = 0.0;
        }
    }

    /// Takes the window's means for the first bases; gives what they say of all its calls.
    pub fn start(&mut self) -> f64 {
        let mut total = 0.0;
        for kind in self.all().filter(|kind| kind.calls > 0.0) {
            kind.base = kind.sum / kind.calls;
            total += kind.sum;
        }
        total
    }

    /// Multiplies every base.
    pub fn scale(&mut self, factor: f64) {
        for kind in self.all() {
            kind.base *= factor;
        }
    }

    /// Moves every base by `weight` towards what the window shows: its own mean, or, of a kind without calls,
    /// the same `ratio` that all calls had.
    pub fn learn(&mut self, weight: f64, ratio: f64) {
        for kind in self.all().filter(|kind| kind.base > 0.0) {
            if kind.calls > 0.0 {
                kind.base += weight * (kind.sum / kind.calls - kind.base);
            } else {
                kind.base *= 1.0 + weight * (ratio - 1.0);
            }
        }
    }

    /// The base of calls without a kind.
    #[cfg(test)]
    pub const fn other(&self) -> f64 {
        self.other.base
    }

    /// Kinds that have a place.
    #[cfg(test)]
    pub const fn kinds(&self) -> usize {
        self.kinds.len()
    }
}
