use super::*;
use ::core::future::Future;
use ::core::pin::pin;
use ::core::task::{Context, Waker};

/// `cargo run --release -p benches --example waiting` measures what that comes to.
#[test]
fn a_wait_holds_these_bytes_and_nothing_else() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().build().expect("a runtime");
    let _entered = runtime.enter();
    let dial = |_: Attempt| async { Err::<(), _>(Failure::Retry("refused")) };
    let mut reconnector = Reconnector::new(Config::GRPC, dial).expect("valid");
    {
        let mut connect = pin!(reconnector.connect());
        let waker = Waker::noop();
        for _ in 0..3 {
            // A failed attempt, and then the wait.
            assert!(
                connect
                    .as_mut()
                    .poll(&mut Context::from_waker(waker))
                    .is_pending()
            );
        }
    }
    let handle = reconnector.handle().clone();
    assert_eq!(handle.status().failures, 1);
    assert_eq!(reconnector.dials.capacity(), 0);
    assert!(reconnector.resolver.is_none());
    assert!(handle.core.look(|inner, _| inner.holds_no_more()));

    // Behind its `Arc`, beside that one only the timer and the words of the last failure.
    assert!(size_of::<Core<()>>() <= 448, "{}", size_of::<Core<()>>());
    // In the task: tokio's own 256 bytes leave room for 152.
    let task = async move { reconnector.connect().await };
    assert!(size_of_val(&task) <= 136, "{}", size_of_val(&task));
}
