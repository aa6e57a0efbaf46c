#!/usr/bin/env python3
"""A server of gRPC by Python's grpcio, as the judge of lgoose's tests: [--streams=MOST] PORT [CERTIFICATE KEY].

Prints the port that it has. Ends when its input is closed. Exits with 77 and says why if grpcio, grpcio-tools or
grpcio-reflection is missing.
"""
import os
import sys
import tempfile
import time
from concurrent import futures

try:
    import grpc
    from google.protobuf import descriptor_pool, json_format, message_factory
    from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc
    from grpc_tools import protoc
except ImportError as missing:
    print(f"{sys.executable}: {missing}", file=sys.stderr)
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
PROTOS = os.path.join(os.path.dirname(HERE), "lua", "protos")

folder = tempfile.mkdtemp()
include = os.path.join(os.path.dirname(protoc.__file__), "_proto")
status = protoc.main(
    ["protoc", "-I" + PROTOS, "-I" + include, "--python_out=" + folder, "--grpc_python_out=" + folder]
    + ["parts/color.proto", "kinds.proto", "edition.proto", "mixed.proto", "beside.proto", "edition_2023.proto", "parts/closed.proto", "extended.proto"]
)
assert status == 0, "the schema compiles"
sys.path.insert(0, folder)
import beside_pb2_grpc  # noqa: E402
import edition_2023_pb2_grpc  # noqa: E402
import edition_pb2_grpc  # noqa: E402
import extended_pb2  # noqa: E402, F401
import kinds_pb2  # noqa: E402
import kinds_pb2_grpc  # noqa: E402
import mixed_pb2_grpc  # noqa: E402


class Kinds(kinds_pb2_grpc.KindsServicer):
    def Echo(self, request, context):
        return request

    def Fail(self, request, context):
        code = next(code for code in grpc.StatusCode if code.value[0] == request.code)
        context.set_code(code)
        context.set_details(request.message)
        if request.details:
            context.set_trailing_metadata([("grpc-status-details-bin", request.details)])
        return kinds_pb2.All()

    def Sleep(self, request, context):
        end = time.monotonic() + request.seconds
        while context.is_active() and time.monotonic() < end:
            time.sleep(0.005)
        return kinds_pb2.All()

    def Count(self, request, context):
        for value in range(request.__getattribute__("from"), request.to + 1):
            if not context.is_active():
                return
            yield kinds_pb2.Number(value=value)
            time.sleep(request.pause)

    def Sum(self, requests, context):
        return kinds_pb2.Number(value=sum(one.value for one in requests))

    def Double(self, requests, context):
        for one in requests:
            yield kinds_pb2.Number(value=2 * one.value)

    def Metadata(self, request, context):
        own = [(key, value) for key, value in context.invocation_metadata() if key.startswith("x-")]
        context.send_initial_metadata(own)
        context.set_trailing_metadata(own)
        return request


    def Judge(self, request, context):
        found = descriptor_pool.Default().FindMessageTypeByName(request.type)
        message = message_factory.GetMessageClass(found)()
        if request.json:
            json_format.Parse(request.json, message)
        else:
            message.ParseFromString(request.bytes)
        text = json_format.MessageToJson(message, preserving_proto_field_name=True, sort_keys=True, indent=None)
        return kinds_pb2.Coded(type=request.type, bytes=message.SerializeToString(), json=text)


class Echo:
    def Echo(self, request, context):
        return request


class Reflection(reflection.ReflectionServicer):
    """Describes the services, but for one whose description it garbles, and one for which it has an error."""

    def ServerReflectionInfo(self, requests, context):
        for request in requests:
            if request.file_containing_symbol == "test.v1.Refused":
                context.abort(grpc.StatusCode.INTERNAL, "it is not for you")
            elif request.file_containing_symbol == "test.v1.Garbled":
                files = reflection_pb2.FileDescriptorResponse(file_descriptor_proto=[b"\x0a\x7f"])
                yield reflection_pb2.ServerReflectionResponse(file_descriptor_response=files)
            else:
                yield from super().ServerReflectionInfo(iter([request]), context)


arguments = sys.argv[1:]
options = []
if arguments[0].startswith("--streams="):
    most = int(arguments.pop(0).partition("=")[2])
    # Without the protection, it refuses only what its own settings forbid.
    options = [("grpc.max_concurrent_streams", most), ("grpc.http.overload_protection", 0)]
server = grpc.server(futures.ThreadPoolExecutor(max_workers=16), options=options, compression=grpc.Compression.Gzip)
kinds_pb2_grpc.add_KindsServicer_to_server(Kinds(), server)
beside_pb2_grpc.add_BesideServicer_to_server(Echo(), server)
edition_2023_pb2_grpc.add_FeaturedServicer_to_server(Echo(), server)
edition_pb2_grpc.add_EditionsServicer_to_server(Echo(), server)
mixed_pb2_grpc.add_MixedServicer_to_server(Echo(), server)
own = ("test.v1.Kinds", "test.v2.Editions", "test.v3.Mixed", "test.v4.Beside", "test.v5.Featured")
# These are not described.
names = own + ("test.v1.Lost", "test.v1.Refused", "test.v1.Garbled", reflection.SERVICE_NAME)
reflection_pb2_grpc.add_ServerReflectionServicer_to_server(Reflection(names), server)
port, *pair = arguments
if pair:
    certificate, key = (open(path, "rb").read() for path in pair)
    port = server.add_secure_port("127.0.0.1:" + port, grpc.ssl_server_credentials([(key, certificate)]))
else:
    port = server.add_insecure_port("127.0.0.1:" + port)
server.start()
print(port, flush=True)
sys.stdin.read()
server.stop(0)
