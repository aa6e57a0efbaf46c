#!/usr/bin/env python3
"""Breaks runs on several workers at random moments, and compares their reports with what the site received.

    cargo build && tests/gaggle_faults.py            # 20 runs of each fault, some half an hour
    tests/gaggle_faults.py --only broker-killed --runs 3 --seed 7

Needs nats-server on the PATH, or where the variable NATS_SERVER says, and Python 3.9. Each run has processes of its own: a
broker with file storage, a cluster of three, or a hub with a leaf node; an 'lgoose demo api', three workers of one thread (a fourth one waits where one is replaced), and a manager. Its users
belong to workers by their numbers, and those of each worker ask for a page of their own, so that the site counts the
requests of each worker. What is checked of each run:

  counts   Of a worker that nothing was done to, or that came back, the report has exactly as many requests as the site.
           Of one that did not come back it has no more than the site, and no fewer than the site had two seconds before
           the fault: figures are delivered once a second, and a busy machine is late. No report has more than its site.
  end      The manager ends within 45 s of the end of its run, every worker within 75 s of the manager, both with the
           exit code that is promised: 0, but 3 without a broker, and 130 after a second Ctrl-C.
  told     The report's warnings say what happened, and nothing of missing deliveries.
  load     With '--on-worker-loss replace' or 'spread', the site gets the old rate within 10 s, and the report has all
           users again. After a stop, the site gets nothing more from 10 s on.
  shares   Of iterations that all share, the site sees no more than there are, and the report says how many were done.

Prints a line for each run and a summary; ends with 1 if anything did not hold. The folders of such runs are kept.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path

USERS = 24
PAGES = ["/about", "/login", "/api/products/1"]
ROUTES = ["GET /about", "GET /login", "GET /api/products/%"]
WORKERS = ["w1", "w2", "w3"]
# Iterations that all users share, where they do.
ITERATIONS = 2_000
# Seconds by which what a lost worker measured may have been on its way.
LATE = 2.0


class Violation(Exception):
    """Something did not hold."""


def plan(owners):
    """The plan: each user asks for the page of the worker that it belongs to."""
    table = ", ".join(f"[{user}] = {owner + 1}" for user, owner in sorted(owners.items()))
    pages = ", ".join(f'"{page}"' for page in PAGES)
    return (
        f"local owners = {{ {table} }}\nlocal pages = {{ {pages} }}\n"
        'task { "page", function(user)\n'
        '  local owner = owners[user.id]\n'
        '  user:get(pages[owner], { name = "page " .. owner })\n'
        "  user:wait(0.1, 0.3)\nend }\n"
    )


def free_port():
    """A port that is free, and outside of the range from which connections get theirs."""
    while True:
        port = random.randrange(15000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


async def until(what, check, within=30.0):
    """Waits until the check holds."""
    end = time.monotonic() + within
    while not check():
        if time.monotonic() > end:
            raise Violation(f"{what}: not within {within:.0f} s")
        await asyncio.sleep(0.05)


class Process:
    """A process, and the files of what it says."""

    def __init__(self, folder, name):
        self.name, self.out, self.err = name, folder / f"{name}.out", folder / f"{name}.err"
        self.child = None

    async def start(self, *command, **environment):
        with open(self.out, "ab") as out, open(self.err, "ab") as err:
            self.child = await asyncio.create_subprocess_exec(
                *map(str, command), stdout=out, stderr=err, stdin=asyncio.subprocess.DEVNULL,
                env={**os.environ, **environment},
            )
        return self

    def says(self, text):
        return text in self.err.read_text(errors="replace") + self.out.read_text(errors="replace")

    def signal(self, number):
        if self.child.returncode is None:
            self.child.send_signal(number)

    async def end(self, within):
        try:
            return await asyncio.wait_for(self.child.wait(), within)
        except asyncio.TimeoutError:
            raise Violation(f"{self.name} hangs") from None

    async def kill(self):
        self.signal(signal.SIGKILL)
        await self.child.wait()


class Network:
    """The way of one worker to the broker: a proxy that can be cut, and that passes on so many bytes a second, if given."""

    def __init__(self, port, rate=None):
        self.port, self.through, self.links, self.rate = port, asyncio.Event(), set(), rate
        self.through.set()
        self.refuses = False

    async def start(self):
        self.server = await asyncio.start_server(self.link, "127.0.0.1", 0)
        return self.server.sockets[0].getsockname()[1]

    async def link(self, reader, writer):
        await self.through.wait() if not self.refuses else None
        if self.refuses:
            return writer.transport.abort()
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return writer.transport.abort()
        both = [writer, back]
        self.links.update(both)
        await asyncio.gather(self.pass_on(reader, back), self.pass_on(there, writer), return_exceptions=True)
        for one in both:
            one.transport.abort()
            self.links.discard(one)

    async def pass_on(self, reader, writer):
        while data := await reader.read(65536):
            await self.through.wait()
            if self.rate:
                await asyncio.sleep(len(data) / self.rate)
            writer.write(data)
            await writer.drain()
        writer.close()

    async def cut(self, seconds, resets):
        """Lets nothing through for a while; connections break at once, or say nothing."""
        self.through.clear()
        self.refuses = resets
        if resets:
            for one in list(self.links):
                one.transport.abort()
        await asyncio.sleep(seconds)
        self.refuses = False
        self.through.set()

    def stop(self):
        self.server.close()
        self.through.set()
        for one in list(self.links):
            one.transport.abort()


class Broker:
    """A nats-server with file storage and a port of its own."""

    def __init__(self, folder, name, more=""):
        self.folder, self.name, self.port = folder, name, free_port()
        store = f'jetstream {{ store_dir: "{folder / name}-store" }}' if "leafnodes { remotes" not in more else ""
        config = f'listen: "127.0.0.1:{self.port}"\nserver_name: {name}\n{store}\n{more}\n'
        (folder / f"{name}.conf").write_text(config)
        self.process = None

    async def start(self):
        server = os.environ.get("NATS_SERVER", "nats-server")
        self.process = await Process(self.folder, self.name).start(server, "-c", self.folder / f"{self.name}.conf")
        await until(f"{self.name} listens", self.listens)

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    async def kill(self):
        await self.process.kill()

    def signal(self, number):
        self.process.signal(number)


class Run:
    """A run with its brokers, site, workers and manager, and what the site has counted over time."""

    def __init__(self, lgoose, owners, folder, chance):
        self.lgoose, self.owners, self.folder, self.chance = lgoose, owners, folder, chance
        self.workers, self.history, self.network = {}, [], None
        self.victim = chance.randrange(len(WORKERS))
        self.lasts, self.options, self.fault_at, self.note = 18.0, [], None, ""
        self.watching = self.noting = self.link = self.workers_port = self.managers_port = None
        self.brokers, self.attached, self.code = [], [], 0
        self.more_plan, self.before_users = "", None

    async def serve(self):
        """Starts the site."""
        self.site = await Process(self.folder, "site").start(self.lgoose, "demo", "api", "--port", "0")
        await until("the site is there", lambda: self.site.says(" at http://"))
        said = self.site.out.read_text() + self.site.err.read_text()
        self.url = said.split(" at ")[1].split(";")[0].strip()

    async def serve_brokers(self):
        """Starts one broker, unless the fault has started others."""
        if not self.brokers:
            self.brokers = [Broker(self.folder, "broker")]
            await self.brokers[0].start()

    async def serve_cluster(self):
        """Starts a cluster of three, and waits until it keeps streams."""
        ports = [free_port() for _ in range(3)]
        routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports)
        for number, port in enumerate(ports):
            more = f'cluster {{ name: three, listen: "127.0.0.1:{port}", routes: [{routes}] }}'
            self.brokers.append(Broker(self.folder, f"node{number + 1}", more))
            await self.brokers[-1].start()
        for _ in range(60):
            listing = await Process(self.folder, "listing").start(self.lgoose, "gaggle", LGOOSE_NATS=self.broker_url())
            if await listing.end(60.0) == 0:
                return
            await asyncio.sleep(0.5)
        raise Violation("the cluster has no leader")

    async def serve_leaf(self):
        """Starts a hub, and a leaf node behind a link that can be cut, with all workers but one."""
        port = free_port()
        hub = Broker(self.folder, "hub", f'leafnodes {{ listen: "127.0.0.1:{port}" }}')
        await hub.start()
        self.link = Network(port)
        remote = f'{{ url: "nats://127.0.0.1:{await self.link.start()}" }}'
        leaf = Broker(self.folder, "leaf", f"leafnodes {{ remotes [{remote}] }}")
        await leaf.start()
        self.brokers, self.workers_port = [hub, leaf], leaf.port

    def broker_url(self, port=None):
        if port:
            return f"nats://127.0.0.1:{port}"
        nodes = self.brokers if self.link is None else self.brokers[:1]
        return "nats://" + ",".join(f"127.0.0.1:{node.port}" for node in nodes)

    async def add_worker(self, name, port=None):
        port = port or self.workers_port
        worker = Process(self.folder, name)
        self.workers[name] = await worker.start(
            self.lgoose, "worker", "--name", name, "--threads", "1", "--once",
            LGOOSE_NATS=self.broker_url(port),
        )

    async def begin(self):
        """Starts the workers and the manager, and waits until users work."""
        await self.serve_brokers()
        for name in WORKERS:
            port = None
            if name == WORKERS[self.victim] and self.network is not None:
                port = await self.network.start()
            elif name == WORKERS[self.victim] and self.workers_port is not None:
                port = self.brokers[0].port
            await self.add_worker(name, port)
        for worker in list(self.workers.values()):
            await until(f"{worker.name} is ready", lambda: worker.says("waits for runs"))
        path = self.folder / "plan.lua"
        path.write_text(self.more_plan + plan(self.owners))
        self.manager = await Process(self.folder, "manager").start(
            self.lgoose, path, "-H", self.url, "-u", USERS, "-r", "1000", "-t", f"{self.lasts}s",
            "--workers", len(WORKERS), "--headless", "-o", f"json={self.folder / 'report.json'}", *self.options,
            LGOOSE_NATS=self.broker_url(self.managers_port),
        )
        self.watching = asyncio.create_task(self.watch())
        self.noting = asyncio.create_task(self.note_end())
        if self.before_users:
            await self.before_users()
        await until("users work", lambda: self.history and all(self.history[-1][1]), within=60)
        self.begun = next(at for at, counts in self.history if any(counts))

    async def listed(self):
        """The name of the run, as 'lgoose gaggle' tells it."""
        listing = await Process(self.folder, "listing").start(self.lgoose, "gaggle", LGOOSE_NATS=self.broker_url())
        await listing.end(30.0)
        runs = [line for line in listing.out.read_text().splitlines() if line.startswith("run ")]
        expect(len(runs) == 1, f"{len(runs)} runs are listed")
        return runs[0].removeprefix("run ").split(":")[0]

    async def attach(self, found, number=1):
        """Starts another manager, which watches the run or leads it."""
        report = self.folder / ("report.json" if number == 1 else f"report{number}.json")
        self.attached.append(await Process(self.folder, f"attached{number}").start(
            self.lgoose, "attach", found, "--headless", "-o", f"json={report}", LGOOSE_NATS=self.broker_url(),
        ))
        return self.attached[-1]

    def follow(self, manager):
        """Takes that process for the manager from now on."""
        self.noting.cancel()
        self.manager = manager
        self.noting = asyncio.create_task(self.note_end())

    async def note_end(self):
        await self.manager.child.wait()
        self.ended = time.monotonic() - self.begun

    async def watch(self):
        while True:
            self.history.append((time.monotonic(), await self.served()))
            await asyncio.sleep(0.1)

    async def served(self):
        """What the site has received of each worker's users."""
        host, port = self.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"GET /_demo/served HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        counts = json.loads(answer.split(b"\r\n\r\n", 1)[1])
        return [counts[route] for route in ROUTES]

    def counts_at(self, moment):
        """What the site had received by then, or a little before."""
        before = [counts for at, counts in self.history if at <= moment]
        return before[-1] if before else [0] * len(ROUTES)

    async def moment(self, first, last):
        """Waits for a random moment of the run."""
        self.fault_at = self.chance.uniform(first, last)
        await asyncio.sleep(max(0.0, self.begun + self.fault_at - time.monotonic()))
        self.broken = time.monotonic()

    async def finish(self):
        """Waits for everybody's end, and returns the report and the site's counts."""
        rest = self.begun + self.lasts - time.monotonic()
        code = await self.manager.end(max(rest, 0.0) + 45.0)
        await self.noting
        expect(code == self.code, f"the manager's exit code is {code}")
        for worker in self.workers.values():
            code = await worker.end(75.0)
            expect(code in (0, -signal.SIGKILL), f"exit code of {worker.name} is {code}")
        self.watching.cancel()
        return json.loads((self.folder / "report.json").read_text()), await self.served()

    async def clear(self):
        """Ends whatever is left."""
        for task in (self.watching, self.noting):
            if task:
                task.cancel()
        for network in filter(None, (self.network, self.link)):
            network.stop()
        everybody = [getattr(self, name, None) for name in ("manager", "site")]
        for one in [*everybody, *self.attached, *self.workers.values(), *(broker.process for broker in self.brokers)]:
            if one is not None and one.child is not None:
                await one.kill()


def expect(holds, otherwise):
    if not holds:
        raise Violation(otherwise)


def expect_told(report, *texts):
    told = report["warnings"]
    for text in texts:
        expect(any(text in warning for warning in told), f"no warning says \"{text}\": {told}")
    missing = [warning for warning in told if "deliveries of" in warning or "faults in lgoose" in warning]
    expect(not missing, f"figures are missing: {missing}")


def expect_nobody_lost(report):
    told = report["warnings"]
    expect(not any("was lost" in warning for warning in told), f"a worker was lost: {told}")


def counted(report):
    """Requests of each worker's users by the report."""
    by_name = {row["name"]: row["count"] for row in report["requests"]}
    return [by_name.get(f"page {number + 1}", 0) for number in range(len(WORKERS))]


def compare(run, report, site, lost=None):
    """Compares the report with the site; that worker has not delivered everything."""
    own = counted(report)
    expect(report["aggregated"]["count"] == sum(own), "the total is not the sum of its parts")
    by_worker = {row["name"]: row["requests"] for row in report["workers"]}
    for number, (reported, received) in enumerate(zip(own, site)):
        name = WORKERS[number]
        expect(reported <= received, f"{name}: {reported} reported, {received} received: counted twice")
        if number == lost:
            least = run.counts_at(run.broken - LATE)[number]
            expect(reported >= least, f"{name}: {reported} reported, {least} received {LATE} s before the fault")
        else:
            expect(reported == received, f"{name}: {reported} reported, {received} received")
        if len(by_worker) == len(WORKERS):
            expect(by_worker[name] == reported, f"{name}: {by_worker[name]} in the table of workers, not {reported}")
    return sum(site) - sum(own)


async def worker_killed(run):
    """kill -9 of a worker: what it has delivered counts, the others go on."""
    await run.begin()
    await run.moment(0.5, run.lasts - 0.5)
    await run.workers[WORKERS[run.victim]].kill()
    report, site = await run.finish()
    expect_told(report, f"worker '{WORKERS[run.victim]}' was lost")
    return report, compare(run, report, site, lost=run.victim)


async def broker_killed(run):
    """kill -9 of the broker, which is started again after 5 s: nothing is lost."""
    await run.begin()
    await run.moment(0.5, run.lasts - 1.0)
    await run.brokers[0].kill()
    await asyncio.sleep(5.0)
    await run.brokers[0].start()
    report, site = await run.finish()
    expect_told(report, "the broker could not be reached for")
    expect_nobody_lost(report)
    return report, compare(run, report, site)


async def worker_stopped(run):
    """A worker stands still for 20 s: it comes back and delivers, or the run ends without it 10 s after its end."""
    run.lasts = 20.0
    await run.begin()
    await run.moment(0.5, run.lasts - 1.0)
    name = WORKERS[run.victim]
    run.workers[name].signal(signal.SIGSTOP)
    await asyncio.sleep(20.0)
    run.workers[name].signal(signal.SIGCONT)
    report, site = await run.finish()
    expect_told(report, f"worker '{name}' was lost")
    back = any(f"worker '{name}' is back" in warning for warning in report["warnings"])
    run.note = "back" if back else "not back in time"
    if run.fault_at + 20.0 < run.lasts + 8.0:
        expect(back, f"it was back before the end of the run: {report['warnings']}")
        expect_told(report, f"worker '{name}' stood still for")
    return report, compare(run, report, site, lost=None if back else run.victim)


async def network_cut(run):
    """No packet passes between a worker and the broker for 8 s: it comes back and delivers."""
    await run.serve_brokers()
    run.network = Network(run.brokers[0].port)
    resets = run.chance.random() < 0.5
    run.note = "reset" if resets else "silent"
    await run.begin()
    await run.moment(0.5, run.lasts - 1.0)
    await run.network.cut(8.0, resets)
    report, site = await run.finish()
    name = WORKERS[run.victim]
    expect_told(report, f"worker '{name}' was lost", f"worker '{name}' is back")
    return report, compare(run, report, site)


async def worker_replaced(run):
    """kill -9 of a worker with '--on-worker-loss replace': the load is back within 10 s."""
    run.lasts, run.options = 20.0, ["--on-worker-loss", "replace"]
    await run.serve_brokers()
    await run.add_worker("w4")
    await run.begin()
    await run.moment(2.0, 7.0)
    await run.workers[WORKERS[run.victim]].kill()
    report, site = await run.finish()
    name = WORKERS[run.victim]
    expect_told(report, f"worker '{name}' was lost", f"worker 'w4' took the place of '{name}'")
    expect_load_back(run, report, 10.0)
    return report, compare(run, report, site, lost=run.victim)


def expect_load_back(run, report, within):
    """Expects the old rate of the victim's users so many seconds after the fault, and all users a second later."""

    def rate(end):
        return run.counts_at(end)[run.victim] - run.counts_at(end - 1.0)[run.victim]

    before = rate(run.broken)
    later = (at for at, _ in run.history if at > run.broken + 1.1 and rate(at) >= 0.7 * before)
    back = next(later, float("inf")) - run.broken
    run.note = f"load back after {back:.1f} s"
    expect(back <= within, run.note)
    second = int(run.fault_at + within) + 1
    users = {point["second"]: point["users"] for point in report["series"]}
    expect(users.get(second) == USERS, f"{users.get(second)} of {USERS} users in second {second}")


async def worker_spread(run):
    """kill -9 of a worker with '--on-worker-loss spread': the load is back within 10 s, on another."""
    run.lasts, run.options = 20.0, ["--on-worker-loss", "spread"]
    await run.begin()
    await run.moment(2.0, 7.0)
    await run.workers[WORKERS[run.victim]].kill()
    report, site = await run.finish()
    name = WORKERS[run.victim]
    expect_told(report, f"worker '{name}' was lost", f"for {name}' took the place of '{name}'")
    expect_load_back(run, report, 10.0)
    return report, compare(run, report, site, lost=run.victim)


async def worker_replaced_late(run):
    """kill -9 of a worker with '--on-worker-loss replace', and one that comes 8 s later: it takes the place."""
    run.lasts, run.options = 28.0, ["--on-worker-loss", "replace"]
    await run.begin()
    await run.moment(2.0, 5.0)
    await run.workers[WORKERS[run.victim]].kill()
    await asyncio.sleep(8.0)
    await run.add_worker("w4")
    report, site = await run.finish()
    name = WORKERS[run.victim]
    expect_told(report, f"could take the place of '{name}' yet", f"worker 'w4' took the place of '{name}'")
    expect_load_back(run, report, 18.0)
    return report, compare(run, report, site, lost=run.victim)


async def worker_shares(run):
    """A worker dies, or hangs for 8 s, in a run of shared iterations: none is run twice, or is missing unsaid."""
    way, dies = run.chance.choice(("replace", "spread")), run.chance.random() < 0.5
    run.options = ["--shared-iterations", ITERATIONS, "--on-worker-loss", way]
    run.lasts, run.note = 60.0, f"{way}, {'killed' if dies else 'back'}"
    await run.serve_brokers()
    if way == "replace":
        await run.add_worker("w4")
    await run.begin()
    await run.moment(1.0, 7.0)
    worker = run.workers[WORKERS[run.victim]]
    if dies:
        await worker.kill()
    else:
        worker.signal(signal.SIGSTOP)
        await asyncio.sleep(8.0)
        worker.signal(signal.SIGCONT)
    report, site = await run.finish()
    done, all_run = report["ending"]["iterations_done"] or ITERATIONS, sum(site)
    expect(all_run <= ITERATIONS, f"{all_run} of {ITERATIONS} iterations were run")
    expect(done <= all_run, f"{done} iterations were done by the report, {all_run} by the site")
    expect(dies or done == all_run, f"{done} iterations were done by the report, {all_run} by the site")
    return report, compare(run, report, site, lost=run.victim if dies else None)


async def worker_killed_in_event(run):
    """kill -9 of the worker that runs test_start: another runs it anew, and a free one takes the place."""
    run.victim, run.options = 0, ["--on-worker-loss", "replace"]
    run.more_plan = 'on("test_start", function(user) user:wait(4) end)\n'

    async def kill():
        await until("the run begins", lambda: run.manager.says("begins with"))
        await asyncio.sleep(run.chance.uniform(0.5, 3.0))
        await run.workers[WORKERS[0]].kill()

    run.before_users = kill
    await run.serve_brokers()
    await run.add_worker("w4")
    await run.begin()
    report, site = await run.finish()
    expect_told(report, "worker 'w1' was lost while it ran test_start", "worker 'w4' took the place of 'w1'")
    return report, compare(run, report, site)


async def manager_killed(run):
    """kill -9 of the manager: 'lgoose attach' goes on, of somebody who watched already or who comes some seconds later."""
    await run.begin()
    watched = run.chance.random() < 0.5
    found = await run.listed()
    attached = await run.attach(found) if watched else None
    if attached:
        await until("the run is watched", lambda: attached.says("watched, while its manager steers it"))
    passed = time.monotonic() - run.begun
    await run.moment(passed + 0.5, run.lasts - 0.5)
    await run.manager.kill()
    later = 0.0 if watched else run.chance.uniform(0.0, 8.0)
    await asyncio.sleep(later)
    run.follow(attached or await run.attach(found))
    run.note = "watched before" if watched else f"attached {later:.1f} s later"
    report, site = await run.finish()
    expect_told(report, "another manager took the run over: the one before was lost")
    return report, compare(run, report, site)


async def manager_killed_before_three(run):
    """kill -9 of the manager of a run that three watch: one of them leads it, and the others end with it."""
    await run.begin()
    found = await run.listed()
    three = [await run.attach(found, number) for number in (1, 2, 3)]
    for one in three:
        await until("the run is watched", lambda: one.says("watched, while its manager steers it"))
    await run.moment(time.monotonic() - run.begun + 0.5, run.lasts - 0.5)
    await run.manager.kill()
    run.follow(three[0])
    codes = [await one.end(run.lasts + 60.0) for one in three]
    expect(codes == [0, 0, 0], f"exit codes {codes}")
    reports = [json.loads((run.folder / name).read_text()) for name in ("report.json", "report2.json", "report3.json")]
    leaders = [one.name for one in three if one.says("it is led from here")]
    expect(len(leaders) == 1, f"led by {leaders}")
    report, site = await run.finish()
    missing = [compare(run, one, site) for one in reports]
    run.note = f"led by {leaders[0]}"
    return report, max(missing)


async def cluster_killed(run):
    """kill -9 of one of three nodes, which comes back after 1 to 8 s: nothing is lost, nobody either."""
    await run.serve_cluster()
    await run.begin()
    await run.moment(0.5, run.lasts - 1.0)
    node, away = run.chance.choice(run.brokers), run.chance.uniform(1.0, 8.0)
    run.note = f"{node.name} away {away:.1f} s"
    await node.kill()
    await asyncio.sleep(away)
    await node.start()
    report, site = await run.finish()
    expect_nobody_lost(report)
    return report, compare(run, report, site)


async def cluster_rolling(run):
    """Each of three nodes ends as on an upgrade and starts again, 4 s after the one before."""
    run.lasts = 32.0
    await run.serve_cluster()
    await run.begin()
    await run.moment(0.5, 10.0)
    for node in run.brokers:
        node.signal(signal.SIGTERM)
        await node.process.end(30.0)
        await node.start()
        await asyncio.sleep(4.0)
    report, site = await run.finish()
    expect_nobody_lost(report)
    return report, compare(run, report, site)


async def leaf_cut(run):
    """The link of the leaf node with two workers is cut for 4 s or 30 s: their figures come later."""
    seconds = run.chance.choice((4.0, 30.0))
    run.lasts, run.note = 18.0 + seconds, f"{seconds:.0f} s"
    await run.serve_leaf()
    await run.begin()
    await run.moment(0.5, run.lasts - seconds - 8.0)
    await run.link.cut(seconds, run.chance.random() < 0.5)
    report, site = await run.finish()
    return report, compare(run, report, site)


async def broker_stopped(run):
    """The broker hangs for 20 s or 60 s: nothing is lost, nobody either; after 40 s, workers stop their users, and the run
    is no success."""
    seconds = run.chance.choice((20.0, 60.0))
    run.code = 3 if seconds > 40.0 else 0
    run.lasts, run.note = 10.0 + seconds, f"{seconds:.0f} s"
    await run.begin()
    await run.moment(0.5, 8.0)
    run.brokers[0].signal(signal.SIGSTOP)
    await asyncio.sleep(seconds)
    run.brokers[0].signal(signal.SIGCONT)
    report, site = await run.finish()
    expect_nobody_lost(report)
    return report, compare(run, report, site)


async def broker_gone(run):
    """kill -9 of the broker, for good: the manager ends in time or when it is told to, with what has arrived."""
    run.options, run.code = ["--stop-timeout", "2s"], 3
    await run.begin()
    await run.moment(2.0, run.lasts - 4.0)
    await run.brokers[0].kill()
    interrupts = run.chance.randrange(3)
    run.note = f"{interrupts} x Ctrl-C"
    await asyncio.sleep(1.0)
    for _ in range(interrupts):
        run.manager.signal(signal.SIGINT)
        await asyncio.sleep(0.3)
    await run.manager.end([65.0, 5.0, 3.0][interrupts])
    run.watching.cancel()
    report = json.loads((run.folder / "report.json").read_text())
    expect_told(report, "nothing comes from the broker at nats://127.0.0.1")
    expect(run.manager.child.returncode == 3, f"the manager's exit code is {run.manager.child.returncode}")
    least, most = run.counts_at(run.broken - LATE), await run.served()
    for name, few, own, many in zip(WORKERS, least, counted(report), most):
        expect(few <= own <= many, f"{name}: {own} reported, {few} to {many} received")
    await run.noting
    return report, sum(most) - sum(counted(report))


async def manager_cut(run):
    """Packets of the manager are dropped for 20 s: nobody is lost."""
    run.lasts = 30.0
    await run.serve_brokers()
    run.link = Network(run.brokers[0].port)
    run.managers_port = await run.link.start()
    await run.begin()
    await run.moment(0.5, 8.0)
    await run.link.cut(20.0, False)
    report, site = await run.finish()
    expect_nobody_lost(report)
    return report, compare(run, report, site)


async def manager_stopped(run):
    """The manager stands still for 8 s or 30 s: nobody is lost."""
    seconds = run.chance.choice((8.0, 30.0))
    run.lasts, run.options, run.note = 10.0 + seconds, ["--on-worker-loss", "stop"], f"{seconds:.0f} s"
    await run.begin()
    await run.moment(0.5, 8.0)
    run.manager.signal(signal.SIGSTOP)
    await asyncio.sleep(seconds)
    run.manager.signal(signal.SIGCONT)
    report, site = await run.finish()
    expect_nobody_lost(report)
    return report, compare(run, report, site)


async def stopped_meanwhile(run):
    """A stop or an abort while a node of a cluster, a leaf's link or a worker is away, or a worker takes a place over a slow
    link: the load ends within 10 s."""
    where, interrupts = run.chance.choice(("node", "leaf", "worker", "place")), run.chance.choice((1, 2))
    run.lasts, run.note = 60.0, f"{where} away, {interrupts} x Ctrl-C"
    run.options = ["--stop-timeout", "3s"]
    run.code = 0 if interrupts == 1 else 130
    await {"node": run.serve_cluster, "leaf": run.serve_leaf}.get(where, run.serve_brokers)()
    if where == "place":
        run.options += ["--on-worker-loss", "replace"]
        run.more_plan = 'local rows = data.lines "rows.txt"\n'
        (run.folder / "rows.txt").write_bytes(run.chance.randbytes(1 << 21).hex("\n").encode())
        run.link = Network(run.brokers[0].port, rate=60_000)
        await run.add_worker("w4", await run.link.start())
    await run.begin()
    await run.moment(1.0, 6.0)
    cutting = None
    if where == "node":
        await run.brokers[0].kill()
    elif where == "leaf":
        cutting = asyncio.create_task(run.link.cut(4.0, False))
    else:
        await run.workers[WORKERS[run.victim]].kill()
    await asyncio.sleep(8.0 if where == "place" else 1.0)
    for _ in range(interrupts):
        run.manager.signal(signal.SIGINT)
        await asyncio.sleep(0.3)
    told = time.monotonic()
    if cutting:
        await cutting
        told = time.monotonic()
    await asyncio.sleep(max(0.0, told + 10.0 - time.monotonic()))
    before = await run.served()
    await asyncio.sleep(2.0)
    expect(await run.served() == before, "the load goes on 10 s after the stop")
    code = await run.manager.end(45.0)
    expect(code == run.code, f"the manager's exit code is {code}")
    run.lasts = time.monotonic() - run.begun
    report = json.loads((run.folder / "report.json").read_text())
    own, site = counted(report), await run.served()
    for name, reported, received in zip(WORKERS, own, site):
        expect(reported <= received, f"{name}: {reported} reported, {received} received: counted twice")
    await run.noting
    return report, sum(site) - sum(own)


FAULTS = {
    "worker-killed": worker_killed,
    "broker-killed": broker_killed,
    "worker-stopped": worker_stopped,
    "network-cut": network_cut,
    "worker-replaced": worker_replaced,
    "worker-replaced-late": worker_replaced_late,
    "worker-spread": worker_spread,
    "worker-shares": worker_shares,
    "worker-in-event": worker_killed_in_event,
    "manager-killed": manager_killed,
    "three-attached": manager_killed_before_three,
    "cluster-killed": cluster_killed,
    "cluster-rolling": cluster_rolling,
    "leaf-cut": leaf_cut,
    "broker-stopped": broker_stopped,
    "broker-gone": broker_gone,
    "manager-cut": manager_cut,
    "manager-stopped": manager_stopped,
    "stopped-meanwhile": stopped_meanwhile,
}


async def owners(lgoose):
    """The worker of each user, by runs of each part on this machine."""
    folder = Path(tempfile.mkdtemp(prefix="gaggle-owners-"))
    run = Run(lgoose, {}, folder, random.Random(0))
    found = {}
    try:
        await run.serve()
        path = folder / "plan.lua"
        path.write_text('task { function(user) user:get "/about" end }\n')
        for number in range(len(WORKERS)):
            log = folder / f"{number}.jsonl"
            part = await Process(folder, "part").start(
                lgoose, path, "-H", run.url, "-u", USERS, "-r", "1000", "-i", "1", "--threads", "1",
                "--part", f"{number + 1}/{len(WORKERS)}", "--headless", "--request-log", log,
            )
            await part.end(30.0)
            for line in log.read_text().splitlines():
                found[json.loads(line)["user"]] = number
    finally:
        await run.clear()
        shutil.rmtree(folder, ignore_errors=True)
    if len(found) != USERS:
        sys.exit(f"of {USERS} users {len(found)} were found: is '{lgoose}' an lgoose?")
    return found


async def break_one(lgoose, owned, name, number, seed):
    """Does one run, prints its line, and returns whether all held."""
    folder = Path(tempfile.mkdtemp(prefix=f"gaggle-{name}-{number}-"))
    run = Run(lgoose, owned, folder, random.Random(f"{seed} {name} {number}"))
    try:
        await run.serve()
        report, missing = await FAULTS[name](run)
        told = f"{report['aggregated']['count']:>7,} requests  {missing:>4} missing  ended at {run.ended:4.1f} s"
        why = None
    except Violation as violation:
        told, why = "FAILED", str(violation)
    except Exception as error:  # Whatever it is, the other runs go on.
        told, why = "FAILED", f"{type(error).__name__}: {error}"
    finally:
        await run.clear()
    at = "-" if run.fault_at is None else f"{run.fault_at:.1f} s"
    victim = WORKERS[run.victim] if name.startswith(("worker", "network")) else "--"
    print(f"{name:<20} {number:>3}  {victim} at {at:>6}  {told}  {run.note}", flush=True)
    if why:
        print(f"    {why}\n    kept: {folder}", flush=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return why is None, missing if not why else 0


async def main():
    target = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parent.parent / "target"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lgoose", default=str(target / "debug" / "lgoose"), help="the program that is tested")
    parser.add_argument("--runs", type=int, default=20, help="runs of each fault (default: 20)")
    parser.add_argument("--at-a-time", type=int, default=8, help="runs at a time (default: 8)")
    parser.add_argument("--only", action="append", choices=list(FAULTS), help="this fault alone; repeatable")
    parser.add_argument("--seed", default=str(random.randrange(10**6)), help="seed of the random moments")
    flags = parser.parse_args()
    if shutil.which(os.environ.get("NATS_SERVER", "nats-server")) is None:
        sys.exit("no 'nats-server' is on the PATH (Debian: apt-get install nats-server)")
    begun = time.monotonic()
    print(f"seed {flags.seed}")
    owned = await owners(flags.lgoose)
    room = asyncio.Semaphore(flags.at_a_time)

    async def in_turn(name, number):
        async with room:
            return name, await break_one(flags.lgoose, owned, name, number, flags.seed)

    wanted = flags.only or list(FAULTS)
    runs = [in_turn(name, number + 1) for number in range(flags.runs) for name in wanted]
    results = await asyncio.gather(*runs)
    print(f"\n{len(results)} runs in {time.monotonic() - begun:.0f} s")
    for name in wanted:
        own = [result for fault, result in results if fault == name]
        held, most = sum(ok for ok, _ in own), max(missing for _, missing in own)
        print(f"  {name:<20} {held:>3} of {len(own)} held; at most {most} requests missing in one")
    return 0 if all(ok for _, (ok, _) in results) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
