#!/usr/bin/env python3
"""Searches sites of known capacity with 'lgoose capacity', and counts how often the result is near it.

    benches/capacity.py [--searches 20] [--at-once 10] [--seed 1] [--lgoose target/release/lgoose] [SITE ...]

Sites, each a server of this script on 127.0.0.1 (Python 3.9, nothing else is needed):

  fixed        a queue; each request takes one of c workers for a fixed time. Capacity: c / time.
  random       the same with exponential times. Capacity: the rate at which the 95th percentile of the time in the system
               reaches the limit, found here by simulating the queue (arrivals at equal distances, as lgoose sends them).
  connections  answers after a fixed time and closes the connection; what comes beyond c connections it closes at once.
               Capacity: c / time.
  degrading    a queue with fixed times that loses half of its workers once more than half of what it can do has been
               asked of it for 30 s, and gets them back when less is asked. Capacity: half of c / time.

A queue is kept as the times at which its workers are free, so that the capacity does not depend on how busy this machine is.
The sizes of the sites and the first loads of the searches are drawn from the seed. A result counts if the run that confirms
it has confirmed it and it is within 5 % of the capacity, 10 % for 'degrading'. All must be so in 18 of 20 searches.
"""

import argparse
import asyncio
import heapq
import json
import math
import os
import random
import sys
import tempfile
import time

LIMIT_S = 0.3
NEAR = {"fixed": 0.05, "random": 0.05, "connections": 0.05, "degrading": 0.10}
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\nok"


class Site:
    """A site whose answers are due at times that do not depend on this machine."""

    def __init__(self, kind, workers, service_s, seed):
        self.kind, self.workers, self.service_s = kind, workers, service_s
        self.random = random.Random(seed)
        self.free = []  # times at which busy workers are free
        self.open = 0  # connections
        self.arrived = []  # of the last two seconds
        self.hot_since = None

    def service(self):
        return self.random.expovariate(1 / self.service_s) if self.kind == "random" else self.service_s

    def working(self, now):
        """Returns the number of workers now."""
        if self.kind != "degrading":
            return self.workers
        self.arrived = [at for at in self.arrived if at > now - 2] + [now]
        half = self.workers / self.service_s / 2
        if len(self.arrived) / 2 <= half * 1.01:
            self.hot_since = None
        elif self.hot_since is None:
            self.hot_since = now
        return self.workers // 2 if self.hot_since is not None and now - self.hot_since > 30 else self.workers

    def due(self, now):
        """Returns when the answer to a request that arrives now is due."""
        begin, working = now, self.working(now)
        while self.free and (self.free[0] <= now or len(self.free) >= working):
            begin = max(begin, heapq.heappop(self.free))
        end = begin + self.service()
        heapq.heappush(self.free, end)
        return end

    def due_at_once(self, now):
        return now + self.service_s

    def capacity(self):
        most = self.workers / self.service_s
        if self.kind == "degrading":
            return most / 2
        if self.kind != "random":
            return most
        low, high = 0.0, most
        for _ in range(12):
            middle = (low + high) / 2
            if self.p95_at(middle) < LIMIT_S:
                low = middle
            else:
                high = middle
        return low

    def p95_at(self, rate):
        """Returns the 95th percentile of the time in the system, of 200,000 simulated requests."""
        twin = Site(self.kind, self.workers, self.service_s, 99)
        times = sorted(twin.due(n / rate) - n / rate for n in range(200_000))
        return times[len(times) * 95 // 100]


class Connection(asyncio.Protocol):
    def __init__(self, site):
        self.site = site

    def connection_made(self, transport):
        self.transport, self.seen = transport, b""
        self.site.open += 1
        if self.site.kind == "connections" and self.site.open > self.site.workers:
            transport.abort()

    def connection_lost(self, _error):
        self.site.open -= 1

    def data_received(self, data):
        self.seen += data
        loop = asyncio.get_running_loop()
        while b"\r\n\r\n" in self.seen:
            _, self.seen = self.seen.split(b"\r\n\r\n", 1)
            site = self.site
            due = site.due_at_once if site.kind == "connections" else site.due
            loop.call_at(due(loop.time()), self.answer)

    def answer(self):
        if self.transport.is_closing():
            return
        self.transport.write(RESPONSE)
        if self.site.kind == "connections":
            self.transport.close()


def site_of(kind, seed):
    """Returns a site of that kind whose size is drawn from the seed."""
    draw = random.Random(f"{kind} {seed}")
    service_s = draw.uniform(0.02, 0.08)
    rate = draw.uniform(60, 160)
    workers = max(1, round(rate * service_s))
    if kind == "connections":
        service_s, workers = draw.uniform(0.15, 0.25), draw.randint(16, 32)
    if kind == "degrading":
        workers = max(2, 2 * round(workers / 2))
    return Site(kind, workers, service_s, seed), draw.randint(5, 15)


async def search(lgoose, kind, seed, folder):
    """Searches one site; returns its capacity and what was found."""
    site, begin = site_of(kind, seed)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(site), "127.0.0.1", 0)
    url = "http://127.0.0.1:%d/" % server.sockets[0].getsockname()[1]
    path = os.path.join(folder, f"{kind}_{seed}.json")
    words = [lgoose, "capacity", url, "--slo", "failures < 1%", "--from", str(begin)]
    # Its answers take as long as ever; on a busy machine they would come near a limit of latency.
    words += [] if kind == "connections" else ["--slo", "p95 < 300ms"]
    words += ["-o", f"json={path}", "--threads", "1"]
    # A user of lgoose keeps its connection while it is idle: then the limit would be one on users.
    words += ["--no-keepalive"] if kind == "connections" else []
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *words, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, told = await process.communicate()
    server.close()
    took = time.monotonic() - began
    found = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            found = json.load(file)["capacity"]
    return kind, site, begin, found, process.returncode, took, told.decode(errors="replace")


def serve_one(arguments):
    """Runs one search in a process of its own, and prints one line of JSON."""
    kind, seed = arguments.one.split(":")
    kind, site, begin, found, code, took, told = asyncio.run(
        search(arguments.lgoose, kind, int(seed), arguments.folder)
    )
    capacity = site.capacity()
    low = found.get("low") or math.nan
    off = low / capacity - 1
    hit = bool(found.get("confirmed")) and abs(off) <= NEAR[kind]
    size = f"{site.workers} x {site.service_s * 1e3:.0f} ms, from {begin}"
    row = [kind, seed, size, f"{capacity:.1f}", f"{low:.1f}", f"{off:+.1%}", len(found.get("steps", []))]
    print(json.dumps({"row": row + [f"{took:.0f} s", code, "hit" if hit else "MISS"], "hit": hit, "told": told}))


async def measure(arguments):
    jobs = [(kind, seed) for kind in arguments.sites for seed in range(arguments.seed, arguments.seed + arguments.searches)]
    gate = asyncio.Semaphore(arguments.at_once)
    hits = {kind: 0 for kind in arguments.sites}

    async def one(kind, seed):
        async with gate:
            words = [sys.executable, __file__, "--one", f"{kind}:{seed}", "--lgoose", arguments.lgoose]
            process = await asyncio.create_subprocess_exec(
                *words, "--folder", arguments.folder, stdout=asyncio.subprocess.PIPE
            )
            out, _ = await process.communicate()
        done = json.loads(out)
        hits[kind] += done["hit"]
        print("  ".join(str(cell) for cell in done["row"]), flush=True)
        if not done["hit"]:
            print(done["told"], flush=True)

    print("site  seed  size  capacity  found  off  steps  took  exit  result", flush=True)
    await asyncio.gather(*(one(kind, seed) for kind, seed in jobs))
    for kind, count in hits.items():
        print(f"{kind}: {count} of {arguments.searches} within {NEAR[kind]:.0%}")
    return all(count >= 0.9 * arguments.searches for count in hits.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="*", default=list(NEAR), metavar="SITE", help=", ".join(NEAR))
    parser.add_argument("--searches", type=int, default=20)
    parser.add_argument("--at-once", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lgoose", default="target/release/lgoose")
    parser.add_argument("--folder", default=None, help="where the reports go")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    unknown = [kind for kind in arguments.sites if kind not in NEAR]
    if unknown:
        parser.error(f"no such site: {unknown[0]}")
    with tempfile.TemporaryDirectory() as folder:
        arguments.folder = arguments.folder or folder
        if arguments.one:
            return serve_one(arguments)
        sys.exit(0 if asyncio.run(measure(arguments)) else 1)


if __name__ == "__main__":
    main()
