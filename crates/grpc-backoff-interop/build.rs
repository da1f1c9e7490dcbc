//! Compiles the service's proto in pure Rust: nobody needs `protoc`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto/reconnect.proto");
    let files = protox::compile(["proto/reconnect.proto"], ["proto"])?;
    tonic_prost_build::configure()
        .emit_rerun_if_changed(false)
        .build_transport(false)
        .compile_fds(files)?;
    Ok(())
}
