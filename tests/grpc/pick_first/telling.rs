//! What several addresses say of themselves.

use conformance::addresses::Host;
use conformance::time::{ms, s};

#[test]
fn it_explains_itself_with_several_addresses() {
    let mut host = Host::new(["a", "b"]).resolving();
    let mut lines = Vec::new();
    let mut explain = |host: &Host, now| lines.push(host.pick.explain(now).to_string());
    explain(&host, s(0));
    host.connect(s(0));
    explain(&host, s(0));
    host.poll(ms(250));
    explain(&host, ms(250));
    host.fail(ms(300), 0);
    host.fail(ms(300), 1);
    explain(&host, ms(300));
    host.poll(s(1));
    explain(&host, s(1));
    host.list(s(1), []);
    explain(&host, s(1));
    host.poll(ms(1_300));
    explain(&host, ms(1_300));
    host.list(s(2), ["c", "d"]);
    host.settle(s(2), 5);
    explain(&host, s(14));
    host.pick.shutdown();
    explain(&host, s(14));
    assert_eq!(
        lines,
        [
            "IDLE; no connection wanted",
            "CONNECTING after 0 failures; trying 1 of 2 addresses; next attempt in 0.3 s",
            "CONNECTING after 0 failures; trying 2 of 2 addresses",
            "TRANSIENT_FAILURE after 2 failures; resolving; next attempt in 0.7 s",
            "TRANSIENT_FAILURE after 2 failures; trying 1 of 2 addresses; resolving; next attempt in 0.3 s",
            "TRANSIENT_FAILURE after 0 failures; no address; next attempt in 0.3 s",
            "TRANSIENT_FAILURE after 0 failures; no address; resolving",
            "READY for 12.0 s by attempt #5",
            "SHUTDOWN",
        ]
    );
}

/// Where there is an address, a resolution is no attempt: callers are told when the next one is.
#[test]
fn the_next_attempt_is_that_of_an_address() {
    let mut host = Host::new(["a"]).resolving();
    host.connect(s(0));
    host.fail(ms(100), 0);
    host.list(ms(100), ["a"]);
    assert_eq!(host.pick.next_start(), Some(s(1)));
    host.poll(s(1));
    host.fail(s(1), 2); // it asks for a list, no earlier than 1 s after it did before
    assert_eq!(host.pick.poll_timeout(), Some(ms(1_100)));
    assert_eq!(host.pick.next_start(), Some(ms(2_600)));
}
