//! What holds for several addresses, whatever happens.

use super::host::{Call, Host, What, calls, configs};
use conformance::time::{ns, s};
use grpc_backoff::{Config, PickAction, PickFirst, State};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

proptest! {
    /// No address is dialled faster than by a lone connection with the same draws (S13), one
    /// attempt is in flight for each (A2), and a deadline is never lost (D7). All this is shorter
    /// than MAX_BACKOFF, so nothing is forgotten.
    #[test]
    fn no_address_is_dialled_faster_than_by_a_lone_connection(
        config in configs(),
        script in prop::collection::vec((calls(), 0..1_400_000_000u64), 1..80),
        resolving: bool,
        seed: u64,
    ) {
        let mut host = Host::new(config, resolving, seed);
        let mut now = Duration::ZERO;
        host.call(now, Call::List(vec![0, 1, 2]));
        for (call, passes) in script {
            now += ns(passes);
            host.poll(now, true);
            host.call(now, call);
            host.poll(now, false);
            host.check(now, resolving);
        }
    }

    /// Against servers that never accept, every address is tried again within 1.2 x 120 s and its
    /// connect deadline, from whatever has happened before (D7).
    #[test]
    fn every_address_is_tried_again_and_again(
        config in configs(),
        script in prop::collection::vec((calls(), 0..1_400_000_000u64), 0..40),
        fails_after in 0..30_000_000_000u64,
        seed: u64,
    ) {
        let mut host = Host::new(config, false, seed);
        let mut now = Duration::ZERO;
        for (call, passes) in script {
            now += ns(passes);
            host.poll(now, true);
            host.call(now, call);
            host.poll(now, false);
        }
        host.call(now, Call::List(vec![0, 1, 2]));
        host.call(now, Call::Connect);
        if let State::Ready { attempt, .. } = host.pick.state() {
            host.end(now, attempt);
            host.call(now, Call::Connect);
        }
        host.poll(now, false);
        let (began, mut starts) = (now, BTreeMap::<u8, Duration>::new());
        while now < began + s(2_000) {
            now = host.pick.poll_timeout().expect("wanted").min(now + ns(fails_after.max(1_000_000)));
            host.poll(now, true);
            let there: Vec<_> = host.there.iter().map(|(id, what)| (*id, *what)).collect();
            for (id, what) in there {
                let What::Attempt(address) = what else { continue };
                starts.insert(address, now);
                if id.get() % 2 == 0 {
                    host.end(now, id);
                }
            }
            host.poll(now, false);
            let latest = |address| starts.get(&address).copied().unwrap_or(began);
            for address in 0..3 {
                prop_assert!(now - latest(address) <= s(144 + 144), "{address} is forgotten");
            }
        }
    }

    /// Any calls at any times, backwards and to the end of time, with every limit: no panic.
    #[test]
    fn nothing_panics(
        config in configs(),
        max_attempts in prop::option::of(1..6u32),
        max_elapsed in prop::option::of((1..400u64).prop_map(s)),
        script in prop::collection::vec((prop_oneof![
            30 => calls(), 1 => Just(Call::Shutdown), 1 => Just(Call::Restart)
        ], prop_oneof![4 => (0..1u64 << 38).prop_map(ns), 1 => any::<u64>().prop_map(ns), 1 => Just(Duration::MAX)]), 1..80),
        resolving: bool,
    ) {
        let max_attempts = max_attempts.and_then(|n| n.try_into().ok());
        let config = Config { max_attempts, max_elapsed, ..config };
        let mut pick = PickFirst::new(config, [0, 1, 2]).expect("valid by construction");
        if resolving {
            pick = pick.with_resolver();
        }
        let mut ids = Vec::new();
        for (call, now) in script {
            let id = |older: usize| ids.iter().rev().nth(older).copied();
            match call {
                Call::Connect => pick.connect(now),
                Call::Withdraw => pick.withdraw(now),
                Call::Reset => pick.reset(now),
                Call::ResetWithin(draw) => pick.reset_within(now, Duration::MAX, draw),
                Call::List(list) => pick.set_addresses(now, list),
                Call::Retarget(list) => pick.retarget(now, list),
                Call::Resolved(n, list) => _ = id(n).map(|id| pick.handle_resolved(now, id, list)),
                Call::Settings(n) => _ = id(n).map(|id| pick.handle_settings(now, id)),
                Call::Failed(n) | Call::Lost(n) => _ = id(n).map(|id| pick.handle_lost(now, id)),
                Call::Shutdown => pick.shutdown(),
                Call::Restart if pick.connections().len() == 0 => {} // there is nothing to keep
                Call::Restart => {
                    let snapshot: Vec<_> = pick.snapshot(now).map(|(a, own)| (*a, own)).collect();
                    pick = PickFirst::restore(config, now, snapshot).expect("valid");
                }
                Call::Poll => {}
            }
            let mut count = 0;
            while let Some(action) = pick.poll_action(now, || 1 << 63) {
                if let PickAction::Start { start, .. } | PickAction::Resolve(start) = action {
                    ids.push(start.attempt);
                }
                count += 1;
                prop_assert!(count <= 40, "it comes to an end");
            }
            prop_assert!(pick.poll_timeout().is_none_or(|due_at| due_at > now));
            prop_assert!(!pick.explain(now).to_string().is_empty());
        }
        let unique: std::collections::BTreeSet<_> = ids.iter().collect();
        prop_assert_eq!(unique.len(), ids.len(), "no id is given twice");
    }
}
