#!/usr/bin/env python3
"""A server of WebSockets on a free port of 127.0.0.1, for the tests: of the package `websockets`, or of `hypercorn` over HTTP/2.

Called with the name of the package, or `restarting` for a server of `websockets` that starts again on its port with each line of
standard input, prints how often it has then, and counts the sockets that were opened and the messages that it has sent, too. hypercorn takes the files of its certificate and key, too, and websockets the parameters of
permessage-deflate as their header has them, such as `server_max_window_bits=9`. When it is ready it prints its port. When standard input is closed, it prints what it has seen as JSON, and ends: how many messages and bytes it has received, and the
codes with which sockets were closed. Exits with 77 and says why if the package is missing.

The path says what it does: /echo returns messages, /ping returns them after its ping was answered, /pieces returns them in fragments,
/close/CODE closes with that code after one message.
"""

import asyncio
import json
import socket
import sys

sys.dont_write_bytecode = True
SEEN = {"messages": 0, "bytes": 0, "codes": []}


def count(message):
    SEEN["messages"] += 1
    SEEN["bytes"] += len(message.encode() if isinstance(message, str) else message)


def ready(port):
    print(port, flush=True)


async def end_of_input():
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


async def serve_websockets(*parameters):
    from websockets.asyncio.server import serve
    from websockets.exceptions import ConnectionClosed
    from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory

    terms = dict(parameter.partition("=")[::2] for parameter in parameters)
    deflate = ServerPerMessageDeflateFactory(**{name: int(value) if value else True for name, value in terms.items()})

    async def handle(connection):
        path = connection.request.path
        try:
            async for message in connection:
                count(message)
                if path.startswith("/close/"):
                    await connection.close(int(path.split("/")[2]), "as asked")
                elif path == "/pieces":
                    await connection.send([message[:3], message[3:]])
                else:
                    if path == "/ping":
                        await (await connection.ping())
                    await connection.send(message)
        except ConnectionClosed:
            pass
        SEEN["codes"].append(connection.close_code)

    # With a queue that gets full, no pong would be read.
    limits = {"max_size": 1 << 24, "max_queue": None}
    terms = {"subprotocols": ["v1"], "extensions": [deflate], "compression": None}
    async with serve(handle, "127.0.0.1", 0, **terms, **limits) as server:
        ready(server.sockets[0].getsockname()[1])
        await end_of_input()


async def serve_restarting():
    from websockets.asyncio.server import serve
    from websockets.exceptions import ConnectionClosed

    SEEN.update(opened=0, sent=0)

    async def handle(connection):
        SEEN["opened"] += 1
        try:
            async for message in connection:
                count(message)
                await connection.send(message)
                SEEN["sent"] += 1
        except ConnectionClosed:
            pass

    port, starts = 0, 0
    while True:
        async with serve(handle, "127.0.0.1", port, backlog=4096) as server:
            if starts == 0:
                port = server.sockets[0].getsockname()[1]
                ready(port)
            else:
                print(starts, flush=True)
            line = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        starts += 1
        if not line:
            return


async def serve_hypercorn(cert, key):
    from hypercorn.asyncio import serve
    from hypercorn.config import Config

    async def app(scope, receive, send):
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})
        elif scope["type"] == "websocket":
            assert scope["http_version"] == "2", scope
            await receive()
            await send({"type": "websocket.accept", "subprotocol": (scope["subprotocols"] or [None])[-1]})
            while (event := await receive())["type"] == "websocket.receive":
                text, data = event.get("text"), event.get("bytes")
                count(data if text is None else text)
                await send({"type": "websocket.send", "text": text, "bytes": data})

    free = socket.create_server(("127.0.0.1", 0))
    port = free.getsockname()[1]
    config = Config()
    # It closes the socket that it is given.
    config.bind = [f"fd://{free.detach()}"]
    config.certfile, config.keyfile = cert, key
    config.websocket_max_message_size = 1 << 24
    config.errorlog = None
    ready(port)
    await serve(app, config, shutdown_trigger=end_of_input)


async def main():
    try:
        servers = {"websockets": serve_websockets, "restarting": serve_restarting, "hypercorn": serve_hypercorn}
        await servers[sys.argv[1]](*sys.argv[2:])
    except ImportError:
        print(f"{sys.executable} has no {sys.argv[1]} ('pip install {sys.argv[1]}' for it)", file=sys.stderr)
        sys.exit(77)
    print(json.dumps(SEEN), flush=True)


asyncio.run(main())
