"""The page in a browser: whole sessions by hand, as a new user would."""

import re
import shutil
import time

import pytest

from icpe import make_rule, zoo
from support.diagnosis import diagnosis
from support.pictures import digit_picture
from support.running_service import RunningService
from support.service_models import BANDIT_MODEL, models_folder

pytestmark = pytest.mark.services
DRAWN = "Object.keys(sessionStorage).some((it) => it.startsWith('icpe-picture'))"
"""A picture that was loaded is on the canvas."""
PATIENCE = 120_000
"""Milliseconds: models are compiled when they are first used."""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    models = tmp_path_factory.mktemp("models")
    shutil.copy(zoo.path("digits"), models)
    rule = make_rule(diagnosis(), "information-gain", calibration_episodes=512)
    rule.save(models / "diagnosis.safetensors")
    models_folder(models)
    folder = tmp_path_factory.mktemp("served")
    storage = f"sqlite:///{folder / 'sessions.db'}"
    served = RunningService(storage, models, folder / "log.txt", workers=1)
    yield served
    served.kill()


@pytest.fixture
def tab(browser, service, request):
    """A tab that notices scripts that fail, and requests to anywhere else."""
    options = getattr(request, "param", {})
    context = browser.new_context(**options)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "console",
        lambda it: troubles.append(it.text) if "Content Security" in it.text else None,
    )
    page.on(
        "request",
        lambda it: (
            None
            if it.url.startswith((service.url, "data:", "blob:"))
            else troubles.append(it.url)
        ),
    )
    yield page
    context.close()
    assert not troubles


def begin(tab, service, model):
    tab.goto(f"{service.url}/models/{model}")
    tab.click("button.primary.big")
    tab.wait_for_url("**/sessions/*")


def wait_for_answers(tab, number):
    tab.wait_for_selector(f"#at[max='{number}']")


def wait_until(tab, condition):
    """Asks from here: a page whose policy forbids eval cannot wait for an expression.

    `wait_for_function` is refused there unless the condition holds at once.
    """
    deadline = time.monotonic() + PATIENCE / 1000
    while not tab.evaluate(condition):
        assert time.monotonic() < deadline, condition
        tab.wait_for_timeout(20)


def finding_of(question):
    """The key for what a patient with influenza answers."""
    present = ("fever", "sudden onset", "sore throat")
    return "2" if question.lower().startswith(present) else "1"


def test_a_diagnosis_by_keyboard_alone_goes_on_after_a_kill(tab, service):
    tab.goto(service.url)
    tab.focus("a.tile[href='/models/diagnosis']")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/models/diagnosis")
    tab.focus("button.primary.big")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/sessions/*")
    number = 0
    while tab.query_selector("form.tell"):
        key = finding_of(tab.inner_text("#question"))
        if number == 1:
            service.kill()
            tab.keyboard.press(key)
            tab.wait_for_selector("#trouble:not([hidden])")
            service.start()
        tab.keyboard.press(key)
        number += 1
        wait_for_answers(tab, number)
        assert number <= 6
        assert tab.query_selector("#trouble:not([hidden])") is None
    assert number >= 2
    assert tab.inner_text("#the-answer") == "influenza"
    tab.wait_for_selector("#the-answer:focus")
    assert "the session has ended: influenza" in tab.inner_text("#live")
    tab.keyboard.press("ArrowLeft")
    tab.wait_for_selector("text=Back to now")
    assert f"after {number - 1} of {number} answers" in tab.inner_text("#stage")


def test_an_answer_sent_before_scripts_are_ready_keeps_the_place(tab, service):
    begin(tab, service, "diagnosis")
    tab.evaluate("""() => {
        const button = document.querySelector("#label-0");
        const chosen = document.createElement("input");
        Object.assign(chosen, { type: "hidden", name: button.name });
        chosen.value = button.value;
        button.form.append(chosen);
        button.form.submit();  // as a plain form
    }""")
    wait_for_answers(tab, 1)
    tab.wait_for_selector("#question:focus", timeout=20_000)


@pytest.mark.usefixtures("mnist")
@pytest.mark.parametrize("tab", [{"color_scheme": "dark"}], indirect=True)
def test_a_digit_by_clicks_on_patches(tab, service, tmp_path):
    label = digit_picture(tmp_path / "digit.png")
    begin(tab, service, "digits")
    tab.set_input_files("#load", tmp_path / "digit.png")
    wait_until(tab, DRAWN)
    number = 0
    while tab.query_selector("form.tell"):
        tab.click(".picture a:has(.asked)" if number % 2 else "#reveal")
        number += 1
        wait_for_answers(tab, number)
        assert number <= 36
    assert tab.inner_text("#the-answer") == str(label)
    assert len(tab.query_selector_all(".picture g[role=img]")) == number
    background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", background))) < 64


@pytest.mark.parametrize(
    "tab",
    [{"viewport": {"width": 360, "height": 740}, "java_script_enabled": False}],
    indirect=True,
)
def test_a_narrow_screen_without_scripts(tab, service):
    for path in ("/", "/models/digits", "/models/diagnosis"):
        tab.goto(service.url + path)
        assert overflow(tab) <= 0
    begin(tab, service, "diagnosis")
    tab.click("#label-0")
    wait_for_answers(tab, 1)
    assert overflow(tab) <= 0
    tab.click("text=Undo")
    tab.wait_for_selector("#at", state="detached")
    assert "There are no answers yet." in tab.inner_text(".answers")


@pytest.mark.usefixtures("mnist")
@pytest.mark.parametrize(
    "tab",
    [{"viewport": {"width": 360, "height": 740}, "java_script_enabled": False}],
    indirect=True,
)
def test_a_digit_on_a_narrow_screen(tab, service):
    begin(tab, service, "digits")
    assert overflow(tab) <= 0


@pytest.mark.parametrize(
    "tab", [{"viewport": {"width": 360, "height": 740}}], indirect=True
)
def test_long_names_stay_within_their_card(tab, service):
    tab.goto(f"{service.url}/models/{BANDIT_MODEL}")
    tab.click("text=More settings")
    names = [f"setting {i} with a rather long name, at 80 °C" for i in range(3)]
    tab.fill("[name=names]", "\n".join(names))
    tab.click("button.primary.big")
    tab.wait_for_url("**/sessions/*")
    for width in (360, 1080):
        tab.set_viewport_size({"width": width, "height": 740})
        assert overflow(tab) <= 0
        for inside in ("table.arms", ".labels, .numbers", ".belief"):
            right = tab.locator(inside).evaluate(
                "it => it.closest('.card').getBoundingClientRect().right"
                " - it.getBoundingClientRect().right"
            )
            assert right >= 0, (inside, width)


def overflow(tab):
    """How many pixels the page is wider than the screen."""
    box = tab.locator("html")
    width = box.evaluate("it => it.scrollWidth - it.clientWidth")
    return int(width)
