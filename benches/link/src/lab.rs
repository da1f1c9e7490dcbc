//! Where peers meet: a tunnel between two namespaces, or the loopback device.

use std::{
    io::{BufRead, BufReader, Read},
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context, bail};
use netsim::LinkConfig;
use netsim_tun::{End, Tunnel, TunnelConfig, TunnelCounters};
use serde::de::DeserializeOwned;

use crate::{
    peer::{Listens, Served},
    protocol::Protocol,
};

/// The real-time priority of peers: below the tunnel's, above all else on the machine.
const PRIORITY: [&str; 3] = ["chrt", "-r", "5"];
/// How long a peer may take to say what it has to, beyond its work.
const SLACK: Duration = Duration::from_secs(10);

/// A tunnel and what starts peers at its ends.
pub struct Lab {
    tunnel: Option<Tunnel>,
    client: Vec<String>,
    server: Vec<String>,
    address: Ipv4Addr,
    keys: PathBuf,
}

impl Lab {
    /// Opens a lab with a tunnel of its own: `number` tells it from others.
    pub fn open(number: usize, keys: &Path, udp_checksums: bool) -> anyhow::Result<Self> {
        let mut config = TunnelConfig::new(LinkConfig::PERFECT, 0);
        for (end, side) in config.ends.iter_mut().zip(["a", "b"]) {
            end.namespace = format!("link-bench-{number}{side}");
        }
        config.udp_checksums = udp_checksums;
        let [client, server] = &config.ends;
        let [client, server] = [client, server].map(enter);
        let address = config.ends[1].address;
        for end in &config.ends {
            // What a session that was interrupted left.
            _ = run(&["ip", "netns", "delete", &end.namespace].map(String::from));
        }
        let tunnel = Tunnel::open(config).context("no tunnel; are you root?")?;
        let lab = Self {
            tunnel: Some(tunnel),
            client,
            server,
            address,
            keys: keys.to_owned(),
        };
        for side in [&lab.client, &lab.server] {
            // A connection must not learn from the one before it.
            let forget = ["sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1"].map(String::from);
            run(&[&side[..4], &forget[..]].concat())?;
        }
        Ok(lab)
    }

    /// A lab whose peers meet over the loopback device, at ordinary priority.
    pub fn loopback(keys: &Path) -> Self {
        Self {
            tunnel: None,
            client: Vec::new(),
            server: Vec::new(),
            address: Ipv4Addr::LOCALHOST,
            keys: keys.to_owned(),
        }
    }

    /// Empties the link and makes it this one; packets have the fates of `seed` from the first on.
    pub fn restart(&self, link: &LinkConfig, seed: u64) -> anyhow::Result<()> {
        let tunnel = self.tunnel()?;
        tunnel.restart(link.clone(), link.clone(), seed)?;
        Ok(())
    }

    pub fn tunnel(&self) -> anyhow::Result<&Tunnel> {
        self.tunnel.as_ref().context("there is no tunnel here")
    }

    /// What the link did since the restart.
    pub fn counters(&self) -> anyhow::Result<TunnelCounters> {
        Ok(self.tunnel()?.counters())
    }

    /// Starts a server and waits until it listens.
    pub fn serve(&self, protocol: Protocol) -> anyhow::Result<Server> {
        let any_port = SocketAddrV4::new(self.address, 0).into();
        let words = self.peer(&self.server, protocol, any_port, &["serve".into()])?;
        let mut child = command(&words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| words.join(" "))?;
        let input = child.stdin.take();
        let output = child.stdout.take().map(BufReader::new);
        let mut server = Server {
            child,
            input,
            output,
            address: any_port,
        };
        server.address = server.line::<Listens>()?.address;
        Ok(server)
    }

    /// Starts a client.
    pub fn dial<T: DeserializeOwned + Send + 'static>(
        &self,
        protocol: Protocol,
        server: &Server,
        work: &[String],
        limit: Duration,
    ) -> anyhow::Result<Client<T>> {
        let words = self.peer(&self.client, protocol, server.address, work)?;
        let mut child = command(&words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| words.join(" "))?;
        let (sender, said) = mpsc::channel();
        if let Some(mut output) = child.stdout.take() {
            thread::spawn(move || {
                let mut text = String::new();
                let read = output.read_to_string(&mut text);
                _ = sender.send(read.map_err(anyhow::Error::from).and_then(|_| {
                    serde_json::from_str(&text).with_context(|| format!("`{text}`"))
                }));
            });
        }
        Ok(Client {
            child,
            said,
            limit: limit + SLACK,
        })
    }

    /// The command line of a peer.
    fn peer(
        &self,
        enter: &[String],
        protocol: Protocol,
        address: SocketAddr,
        work: &[String],
    ) -> anyhow::Result<Vec<String>> {
        let program = std::env::current_exe()?.display().to_string();
        let keys = self.keys.display().to_string();
        let address = address.to_string();
        let words = ["peer", "--keys", &keys, protocol.flag(), &address].map(String::from);
        Ok([enter, &[program], &words, work].concat())
    }
}

/// A peer that serves.
pub struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
    address: SocketAddr,
}

impl Server {
    /// Ends it and hears what it did.
    pub fn finish(mut self) -> anyhow::Result<Served> {
        drop(self.input.take());
        self.line()
    }

    fn line<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
        let mut line = String::new();
        let output = self.output.as_mut().context("it is piped")?;
        output.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("the server said `{line}`"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A peer that connects.
pub struct Client<T> {
    child: Child,
    said: mpsc::Receiver<anyhow::Result<T>>,
    limit: Duration,
}

impl<T> Client<T> {
    /// Waits for what came of it.
    pub fn wait(self) -> anyhow::Result<T> {
        match self.said.recv_timeout(self.limit) {
            Ok(said) => said,
            Err(_) => bail!("no answer after {:?}", self.limit),
        }
    }
}

impl<T> Drop for Client<T> {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A process that ended is only reaped.
fn end(child: &mut Child) {
    _ = child.kill();
    _ = child.wait();
}

/// The words before a program that put it into the namespace of an end.
fn enter(end: &End) -> Vec<String> {
    let netns = ["ip", "netns", "exec", &end.namespace];
    netns
        .iter()
        .chain(&PRIORITY)
        .map(ToString::to_string)
        .collect()
}

fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

fn run(words: &[String]) -> anyhow::Result<()> {
    let output = command(words).output().with_context(|| words.join(" "))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}: {}", words.join(" "), said.trim());
    }
    Ok(())
}
