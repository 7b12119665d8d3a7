//! How long the dependency works on a call.

use std::f64::consts::TAU;

use crate::core::random::Random;

/// How single times spread around the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// Not at all.
    Constant,
    /// Evenly, by up to this share of the mean to either side.
    Uniform {
        /// In `[0, 1]`.
        jitter: f64,
    },
    /// As the sum of this many exponential times: the more, the closer to the mean.
    Erlang {
        /// At least 1, which is the exponential distribution.
        shape: u32,
    },
    /// As a product of many small influences: a long tail.
    Lognormal {
        /// The coefficient of variation: standard deviation over mean. Above 0.
        cv: f64,
    },
    /// Some calls are slower than the others by a factor.
    Bimodal {
        /// The share of slow calls, in `[0, 1]`.
        slow_share: f64,
        /// How many times as long they take. Above 0.
        slow_factor: f64,
    },
    /// A heavy tail: the lower the shape, the heavier.
    Pareto {
        /// Above 1, or there would be no mean.
        shape: f64,
    },
}

/// A distribution of service times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    /// The mean of all calls.
    pub mean_ms: f64,
    /// How they spread.
    pub spread: Spread,
}

impl Service {
    /// Draws one time.
    pub fn draw(&self, random: &mut Random) -> f64 {
        let relative = match self.spread {
            Spread::Constant => 1.0,
            Spread::Uniform { jitter } => 1.0 + jitter * (2.0 * random.unit() - 1.0),
            Spread::Erlang { shape } => {
                let steps = f64::from(shape);
                (0..shape).map(|_| random.exponential(1.0)).sum::<f64>() / steps
            }
            Spread::Lognormal { cv } => {
                let variance = (cv * cv).ln_1p();
                (variance.sqrt() * normal(random) - variance / 2.0).exp()
            }
            Spread::Bimodal { slow_share, slow_factor } => {
                let fast = 1.0 / (1.0 - slow_share + slow_share * slow_factor);
                if random.unit() < slow_share { fast * slow_factor } else { fast }
            }
            Spread::Pareto { shape } => {
                let least = (shape - 1.0) / shape;
                least * (1.0 - random.unit()).powf(-1.0 / shape)
            }
        };
        self.mean_ms * relative
    }
}

/// Normal with mean 0 and variance 1, after Box and Muller, "A Note on the Generation of Random Normal
/// Deviates" (1958).
fn normal(random: &mut Random) -> f64 {
    (-2.0 * (1.0 - random.unit()).ln()).sqrt() * (TAU * random.unit()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(spread: Spread) -> (f64, f64) {
        let service = Service { mean_ms: 50.0, spread };
        let mut random = Random::new(1);
        let draws: Vec<f64> = (0..400_000).map(|_| service.draw(&mut random)).collect();
        assert!(draws.iter().all(|draw| *draw >= 0.0));
        let mean = draws.iter().sum::<f64>() / 400_000.0;
        let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / 400_000.0;
        (mean, variance.sqrt() / mean)
    }

    #[test]
    fn each_distribution_has_its_mean_and_its_spread() {
        for (spread, cv) in [
            (Spread::Constant, 0.0),
            (Spread::Uniform { jitter: 0.3 }, 0.3 / 3_f64.sqrt()),
            (Spread::Erlang { shape: 4 }, 0.5),
            (Spread::Lognormal { cv: 1.5 }, 1.5),
            (Spread::Bimodal { slow_share: 0.05, slow_factor: 4.0 }, 0.6538 / 1.15),
            (Spread::Pareto { shape: 5.0 }, 1.0 / 15_f64.sqrt()),
        ] {
            let (mean, measured) = moments(spread);
            assert!((mean - 50.0).abs() < 0.6, "{spread:?}: mean {mean}");
            assert!((measured - cv).abs() < 0.03 + 0.03 * cv, "{spread:?}: cv {measured}, not {cv}");
        }
    }
}
