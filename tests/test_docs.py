"""What pages tell readers to type is understood, and what they link to is there."""

import dataclasses
import importlib
import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

import icpe
from icpe.cli import catalog
from icpe.cli.anywhere import split_anywhere
from icpe.cli.candidates import candidates
from icpe.cli.main import COMMANDS
from icpe.cli.parsing import parse
from icpe.evaluate.guard import FEWEST_EPISODES

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
    if "_build" not in path.parts and path.name != "commands.md"
)
_FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^(?:\$ )?icpe (?P<words>[^\n]+)$", re.MULTILINE)
_IS_PATTERN = re.compile(r"[\[|<]|\.\.(?!/)|\(--|\s{3,}")
"""Lines of usage and tables of commands, which nobody types."""


def commands_of(page: Path) -> list[str]:
    """All commands in the blocks of a page, comments and continued lines resolved."""
    text = page.read_text(encoding="utf-8")
    blocks = "\n".join(_FENCE.findall(text)).replace("\\\n", " ")
    found = (it["words"].split("  #")[0].strip() for it in _COMMAND.finditer(blocks))
    return [it for it in found if not _IS_PATTERN.search(it)]


TYPED = [
    pytest.param(command, id=f"{page.relative_to(ROOT)}: {command}")
    for page in PAGES
    for command in dict.fromkeys(commands_of(page))
]


SETTINGS = {
    f"--{kind}.{it['name'].replace('_', '-')}"
    for kind, cards in {
        "family": catalog.family_cards(),
        "train": [
            {"parameters": catalog.learner_settings(it)}
            for it in ("universal", "paper")
        ],
    }.items()
    for card in cards
    for it in card["parameters"]
}
"""All that can be set of some family, or of a training."""


def test_the_reference_names_everything_public():
    reference = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    missing = [
        name
        for name in icpe._HOMES
        if not re.search(rf":: icpe\.{name}$", reference, re.MULTILINE)
    ]
    assert missing == []


@pytest.mark.parametrize("described", [icpe.TaskSpec, icpe.StepResult])
def test_the_page_on_families_has_every_field(described):
    page = (ROOT / "docs" / "own-family.md").read_text(encoding="utf-8")
    fields = [field.name for field in dataclasses.fields(described)]
    assert [name for name in fields if f"`{name}`" not in page] == []


def test_the_configuration_of_the_site_runs(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    settings = runpy.run_path(str(ROOT / "docs" / "conf.py"))
    assert {"myst_nb", "command_reference"} <= set(settings["extensions"])
    assert "dollarmath" in settings["myst_enable_extensions"]


def test_commands_are_found():
    assert len(TYPED) > 60


@pytest.mark.parametrize("command", TYPED)
def test_a_command_is_understood(command):
    words, anywhere = split_anywhere(shlex.split(command))
    if words[0].startswith("--"):
        return
    assert words[0] in COMMANDS
    module = importlib.import_module(f"icpe.cli.{words[0].replace('-', '_')}")
    assert parse(module.Args, words[1:], prog=f"icpe {words[0]}") is not None or (
        "--help" in words
    )
    settings = [it.partition("=")[0] for it in words if it[:2] == "--" and "." in it]
    assert anywhere or {it.replace("_", "-") for it in settings} <= SETTINGS


def said_on(page: Path) -> list[str]:
    """The commands that its sentences name."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    found = re.findall(r"`((?:icpe|make|python) [^`]+)`", text)
    return [" ".join(command.split()) for command in found]


SAID = sorted(
    {it for page in PAGES if page.name != "CHANGELOG.md" for it in said_on(page)}
)


def test_commands_in_sentences_are_found():
    assert len(SAID) > 80


@pytest.mark.parametrize("command", SAID)
def test_a_command_in_a_sentence_is_one(command):
    program, first, *others = command.split()
    if program == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert f"\n{first}:" in makefile
    elif program == "python":
        assert first == "-m" or first == "lab.py" or (ROOT / first).is_file()
    elif first not in ("COMMAND", "--help"):
        assert first in COMMANDS
        options = [it for it in others if it.startswith("--")]
        unknown = [it for it in options if it not in candidates([first, it], COMMANDS)]
        assert unknown == []


@pytest.mark.parametrize(
    "page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES]
)
def test_every_link_leads_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        target, _, place = link.partition("#")
        if "://" in link or not target:
            continue
        there = (page.parent / target).resolve()
        assert there.exists(), link
        if place and there.suffix == ".md":
            assert place in places_of(there), link


def places_of(page: Path) -> set[str]:
    """The names that a page's headings and marks can be linked by."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in headings
    }
    return slugs | set(re.findall(r'<a id="([^"]+)">', text))


def test_the_rules_page_says_from_how_many_episodes_on_rules_are_compared():
    text = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    assert f"fewer than {FEWEST_EPISODES} `--calibration-episodes`" in text
