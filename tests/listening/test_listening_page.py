"""A listening test in a real browser: by mouse, by keyboard alone and on a phone."""

import contextlib
import json
import os
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from serving import running
from toy import toy_test

from vpeval.listening.answers import read_responses
from vpeval.listening.store import Store

pytestmark = pytest.mark.e2e
SHOTS = os.environ.get("VPEVAL_SCREENSHOTS")
"""Where to put the screenshots of docs/img: VPEVAL_SCREENSHOTS=docs/img makes them again."""


@pytest.fixture
def visit(browser):
    """Open a page that must not complain and must ask nobody else."""
    contexts, complaints = [], []

    def go(address, failing=False, **options):
        context = browser.new_context(**{"viewport": {"width": 900, "height": 950}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15000)
        own = address.split("#")[0].rsplit("/", 1)[0]
        if not failing:
            page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda r: None if r.url.startswith((own, "data:", "blob:")) else complaints.append(r.url))
        page.goto(address)
        return page

    yield go
    for context in contexts:
        context.close()
    assert complaints == []


def shoot(page, name):
    if SHOTS:
        picture = Image.open(BytesIO(page.locator("body").screenshot()))
        picture.convert("RGB").quantize(64).save(Path(SHOTS) / f"listening_{name}.png", optimize=True)


def heading(page):
    return page.locator("main > section:visible h1").inner_text()


def token_of(test, listener=0):
    return next(token for token, number in test.tokens().items() if number == listener)


@contextlib.contextmanager
def turned(page):
    """Wait until another question is shown."""
    before = [page.locator("#done").inner_text(), heading(page)]
    yield
    page.wait_for_function(
        "([done, title]) => document.querySelector('#done').textContent !== done "
        "|| document.querySelector('main > section:not([hidden]) h1').textContent !== title",
        arg=before,
    )


def play(page, name):
    """Play a recording to its end by a click."""
    button = page.get_by_role("button", name=name)
    button.click()
    page.wait_for_function("b => b.dataset.heard === 'true' && b.dataset.state === 'idle'", arg=button.element_handle())


def go_to_first_rating(page):
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Begin").click()
    play(page, "Recording")
    page.get_by_role("button", name="The volume is comfortable").click()
    while heading(page) == "Which tone is the quietest?":
        play(page, "Recording")
        page.locator(".scale label").nth(1).click()
        with turned(page):
            page.get_by_role("button", name="Next").click()
    assert heading(page) == "Your role"
    page.get_by_role("button", name="I am ready").click()


def answer_question(page, choice):
    title = heading(page)
    play(page, "Recording A" if "A" in title else "Recording")
    if "B" in title:
        play(page, "Recording B")
    page.locator(".scale label").nth(choice - 1).click()
    with turned(page):
        page.get_by_role("button", name="Next").click()


def drag_all(page):
    """Drag every circle: odd ones to the upper left, even ones to the upper right."""
    box = page.locator(".board").bounding_box()
    points = page.locator(".point")
    for i in range(points.count()):
        circle = points.nth(i).bounding_box()
        page.mouse.move(circle["x"] + circle["width"] / 2, circle["y"] + circle["height"] / 2)
        page.mouse.down()
        page.mouse.move(
            box["x"] + box["width"] * (0.25 + 0.5 * (i % 2)), box["y"] + box["height"] * (0.2 + 0.05 * i), steps=4
        )
        page.mouse.up()
        page.wait_for_function("b => b.dataset.heard === 'true'", arg=points.nth(i).element_handle())


def finish(page):
    assert heading(page) == "Anything you want to tell us?"
    page.get_by_label("Comment").fill("<script>alert(1)</script> all fine")
    page.get_by_role("button", name="Finish").click()
    page.get_by_role("heading", name="Thank you!").wait_for()


def all_tasks_with_mouse(page):
    while heading(page) != "Who sounds like whom?":
        answer_question(page, 7)
    drag_all(page)
    if page.locator(".board.plane").count():
        shoot(page, "board")
    page.locator("#view-board .next").click()
    page.get_by_role("heading", name="Anything you want").wait_for()
    finish(page)


def test_all_tasks_are_done_with_the_mouse(test, visit):
    with running(test.path) as address:
        page = visit(f"{address}#{token_of(test)}")
        go_to_first_rating(page)
        shoot(page, "mouse")
        all_tasks_with_mouse(page)
        assert page.locator("#code strong").inner_text() == test.completion_code(0)
    responses = read_responses(test)
    assert len(responses.answers) == 3 * 6 + 1 + 1 + 1 + 1
    assert all(answer.plays >= 1 for answer in responses.answers if answer.task == "naturalness")
    positions = responses.boards()[0].positions
    assert (positions[:, 1] > 600).all()
    assert (positions[::2, 0] < 400).all() and (positions[1::2, 0] > 600).all()


def test_all_tasks_are_done_with_the_keyboard_alone(test, visit):
    with running(test.path) as address:
        page = visit(f"{address}#{token_of(test, 1)}")
        page.get_by_role("heading", name="Before you begin").wait_for()
        keys = page.keyboard

        def tab_to(selector):
            for _ in range(60):
                keys.press("Tab")
                if page.evaluate("s => document.activeElement.matches(s)", selector):
                    return
            raise AssertionError(f"Tab does not lead to {selector}")

        def listen(selector):
            tab_to(selector)
            keys.press("Enter")
            page.wait_for_function("() => document.activeElement.dataset.heard === 'true'")

        tab_to("#agree")
        keys.press("Space")
        tab_to("#consent button")
        keys.press("Enter")
        page.get_by_role("heading", name="Headphones").wait_for()
        listen(".player")
        tab_to("#view-volume .next")
        keys.press("Enter")
        page.get_by_role("heading", name="Which tone").wait_for()
        while (title := heading(page)) != "Who sounds like whom?":
            if title == "Your role":
                tab_to("#view-role .next")
                keys.press("Enter")
                continue
            listen(".player")
            if "B" in title:
                listen(".player:nth-child(2)")
            tab_to(".scale input")
            keys.press("Space")
            keys.press("ArrowRight")
            keys.press("ArrowRight")
            if title.startswith("Are A and B"):
                shoot(page, "keyboard")
            tab_to("#view-question [type=submit]")
            with turned(page):
                keys.press("Enter")
        for i in range(page.locator(".point").count()):
            tab_to(f".point:nth-child({i + 1})")
            keys.press("Enter")
            page.wait_for_function("() => document.activeElement.dataset.heard === 'true'")
            for _ in range(3 + i):
                keys.press("Shift+ArrowUp")
            keys.press("ArrowLeft" if i % 2 else "ArrowRight")
            assert "played, at" in page.evaluate("document.activeElement.getAttribute('aria-label')")
        tab_to("#view-board .next")
        keys.press("Enter")
        page.get_by_role("heading", name="Anything you want").wait_for()
        tab_to("#comment")
        keys.type("by keyboard")
        tab_to("#view-comment button")
        keys.press("Enter")
        page.get_by_role("heading", name="Thank you!").wait_for()
    responses = read_responses(test)
    assert {a.value for a in responses.answers if a.task in ("naturalness", "similarity", "intelligibility")} == {3}
    assert responses.comments() == [(1, "by keyboard")]


def test_all_tasks_are_done_on_a_phone(test, visit):
    with running(test.path) as address:
        page = visit(
            f"{address}#{token_of(test, 2)}", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
        )
        go_to_first_rating(page)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        play(page, "Recording A")
        page.locator(".scale label").nth(4).tap()
        shoot(page, "phone")
        sizes = page.evaluate(
            "[...document.querySelectorAll('.scale label')].map(e => e.getBoundingClientRect()).map(r => Math.min(r.width, r.height))"
        )
        assert min(sizes) >= 44
        while heading(page) != "Who sounds like whom?":
            answer_question(page, 5)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        touch_all(page)
        shoot(page, "phone_board")
        tap(page, "#view-board .next")
        page.get_by_role("heading", name="Anything you want").wait_for()
        finish(page)
    assert len(read_responses(test).boards()) == 1


def tap(page, selector):
    """Tap as a person does: a browser takes a tap shortly after a drag or a scroll for the end of it, so tap again."""
    button = page.locator(selector)
    button.evaluate("b => b.addEventListener('click', () => { document.body.dataset.tapped = 'true'; })")
    for _ in range(5):
        button.scroll_into_view_if_needed()
        page.wait_for_timeout(400)
        button.tap()
        page.wait_for_timeout(400)
        if page.evaluate("document.body.dataset.tapped") == "true":
            return
    raise AssertionError(f"five taps on {selector} and no click")


def touch_all(page):
    """Drag every circle with a finger."""
    finger = page.context.new_cdp_session(page)
    page.locator(".board").scroll_into_view_if_needed()
    box = page.locator(".board").bounding_box()
    points = page.locator(".point")
    for i in range(points.count()):
        circle = points.nth(i).bounding_box()
        start = circle["x"] + circle["width"] / 2, circle["y"] + circle["height"] / 2
        end = box["x"] + box["width"] * (0.2 + 0.2 * i), box["y"] + box["height"] * 0.3
        finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": start[0], "y": start[1]}]})
        for k in (1, 2, 3, 4, 5, 5):  # and a rest, or the browser takes the end for a fling
            page.wait_for_timeout(30)
            x, y = (a + (b - a) * k / 5 for a, b in zip(start, end, strict=True))
            finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x, "y": y}]})
        finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.wait_for_function("b => b.dataset.heard === 'true'", arg=points.nth(i).element_handle())
        assert points.nth(i).get_attribute("data-moved") == "true"


def test_a_reload_in_the_middle_goes_on_where_it_stopped(test, visit):
    with running(test.path) as address:
        page = visit(f"{address}#{token_of(test)}")
        go_to_first_rating(page)
        answer_question(page, 6)
        where = page.locator("#done").inner_text(), heading(page)
        assert where[1] == "Are A and B the same person?"
        page.reload()
        page.get_by_role("heading", name="Welcome back").wait_for()
        page.get_by_role("button", name="Continue").click()
        assert (page.locator("#done").inner_text(), heading(page)) == where
        assert page.locator(".scale input").first.is_disabled()  # played before, but not since
    assert len(read_responses(test).answers) == 2


def test_nothing_is_answered_before_it_was_played(test, visit):
    with running(test.path) as address:
        page = visit(f"{address}#{token_of(test)}")
        go_to_first_rating(page)
        scale, button = page.locator(".scale input").first, page.locator("#view-question [type=submit]")
        assert scale.is_disabled() and button.is_disabled()
        assert page.locator(".hint:visible").inner_text() == "First play recording A to the end."
        # Neither starting it nor jumping to the end is hearing it.
        page.evaluate("""() => {
          const make = window.Audio;
          window.Audio = function () { window.last = new make(); return window.last; };
        }""")
        page.evaluate("document.querySelector('#view-question .player').click()")
        page.wait_for_function("() => window.last && window.last.readyState > 2")
        page.evaluate(
            "() => { window.last.pause(); window.last.currentTime = window.last.duration - 0.01; window.last.play(); }"
        )
        page.wait_for_function(
            "() => window.last.ended && document.querySelector('#view-question .player').dataset.state === 'idle'"
        )
        assert scale.is_disabled()
        play(page, "Recording A")
        assert scale.is_enabled() and button.is_disabled()
        page.evaluate("document.querySelector('#view-question form').requestSubmit()")
        assert len(Store(test.database).answers(0)) == 1  # only the headphone check
        page.locator(".scale label").nth(2).click()
        assert button.is_enabled()


def test_an_answer_waits_for_a_server_that_is_gone(test, visit):
    with running(test.path) as address:
        page = visit(f"{address}#{token_of(test)}", failing=True)
        go_to_first_rating(page)
        page.route("**/api/answers", lambda route: route.abort())
        play(page, "Recording A")
        page.locator(".scale label").nth(8).click()
        page.get_by_role("button", name="Next").click()
        page.get_by_text("Your answer is not saved yet").wait_for()
        assert heading(page) == "How natural does A sound?"
        page.unroute("**/api/answers")
        page.get_by_role("heading", name="Are A and B").wait_for()
        assert [a["value"] for a in Store(test.database).answers(0) if a["task"] == "naturalness"] == ["9"]


def test_a_pause_is_not_counted_and_own_data_can_be_deleted(test, visit):
    with running(test.path) as address:
        page = visit(f"{address}#{token_of(test)}")
        go_to_first_rating(page)
        page.get_by_role("button", name="Pause").click()
        assert heading(page) == "Pause"
        page.get_by_role("button", name="Continue").click()
        assert heading(page) == "How natural does A sound?"
        answer_question(page, 4)
        with page.expect_download() as download:
            page.get_by_role("button", name="Download my answers").click()
        assert len(json.loads(download.value.path().read_text())["answers"]) == 2
        page.get_by_role("button", name="Stop and delete").click()
        page.get_by_role("button", name="Delete them").click()
        page.get_by_role("heading", name="Your answers are deleted").wait_for()
        assert Store(test.database).export(0)["answers"] == []


def test_anybody_takes_part_where_the_test_is_open(test, visit):
    with running(test.path, "--open", 1) as address:
        page = visit(address)
        page.get_by_role("button", name="Take part").click()
        page.get_by_role("heading", name="Before you begin").wait_for()
        assert len(page.evaluate("location.hash")) == 33


def test_the_organisers_see_the_progress(test, visit):
    with running(test.path) as address:
        page = visit(f"{address}#{token_of(test)}")
        go_to_first_rating(page)
        organisers = visit(f"{address}admin")
        organisers.get_by_label("Organisers’ token").fill(test.admin_token())
        organisers.get_by_role("button", name="Show").click()
        organisers.get_by_text("0 finished, 1 started, 3 places.").wait_for()
        assert organisers.locator("tbody td").nth(1).inner_text() == "1 of 22"


@pytest.mark.parametrize("shape", ["plane", "line"])
def test_the_page_works_without_a_server(data, tmp_path, visit, shape):
    test = toy_test(data, tmp_path / "test", without_server=True, shape=shape)
    page = visit(f"{(test.path / 'public/index.html').as_uri()}#{token_of(test)}")
    go_to_first_rating(page)
    answer_question(page, 6)
    page.reload()
    page.get_by_role("button", name="Continue").click()
    all_tasks_with_mouse(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save my answers").click()
    (test.path / "answers/one.json").write_bytes(download.value.path().read_bytes())
    responses = read_responses(test)
    assert len(responses.answers) == 22
    assert responses.listeners == [0]
    assert shape == "plane" or (responses.boards()[0].positions[:, 1] == 0).all()
