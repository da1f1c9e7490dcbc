//! Files, a stream for each: all at once over one connection, and none waits for another's losses.
//!
//! `cargo run -p rudp --example file`
//!
//! Or in two terminals, `-- server 127.0.0.1:4600 FOLDER` and `-- client 127.0.0.1:4600 FILE ...`.
//! Look at `receive`: only a stream that was finished is a whole file. (The program `rudp` sends
//! files that also survive the loss of the connection.)

use std::{
    env,
    error::Error,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use rudp::{Connection, Endpoint, EndpointOptions, RecvStream, SendStream};
use tokio::{
    fs::File,
    io::{AsyncReadExt, AsyncWriteExt},
    task::JoinSet,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["server", address, folder] => {
            let endpoint = Endpoint::bind(address.parse()?, EndpointOptions::default())?;
            serve(endpoint, folder.into()).await;
        }
        ["client", address, files @ ..] => {
            send_all(address.parse()?, files.iter().map(PathBuf::from).collect()).await?;
        }
        _ => {
            let (from, to) = (tempfile::tempdir()?, tempfile::tempdir()?);
            let files: Vec<PathBuf> = (1..=5).map(|n| from.path().join(n.to_string())).collect();
            for (n, file) in files.iter().enumerate() {
                std::fs::write(file, vec![b'x'; n * 1_000_000])?;
            }
            let server = Endpoint::bind("127.0.0.1:0".parse()?, EndpointOptions::default())?;
            let address = server.local_addr();
            tokio::spawn(serve(server, to.path().to_owned()));
            send_all(address, files).await?;
            println!("{} files arrived", std::fs::read_dir(to.path())?.count());
        }
    }
    Ok(())
}

async fn serve(endpoint: Endpoint, folder: PathBuf) {
    while let Some(connection) = endpoint.accept().await {
        tokio::spawn(serve_connection(connection, folder.clone()));
    }
}

async fn serve_connection(connection: Connection, folder: PathBuf) {
    while let Ok((send, recv)) = connection.accept_stream().await {
        tokio::spawn(receive(send, recv, folder.clone()));
    }
}

/// Takes a name (its length, then itself) and the content; answers with one byte when it is there.
async fn receive(mut send: SendStream, mut recv: RecvStream, folder: PathBuf) -> io::Result<()> {
    let mut name = vec![0; usize::from(recv.read_u8().await?)];
    recv.read_exact(&mut name).await?;
    let name = String::from_utf8_lossy(&name).into_owned();
    let plain = Path::new(&name)
        .file_name()
        .ok_or(io::ErrorKind::InvalidInput)?; // no way out
    let part = folder.join(format!(".{}.part", plain.display()));
    let mut file = File::create(&part).await?;
    tokio::io::copy(&mut recv, &mut file).await?; // an error if the stream was not finished
    file.flush().await?;
    tokio::fs::rename(part, folder.join(plain)).await?;
    send.write_all(&[1]).await?;
    Ok(send.finish()?)
}

async fn send_all(
    server: SocketAddr,
    files: Vec<PathBuf>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let endpoint = Endpoint::client_to(server, EndpointOptions::default())?;
    let connection = endpoint.connect(server).await?;
    let mut sending = JoinSet::new();
    for file in files {
        sending.spawn(send(connection.clone(), file));
    }
    while let Some(sent) = sending.join_next().await {
        println!("{}", sent??);
    }
    connection.close(0, "").await;
    Ok(())
}

async fn send(connection: Connection, path: PathBuf) -> io::Result<String> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let (mut send, mut recv) = connection.open_stream().await?;
    let length = u8::try_from(name.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    send.write_u8(length).await?;
    send.write_all(name.as_bytes()).await?;
    let bytes = tokio::io::copy(&mut File::open(&path).await?, &mut send).await?;
    send.finish()?;
    recv.read_u8().await?; // the server has it under its name
    Ok(format!("{name}: {bytes} bytes"))
}
