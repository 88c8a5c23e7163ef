"""The pages of the zoo say what the files say. Otherwise: make zoo-cards"""

import dataclasses
from pathlib import Path

import pytest
from zoo_page import as_typed_now, zoo_index, zoo_page

from icpe import zoo
from icpe.artifact.document import read_card
from icpe.cli.main import COMMANDS
from icpe.families.registry import parameter_fields
from icpe.learn.config import TrainConfig

PAGES = Path(__file__).parents[2] / "docs" / "zoo"


def test_the_index_is_up_to_date_and_leads_to_every_page():
    text = (PAGES / "README.md").read_text(encoding="utf-8")
    assert text == zoo_index([zoo.card(name) for name in zoo.names()])
    written = {page.stem for page in PAGES.glob("*.md")} - {"README"}
    assert written == set(zoo.names())
    assert written == {figure.stem for figure in PAGES.glob("*.svg")}


@pytest.mark.parametrize("name", zoo.names())
def test_a_page_is_up_to_date(name):
    document = read_card(zoo.path(name))
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert page == zoo_page(zoo.card(name), document)
    figure = (PAGES / f"{name}.svg").read_text(encoding="utf-8")
    assert f"weights {document['weights']}" in figure


@pytest.mark.parametrize("name", zoo.names())
def test_the_training_command_of_a_page_is_one(name):
    command, gone = as_typed_now(zoo.card(name).training_command)
    words = command.split()
    assert words[0] == "icpe"
    assert words[1] in COMMANDS
    settings = [word[8:].replace("-", "_") for word in words if word[:8] == "--train."]
    assert set(settings) <= {field.name for field in dataclasses.fields(TrainConfig)}
    assert bool(gone) == (command != zoo.card(name).training_command)
    options = [word[9:].replace("-", "_") for word in words if word[:9] == "--family."]
    assert set(options) <= set(parameter_fields(words[2]))
    given = zoo.card(name).family["parameters"]
    for option in options:
        word = f"--family.{option.replace('_', '-')}"
        assert words[words.index(word) + 1] == str(given[option])
