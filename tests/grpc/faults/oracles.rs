//! gRPC's own clients and servers as oracles: `oracles/install` installs them.

mod clients;
mod servers;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::process::Command;

/// An implementation of gRPC that is installed.
#[derive(Clone)]
struct Peer {
    name: &'static str,
    version: String,
    folder: PathBuf,
}

impl Peer {
    /// The peer, if `install` has installed it.
    fn find(name: &'static str) -> Option<Self> {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
        let folder = target.join("oracles");
        let version = fs::read_to_string(folder.join(name)).ok()?;
        Some(Self {
            name,
            version,
            folder,
        })
    }

    /// The program that keeps its channel in want of a connection.
    fn client(&self) -> Command {
        match self.name {
            "grpcio" => self.python("client.py"),
            _ => {
                let mut node = program("node".as_ref(), "client.js");
                node.env("NODE_PATH", self.folder.join("node_modules"));
                node
            }
        }
    }

    /// The program that answers calls; only grpcio has one here.
    fn server(&self) -> Command {
        self.python("server.py")
    }

    fn python(&self, script: &str) -> Command {
        program(&self.folder.join("venv/bin/python"), script)
    }
}

/// Runs a script of `oracles/`. It ends with its handle.
fn program(interpreter: &Path, script: &str) -> Command {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("grpc/faults/oracles");
    let mut command = Command::new(interpreter);
    command
        .arg(scripts.join(script))
        .env("GRPC_VERBOSITY", "NONE")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}
