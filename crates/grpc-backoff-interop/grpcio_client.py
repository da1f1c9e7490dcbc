#!/usr/bin/env python3
"""The steps of gRPC's own reconnect client, by grpcio: gRPC's C core dials, not this project.

    pip install grpcio
    grpcio_client.py CONTROL_PORT RETRY_PORT SECONDS [CA_FILE [SCALE]]

Start on the control port, one call that waits for a connection on the retry port until it runs
out of time, Stop; then the gaps that the server saw. With CA_FILE it dials by TLS ("" for none).
"""
import sys

import grpc


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def call(channel, method, request=b"", **options):
    path = "/grpc.testing.ReconnectService/" + method
    return channel.unary_unary(path, lambda data: data, lambda data: data)(request, **options)


def info(data):
    """ReconnectInfo: field 1 is `passed`, field 2 the packed gaps."""
    passed, gaps = False, []
    while data:
        if data[0] == 0x08:
            passed, data = bool(data[1]), data[2:]
        else:
            assert data[0] == 0x12, f"tag {data[0]}"
            length = next(varints(data[1:]))
            data = data[1 + len(varint(length)):]
            gaps, data = list(varints(data[:length])), data[length:]
    return passed, gaps


def main():
    control_port, retry_port, seconds = map(int, sys.argv[1:4])
    ca_file = sys.argv[4] if len(sys.argv) > 4 else ""
    scale = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    control = grpc.insecure_channel(f"127.0.0.1:{control_port}")
    options = [
        ("grpc.initial_reconnect_backoff_ms", 1_000 // scale),
        ("grpc.max_reconnect_backoff_ms", 120_000 // scale),
        ("grpc.min_reconnect_backoff_ms", 20_000 // scale),
    ] if scale > 1 else []
    target = f"127.0.0.1:{retry_port}"
    if ca_file:
        with open(ca_file, "rb") as file:
            trusted = grpc.ssl_channel_credentials(file.read())
        retry = grpc.secure_channel(target, trusted, options)
    else:
        retry = grpc.insecure_channel(target, options)

    params = b"\x08" + varint(120_000 // scale)
    call(control, "Start", params)
    try:
        call(retry, "Start", params, wait_for_ready=True, timeout=seconds / scale)
        sys.exit("the retry port accepted a call")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED, error
    passed, gaps = info(call(control, "Stop"))
    print(f"grpcio {grpc.__version__}: {'passed' if passed else 'FAILED'}, gaps in ms: {gaps}")
    sys.exit(not passed)


main()
