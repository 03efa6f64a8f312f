"""The report of a small grid with faults, open in headless Chromium."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.model import Built, small_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return small_report(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Opened:
    """A page, with what it said and asked for."""

    def __init__(self, browser: Any, built: Built, **context: Any) -> None:
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page = browser.new_context(
            **({"viewport": {"width": 1200, "height": 900}, "reduced_motion": "reduce"} | context)
        ).new_page()
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.address = (built.folder / "report.html").as_uri()

    def open(self, fragment: str = "") -> Any:
        self.page.goto(self.address + fragment)
        self.page.wait_for_selector("html[data-shown]")
        return self.page

    def choose(self, name: str, value: str) -> None:
        before = self.page.evaluate("document.documentElement.dataset.shown")
        self.page.select_option(f"select[name={name}]", value)
        self.page.wait_for_function("before => document.documentElement.dataset.shown !== before", arg=before)


@pytest.fixture
def opened(browser: Any, built: Built) -> Iterator[Opened]:
    opened = Opened(browser, built)
    yield opened
    opened.page.context.close()


@pytest.fixture
def axe() -> str:
    if not AXE.is_file():
        pytest.skip("axe-core is not there (npm install --no-save axe-core)")
    return AXE.read_text(encoding="utf-8")
