use backoff_policy::{
    Admission, AwsAdaptive, AwsQuota, Budget, Call, Class, Cost, EnvoyBudget, FinagleBudget,
    GrpcThrottle, Outcome, QuotaCosts, Ratio, SreThrottle,
};
use conformance::time::s;
use proptest::prelude::*;
use std::cell::RefCell;
use std::time::Duration;

/// A budget that answers as it is told, and keeps an account of every call.
#[derive(Default)]
struct Account {
    admission: RefCell<Option<Admission>>,
    refuses: RefCell<bool>,
    books: RefCell<Books>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Books {
    admitted: u32,
    released: u32,
    started: u32,
    ended: u32,
    /// Costs that were taken and neither used nor given back.
    unused: Vec<u64>,
    withdrawn: u64,
}

impl Budget for Account {
    fn admit(&self, _now: Duration, _draw: u64) -> Admission {
        let admission = self.admission.borrow().unwrap_or(Admission::Now);
        self.books.borrow_mut().admitted += u32::from(admission != Admission::Rejected);
        admission
    }

    fn release(&self) {
        self.books.borrow_mut().released += 1;
    }

    fn withdraw(&self, _now: Duration, class: Class) -> Option<Cost> {
        assert_ne!(class, Class::Permanent, "not asked for");
        if *self.refuses.borrow() {
            return None;
        }
        let mut books = self.books.borrow_mut();
        books.withdrawn += 1;
        let cost = books.withdrawn;
        books.unused.push(cost);
        Some(Cost::new(cost))
    }

    fn refund(&self, cost: Cost) {
        self.books.borrow_mut().take(cost);
    }

    fn start(&self, _now: Duration, paid: Option<Cost>) {
        let mut books = self.books.borrow_mut();
        assert_eq!(books.started, books.ended, "one attempt at a time");
        assert_eq!(paid.is_none(), books.started == 0, "only the first is free");
        books.started += 1;
        if let Some(cost) = paid {
            books.take(cost);
        }
    }

    fn end(&self, _now: Duration, _outcome: Outcome, paid: Option<Cost>) {
        let mut books = self.books.borrow_mut();
        books.ended += 1;
        assert_eq!(
            paid.map(Cost::get),
            Some(books.withdrawn).filter(|_| books.ended > 1)
        );
    }
}

impl Books {
    fn take(&mut self, cost: Cost) {
        let at = self.unused.iter().position(|&unused| unused == cost.get());
        self.unused.remove(at.expect("taken, and not used yet"));
    }
}

#[derive(Clone, Debug)]
enum Step {
    Admit(u64),
    AdmitLater(u64),
    Reject,
    Succeed,
    Fail(Class),
    Retry,
    Refuse,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let classes = [
        Class::Transient,
        Class::Throttled,
        Class::Timeout,
        Class::Unsent,
        Class::Permanent,
    ];
    let step = prop_oneof![
        4 => (0..9u64).prop_map(Step::Admit),
        2 => (0..9u64).prop_map(Step::AdmitLater),
        1 => Just(Step::Reject),
        1 => Just(Step::Succeed),
        4 => prop::sample::select(classes.to_vec()).prop_map(Step::Fail),
        4 => Just(Step::Retry),
        1 => Just(Step::Refuse),
    ];
    prop::collection::vec(step, 0..30)
}

proptest! {
    /// (B26) Whatever a driver does, in whatever order, and wherever it stops: what was taken is used
    /// or given back, each start has its end, and each admission its start or its release.
    #[test]
    fn rule_backoff_b26_a_dropped_call_gives_back_what_it_holds(steps in steps()) {
        let account = Account::default();
        let mut call = Call::new(&account);
        for step in steps {
            *account.admission.borrow_mut() = match step {
                Step::AdmitLater(second) => Some(Admission::At(s(second + 1))),
                Step::Reject => Some(Admission::Rejected),
                _ => None,
            };
            *account.refuses.borrow_mut() = matches!(step, Step::Refuse);
            match step {
                Step::Admit(second) | Step::AdmitLater(second) => _ = call.admit(s(second), 0),
                Step::Reject => _ = call.admit(s(0), 0),
                Step::Succeed => call.succeeded(s(0)),
                Step::Fail(class) => call.failed(s(0), class),
                Step::Retry | Step::Refuse => _ = call.retry(s(0)),
            }
        }
        drop(call);
        let books = account.books.take();
        prop_assert!(books.unused.is_empty(), "{books:?}");
        prop_assert_eq!(books.started, books.ended);
        prop_assert_eq!(books.admitted, books.started + books.released);
    }
}

/// One of each kind, with values as large as they may be.
fn extremes() -> [Box<dyn Budget>; 6] {
    const MOST: u32 = u32::MAX;
    let costs = QuotaCosts {
        throttled: 0,
        timeout: MOST,
        other: 1,
    };
    let finagle = FinagleBudget::new(s(60), MOST, Ratio::new(MOST, MOST));
    let quota = AwsQuota::new(MOST, costs);
    [
        Box::new(AwsAdaptive::new(quota, Duration::MAX)),
        Box::new(AwsAdaptive::new(AwsQuota::standard_2_1(), s(0))),
        Box::new(GrpcThrottle::new(1, MOST).expect("valid")),
        Box::new(finagle.expect("valid")),
        Box::new(EnvoyBudget::new(Ratio::new(MOST, MOST), MOST).expect("valid")),
        Box::new(SreThrottle::new(Ratio::new(MOST, 1)).expect("valid")),
    ]
}

proptest! {
    /// (B26) No time, no draw and no order of events is too much for any of them.
    #[test]
    fn rule_backoff_b26_no_input_breaks_a_budget(
        events in prop::collection::vec((any::<u64>(), 0..3u32, any::<u64>(), 0..6usize, any::<u64>()), 0..60)
    ) {
        const CLASSES: [Class; 3] = [Class::Throttled, Class::Timeout, Class::Permanent];
        for budget in extremes() {
            for &(seconds, nanos, draw, event, cost) in &events {
                // From the epoch on, or towards the end of time.
                let now = if nanos == 0 { s(seconds % 300) } else { Duration::new(seconds, nanos) };
                let paid = (cost % 3 != 0).then_some(Cost::new(cost));
                let class = CLASSES[draw as usize % 3];
                match event {
                    0 => _ = budget.admit(now, draw),
                    1 => budget.release(),
                    2 => _ = budget.withdraw(now, class),
                    3 => budget.refund(Cost::new(cost)),
                    4 => budget.start(now, paid),
                    _ => {
                        let outcomes = [Outcome::Succeeded, Outcome::Failed(class), Outcome::Dropped];
                        budget.end(now, outcomes[cost as usize % 3], paid);
                    }
                }
            }
        }
    }
}

/// (B26) Without a yes to a retry, no attempt follows a failure.
#[test]
fn rule_backoff_b26_no_attempt_follows_a_failure_that_nobody_paid_for() {
    let account = Account::default();
    let mut call = Call::new(&account);
    assert_eq!(call.admit(s(0), 0), Admission::Now);
    assert_eq!(call.admit(s(0), 0), Admission::Rejected, "one runs");
    call.failed(s(1), Class::Transient);
    assert_eq!(call.admit(s(1), 0), Admission::Rejected);
    *account.refuses.borrow_mut() = true;
    assert!(!call.retry(s(1)));
    assert_eq!(call.admit(s(1), 0), Admission::Rejected);
    *account.refuses.borrow_mut() = false;
    assert!(call.retry(s(2)) && call.retry(s(2)));
    assert_eq!(
        account.books.borrow().withdrawn,
        1,
        "asked twice, paid once"
    );
    assert_eq!(call.admit(s(2), 0), Admission::Now);
    call.succeeded(s(3));
    assert!(!call.retry(s(3)));
    assert_eq!(call.admit(s(3), 0), Admission::Rejected, "it is done");
}

/// (B26) A call may own its budget's handle, and a budget may be any of them.
#[test]
fn rule_backoff_b26_a_call_takes_any_pointer_to_any_budget() {
    let budget: std::sync::Arc<dyn Budget + Send + Sync> =
        std::sync::Arc::new(AwsQuota::standard_2_0());
    let mut call = Call::new(budget);
    for n in 0..=50 {
        assert_eq!(call.admit(s(n), 0), Admission::Now);
        call.failed(s(n), Class::Timeout);
        assert_eq!(call.retry(s(n)), n < 50); // 10 of 500 tokens each
    }
}
