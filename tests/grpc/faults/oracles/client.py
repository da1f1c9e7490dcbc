"""Keeps a grpcio channel in want of a connection. Arguments: PORT [OPTION=NUMBER ...]"""
import sys
import time

import grpc

port, *options = sys.argv[1:]
options = [(name, int(number)) for name, number in (option.split("=") for option in options)]
call = grpc.insecure_channel(f"127.0.0.1:{port}", options).unary_unary("/faults.Test/Call")
while True:
    try:
        call(b"", wait_for_ready=True)
    except grpc.RpcError:
        pass
    time.sleep(0.01)
