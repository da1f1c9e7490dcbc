//! The program `netsim`: the links of `netsim` between real programs.

#[cfg(target_os = "linux")]
mod cli;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    cli::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("netsim: there are no network namespaces here, only on Linux");
    std::process::ExitCode::FAILURE
}
