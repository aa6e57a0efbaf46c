#!/usr/bin/env python3
"""Autobahn's test suite as a server of WebSockets on a free port of 127.0.0.1, for the tests: WSTEST CASE...

WSTEST is the program of that name. Prints its port when it is ready. When standard input is closed, it prints as JSON how each case
has ended that a client has run, and ends. Exits with 77 and says why if the program is missing.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time

wstest, *cases = sys.argv[1:]
with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
with tempfile.TemporaryDirectory() as folder:
    spec = {"url": f"ws://127.0.0.1:{port}", "outdir": folder, "cases": cases, "exclude-cases": [], "exclude-agent-cases": {}}
    spec_file = os.path.join(folder, "spec.json")
    with open(spec_file, "w") as file:
        json.dump(spec, file)
    try:
        server = subprocess.Popen(
            [wstest, "-m", "fuzzingserver", "-s", spec_file, "-u", "0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError as missing:
        print(f"{wstest}: {missing}", file=sys.stderr)
        sys.exit(77)
    try:
        while True:
            assert server.poll() is None, "it runs"
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        print(port, flush=True)
        sys.stdin.read()
        with open(os.path.join(folder, "index.json")) as file:
            [results] = json.load(file).values()
        print(json.dumps(results), flush=True)
    finally:
        server.kill()
        server.wait()
