#!/usr/bin/env python3
"""Reads a run as two pages of it and a Prometheus do: events, the report now and then, metrics each second. Until the run ends.

    LGOOSE_WEB_TOKEN=… benches/web_readers.py PORT
"""
import http.client, os, sys, threading, time

PORT, TOKEN = int(sys.argv[1]), os.environ["LGOOSE_WEB_TOKEN"]
NATIVE = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
# As reports.js has it: every 10 s, and no more often than lets it take one hundredth of the time.
OFTEN, SHARE = 10, 100
over = threading.Event()


def ask(connection, path, **headers):
    connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}", **headers})
    answer = connection.getresponse()
    assert answer.status == 200, (path, answer.status, answer.read())
    return answer


def connect():
    return http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)


def events():
    """Takes events until the last one."""
    try:
        for line in ask(connect(), "/api/v1/events"):
            if line == b"event: end\n":
                break
    finally:
        over.set()


def again_and_again(path, pause, **headers):
    """Asks for something until the run is over; `pause` says how long to wait after an answer that took so long."""
    connection = connect()
    while not over.is_set():
        began = time.monotonic()
        try:
            ask(connection, path, **headers).read()
        except OSError:
            return
        over.wait(pause(time.monotonic() - began))


def start(act, *arguments, **headers):
    thread = threading.Thread(target=act, args=arguments, kwargs=headers)
    thread.start()
    return thread


threads = [start(again_and_again, "/metrics", lambda took: max(0, 1 - took), Accept=NATIVE)]
for page in range(2):
    ask(connect(), "/api/v1/status").read()
    threads.append(start(events))
    threads.append(start(again_and_again, "/api/v1/report.json", lambda took: max(OFTEN, SHARE * took)))
for thread in threads:
    thread.join()
