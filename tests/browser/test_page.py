from typing import Any

import pytest

from infonce.report.claims import CLAIMS
from tests.browser.conftest import Opened
from tests.report.model import Built

pytestmark = pytest.mark.browser
WITH_FIGURES = ["overview", *(claim.slug for claim in CLAIMS)]


def test_it_opens_without_an_error_and_without_a_request(opened: Opened) -> None:
    opened.open()
    opened.choose("loss", "dcl")
    assert opened.messages == []
    others = [url for url in opened.requests if url != opened.address and not url.startswith("data:")]
    assert others == []


@pytest.mark.parametrize("section", WITH_FIGURES)
def test_every_section_shows_its_data(opened: Opened, section: str) -> None:
    page = opened.open()
    drawn = page.eval_on_selector_all(
        f"#{section} .drawing svg",
        """figures => figures.map(figure => {
            const box = figure.getBoundingClientRect();
            const marks = figure.querySelectorAll("path, use, image, polyline").length;
            return [box.width, box.height, marks, figure.getAttribute("aria-label").length];
        })""",
    )
    assert drawn, section
    for width, height, marks, alternative in drawn:
        assert width > 300
        assert height > 100
        assert marks > 20
        assert alternative > 40
    if section != "overview":
        assert page.inner_text(f"#{section} .answer")
        assert page.locator(f"#{section} tbody tr").count() > 0


def test_the_selector_changes_every_section(opened: Opened) -> None:
    page = opened.open()
    read = "Object.fromEntries([...document.querySelectorAll('.block')].map(b => [b.dataset.block, b.textContent]))"
    before = page.evaluate(read)
    opened.choose("loss", "dcl")
    after = page.evaluate(read)
    assert {slug for slug in before if before[slug] == after[slug]} == set()
    assert page.input_value("select[name=positives]") == "augment"  # the only one that was trained with DCL
    assert "dcl" in page.inner_text("#said")
    opened.choose("loss", "infonce")
    assert page.evaluate(read) == before


def test_a_row_of_the_summary_selects(opened: Opened) -> None:
    page = opened.open()
    page.click("tr[data-selection='1'] button")
    page.wait_for_selector("html[data-shown='1']")
    assert page.input_value("select[name=loss]") == "dcl"


def test_a_deep_link_brings_section_and_selection(opened: Opened) -> None:
    page = opened.open("#ledger?dataset=digits&positives=augment&encoder=mlp-normalize&loss=dcl")
    page.wait_for_selector("html[data-shown='1']")
    distance = "Math.abs(document.getElementById('ledger').getBoundingClientRect().top)"
    for _ in range(50):
        if page.evaluate(distance) < 300:
            break
        page.wait_for_timeout(100)
    assert page.evaluate(distance) < 300


def column(page: Any, table: str, heading: str) -> list[str]:
    return page.evaluate(
        """([table, heading]) => {
            const place = document.querySelector(`.table[data-name=${table}]`);
            const at = [...place.querySelectorAll("th")].findIndex(th => th.textContent.trim() === heading);
            return [...place.querySelectorAll("tbody tr")].map(row => row.cells[at].textContent);
        }""",
        [table, heading],
    )


def test_tables_sort_numerically_both_ways(opened: Opened) -> None:
    page = opened.open()
    button = page.locator(".table[data-name=runs] th button").get_by_text("k", exact=True)
    heading = "k"
    button.click()
    values = [int(text.replace(",", "")) for text in column(page, "runs", heading)]
    assert values == sorted(values)
    assert len(set(values)) == 5
    assert values != sorted(values, key=str)
    button.click()
    assert [int(text.replace(",", "")) for text in column(page, "runs", heading)] == values[::-1]
    assert button.locator("..").get_attribute("aria-sort") == "descending"


def test_absent_values_sort_last(opened: Opened) -> None:
    page = opened.open()
    page.locator(".table[data-name=runs] th button").filter(has_text="CE").nth(0).click()
    assert column(page, "runs", "CE")[-1] == "–"


def test_tables_filter(opened: Opened) -> None:
    page = opened.open()
    page.fill("#filter-runs-runs", "diverged")
    assert page.locator(".table[data-name=runs] tbody tr:visible").count() == 1
    assert "1 of 39 rows" in page.inner_text(".table[data-name=runs] .matches")
    page.fill("#filter-runs-runs", "0.1 diverged")  # all words, in any column
    assert page.locator(".table[data-name=runs] tbody tr:visible").count() == 1
    page.fill("#filter-runs-runs", "0.2 diverged")
    assert page.locator(".table[data-name=runs] tbody tr:visible").count() == 0


@pytest.mark.parametrize("width", [1200, 800, 400])
def test_nothing_overlaps_or_leaves_the_page(browser: Any, built: Built, width: int) -> None:
    opened = Opened(browser, built, viewport={"width": width, "height": 800})
    page = opened.open()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    overlapping = page.evaluate(
        """() => {
            const found = [];
            for (const parent of document.querySelectorAll("main, section, .block, figure, nav ol")) {
                const boxes = [...parent.children].map(child => [child, child.getBoundingClientRect()])
                    .filter(([child, box]) => box.height > 0);
                for (let i = 1; i < boxes.length; i++) {
                    if (boxes[i][1].top < boxes[i - 1][1].bottom - 1) found.push(boxes[i][0].outerHTML.slice(0, 80));
                }
            }
            return found;
        }"""
    )
    assert overlapping == []
    page.context.close()


def test_a_caption_is_whole_on_a_phone_and_stays_while_its_table_scrolls(browser: Any, built: Built) -> None:
    opened = Opened(browser, built, viewport={"width": 400, "height": 800})
    page = opened.open()
    sides = """() => [...document.querySelectorAll("caption span")].map(text => {
        const place = text.closest(".scroll");
        place.scrollLeft = 200;
        const box = text.getBoundingClientRect();
        return [place.scrollWidth > place.clientWidth + 200, box.left, box.right];
    })"""
    scrolled = [(left, right) for moves, left, right in page.evaluate(sides) if moves]
    assert len(scrolled) > 3
    assert all(left >= 0 and right <= 400 for left, right in scrolled), scrolled
    page.context.close()


def test_dark_and_light_follow_the_system_and_the_button(browser: Any, built: Built) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    opened = Opened(browser, built, color_scheme="dark")
    page = opened.open()
    dark = page.evaluate(background)
    page.click("#theme")
    light = page.evaluate(background)
    assert (light, dark) == ("rgb(255, 255, 255)", "rgb(21, 24, 28)")
    page.context.close()


def test_it_prints(opened: Opened) -> None:
    page = opened.open()
    content = page.pdf(format="A4")
    assert content.startswith(b"%PDF")
    assert content.count(b"/Type /Page\n") > 5
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 between its margins
    page.emulate_media(media="print")
    sides = """() => [...document.querySelectorAll("table, svg")].map(
        shown => [shown.closest("section").id, shown.getBoundingClientRect().right])"""
    cut = [(section, right) for section, right in page.evaluate(sides) if right > 718]
    assert cut == []


def test_the_keyboard_reaches_selector_tables_and_links(opened: Opened) -> None:
    page = opened.open()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.focus("select[name=loss]")
    page.keyboard.press("ArrowUp")
    page.wait_for_selector("html[data-shown='1']")
    page.focus(".table[data-name=rate] th button")
    page.keyboard.press("Enter")
    assert page.get_attribute(".table[data-name=rate] th", "aria-sort") == "ascending"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible(browser: Any, built: Built, axe: str, scheme: str) -> None:
    opened = Opened(browser, built, color_scheme=scheme, bypass_csp=True)
    page = opened.open()
    page.evaluate(axe)
    violations = page.evaluate("axe.run().then(result => result.violations)")
    told = [(found["id"], [node["html"][:120] for node in found["nodes"][:3]]) for found in violations]
    assert told == []
    page.context.close()


def test_without_script_the_first_selection_is_there(browser: Any, built: Built) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto((built.folder / "report.html").as_uri())
    assert page.locator("#rate .drawing svg").count() == 2
    page.context.close()
