//! What counts, and when: one change a flight, and none for the worse while the limit does not bind.

use resilience::core::algorithm::knee::decision::Rule;
use resilience::core::algorithm::{Knee, LimitAlgorithm, Sample};
use resilience::core::random::Random;

use crate::plant::{Plant, knee};

/// Whether a sample leaves no trace in the controller.
fn ignores(knee: &Knee, sample: Sample) -> bool {
    let mut after = knee.clone();
    after.on_sample(sample);
    format!("{after:?}") == format!("{knee:?}")
}

/// Samples that would move any limit, at this moment, of calls that began at another.
fn alarms(now_ms: f64, started_ms: f64) -> [Sample; 3] {
    let alarm = Sample { rtt_ms: 1e6, inflight: 1000, now_ms, started_ms, ..Sample::default() };
    [alarm, Sample { rtt_ms: 0.01, ..alarm }, Sample { dropped: true, ..alarm }]
}

/// Through a dependency that becomes slower, drops calls, and gets well, every change of the limit: the shortest
/// and the longest latency in the window that brought it, the moment, the rule, and the controller as it is then.
fn changes(plant: &mut Plant, knee: &mut Knee) -> Vec<(f64, f64, f64, Rule, Knee)> {
    let mut changes = Vec::new();
    let (mut shortest, mut longest) = (f64::INFINITY, 0.0_f64);
    for index in 0..12_000 {
        match index {
            3_000 => plant.base_ms *= 4.0,
            6_000 => plant.loss = 0.4,
            9_000 => plant.loss = 0.0,
            _ => {}
        }
        let sample = plant.next_sample();
        plant.feed(knee, sample);
        (shortest, longest) = (shortest.min(sample.rtt_ms), longest.max(sample.rtt_ms));
        let Some(decision) = knee.take_decision() else { continue };
        if decision.new_limit.total_cmp(&decision.old_limit).is_ne() {
            changes.push((shortest, longest, sample.now_ms, decision.rule, knee.clone()));
        }
        if !matches!(decision.rule, Rule::LossCut | Rule::LossNotOurs) {
            (shortest, longest) = (f64::INFINITY, 0.0);
        }
    }
    changes
}

#[test]
fn what_ends_within_two_flights_of_a_change_does_not_count() {
    let mut plant = Plant::new(10.0, 20.0);
    let mut knee = knee(20.0);
    plant.run(&mut knee, 10_000.0);
    let changes = changes(&mut plant, &mut knee);
    for (shortest, longest, now_ms, rule, knee) in &changes {
        for flights in [0.0, 0.5, 1.0, 1.5, 1.99] {
            for sample in alarms(now_ms + flights * shortest, now_ms + 0.01) {
                assert!(ignores(knee, sample), "{rule:?} at {now_ms} ms, {flights} flights later");
            }
        }
        for sample in alarms(now_ms + 2.01 * longest, now_ms + 0.01) {
            assert!(!ignores(knee, sample), "{rule:?} at {now_ms} ms, two flights later");
        }
    }
    for rule in [Rule::Grow, Rule::Trim, Rule::Cut, Rule::Undo, Rule::Probe, Rule::ProbeEnd, Rule::LossCut] {
        assert!(changes.iter().any(|change| change.3 == rule), "{rule:?} changed nothing");
    }
}

#[test]
fn drops_of_calls_from_before_a_change_do_not_count() {
    let mut plant = Plant::new(10.0, 20.0);
    let mut knee = knee(20.0);
    for (_, longest, now_ms, rule, knee) in changes(&mut plant, &mut knee) {
        let later_ms = now_ms + 3.0 * longest;
        let [.., before] = alarms(later_ms, now_ms - 0.01);
        let [.., after] = alarms(later_ms, now_ms);
        assert!(ignores(&knee, before), "{rule:?} at {now_ms} ms");
        assert!(!ignores(&knee, after), "{rule:?} at {now_ms} ms");
    }
}

#[test]
fn a_slow_start_waits_for_one_flight() {
    let mut plant = Plant::new(f64::INFINITY, 20.0);
    let mut knee = knee(20.0);
    let (changed_ms, decision) = *plant.run(&mut knee, 150.0).last().expect("a first window");
    assert_eq!(decision.rule, Rule::Grow);
    for (flights, counts) in [(0.0, false), (0.99, false), (1.01, true)] {
        for sample in alarms(changed_ms + flights * plant.base_ms, changed_ms + 0.01) {
            assert_eq!(!ignores(&knee, sample), counts, "{flights} flights later");
        }
    }
}

#[test]
fn an_outage_waits_for_nothing() {
    let mut plant = Plant::new(10.0, 20.0);
    let mut knee = knee(20.0);
    plant.run(&mut knee, 10_000.0);
    plant.loss = 1.0;
    let mut outages = 0;
    while outages < 3 {
        let sample = plant.next_sample();
        plant.feed(&mut knee, sample);
        if knee.take_decision().is_some_and(|decision| decision.rule == Rule::Outage) {
            outages += 1;
            for sample in alarms(sample.now_ms, sample.now_ms) {
                assert!(!ignores(&knee, sample), "after {outages} cuts");
            }
        }
    }
}

/// As many in flight as a random share of a limit, which the share never reaches, with latencies of any kind.
#[test]
fn a_limit_that_does_not_bind_is_not_cut() {
    const INITIAL: f64 = 20.0;
    let (mut lifts, mut decays) = (0, 0);
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let mut knee = knee(INITIAL);
        let (mut limit, mut now_ms, mut share, mut scale, mut previous) = (INITIAL, 0.0, 0.5, 50.0, 0.0);
        for index in 0..10_000 {
            if index % 1000 == 0 {
                (share, scale) = (random.unit().powi(2), random.exponential(100.0));
            }
            let rtt_ms = random.exponential(scale);
            now_ms += 20.0 * random.unit();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the limit")]
            let inflight = (share * (limit.floor() - 1.0)).max(1.0) as u32;
            let started_ms = now_ms - rtt_ms;
            limit = knee.on_sample(Sample { rtt_ms, inflight, now_ms, started_ms, ..Sample::default() });
            let Some(decision) = knee.take_decision() else { continue };
            let (old, new) = (decision.old_limit, decision.new_limit);
            if new < old {
                let wanted = 4.5 * (decision.inflight.min(previous) - 1.0);
                let case = format!("seed {seed}, sample {index}: {decision:?}");
                assert_eq!(new.to_bits(), (0.97 * old).to_bits(), "{case}");
                assert!(old > 2.5 * wanted.max(INITIAL), "{case}");
                decays += 1;
            }
            assert!(new <= 1000.0, "seed {seed}, sample {index}: {decision:?}");
            lifts += u32::from(new > old);
            previous = decision.inflight;
        }
    }
    assert!(lifts > 100 && decays > 100, "{lifts} lifts, {decays} decays");
}

#[test]
fn an_idle_limit_goes_back_to_two_and_a_half_times_the_initial_one() {
    let mut plant = Plant::new(f64::INFINITY, 20.0);
    let mut knee = knee(20.0);
    plant.run(&mut knee, 10_000.0);
    assert_eq!(plant.limit().to_bits(), 1000.0_f64.to_bits());
    plant.callers = 1;
    plant.run(&mut knee, 600_000.0);
    assert!((0.97 * 50.0..=50.0).contains(&plant.limit()), "{}", plant.limit());
}
