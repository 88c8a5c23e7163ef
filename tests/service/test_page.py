"""The page without a browser: who may see it, what it says, what forms do."""

import html
import re

import pytest
from fastapi.testclient import TestClient

from icpe.deploy.memory import MemoryStorage
from icpe.service.app import create_app
from icpe.service.page.rendering import FILES, static_file
from icpe.service.settings import Settings
from icpe.service.tokens import create_token
from support.service_models import BANDIT_MODEL, models_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return models_folder(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def page(folder):
    """A browser without scripts, where nobody needs a token."""
    settings = Settings("memory://", models=str(folder), open=True, rate=0, log=False)
    with TestClient(create_app(settings, MemoryStorage())) as client:
        yield client


@pytest.fixture(scope="module")
def closed(folder):
    settings = Settings("memory://", models=str(folder), rate=0, log=False)
    storage = MemoryStorage()
    with TestClient(create_app(settings, storage)) as client:
        yield client, storage


@pytest.fixture
def guarded(closed):
    """A fresh browser where tokens are needed, and the storage of these."""
    closed[0].cookies.clear()
    return closed


def fields(text, action):
    """The hidden fields of the form with this action."""
    form = text.split(f'action="{action}"', 1)[1].split("</form>")[0]
    inputs = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form)
    return {name: html.unescape(value) for name, value in inputs}


def start(page, **given):
    form = page.get(f"/models/{BANDIT_MODEL}").text
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
    asked = {"goal": "error_prob", "error_prob": "0.1"} | given
    answer = page.post(f"/models/{BANDIT_MODEL}", data=hidden | asked)
    assert answer.status_code == 200, answer.text
    assert str(answer.url.path).startswith("/sessions/")
    return str(answer.url.path), answer.text


def send(page, path, text, action, **given):
    return page.post(f"{path}/{action}", data=fields(text, f"{path}/{action}") | given)


def test_a_session_by_forms_alone(page):
    path, text = start(page)
    assert "Question 1" in text and "what is the reward?" in text
    answer = send(page, path, text, "tell", **{"value-0": "0.4"})
    assert answer.status_code == 200 and answer.url.path == path
    assert "reward 0.4" in answer.text and "1 of 1" in answer.text
    view = page.get(f"/v1{path}").json()
    assert view["num_queries"] == 1 and view["certified"]
    shown = float(re.findall(r"<dd>([\d.]+)</dd>", answer.text)[0])
    assert shown == pytest.approx(view["stop_statistic"]["stop"], abs=1e-4)
    past = page.get(path, params={"at": 0}).text
    assert "after 0 of 1 answers" in past and "Back to now" in past


def test_a_form_that_is_sent_twice_counts_once(page):
    path, text = start(page)
    for _ in range(2):
        answer = send(page, path, text, "tell", **{"value-0": "0.4"})
        assert answer.status_code == 200
    assert page.get(f"/v1{path}").json()["num_queries"] == 1


def test_who_is_too_late_is_told_so_and_nothing_is_lost(page):
    path, text = start(page)
    query = int(fields(text, f"{path}/tell")["query"])
    page.post(f"/v1{path}/tell", json={"query": query, "outcome": 0.1})
    answer = send(page, path, text, "tell", **{"value-0": "0.4"})
    assert answer.status_code == 409 and "somebody else was there" in answer.text
    assert page.get(f"/v1{path}").json()["num_queries"] == 1


def test_skip_undo_and_another_question_say_what_they_cost(page):
    path, text = start(page, id="costly")
    assert path == "/sessions/costly"
    skipped = send(page, path, text, "skip").text
    assert "Certificate lost" in skipped and "was skipped" in skipped
    undone = send(page, path, skipped, "undo").text
    assert "Skipped:" not in undone
    path, text = start(page)
    asked = int(fields(text, f"{path}/tell")["query"])
    other = page.get(path, params={"query": (asked + 1) % 3}).text
    assert "A question of your own" in other and "the certificate is lost" in other
    told = send(page, path, other, "tell", **{"value-0": "1"}).text
    assert "not asked for" in told and "had been asked for" in told


def test_a_finished_session_names_its_answer(page):
    path, text = start(page, goal="budget", budget="1")
    ended = send(page, path, text, "tell", **{"value-0": "0.4"}).text
    name = page.get(f"/v1{path}").json()["recommendation_name"]
    assert f'class="big-answer" tabindex="-1">{name}<' in ended
    assert "the budget of queries was used up" in ended
    assert "promises no accuracy" in ended
    for suffix, kind, found in (
        ("html", "text/html", name),
        ("csv", "text/csv", "arm 0,yes,yes,0.4"),
    ):
        report = page.get(f"{path}/report.{suffix}")
        assert report.headers["content-type"].startswith(kind)
        assert "attachment" in report.headers["content-disposition"]
        assert found in report.text
    assert page.get(f"{path}/report.json").json()["result"]
    assert page.get(f"{path}/report.exe").status_code == 404
    closed = send(page, path, ended, "close").text
    assert f"{path}/tell" not in closed and f"{path}/undo" not in closed


def test_a_warning_of_the_guard_is_shown_at_once(page, monkeypatch):
    path, text = start(page)
    alarm = "50.3 came for query <arm 0>; are the units right?"
    monkeypatch.setattr("icpe.deploy.session_state.State.alarm", alarm)
    warned = send(page, path, text, "tell", **{"value-0": "50.3"}).text
    assert "These answers do not look like this family" in warned
    assert "50.3 came for query &lt;arm 0&gt;" in warned and "<arm" not in warned
    assert "Certificate lost" in warned


@pytest.mark.parametrize(
    "given, complaint",
    [
        ({"value-0": ""}, "reward is missing; enter a number."),
        ({"value-0": "much"}, "must be a number"),
        ({"value-0": "nan"}, "must be finite"),
        ({"value-0": "1", "query": "77"}, "There is no question 77"),
        ({"value-0": "1", "number": "x"}, "must be a whole number"),
    ],
)
def test_what_cannot_be_is_explained(page, given, complaint):
    path, text = start(page)
    answer = send(page, path, text, "tell", **given)
    assert answer.status_code == 422 and complaint in html.unescape(answer.text)
    assert page.get(f"/v1{path}").json()["num_queries"] == 0


def test_a_request_that_cannot_be_served_keeps_what_was_typed(page):
    form = page.get(f"/models/{BANDIT_MODEL}").text
    hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
    asked = {"goal": "budget", "budget": "99", "id": "my-trial"}
    answer = page.post(f"/models/{BANDIT_MODEL}", data=hidden | asked)
    assert answer.status_code == 422 and "horizon 8" in answer.text
    assert 'value="99"' in answer.text and 'value="my-trial"' in answer.text


def test_what_is_not_there_gets_a_page(page):
    for path in ("/sessions/none", "/models/none", "/sessions/@", "/open?id=none"):
        answer = page.get(path)
        assert answer.status_code == 404 and "<h1>Not here</h1>" in answer.text
    assert page.get("/static/1/page.css").status_code == 404


def test_names_from_outside_are_escaped(page):
    answer = page.get("/sessions/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
    assert answer.status_code == 404 and "<script>alert" not in answer.text
    answer = page.get("/models/%3Cscript%3Ealert(1)")
    assert answer.status_code == 404 and "<script>alert" not in answer.text


def test_your_own_names_are_shown_and_escaped(page):
    names = "<b>low</b>\nmiddle\nhigh & dry"
    _, text = start(page, names=names)
    assert "&lt;b&gt;low&lt;/b&gt;" in text and "high &amp; dry" in text
    assert "<b>low" not in text


def test_nothing_is_loaded_from_elsewhere(page):
    path, text = start(page)
    policy = page.get(path).headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    for source in (text, page.get("/").text):
        assert not re.findall(r'(?:src|href|action)="(?!/|#|\?)[^"]', source)
        assert not re.findall(r"\s(?:style|on\w+)=", source)
    for name in FILES:
        found = static_file(name).decode().replace("http://www.w3.org/2000/svg", "")
        assert "//" not in re.sub(r"^\s*//.*$", "", found, flags=re.M) or (
            name == "htmx.min.js"
        )
        assert not re.findall(r"https?://", found)


def test_files_of_the_page_may_be_kept(page):
    home = page.get("/").text
    for address in re.findall(r'"(/static/[^"]+)"', home):
        answer = page.get(address)
        assert (
            answer.status_code == 200 and "immutable" in answer.headers["cache-control"]
        )


def test_without_a_token_everything_leads_to_the_sign_in(guarded):
    client, _ = guarded
    for path in ("/", f"/models/{BANDIT_MODEL}", "/sessions/any"):
        answer = client.get(path, follow_redirects=False)
        back = "" if path == "/" else f"?next={path}"
        assert answer.status_code == 303
        assert answer.headers["location"] == f"/sign-in{back}"
    answer = client.post("/sign-in", data={"token": "icpe_wrong_wrong"})
    assert answer.status_code == 403 and "no token of this service" in answer.text
    assert "icpe_token" not in client.cookies


def test_a_token_that_expires_leads_back_to_the_session(guarded, monkeypatch):
    client, storage = guarded
    secret, kept = create_token(storage, "lab", ["run"], days=1)
    client.post("/sign-in", data={"token": secret})
    path, text = start(client)
    monkeypatch.setattr("icpe.service.access.REMEMBERED_SECONDS", -1.0)
    assert kept.expires is not None
    later = kept.expires + 1
    monkeypatch.setattr("icpe.service.tokens.time.time", lambda: later)
    given = fields(text, f"{path}/tell") | {"value-0": "1"}
    answer = client.post(f"{path}/tell", data=given, headers={"HX-Request": "true"})
    assert answer.headers["hx-redirect"] == f"/sign-in?next={path}"
    asked = client.get(answer.headers["hx-redirect"]).text
    assert "This token expired on 20" in asked
    other = create_token(storage, "lab", ["run"])[0]
    form = {"token": other, "next": re.findall(r'name="next" value="(.*?)"', asked)[0]}
    answer = client.post("/sign-in", data=form, follow_redirects=False)
    assert answer.headers["location"] == path
    assert "Question 1" in client.get(path).text
    for elsewhere in ("//evil.example", "https://evil.example", "/sessions/../x"):
        answer = client.post(
            "/sign-in", data=form | {"next": elsewhere}, follow_redirects=False
        )
        assert answer.headers["location"] == "/"


def test_a_token_is_entered_once_and_kept_where_scripts_cannot_read_it(guarded):
    client, storage = guarded
    secret = create_token(storage, "lab", ["run"])[0]
    answer = client.post("/sign-in", data={"token": secret}, follow_redirects=False)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert "secure" not in cookie
    behind_proxy = {"X-Forwarded-Proto": "https"}
    answer = client.post(
        "/sign-in", data={"token": secret}, headers=behind_proxy, follow_redirects=False
    )
    assert "secure" in answer.headers["set-cookie"].lower()
    client.cookies.clear()
    client.post("/sign-in", data={"token": secret})
    path, text = start(client)
    assert secret not in text
    assert send(client, path, text, "tell", **{"value-0": "1"}).status_code == 200
    client.post("/sign-out")
    assert client.get(path, follow_redirects=False).status_code == 303


def test_forms_of_other_sites_are_refused(guarded):
    client, storage = guarded
    client.post("/sign-in", data={"token": create_token(storage, "lab", ["run"])[0]})
    path, text = start(client)
    given = fields(text, f"{path}/tell") | {"value-0": "1"}
    for key in ("", "0" * 64):
        answer = client.post(f"{path}/tell", data=given | {"key": key})
        assert answer.status_code == 403 and "out of date" in answer.text
    answer = client.post(
        f"{path}/tell", data=given, headers={"Origin": "https://elsewhere.example"}
    )
    assert answer.status_code == 403
    client.cookies.delete("icpe_page")
    client.cookies.set("icpe_page", "A" * 22)  # as a neighbor's site might
    answer = client.post(f"{path}/tell", data=given)
    assert answer.status_code == 403


def test_who_may_only_look_changes_nothing(guarded):
    client, storage = guarded
    client.post("/sign-in", data={"token": create_token(storage, "lab", ["run"])[0]})
    path, _ = start(client)
    client.cookies.clear()
    client.post("/sign-in", data={"token": create_token(storage, "eyes", ["read"])[0]})
    text = client.get(path).text
    assert f'action="{path}/tell"' not in text and "Question 1" in text
    key = re.findall(
        r'name="key" value="(\w+)"', client.get(f"/models/{BANDIT_MODEL}").text
    )
    answer = client.post(f"{path}/tell", data={"key": key[0], "query": 0, "value-0": 1})
    assert answer.status_code == 403 and "looking only" in answer.text
