//! The metrics of gRFC A94, by their names and labels (D14).

use super::disconnect::Disconnect;
use core::iter::once;
use metrics::{Gauge, Label, Unit, counter, describe_counter, describe_gauge, gauge};
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

const SUCCEEDED: &str = "grpc.subchannel.connection_attempts_succeeded";
const FAILED: &str = "grpc.subchannel.connection_attempts_failed";
const DISCONNECTIONS: &str = "grpc.subchannel.disconnections";
const OPEN: &str = "grpc.subchannel.open_connections";

const TARGET: &str = "grpc.target";
const DISCONNECT_ERROR: &str = "grpc.disconnect_error";
const SECURITY_LEVEL: &str = "grpc.security_level";

/// Describes the metrics to the recorder: call it once, when that is installed.
pub fn describe_metrics() {
    describe_counter!(
        SUCCEEDED,
        Unit::Count,
        "Connection attempts that the server accepted."
    );
    describe_counter!(FAILED, Unit::Count, "Connection attempts that failed.");
    describe_counter!(
        DISCONNECTIONS,
        Unit::Count,
        "Connections that were accepted, and are gone."
    );
    describe_gauge!(
        OPEN,
        Unit::Count,
        "Connections that were accepted, and are there."
    );
}

/// What every metric of a reconnector is labelled with.
#[derive(Clone, Default)]
pub(super) struct Labels(Arc<[Label]>);

impl Labels {
    pub(super) fn add(&mut self, labels: impl IntoIterator<Item = (&'static str, String)>) {
        let labels = labels.into_iter();
        let labels = labels.map(|(name, value)| Label::new(name, value));
        self.0 = self.0.iter().cloned().chain(labels).collect();
    }

    /// These labels, the target, and one of the metric's own.
    fn with(&self, target: Option<&str>, own: Option<(&'static str, &'static str)>) -> Vec<Label> {
        let target = Label::new(TARGET, String::from(target.unwrap_or_default()));
        let own = own.map(|(name, value)| Label::from_static_parts(name, value));
        let labels = self.0.iter().cloned();
        once(target).chain(labels).chain(own).collect()
    }

    pub(super) fn failed(&self, target: Option<&str>) {
        counter!(FAILED, self.with(target, None)).increment(1);
    }

    pub(super) fn opened(&self, target: Option<&str>, tls: Option<bool>) {
        counter!(SUCCEEDED, self.with(target, None)).increment(1);
        self.open(target, tls).increment(1);
    }

    pub(super) fn closed(&self, target: Option<&str>, tls: Option<bool>, why: Disconnect) {
        let why = Some((DISCONNECT_ERROR, why.name()));
        counter!(DISCONNECTIONS, self.with(target, why)).increment(1);
        self.open(target, tls).decrement(1);
    }

    fn open(&self, target: Option<&str>, tls: Option<bool>) -> Gauge {
        let level = tls.map(|tls| if tls { "privacy_and_integrity" } else { "none" });
        gauge!(
            OPEN,
            self.with(target, level.map(|level| (SECURITY_LEVEL, level)))
        )
    }
}
