"""Headless Chromium, from Debian's packages, that asks nobody for anything."""

import contextlib
import shutil
from collections.abc import Iterator
from typing import Any

_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_chromium() -> str | None:
    """The path of the browser, None if there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@contextlib.contextmanager
def running_browser() -> Iterator[Any]:
    """A browser that playwright drives."""
    from playwright.sync_api import sync_playwright

    path = find_chromium()
    assert path is not None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_OPTIONS))
        yield browser
        browser.close()
