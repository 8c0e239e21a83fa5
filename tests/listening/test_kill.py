"""A server that is killed at random moments while two hundred listeners answer."""

import asyncio
import contextlib
import json
import os
import random
import socket
import threading

import pytest
from load import Load, run_listeners
from serving import start
from toy import SYSTEMS, make_data, toy_test

from vpeval.listening.simulate import Quality, Spread, simulate_answers
from vpeval.listening.store import Store

pytestmark = pytest.mark.e2e
LISTENERS, EARLY = 200, 2
LATER = (0.05, 0.2, 0.4, 0.6, 0.8)
"""Shares of all answers after which the server is killed; the first kills come before there are any."""


def free_port():
    """A port below those that the system gives to clients: theirs would be taken while the server is down."""
    for port in range(20000 + os.getpid() % 10000, 32000):
        with contextlib.closing(socket.socket()) as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no free port")


def test_no_acknowledged_answer_is_lost_or_doubled(tmp_path):
    data = make_data(tmp_path / "data", seconds=0.1)
    test = toy_test(data, tmp_path / "test", listeners=LISTENERS, attention=0, headphones=0)
    qualities = {system: Quality(5, 5, 5, 5, 0.5) for system in ("original", *SYSTEMS)}
    answers = simulate_answers(test, qualities, Spread(), seed=0)
    port = free_port()
    load, ended, kills = Load(), threading.Event(), []

    def kill_again_and_again():
        rng = random.Random(0)
        server = start(test.path, "--rate", 0, port=port)
        for share in (0,) * EARLY + LATER:
            # By what came in and not by the clock alone: on a busy machine all may come in between two ticks of it.
            while not ended.wait(0.002) and len(load.acknowledged) < share * len(answers):
                pass
            if ended.wait(rng.uniform(0.2, 1.5) if share == 0 else rng.uniform(0, 0.02)):
                break
            server.kill()
            server.wait()
            server.stdout.close()
            kills.append(len(load.acknowledged))
            server = start(test.path, "--rate", 0, port=port)
        ended.wait()
        server.kill()
        server.wait()
        server.stdout.close()

    killer = threading.Thread(target=kill_again_and_again)
    killer.start()
    try:
        asyncio.run(run_listeners(("127.0.0.1", port), test, answers, load))
    finally:
        ended.set()
        killer.join()
    during = [count for count in kills if 0 < count < len(answers)]
    print(f"{len(kills)} kills, {len(during)} of them while answers came in, {load.broken} connections broken")
    assert len(during) >= 3
    assert load.acknowledged == {(a.listener, a.page, a.task): a.value for a in answers}
    store = Store(test.database)
    rows = [row for listener in range(LISTENERS) for row in exported(store, listener)]
    kept = dict(rows)
    assert len(rows) == len(kept)
    assert kept == load.acknowledged


def exported(store, listener):
    for row in store.export(listener)["answers"]:
        yield (listener, row["page"], row["task"]), json.loads(row["value"])
