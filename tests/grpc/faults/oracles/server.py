"""A grpcio server that answers every call with what it was sent. Arguments: PORT [OPTION=NUMBER ...]
It prints its port when it listens."""
import sys
from concurrent import futures

import grpc


class Echo(grpc.GenericRpcHandler):
    def service(self, call):
        return grpc.unary_unary_rpc_method_handler(lambda message, context: message)


port, *options = sys.argv[1:]
options = [(name, int(number)) for name, number in (option.split("=") for option in options)]
server = grpc.server(futures.ThreadPoolExecutor(2), [Echo()], options=[("grpc.so_reuseport", 0), *options])
port = server.add_insecure_port(f"127.0.0.1:{port}")
server.start()
print(port, flush=True)
server.wait_for_termination()
