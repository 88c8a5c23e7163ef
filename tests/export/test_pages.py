"""Pages play in a browser what sessions play in Python, without a network."""

import base64
import gzip
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe import Units, portable, zoo
from icpe.core.errors import (
    InvalidOutcomeError,
    InvalidParameterError,
    OperatingPointError,
)
from icpe.deploy import Session
from icpe.export import export_html
from icpe.families import BestOfK, CaseTable, GaussianBandit, Patches
from support.exports import rewarded, ruled
from support.settings import guarded_settings
from support.toy_artifacts import guesser

pytestmark = pytest.mark.services
SESSIONS = 20
LARGEST = 20_000_000


@pytest.fixture(scope="module")
def search_page(tmp_path_factory):
    return written("binary-search-16", tmp_path_factory)


@pytest.fixture(scope="module")
def digits_page(tmp_path_factory):
    return written("digits", tmp_path_factory)


def written(name: str, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("pages") / f"{name}.html"
    export_html(zoo.load(name), path, name)
    assert path.stat().st_size <= LARGEST
    return path


class Opened:
    """A page in a browser without a network, and what went wrong in it."""

    def __init__(self, browser, path: Path, width: int = 1200):
        context = browser.new_context(
            offline=True, viewport={"width": width, "height": 860}
        )
        self.page = context.new_page()
        self.problems: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", self._requested)
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("#loading", state="hidden", timeout=180_000)
        assert self.page.is_visible("#start"), self.page.inner_text("main")

    def _requested(self, request) -> None:
        if not request.url.startswith(("file:", "blob:", "data:")):
            self.problems.append(request.url)

    def start(self) -> None:
        if self.page.is_visible("#again"):
            self.page.click("#again")
        self.page.click("#start")
        self.page.wait_for_selector("#session", state="visible")

    @property
    def now(self) -> dict:
        return self.page.evaluate(
            """() => { const s = window.icpe.page.session; return {
            query: s.query, stopped: s.stopped, reason: s.reason, alarm: s.alarm,
            recommendation: s.recommendation, posterior: s.posterior,
            certified: s.certified, lost: s.certificateLost,
            number: s.history.length }; }"""
        )

    def wait(self, number: int) -> None:
        self.page.wait_for_function(
            "n => window.icpe.page.session.history.length === n && "
            "!window.icpe.page.busy",
            arg=number,
        )


def agree(session: Session, opened: Opened) -> None:
    now = opened.now
    assert session.posterior is not None
    assert now["query"] == session.ask()
    assert now["stopped"] == session.stopped
    assert now["reason"] == session.stop_reason.name
    assert now["recommendation"] == session.recommendation
    assert (now["certified"], now["lost"], now["alarm"]) == (
        session.certified,
        session.certificate_lost,
        session.alarm,
    )
    assert np.abs(np.array(now["posterior"]) - session.posterior).max() <= 1e-5


def test_searches_are_played_by_clicks_and_keys(browser, search_page):
    artifact = zoo.load("binary-search-16")
    opened = Opened(browser, search_page)
    words = [word for word, _ in artifact.family.spec.outcome_labels]
    for episode in range(SESSIONS):
        number = (7 * episode + 3) % 16
        opened.start()
        session = Session(artifact, error_prob=0.01)
        agree(session, opened)
        while (query := session.ask()) is not None:
            kind = int(np.sign(number - query)) + 1
            session.tell(query, artifact.family.spec.outcome_labels[kind][1])
            if episode % 2:
                opened.page.keyboard.press(str(kind + 1))
            else:
                opened.page.click(f"[data-word={words[kind]}]")
            opened.wait(len(session.history))
            agree(session, opened)
        assert f"The answer: {number}" in opened.page.inner_text("#question")
        title = "Certified" if session.certified else "Certificate lost"
        assert title in opened.page.inner_text("#certificate")
    assert opened.problems == []


def test_digits_are_played_by_clicking_patches(browser, digits_page):
    artifact = zoo.load("digits")
    family = artifact.family
    assert isinstance(family, Patches)
    player = artifact.serve(error_prob=0.1)
    keys = jr.split(jr.key(11), SESSIONS)
    with_data = family.with_data()
    tasks = [jax.device_get(with_data.sample_task(key=key)) for key in keys]
    opened = Opened(browser, digits_page)
    assert player.certified
    for episode, task in enumerate(tasks):
        pixels = np.asarray(task.image, np.float32)
        opened.page.evaluate(
            "text => { const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));"
            "window.icpe.page.drawing.use(new Float32Array(bytes.buffer)); }",
            base64.b64encode(pixels.tobytes()).decode(),
        )
        opened.start()
        session = Session(artifact, error_prob=0.1)
        patches = np.asarray(family.cut(jnp.asarray(pixels)))
        while (query := session.ask()) is not None:
            session.tell(query, patches[query])
            if episode % 2:
                opened.page.keyboard.press("Enter")
            else:
                opened.page.click(f"[data-query='{query}']")
            opened.wait(len(session.history))
            agree(session, opened)
        name = family.spec.hypothesis_name(session.recommendation)
        assert f"The answer: {name}" in opened.page.inner_text("#question")
    assert opened.problems == []


def test_a_patch_that_was_not_asked_for_loses_the_certificate(browser, digits_page):
    opened = Opened(browser, digits_page, width=390)
    opened.page.focus("#easel canvas")
    opened.page.keyboard.press("4")
    opened.start()
    other = (opened.now["query"] + 1) % 36
    opened.page.click(f"[data-query='{other}']")
    opened.wait(1)
    assert "does not cover this session" in opened.page.inner_text("#certificate")
    wide = opened.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390


def test_nothing_drawn_is_said(browser, digits_page):
    opened = Opened(browser, digits_page)
    opened.page.click("#start")
    opened.page.wait_for_selector("#problem", state="visible")
    assert "nothing on the board" in opened.page.inner_text("#problem")


ALARMS = {
    "shifted": lambda x: 50.0 + x,
    "other units": lambda x: 1e6 * x,
    "constant": lambda x: -0.25,
    "a word": lambda x: 7.0,
    "as it should be": lambda x: x,
}


def test_the_guard_of_a_page_says_what_that_of_a_session_says(browser, tmp_path):
    artifact = rewarded(GaussianBandit(num_arms=3, horizon=12))
    export_html(artifact, tmp_path / "arms.html")
    opened = Opened(browser, tmp_path / "arms.html")
    raised = []
    for change in ALARMS.values():
        random = np.random.default_rng(1)
        rewards = [change(0.5 + 0.5 * random.standard_normal()) for _ in range(8)]
        session = Session(artifact, budget=8)
        for reward in rewards:
            session.tell(session.ask() or 0, float(np.float32(reward)))
        found = opened.page.evaluate(
            """async rewards => {
                const { model, Session } = window.icpe;
                const s = await new Session(model, { budget: 8 }).begin();
                for (const x of rewards) await s.tell(s.query, [x]);
                return { alarm: s.alarm, recommendation: s.recommendation };
            }""",
            rewards,
        )
        assert found["alarm"] == session.alarm
        assert found["recommendation"] == session.recommendation
        raised.append(session.alarm)
    assert raised[-1] is None and None not in raised[:2]


def test_rewards_are_typed_and_bad_ones_refused(browser, tmp_path):
    artifact = rewarded(GaussianBandit(num_arms=3, horizon=12))
    export_html(artifact, tmp_path / "arms.html")
    opened = Opened(browser, tmp_path / "arms.html", width=390)
    opened.start()
    opened.page.fill("#outcome-0", "0.7")
    opened.page.keyboard.press("Enter")
    opened.wait(1)
    assert "0.7" in opened.page.inner_text("#history")
    assert "nothing is strange" in opened.page.inner_text("#guard")
    refused = opened.page.evaluate(
        """async () => { try { await window.icpe.page.session.tell(9, [1]); }
        catch (error) { return error.message; } }"""
    )
    assert refused == (
        "query must be a whole number from 0 to 2, or a name: arm 0, arm 1, arm 2; "
        "got 9."
    )


def test_settings_are_named_and_measured_in_the_units_of_the_user(browser, tmp_path):
    artifact = ruled(BestOfK(most_settings=4, horizon=8), "top-two")
    export_html(artifact, tmp_path / "settings.html")
    opened = Opened(browser, tmp_path / "settings.html", width=390)
    page, names = opened.page, ["red", "green", "blue"]
    page.fill("#names", "\n".join(names))
    page.fill("#matters", "1")
    page.fill("#noise", "9")
    page.select_option("#goal", label="after exactly 5 queries")
    page.click("#start")
    page.wait_for_selector("#problem", state="visible")
    with pytest.raises(InvalidParameterError) as refused:
        Session(artifact, budget=5, units=Units("%", 9.0, 1.0), names=names)
    assert page.inner_text("#problem") == str(refused.value)
    page.fill("#noise", "1.5")
    page.fill("#unit", "%")
    opened.start()
    units = Units("%", noise=1.5, matters=1.0)
    session = Session(artifact, budget=5, units=units, names=names)
    for told in (12.1, 14.4, 11.0, 14.2, 13.9):
        agree(session, opened)
        assert f"Try {session.query_name}: what" in page.inner_text("#question")
        session.tell(session.query_name or 0, told)
        page.fill("#outcome-0", str(told))
        page.keyboard.press("Enter")
        opened.wait(len(session.history))
    agree(session, opened)
    assert "12.1 %" in page.inner_text("#history")
    shown = page.inner_text("#posterior")
    assert all(name in shown for name in names) and "setting" not in shown
    assert opened.problems == []


def test_alarms_are_in_the_units_of_the_user(browser, tmp_path):
    artifact, names = guarded_settings(), ["as it is", "index", "cache"]
    export_html(artifact, tmp_path / "times.html")
    opened = Opened(browser, tmp_path / "times.html")
    page = opened.page
    page.fill("#names", "\n".join(names))
    for field, typed in {"matters": "8", "noise": "12", "unit": "ms"}.items():
        page.fill(f"#{field}", typed)
    page.check("#smaller")
    page.select_option("#goal", label="after exactly 5 queries")
    opened.start()
    units = Units("ms", noise=12, matters=8, smaller_is_better=True)
    session = Session(artifact, budget=5, units=units, names=names)
    for told in (1_000_212.5, 1_000_198.25, 1_002_000.0):
        question = f"Try {session.query_name}: what is the outcome, in ms?"
        assert page.inner_text("#question") == question
        session.tell(session.query_name or 0, told)
        page.fill("#outcome-0", str(told))
        page.keyboard.press("Enter")
        opened.wait(len(session.history))
        agree(session, opened)
    assert session.alarm is not None and "1002000 ms came for" in session.alarm
    assert session.alarm in page.inner_text("#guard")


def test_features_of_a_table_are_chosen_or_typed(browser, tmp_path):
    artifact = ruled(CaseTable(), "information-gain")
    export_html(artifact, tmp_path / "table.html")
    opened = Opened(browser, tmp_path / "table.html")
    opened.page.select_option("#goal", label="after exactly 2 queries")
    opened.start()
    session = Session(artifact, budget=2)
    while (query := session.ask()) is not None:
        if query == 0:
            opened.page.fill("#outcome-0", "38.2")
        else:
            opened.page.select_option("#outcome-0", "yes")
        session.tell(query, 38.2 if query == 0 else "yes")
        opened.page.click("#answers button")
        opened.wait(len(session.history))
        agree(session, opened)
    assert "38.2" in opened.page.inner_text("#history")


def test_a_page_says_that_nothing_was_known(browser, tmp_path):
    artifact = ruled(CaseTable(), "information-gain")
    export_html(artifact, tmp_path / "table.html")
    opened = Opened(browser, tmp_path / "table.html")
    opened.page.select_option("#goal", label="after exactly 1 query")
    opened.start()
    session = Session(artifact, budget=1)
    query = session.ask()
    assert query is not None
    session.tell(query, "  ")
    if query == 0:
        opened.page.fill("#outcome-0", "  ")
    opened.page.click("#answers button")
    opened.wait(1)
    agree(session, opened)
    assert session.nothing_known
    assert "No answer was known: this is a guess" in opened.page.inner_text("#note")


def test_a_damaged_page_says_what_a_damaged_model_says(browser, search_page, tmp_path):
    text = search_page.read_text()
    before, rest = text.split('id="model">')
    packed, after = rest.split("</script>", 1)
    model = bytearray(gzip.decompress(base64.b64decode(packed)))
    model[len(model) // 3] ^= 1
    packed = base64.b64encode(gzip.compress(bytes(model), 1)).decode()
    alone = tmp_path / "damaged.onnx"
    for number, (content, damaged) in enumerate(
        [(packed, bytes(model)), ("AAAA", b"\0\0\0")]
    ):
        alone.write_bytes(damaged)
        with pytest.raises(portable.ArtifactError) as refused:
            portable.Model(alone)
        path = tmp_path / f"damaged{number}.html"
        path.write_text(f'{before}id="model">{content}</script>{after}')
        page = browser.new_context(offline=True).new_page()
        page.goto(path.as_uri())
        page.wait_for_selector("#problem", state="visible", timeout=60_000)
        expected = str(refused.value).replace(str(alone), "this page")
        said = page.inner_text("#problem")
        assert said == f"The explorer could not be opened: {expected}"


def test_without_a_certificate_a_page_says_what_a_session_says(browser, tmp_path):
    artifact = guesser(size=4)
    export_html(artifact, tmp_path / "guesser.html")
    opened = Opened(browser, tmp_path / "guesser.html")
    opened.start()
    assert "Not certified" in opened.page.inner_text("#certificate")
    served = opened.page.evaluate(
        """async () => {
            const { model, Session } = window.icpe;
            const s = await new Session(model, { error_prob: 0.8 }).begin();
            return [s.certified, s.certificateLost, s.point.price]; }"""
    )
    session = Session(artifact, error_prob=0.8)
    price = pytest.approx(float(session.operating_point.price))
    assert served == [session.certified, session.certificate_lost, price]
    assert served[0] is False
    with pytest.raises(OperatingPointError) as refused:
        Session(artifact, error_prob=0.001)
    said = opened.page.evaluate(
        """async () => {
            const { model, Session } = window.icpe;
            try { await new Session(model, { error_prob: 0.001 }).begin(); }
            catch (error) { return error.message; } }"""
    )
    assert said == str(refused.value)


REFUSED = [(0, 7), (0, float("nan")), (16, 1), (-1, 1)]


def test_bad_answers_are_refused_in_the_words_of_a_session(browser, search_page):
    session = Session(zoo.load("binary-search-16"), error_prob=0.01)
    opened = Opened(browser, search_page)
    opened.start()
    for query, outcome in REFUSED:
        with pytest.raises(InvalidOutcomeError) as refused:
            session.tell(query, outcome)
        said = opened.page.evaluate(
            """async ([query, outcome]) => {
            try { await window.icpe.page.session.tell(query, [outcome]); }
            catch (error) { return error.message; } }""",
            [query, outcome],
        )
        assert said == str(refused.value)
