"""The server: answers, hostile requests, privacy."""

import itertools
import json
import os
import re
import sqlite3
import time

import pytest
from serving import ask, ask_json, running
from toy import SYSTEMS, toy_test

from vpeval.listening.answers import TASKS
from vpeval.listening.store import Store


@pytest.fixture(scope="module")
def served(data, tmp_path_factory):
    """A test of three listeners and the address of its server; every test uses a listener of its own part."""
    test = toy_test(data, tmp_path_factory.mktemp("served") / "test", listeners=12)
    with running(test.path, "--rate", 0) as address:
        yield test, address


class Visitor:
    """A listener who has agreed and has been sent all recordings long ago."""

    def __init__(self, served, number):
        self.test, self.address = served
        self.token = next(t for t, n in self.test.tokens().items() if n == number)
        self.pages = self.test.sessions[number]
        self.post("api/consent", {"consent": self.test.settings.consent})

    def post(self, path, body, **options):
        return ask_json(self.address, path, self.token, body=body, **options)

    def hear(self, *pages):
        for page in pages or self.pages:
            for clip in self.pages[page].clips:
                assert ask(self.address, f"api/audio/{self.test.names[clip]}", self.token)[0] == 200
        time.sleep(0.3 if pages and self.pages[pages[0]].kind == "rating" else 4)

    def page_of(self, kind):
        return next(name for name, page in self.pages.items() if page.kind == kind)

    def answer(self, task="naturalness", kind="rating", value=5, **changes):
        return self.post(
            "api/answers",
            {"page": self.page_of(kind), "task": task, "value": value, "seconds": 1.5, "plays": 1, **changes},
        )

    def kept(self):
        return ask_json(self.address, "api/data", self.token)[1]["answers"]


numbers = itertools.count()


@pytest.fixture
def visitor(served):
    return Visitor(served, next(numbers))


def test_an_answer_is_kept_once_however_often_it_is_sent(visitor):
    visitor.hear(visitor.page_of("rating"))
    assert visitor.answer()[0] == 201
    assert visitor.answer()[0] == 200
    assert visitor.answer(value=6) == (409, {"error": "this question is already answered; the first answer counts"})
    assert [row["value"] for row in visitor.kept()] == ["5"]


@pytest.mark.parametrize("token", ["", "x", "0" * 32, "' OR 1=1 --", "é"])
def test_a_forged_token_opens_nothing(served, token):
    test, address = served
    clip = next(iter(test.names.values()))
    headers = {"Authorization": f"Bearer {token}".encode().decode("latin-1")}
    for method, path in (
        ("GET", "api/session"),
        ("GET", "api/data"),
        ("DELETE", "api/data"),
        ("GET", f"api/audio/{clip}"),
        ("GET", "api/admin"),
    ):
        assert ask(address, path, method=method, headers=headers)[0] == 401
    assert ask(address, "api/answers", body={}, headers=headers)[0] == 401


def test_the_token_of_a_listener_does_not_open_the_view_of_the_organisers(visitor):
    assert ask(visitor.address, "api/admin", visitor.token)[0] == 401
    assert ask(visitor.address, "api/session", visitor.test.admin_token())[0] == 401
    assert ask(visitor.address, "api/admin", visitor.test.admin_token())[0] == 200


@pytest.mark.parametrize("value", [0, 11, -1, 5.0, "5", True, None, [5], {}, 10**30, "NaN"])
def test_a_rating_out_of_range_is_refused(served, value, request):
    visitor = request.getfixturevalue("refused_visitor")
    assert visitor.answer(value=value)[0] == 400
    assert visitor.kept() == []


@pytest.fixture(scope="module")
def refused_visitor(served):
    visitor = Visitor(served, 11)
    visitor.hear(visitor.page_of("rating"))
    return visitor


@pytest.mark.parametrize(
    "value",
    [[], [[1, 2]], [[0, 0]] * 5, [[0, 1001]] * 4, [[-1, 0]] * 4, [[0.5, 0]] * 4, [[1]] * 4, "x", [["a", "b"]] * 4],
)
def test_a_board_that_none_could_leave_is_refused(refused_visitor, value):
    assert refused_visitor.answer("board", "board", value)[0] == 400


@pytest.mark.parametrize(
    "changes",
    [{"seconds": -1}, {"seconds": 1e9}, {"seconds": "1"}, {"plays": -1}, {"plays": 1.5}, {"plays": None}, {"more": 1}, {"task": "tones"},
     {"task": ["naturalness"]}, {"task": "nonsense"}],
)  # fmt: skip
def test_an_answer_of_another_form_is_refused(refused_visitor, changes):
    assert refused_visitor.answer(**changes)[0] == 400
    assert refused_visitor.kept() == []


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"[" * 10000, b'{"page":1e999}'])
def test_a_body_that_is_no_answer_is_refused(refused_visitor, raw):
    assert ask(refused_visitor.address, "api/answers", refused_visitor.token, raw=raw)[0] == 400


def test_an_answer_for_another_listener_is_refused(served, refused_visitor):
    other = next(iter(served[0].sessions[10]))
    assert refused_visitor.answer(page=other)[0] == 404
    assert refused_visitor.answer(page=5)[0] == 404


def test_a_body_that_is_too_large_or_of_another_type_is_refused(refused_visitor):
    address, token = refused_visitor.address, refused_visitor.token
    large = json.dumps({"page": "x" * 1_000_000}).encode()
    assert ask(address, "api/answers", token, raw=large)[0] == 413
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert ask(address, "api/answers", token, raw=b"{}", headers={"Content-Type": kind})[0] == 415


@pytest.mark.parametrize(
    "path",
    ["api/audio/../../private/design.tsv", "api/audio/..%2f..%2fprivate%2fdesign.tsv", "../private/key", "private/key", "%2e%2e/private/key",
     "public/index.html", "audio/x.wav", "answers/answers.db", "listen.js/../../private/key", "//etc/passwd", "api/audio/%00"],
)  # fmt: skip
def test_no_path_leads_out_of_the_pages(refused_visitor, path):
    status, _, content = ask(refused_visitor.address, path, refused_visitor.token)
    assert status == 404
    assert json.loads(content) in ({"error": "no such page"}, {"error": "no such recording"})


def test_recordings_of_others_are_not_sent(served):
    test, _ = served
    visitor = Visitor(served, 10)
    own = {test.names[clip] for page in visitor.pages.values() for clip in page.clips}
    foreign = next(name for name in test.names.values() if name not in own)
    assert ask(visitor.address, f"api/audio/{foreign}", visitor.token)[0] == 404


def test_nothing_happens_before_consent(served):
    test, address = served
    token = next(t for t, n in test.tokens().items() if n == 9)
    page = next(name for name, p in test.sessions[9].items() if p.kind == "rating")
    clip = test.names[test.pages[page].clips[0]]
    assert ask(address, f"api/audio/{clip}", token)[0] == 403
    answer = {"page": page, "task": "naturalness", "value": 5, "seconds": 1, "plays": 1}
    assert ask_json(address, "api/answers", token, body=answer)[0] == 403
    assert ask_json(address, "api/consent", token, body={"consent": "another text"})[0] == 400
    assert ask_json(address, "api/session", token)[1]["consented"] is False
    assert Store(test.database).export(9)["since"] is None


def test_an_answer_counts_only_when_the_recordings_can_have_been_played(visitor):
    clips = [visitor.test.names[clip] for clip in visitor.pages[visitor.page_of("rating")].clips]
    refused = (403, {"error": "play the recording to its end first"})
    assert visitor.answer() == refused
    ask(visitor.address, f"api/audio/{clips[0]}", visitor.token, method="HEAD")
    assert visitor.answer() == refused
    assert ask(visitor.address, f"api/audio/{clips[0]}", visitor.token)[0] == 200
    time.sleep(0.3)
    assert visitor.answer()[0] == 201
    assert visitor.answer("similarity") == refused


def test_recordings_can_be_asked_for_in_parts(visitor):
    clip = visitor.test.names[visitor.pages[visitor.page_of("rating")].clips[0]]
    status, headers, content = ask(visitor.address, f"api/audio/{clip}", visitor.token, headers={"Range": "bytes=0-99"})
    assert (status, len(content)) == (206, 100)
    assert headers["content-range"].startswith("bytes 0-99/")
    assert content[:4] == b"RIFF"


@pytest.mark.parametrize("part", ["bytes=0-0", "bytes=1-", "bytes=-1", "bytes=0-0,5-9"])
def test_a_part_of_a_recording_does_not_count_as_the_recording(visitor, part):
    clip = visitor.test.names[visitor.pages[visitor.page_of("rating")].clips[0]]
    assert ask(visitor.address, f"api/audio/{clip}", visitor.token, headers={"Range": part})[0] == 206
    time.sleep(0.3)
    assert visitor.answer() == (403, {"error": "play the recording to its end first"})
    status, _, content = ask(visitor.address, f"api/audio/{clip}", visitor.token, headers={"Range": "bytes=0-"})
    assert status == 206 and len(content) == (visitor.test.path / f"public/audio/{clip}.wav").stat().st_size
    time.sleep(0.3)
    assert visitor.answer()[0] == 201


def test_only_the_owner_can_read_what_is_private_whatever_the_umask(data, tmp_path):
    before = os.umask(0)
    try:
        test = toy_test(data, tmp_path / "test")
        Store(test.database).close()
        stranger = tmp_path / "test/private/tokens.tsv"
        stranger.chmod(0o644)  # as in a test that was copied
        with running(test.path) as address:
            ask(address, "")
            private = [p for name in ("private", "answers") for p in [test.path / name, *(test.path / name).iterdir()]]
            assert len(private) >= 8
            assert {p.name: p.stat().st_mode & 0o777 for p in private} == {
                p.name: 0o700 if p.is_dir() else 0o600 for p in private
            }
    finally:
        os.umask(before)


def test_script_in_a_comment_stays_text(visitor):
    text = "</script><script>alert('x')</script> \ud800 \0"
    assert visitor.answer("comment", "comment", text)[0] == 201
    _, headers, content = ask(visitor.address, "api/data", visitor.token)
    assert headers["content-type"] == "application/json" and b"<" not in content
    assert json.loads(json.loads(content)["answers"][0]["value"]) == "</script><script>alert('x')</script> ? "
    assert visitor.answer("comment", "comment", "x" * 2001)[0] == 400


def test_nothing_that_listeners_can_reach_reveals_the_design(served):
    """Crawl everything that a listener can reach, errors included, and look for names of systems, sets and speakers."""
    test, address = served
    visitor = Visitor(served, 8)
    names = [
        *SYSTEMS,
        "original",
        "target",
        "toy_test",
        "trials",
        "enroll",
        *{spk for p in test.pages.values() for spk in p.spks},
    ]
    secret = re.compile("|".join(rf"(?<![a-z0-9]){re.escape(name)}(?![a-z0-9])" for name in names), re.IGNORECASE)
    paths = [
        "",
        "listen.js",
        "listen.css",
        "player.js",
        "board.js",
        "api/test",
        "api/session",
        "api/data",
        "nothing",
        "admin",
        "admin.js",
    ]
    clips = {test.names[clip] for page in visitor.pages.values() for clip in page.clips}
    replies = [ask(address, path, visitor.token) for path in (*paths, *(f"api/audio/{clip}" for clip in clips))]
    time.sleep(4)
    for name, page in visitor.pages.items():
        for task in TASKS[page.kind]:
            for value in ("?", [[1, 1]] * 4, "fine" if task == "comment" else 2):
                body = {"page": name, "task": task, "value": value, "seconds": 1, "plays": 1}
                replies.append(ask(address, "api/answers", visitor.token, body=body))
    replies.append(ask(address, "api/session", visitor.token))
    assert json.loads(replies[-1][2])["code"] == test.completion_code(8)
    assert {status for status, _, _ in replies} >= {200, 201, 400, 404}
    for place, (_, headers, content) in enumerate(replies):
        told = (
            "[Oo]riginal" if place == 0 else "$"
        )  # the instructions on the page say that some recordings are original
        found = secret.search(json.dumps(headers)) or (
            None if content[:4] == b"RIFF" else secret.search(re.sub(told, "", content.decode()))
        )
        assert found is None, found
        assert "server" not in {name.lower() for name in headers}


def test_recordings_hold_nothing_but_samples(test):
    for path in (test.path / "public/audio").glob("*.wav"):
        content = path.read_bytes()
        assert content[:4] + content[8:16] == b"RIFFWAVEfmt " and content[36:40] == b"data"
        assert len(content) == 44 + int.from_bytes(content[40:44], "little")
        assert path.stat().st_mtime > 0


def test_every_response_forbids_foreign_content(visitor):
    for path in ("", "api/session", "nothing", "listen.js"):
        headers = {name.lower(): value for name, value in ask(visitor.address, path, visitor.token)[1].items()}
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "set-cookie" not in headers


def test_who_asks_too_often_must_wait(data, tmp_path):
    test = toy_test(data, tmp_path / "test")
    token = next(iter(test.tokens()))
    with running(test.path, "--rate", 1) as address:
        replies = [ask(address, "api/session", token) for _ in range(12)]
    assert [status for status, _, _ in replies].count(429) >= 3
    late = next(headers for status, headers, _ in replies if status == 429)
    assert int({k.lower(): v for k, v in late.items()}["retry-after"]) >= 1


def test_open_enrolment_has_a_limit(data, tmp_path):
    test = toy_test(data, tmp_path / "test")
    with running(test.path, "--open", 2) as address:
        tokens = [ask_json(address, "api/enrol", body={})[1]["token"] for _ in range(2)]
        assert len(set(tokens)) == 2
        assert ask_json(address, "api/enrol", body={})[0] == 403
        sessions = [ask_json(address, "api/session", token)[1]["pages"][0]["id"] for token in tokens]
        assert len(set(sessions)) == 2
        assert ask(address, "api/session", next(iter(test.tokens())))[0] == 401
        assert ask(address, "api/data", tokens[0], method="DELETE")[0] == 200
        assert ask(address, "api/session", tokens[0])[0] == 401
        fresh = ask_json(address, "api/enrol", body={})[1]["token"]
        assert fresh not in tokens
    with running(test.path) as address:
        assert ask_json(address, "api/test")[1] == {"open": False}
        assert ask_json(address, "api/enrol", body={})[0] == 403


def test_a_listener_is_exported_and_deleted_without_a_trace(visitor):
    test = visitor.test
    visitor.hear()
    secret = "unmistakable comment of somebody"
    for kind, task, value in (
        ("rating", "naturalness", 3),
        ("board", "board", [[123, 456]] * 4),
        ("comment", "comment", secret),
    ):
        assert visitor.answer(task, kind, value)[0] == 201
    listener = next(n for t, n in test.tokens().items() if t == visitor.token)
    pages = [name.encode() for name in visitor.pages]
    content = ask_json(visitor.address, "api/data", visitor.token)[1]
    assert len(content["answers"]) == 3 and len(content["recordings"]) > 5
    assert any(secret.encode() in path.read_bytes() for path in test.database.parent.iterdir())
    assert ask(visitor.address, "api/data", visitor.token, method="DELETE")[0] == 200
    for path in test.database.parent.iterdir():
        raw = path.read_bytes()
        assert secret.encode() not in raw
        assert not any(page in raw for page in pages), path
    assert Store(test.database).export(listener) == {
        "listener": listener + 1,
        "consent": None,
        "since": None,
        "answers": [],
        "recordings": [],
    }
    assert (test.database.parent / "answers.db-wal").stat().st_size == 0


def test_answers_are_on_disk_when_they_are_acknowledged(test):
    Store(test.database)
    with sqlite3.connect(test.database) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert Store(test.database)._db.execute("PRAGMA synchronous").fetchone() == (2,)
