//! Long random runs over several segments of one engine: no permit is lost, none is invented, and when everyone
//! has left nothing remains.

#[path = "../support/alarms.rs"]
mod alarms;
mod gates;
mod user;

use gates::{any_segment, segments};
use resilience::core::random::Random;
use user::User;

const STEPS: usize = 200_000;

#[test]
fn permits_are_neither_lost_nor_invented() {
    let mut user = User::new(20, segments());
    for step in 0..STEPS {
        user.step();
        if step % 7 == 0 {
            user.audit();
        }
        if step % 20_000 == 0 {
            user.go_home();
        }
    }
    user.go_home();
    println!("{:?}", user.seen);
    assert_eq!(user.seen.len(), 11, "{:?}", user.seen);
    let rare = "key evicted";
    assert!(user.seen.iter().all(|(what, count)| *what == rare || *count > 50), "{:?}", user.seen);
}

#[test]
fn nothing_remains_of_any_gates_in_any_order() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let segments = (0..4).map(|_| any_segment(&mut random)).collect();
        let mut user = User::new(seed, segments);
        for step in 0..1000 {
            user.step();
            if step % 7 == 0 {
                user.audit();
            }
        }
        user.go_home();
    }
}
