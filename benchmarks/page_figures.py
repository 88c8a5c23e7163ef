"""Takes the pictures of the page in docs/figures, in headless Chromium.

    python benchmarks/page_figures.py [--out docs/figures]

It serves a small diagnosis and the digits of the zoo, answers as a person would, and
looks at the page. Needs MNIST (see `ICPE_DATA`), playwright and Chromium.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

from icpe import make_rule, zoo

TESTS = Path(__file__).parents[1] / "tests"
DRAWN = "Object.keys(sessionStorage).some((it) => it.startsWith('icpe-picture'))"
"""A picture that was loaded is on the canvas."""
SIZE = {"width": 1080, "height": 900}
PRESENT = ("fever", "sudden onset", "sore throat")
"""The findings of a patient with influenza."""


def diagnosis(tab: Page, address: str, out: Path) -> None:
    """A session in the middle and at its end."""
    begin(tab, address, "diagnosis")
    number = 0
    while tab.query_selector("form.tell"):
        question = tab.inner_text("#question").lower()
        tab.keyboard.press("2" if question.startswith(PRESENT) else "1")
        number += 1
        tab.wait_for_selector(f"#at[max='{number}']")
        if number == 2:
            take(tab, out / "page-diagnosis.png")
    take(tab, out / "page-answer.png")


def digits(tab: Page, address: str, picture: Path, out: Path) -> None:
    """A digit of which two patches are known."""
    begin(tab, address, "digits")
    tab.set_input_files("#load", picture)
    tab.wait_for_function(DRAWN)
    for number in (1, 2):
        tab.click("#reveal")
        tab.wait_for_selector(f"#at[max='{number}']")
    take(tab, out / "page-digits.png")


def begin(tab: Page, address: str, model: str) -> None:
    """Starts a session with what the page proposes."""
    tab.goto(f"{address}/models/{model}")
    tab.click("button.primary.big")
    tab.wait_for_url("**/sessions/*")


def take(tab: Page, path: Path) -> None:
    """The whole page, when its bars have come to rest."""
    tab.wait_for_timeout(800)
    tab.screenshot(path=path, full_page=True)
    few = Image.open(path).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE)
    few.save(path, optimize=True)
    print(path)


def main() -> None:
    """Takes all of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("docs/figures"))
    out: Path = parser.parse_args().out
    sys.path.insert(0, str(TESTS))
    from support.browser import running_browser
    from support.diagnosis import diagnosis as patients
    from support.pictures import digit_picture
    from support.running_service import RunningService

    with tempfile.TemporaryDirectory() as name, running_browser() as browser:
        folder, models = Path(name), Path(name) / "models"
        models.mkdir()
        shutil.copy(zoo.path("digits"), models)
        file = models / "diagnosis.safetensors"
        make_rule(patients(), "information-gain").save(file)
        words = ("-m", "icpe", "certify", file, "--error-prob", "0.25")
        subprocess.run([sys.executable, *map(str, words)], check=True)
        digit_picture(folder / "digit.png")
        storage = f"sqlite:///{folder / 'sessions.db'}"
        service = RunningService(storage, models, folder / "log.txt", workers=1)
        try:
            tab = browser.new_page(viewport=SIZE)
            tab.set_default_timeout(180_000)
            diagnosis(tab, service.url, out)
            digits(tab, service.url, folder / "digit.png", out)
        finally:
            service.kill()


if __name__ == "__main__":
    main()
