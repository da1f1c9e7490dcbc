//! A game: the server sends the state 60 times a second, the client its inputs.
//!
//! `cargo run -p rudp --example game`
//!
//! Or in two terminals, `-- server 127.0.0.1:4600` and `-- client 127.0.0.1:4600`. Inputs go on a
//! stream: each counts, in order. States go as messages that live for three frames: the newest one
//! matters, so a lost one is repeated while it is of use and no longer. Look at `show_frames`, where a
//! state that comes late is dropped, and at the line of the server's that waits for no room.

use std::{env, error::Error, io, net::SocketAddr, time::Duration};

use rudp::{Connection, Endpoint, EndpointOptions, RecvStream};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::watch,
    time::{MissedTickBehavior, interval, timeout},
};

const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 60);
const INPUTS: u8 = 60;

/// What a state says: the number of its frame, and where the player is.
type State = (u32, i32);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["server", address] => {
            serve(Endpoint::bind(
                address.parse()?,
                EndpointOptions::default(),
            )?)
            .await;
            Ok(())
        }
        ["client", address] => play(address.parse()?).await,
        _ => {
            let server = Endpoint::bind("127.0.0.1:0".parse()?, EndpointOptions::default())?;
            let address = server.local_addr();
            tokio::spawn(serve(server));
            play(address).await
        }
    }
}

async fn serve(endpoint: Endpoint) {
    while let Some(connection) = endpoint.accept().await {
        tokio::spawn(run_game(connection));
    }
}

async fn run_game(connection: Connection) -> io::Result<()> {
    let (_send, recv) = connection.accept_stream().await?;
    let (position, player) = watch::channel(0);
    let inputs = tokio::spawn(take_inputs(recv, position));
    let mut frames = interval(FRAME);
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    for frame in 0_u32.. {
        frames.tick().await;
        let state = [frame.to_be_bytes(), player.borrow().to_be_bytes()].concat();
        // If there is no room within the frame, the next state is as good.
        let sent = timeout(FRAME, connection.send_message(&state, Some(3 * FRAME)));
        if let Ok(Err(_)) = sent.await {
            break; // the client is gone
        }
    }
    inputs.abort();
    Ok(())
}

/// Each input is a step of -1, 0 or 1.
async fn take_inputs(mut recv: RecvStream, position: watch::Sender<i32>) {
    while let Ok(step) = recv.read_i8().await {
        position.send_modify(|position| *position += i32::from(step));
    }
}

async fn play(server: SocketAddr) -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::client_to(server, EndpointOptions::default())?;
    let connection = endpoint.connect(server).await?;
    let (mut send, _recv) = connection.open_stream().await?;
    let press = async {
        let mut frames = interval(FRAME);
        for _ in 0..INPUTS {
            frames.tick().await;
            send.write_i8(1).await?;
        }
        io::Result::Ok(())
    };
    let ((frame, position), pressed) = tokio::join!(show_frames(&connection), press);
    pressed?;
    connection.close(0, "enough").await;
    println!("after {frame} frames the player is at {position}");
    Ok(())
}

/// Shows the newest state until all inputs show in it.
async fn show_frames(connection: &Connection) -> State {
    let mut newest = (0, 0);
    while newest.1 < i32::from(INPUTS) {
        let Ok(message) = connection.recv_message().await else {
            break;
        };
        if let Some(state) = decode(&message)
            && state.0 > newest.0
        {
            newest = state; // an older one came late, and says nothing new
        }
    }
    newest
}

fn decode(message: &[u8]) -> Option<State> {
    let (frame, rest) = message.split_first_chunk()?;
    let position = i32::from_be_bytes(*rest.first_chunk()?);
    Some((u32::from_be_bytes(*frame), position))
}
