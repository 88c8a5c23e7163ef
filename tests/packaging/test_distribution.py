"""Wheel and source distribution: built, installed beside nothing of ours, and run."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.services

ROOT = Path(__file__).parents[2]


def run(*words, **options):
    return subprocess.run(
        [str(it) for it in words],
        check=True,
        capture_output=True,
        text=True,
        timeout=1800,
        **options,
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("built")
    run(
        *(sys.executable, "-m", "build", "--outdir", folder, ROOT),
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    return folder


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """An environment with the wheel; what it depends on is borrowed from this one."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", folder)
    (wheel,) = built.glob("*.whl")
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--no-deps", "--no-index", wheel)
    place = run(python, "-c", "import site; print(site.getsitepackages()[0])").stdout
    borrowed = Path(place.strip()) / "borrowed.pth"
    borrowed.write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def icpe(installed, tmp_path, *words):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment["XDG_CACHE_HOME"] = str(tmp_path)
    return run(installed / "icpe", *words, cwd=tmp_path, env=environment).stdout


def test_the_wheel_has_what_is_needed(built):
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "icpe/cli/catalog.json" in names and "icpe/py.typed" in names
    shipped = [name for name in names if name.startswith("icpe/zoo/files/")]
    assert len(shipped) == len(list((ROOT / "src/icpe/zoo/files").iterdir()))
    assert not [name for name in names if name.startswith(("tests", "docs"))]


def test_the_source_distribution_has_its_tests_and_license(built):
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "tests/conftest.py"} <= names


def test_the_installed_command_is_the_wheels_and_works(installed, tmp_path):
    where = run(
        installed / "python",
        "-c",
        "import icpe; print(icpe.__file__)",
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
    )
    assert where.stdout.startswith(str(installed.parent))
    listed = json.loads(icpe(installed, tmp_path, "zoo", "--json"))
    assert "binary-search-8" in {it["name"] for it in listed}
    played = icpe(installed, tmp_path, "play", "binary-search-8", "--json")
    assert json.loads(played)["stop_reason"]


def test_the_installed_package_runs_the_demo_and_a_tutorial(installed, tmp_path):
    shown = icpe(installed, tmp_path, "demo")
    assert "icpe play binary-search-8 --error-prob 0.01 --human" in shown
    page = ROOT / "docs" / "tutorials" / "best-of-several-settings.md"
    cells = re.findall(r"```\{code-cell\}\n(.*?)```", page.read_text("utf-8"), re.S)
    assert cells
    (tmp_path / "tutorial.py").write_text("\n".join(cells), encoding="utf-8")
    printed = run(
        *(installed / "python", "tutorial.py"),
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
    ).stdout
    assert "Best: 70 °C" in printed
    found = re.search(r"right (\d+) times of 20", printed)
    assert found is not None and int(found[1]) >= 15


def test_the_module_is_the_command(installed, tmp_path):
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    said = run(
        installed / "python", "-m", "icpe", "--version", cwd=tmp_path, env=environment
    )
    assert said.stdout == icpe(installed, tmp_path, "--version")
