"""Every family has a page that names what it has, and only what it has."""

import pathlib
import re

import pytest

from icpe.families.registry import family_names, parameter_fields

PAGES = pathlib.Path(__file__).parents[2] / "docs" / "tasks"


@pytest.mark.parametrize("name", family_names())
def test_the_page_of_a_family_lists_its_parameters(name):
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# `{name}`\n")
    for parameter in parameter_fields(name):
        assert f"`{parameter}`" in page, parameter
    assert f"[`{name}`]({name}.md)" in (PAGES / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.md")), ids=lambda path: path.stem)
def test_commands_on_a_page_name_families_and_parameters_that_exist(path):
    page = path.read_text(encoding="utf-8")
    for command in re.findall(r"^icpe .*$", page, re.MULTILINE):
        family = re.search(r"(?:train|bounds|--family) ([a-z-]+)", command)
        for option in re.findall(r"--family\.([a-z-]+)", command):
            name = family[1] if family else path.stem  # or that of the page's files
            assert option.replace("-", "_") in parameter_fields(name), command
    for target in re.findall(r"\]\(([^)#]+\.md)", page):
        assert (PAGES / target).exists(), target
