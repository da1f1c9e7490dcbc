//! The kinds of budgets, each from its source. They need 64-bit atomics.

mod aws_adaptive;
mod aws_quota;
mod cubic;
mod envoy;
mod finagle;
mod grpc;
mod sre;
mod window;

pub use aws_adaptive::AwsAdaptive;
pub use aws_quota::{AwsQuota, QuotaCosts};
pub use envoy::EnvoyBudget;
pub use finagle::FinagleBudget;
pub use grpc::GrpcThrottle;
pub use sre::SreThrottle;
