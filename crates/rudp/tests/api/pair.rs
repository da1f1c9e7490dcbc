//! Two endpoints and a connection between them.

use rudp::{Connection, Endpoint, EndpointOptions};

use crate::{any, within};

/// Two endpoints and a connection between them; the client is the first.
pub(crate) struct Pair {
    pub(crate) client: Connection,
    pub(crate) server: Connection,
    pub(crate) endpoints: (Endpoint, Endpoint),
}

pub(crate) async fn pair(options: EndpointOptions) -> Pair {
    let server = Endpoint::bind(any(), options.clone()).expect("a socket");
    let client = Endpoint::client_to(server.local_addr(), options).expect("a socket");
    let both = async { tokio::join!(client.connect(server.local_addr()), server.accept()) };
    let (connected, accepted) = within(both).await;
    Pair {
        client: connected.expect("accepted"),
        server: accepted.expect("one"),
        endpoints: (client, server),
    }
}

pub(crate) async fn default_pair() -> Pair {
    pair(EndpointOptions::default()).await
}
