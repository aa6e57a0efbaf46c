#!/usr/bin/env python3
"""Breaks runs on several workers at random moments, and compares their reports with what the site received.

    cargo build && tests/gaggle_faults.py            # 20 runs of each fault, some ten minutes
    tests/gaggle_faults.py --only broker-killed --runs 3 --seed 7

Needs nats-server on the PATH and Python 3.9. Each run has processes of its own: a broker with file storage, an
'lgoose demo api', three workers of one thread (a fourth one waits where one is replaced), and a manager. Its users
belong to workers by their numbers, and those of each worker ask for a page of their own, so that the site counts the
requests of each worker. What is checked of each run:

  counts   Of a worker that nothing was done to, or that came back, the report has exactly as many requests as the site.
           Of one that did not come back it has no more than the site, and no fewer than the site had two seconds before
           the fault: figures are delivered once a second, and a busy machine is late. No report has more than its site.
  end      The manager ends within 45 s of the end of its run, every worker within 75 s of the manager, both with the
           exit code that is promised: 0.
  told     The report's warnings say what happened, and nothing of missing deliveries.
  load     With '--on-worker-loss replace', the site gets the old rate from the replacement within 10 s, and the report
           has all users again.

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
    """The way of one worker to the broker: a proxy that can be cut."""

    def __init__(self, port):
        self.port, self.through, self.links = port, asyncio.Event(), set()
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


class Run:
    """A run with its broker, site, workers and manager, and what the site has counted over time."""

    def __init__(self, lgoose, owners, folder, chance):
        self.lgoose, self.owners, self.folder, self.chance = lgoose, owners, folder, chance
        self.workers, self.history, self.network = {}, [], None
        self.victim = chance.randrange(len(WORKERS))
        self.lasts, self.options, self.fault_at, self.note = 18.0, [], None, ""
        self.watching = self.noting = None

    async def serve(self):
        """Starts the broker and the site."""
        self.port = free_port()
        config = self.folder / "nats.conf"
        store = self.folder / "store"
        config.write_text(f'listen: "127.0.0.1:{self.port}"\njetstream {{ store_dir: "{store}" }}\n')
        await self.start_broker()
        self.site = await Process(self.folder, "site").start(self.lgoose, "demo", "api", "--port", "0")
        await until("the site is there", lambda: self.site.says(" at http://"))
        said = self.site.out.read_text() + self.site.err.read_text()
        self.url = said.split(" at ")[1].split(";")[0].strip()

    async def start_broker(self):
        self.broker = await Process(self.folder, "broker").start("nats-server", "-c", self.folder / "nats.conf")
        await until("the broker listens", self.broker_listens)

    def broker_listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    async def add_worker(self, name, port=None):
        worker = Process(self.folder, name)
        self.workers[name] = await worker.start(
            self.lgoose, "worker", "--name", name, "--threads", "1", "--once",
            LGOOSE_NATS=f"nats://127.0.0.1:{port or self.port}",
        )

    async def begin(self):
        """Starts the workers and the manager, and waits until users work."""
        for name in WORKERS:
            cut = self.network is not None and name == WORKERS[self.victim]
            await self.add_worker(name, await self.network.start() if cut else None)
        for worker in list(self.workers.values()):
            await until(f"{worker.name} is ready", lambda: worker.says("waits for runs"))
        path = self.folder / "plan.lua"
        path.write_text(plan(self.owners))
        self.manager = await Process(self.folder, "manager").start(
            self.lgoose, path, "-H", self.url, "-u", USERS, "-r", "1000", "-t", f"{self.lasts}s",
            "--workers", len(WORKERS), "--headless", "-o", f"json={self.folder / 'report.json'}", *self.options,
            LGOOSE_NATS=f"nats://127.0.0.1:{self.port}",
        )
        self.watching = asyncio.create_task(self.watch())
        self.noting = asyncio.create_task(self.note_end())
        await until("users work", lambda: self.history and all(self.history[-1][1]), within=60)
        self.begun = next(at for at, counts in self.history if any(counts))

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
        expect(code == 0, f"the manager's exit code is {code}")
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
        if self.network:
            self.network.stop()
        everybody = [getattr(self, name, None) for name in ("manager", "site", "broker")]
        for one in [*everybody, *self.workers.values()]:
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
    await run.broker.kill()
    await asyncio.sleep(5.0)
    await run.start_broker()
    report, site = await run.finish()
    expect_told(report, "the broker could not be reached for")
    expect(not any("was lost" in warning for warning in report["warnings"]), f"a worker was lost: {report['warnings']}")
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
    run.network = Network(run.port)
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
    await run.add_worker("w4")
    await run.begin()
    await run.moment(2.0, 7.0)
    await run.workers[WORKERS[run.victim]].kill()
    report, site = await run.finish()
    name = WORKERS[run.victim]
    expect_told(report, f"worker '{name}' was lost", f"worker 'w4' took the place of '{name}'")
    def rate(end):
        return run.counts_at(end)[run.victim] - run.counts_at(end - 1.0)[run.victim]

    before = rate(run.broken)
    later = (at for at, _ in run.history if at > run.broken + 1.1 and rate(at) >= 0.7 * before)
    back = next(later, float("inf")) - run.broken
    run.note = f"load back after {back:.1f} s"
    expect(back <= 10.0, run.note)
    second = int(run.fault_at) + 11
    users = {point["second"]: point["users"] for point in report["series"]}
    expect(users.get(second) == USERS, f"{users.get(second)} of {USERS} users in second {second}")
    return report, compare(run, report, site, lost=run.victim)


# kill -9 of the manager and 'lgoose attach' have their place here: the fault kills run.manager, starts the attaching
# process in its place, and compares its report as the others do.
FAULTS = {
    "worker-killed": worker_killed,
    "broker-killed": broker_killed,
    "worker-stopped": worker_stopped,
    "network-cut": network_cut,
    "worker-replaced": worker_replaced,
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
    victim = WORKERS[run.victim] if name != "broker-killed" else "--"
    print(f"{name:<16} {number:>3}  {victim} at {at:>6}  {told}  {run.note}", flush=True)
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
    if shutil.which("nats-server") is None:
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
        print(f"  {name:<16} {held:>3} of {len(own)} held; at most {most} requests missing in one")
    return 0 if all(ok for _, (ok, _) in results) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
