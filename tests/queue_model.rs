//! The waiter queue against a plain list.

use std::cmp::Ordering;

use proptest::prelude::*;
use resilience::core::queue::{Overflow, Priority, Rank, WaiterQueue};
use resilience::core::slab::{Key, Slab};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A newcomer of this priority queues.
    Push(f64),
    /// The next one is served.
    Pop,
    /// One of those that ever queued goes away.
    Remove(usize),
    /// Room is made for a newcomer of this priority.
    MakeRoom(f64),
}

/// Few distinct priorities, many, and the extremes.
fn priority() -> impl Strategy<Value = f64> {
    let extremes = [f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, f64::MIN_POSITIVE, -0.0, 0.0];
    prop_oneof![
        4 => (-2..3_i8).prop_map(f64::from),
        2 => -1000.0..1000.0,
        1 => prop::sample::select(extremes.to_vec()),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => priority().prop_map(Step::Push),
        2 => Just(Step::Pop),
        2 => any::<usize>().prop_map(Step::Remove),
        2 => priority().prop_map(Step::MakeRoom),
    ]
}

fn overflow() -> impl Strategy<Value = Overflow> {
    prop::sample::select(vec![Overflow::RejectNew, Overflow::DropOldest, Overflow::DropLowestPriority])
}

/// Waiters in order of arrival; each rule is a scan.
#[derive(Default)]
struct Model(Vec<(f64, Key)>);

fn compare(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).expect("never NaN")
}

impl Model {
    fn pop(&mut self) -> Option<Key> {
        let first = (0..self.0.len()).min_by(|a, b| compare(self.0[*a].0, self.0[*b].0))?;
        Some(self.0.remove(first).1)
    }

    fn remove(&mut self, ticket: Key) -> Option<Key> {
        let index = self.0.iter().position(|(_, waiter)| *waiter == ticket)?;
        Some(self.0.remove(index).1)
    }

    fn make_room(&mut self, overflow: Overflow, newcomer: f64) -> Option<Key> {
        let victim = match overflow {
            Overflow::RejectNew => None,
            Overflow::DropOldest => (!self.0.is_empty()).then_some(0),
            Overflow::DropLowestPriority => (0..self.0.len())
                .max_by(|a, b| compare(self.0[*a].0, self.0[*b].0))
                .filter(|last| newcomer < self.0[*last].0),
        };
        Some(self.0.remove(victim?).1)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn does_what_a_list_in_order_of_arrival_would(
        overflow in overflow(),
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let (mut queue, mut model, mut tickets) = (WaiterQueue::new(overflow), Model::default(), Slab::default());
        let mut ranks: Vec<(Rank, Key)> = Vec::new();
        let important = |value| Priority::new(value).expect("not NaN");
        for step in steps {
            match step {
                Step::Push(value) => {
                    let ticket = tickets.insert(());
                    ranks.push((queue.push(important(value), ticket), ticket));
                    model.0.push((value, ticket));
                }
                Step::Pop => prop_assert_eq!(queue.pop(), model.pop()),
                Step::Remove(_) if ranks.is_empty() => {}
                Step::Remove(index) => {
                    let (rank, ticket) = ranks[index % ranks.len()];
                    prop_assert_eq!(queue.remove(rank), model.remove(ticket));
                }
                Step::MakeRoom(value) => {
                    prop_assert_eq!(queue.make_room(important(value)), model.make_room(overflow, value));
                }
            }
            prop_assert_eq!(queue.len(), model.0.len());
            prop_assert_eq!(queue.is_empty(), model.0.is_empty());
        }
        while let Some(expected) = model.pop() {
            prop_assert_eq!(queue.pop(), Some(expected));
        }
        prop_assert_eq!(queue.pop(), None);
    }
}
