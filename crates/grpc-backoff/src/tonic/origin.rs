use http::header::USER_AGENT;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Request, Uri};

/// What a target's URI puts into the head of every request: gRPC wants `:scheme` and `:authority`.
#[derive(Clone, Debug)]
pub(super) struct Origin(Uri);

const AGENT: &str = concat!("grpc-backoff/", env!("CARGO_PKG_VERSION"));

impl Origin {
    /// Of a target without a scheme, such as `localhost:50051`, it is `http`.
    pub(super) fn new(target: Uri) -> Self {
        let mut parts = target.into_parts();
        parts.scheme.get_or_insert(Scheme::HTTP);
        parts
            .authority
            .get_or_insert(Authority::from_static("localhost"));
        parts.path_and_query = Some(PathAndQuery::from_static("/"));
        Self(Uri::from_parts(parts).unwrap_or_default())
    }

    pub(super) fn put<B>(&self, request: &mut Request<B>) {
        let mut parts = self.0.clone().into_parts();
        if let Some(path) = request.uri().path_and_query() {
            parts.path_and_query = Some(path.clone());
        }
        if let Ok(uri) = Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
        let headers = request.headers_mut();
        headers
            .entry(USER_AGENT)
            .or_insert(HeaderValue::from_static(AGENT));
    }
}
