"""local/listening_test.py as organisers call it: its output and its error messages."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from serving import running
from toy import SYSTEMS, toy_test

from vpeval.listening.disk import load_test
from vpeval.listening.simulate import Quality, Spread, simulate_answers
from vpeval.listening.store import Store

SCRIPT = Path(__file__).parents[2] / "local/listening_test.py"
PAIRS = "toy_test_enrolls:toy_test_trials_f toy_test_enrolls:toy_test_trials_m"
SMALL = ("--listeners", 4, "--per-system", 2, "--boards", 1, "--board-spks", 2, "--board-utts", 2)


def call(*words):
    return subprocess.run([sys.executable, SCRIPT, *map(str, words)], capture_output=True, text=True, check=False)


def prepared(data, out, *options):
    return call("prepare", "--pairs", PAIRS, "--data-dir", data, *SMALL, "--contact", "me", *options, *SYSTEMS, out)


def fill(test):
    qualities = {system: Quality(4 + k, 5, 6, 3, 0.5) for k, system in enumerate(("original", *SYSTEMS))}
    store = Store(test.database)
    with store.transaction():
        for answer in simulate_answers(test, qualities, Spread(), 0):
            store.enrol(answer.listener)
            store.add(answer)
    store.close()


def test_a_test_is_prepared_answered_and_analysed(data, tmp_path):
    done = prepared(data, tmp_path / "test", "--seed", 3)
    assert done.returncode == 0, done.stderr
    assert "4 listeners, 6 pages of 3 systems and 1 boards each" in done.stdout
    fill(load_test(tmp_path / "test"))
    done = call("analyse", "--bootstrap", 20, tmp_path / "test", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "Table 16a" in done.stdout and "Linkability" in done.stdout
    names = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*")}
    assert {"listening.txt", "listeners.tsv", "records.jsonl", "runs/zorro/listening/records.jsonl"} <= names
    assert {f"figures/listening_{name}.svg" for name in ("violins", "tests", "det", "det_sets", "linkability")} <= names
    assert {f"latex/significance_{name}.tex" for name in ("quality", "similarity")} <= names
    assert "subjective" in (tmp_path / "out/latex/supplement_18.tex").read_text()


def test_a_listener_is_exported_and_deleted_while_the_server_runs(data, tmp_path):
    test = toy_test(data, tmp_path / "test")
    fill(test)
    token = next(t for t, n in test.tokens().items() if n == 1)
    with running(test.path):
        assert call("export", test.path, token, tmp_path / "one.json").returncode == 0
        assert len(json.loads((tmp_path / "one.json").read_text())["answers"]) == 22
        assert call("delete", test.path, "2").stdout == "listener 2: deleted\n"
        assert call("delete", test.path, "2").stdout == "listener 2: nothing was stored\n"
        raw = b"".join(path.read_bytes() for path in test.database.parent.iterdir())
        assert not any(name.encode() in raw for name in test.sessions[1])
        assert any(name.encode() in raw for name in test.sessions[0])
    done = call("delete", test.path, "99")
    assert done.returncode == 1 and "'99' is neither a number from 1 to 3 nor a known token" in done.stderr


def test_the_plan_prints_how_many_listeners_are_needed(data, tmp_path):
    done = prepared(data, tmp_path / "test", "--plan", "--difference", 3, "--simulations", 20)
    assert done.returncode == 0, done.stderr
    assert "To find a difference of 3 points with probability 80%" in done.stdout and "listeners (power" in done.stdout
    assert not (tmp_path / "test").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("dance",), "'dance' is not a command; choose from prepare, serve"),
        (("serve", "nowhere"), "nowhere: is not a listening test"),
        (("analyse", "nowhere", "out"), "nowhere: is not a listening test"),
        (("prepare", "--recipe", "nowhere", "a", "out"), "nowhere: no such recipe"),
        (("prepare", "--pairs", "x:y", "--data-dir", "nowhere", "a", "out"), "nowhere/x: no such data directory"),
        (("prepare", "--power", "2", "a", "out"), "expected a number from 0 to 1"),
        (("prepare", "out"), "the following arguments are required"),
        (("export", "nowhere", "1", "x"), "nowhere: is not a listening test"),
    ],
)
def test_a_mistake_is_one_message(words, message):
    done = call(*words)
    assert done.returncode == 1
    assert message in done.stderr and "Traceback" not in done.stderr


def test_a_contact_is_needed_and_keys_are_checked(data, tmp_path):
    done = call("prepare", "--pairs", PAIRS, "--data-dir", data, *SMALL, *SYSTEMS, tmp_path / "test")
    assert done.returncode == 1 and "--contact is missing" in done.stderr
    (tmp_path / "key").write_text("no key")
    done = prepared(data, tmp_path / "test", "--key", tmp_path / "key")
    assert done.returncode == 1 and "is not a key" in done.stderr
    done = prepared(data, tmp_path / "test", "--per-system", "3")
    assert done.returncode == 1 and "--per-system 3: give an even number" in done.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "key"]


def test_a_changed_test_and_a_taken_port_are_not_served(data, tmp_path):
    test = toy_test(data, tmp_path / "test")
    with running(test.path) as address:
        port = address.rstrip("/").rsplit(":", 1)[1]
        done = call("serve", "--port", port, test.path)
        assert done.returncode == 1 and f"cannot listen at 127.0.0.1:{port}" in done.stderr
        assert "Traceback" not in done.stderr
    (test.path / "public/index.html").write_text("changed")
    done = call("serve", test.path)
    assert done.returncode == 1 and "index.html: has changed since the test was prepared" in done.stderr
    done = call("serve", "--open", 9, test.path)
    assert done.returncode == 1


def test_exclusion_rules_are_checked(data, tmp_path):
    test = toy_test(data, tmp_path / "test")
    fill(test)
    done = call("analyse", "--exclude", "mood", test.path, tmp_path / "out")
    assert done.returncode == 1 and "--exclude mood: choose from attention" in done.stderr


def test_a_database_that_is_none_is_named(data, tmp_path):
    test = toy_test(data, tmp_path / "test")
    test.database.write_text("this is no database, but long enough to be looked at as one" * 10)
    for command in (("analyse", test.path, tmp_path / "out"), ("serve", test.path)):
        done = call(*command)
        assert done.returncode == 1 and "answers.db: cannot be used as a database" in done.stderr
        assert "Traceback" not in done.stderr
