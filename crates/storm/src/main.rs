//! The program `storm`: the simulations of the library with a flag for every parameter, as a table,
//! as JSON or CSV, and as plots.

mod cli;

fn main() -> std::process::ExitCode {
    cli::run()
}
