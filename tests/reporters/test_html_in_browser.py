"""The HTML report in a real browser: what it shows when it is pointed at, typed into and tabbed to.

Needs Chromium and its driver, such as Debian's packages ``chromium`` and ``chromium-driver``.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from corpus import CORPUS
from hostile import EMPTY, HOSTILE, HOSTILE_MODULES, NASTY, many
from module_reports import report_of, ring_of
from sample_reports import airflow, sphinx, torch

from distcycle.api import audit, read, render
from distcycle.findings import Report
from distcycle.reporters.escape import printable

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

Open = Callable[[Report], Any]

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("no chromium with chromedriver is installed: the page was not looked at")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*_FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    yield started
    started.quit()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens the page of a report; whatever the browser complains of in the test fails it."""

    def open_page(report: Report) -> Any:
        path = tmp_path / "report.html"
        path.write_text(render(report, "html"), "utf-8")
        browser.get(path.as_uri())
        return browser

    browser.get_log("browser")
    yield open_page
    assert browser.get_log("browser") == []


def count(browser: Any, selector: str) -> int:
    number: int = browser.execute_script(
        "return document.querySelectorAll(arguments[0]).length", selector
    )
    return number


def shown(browser: Any, selector: str) -> int:
    """How many elements are not hidden."""
    number: int = browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])]"
        "  .filter(element => element.checkVisibility()).length",
        selector,
    )
    return number


def text_of(browser: Any, selector: str) -> str:
    text: str = browser.execute_script(
        "return document.querySelector(arguments[0]).textContent", selector
    )
    return " ".join(text.split())


def press(browser: Any, *keys: str) -> None:
    for key in keys:
        browser.switch_to.active_element.send_keys(key)


def choose(browser: Any, selector: str, value: str) -> None:
    browser.execute_script(
        "const e = document.querySelector(arguments[0]); e.value = arguments[1];"
        "for (const kind of ['input', 'change'])"
        "  e.dispatchEvent(new Event(kind, {bubbles: true}))",
        selector,
        value,
    )


def focused(browser: Any) -> str:
    label: str = browser.execute_script(
        "return document.activeElement.getAttribute('aria-label') || ''"
    )
    return label


@pytest.mark.parametrize(
    "report", [airflow, lambda: EMPTY, lambda: many(300), lambda: HOSTILE_MODULES]
)
def test_no_complaints(show: Open, report: Callable[[], Report]) -> None:
    browser = show(report())
    assert text_of(browser, "h1")
    # Nothing is wider than the window, so that nobody scrolls the whole page sideways.
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")


def test_choice_of_target_greys_what_does_not_hold_there(show: Open) -> None:
    browser = show(torch())
    assert count(browser, "svg .off") == 0
    choose(browser, "#target", "cp311-linux_x86_64")
    assert count(browser, "svg .off") == 0
    assert text_of(browser, "#told") == "1 loop on cp311-linux_x86_64"
    choose(browser, "#target", "cp312-linux_x86_64")
    assert count(browser, "svg .arrow.off") == 2
    assert count(browser, "svg .node.off") == 2
    opacity = "return Number(getComputedStyle(document.querySelector('svg .arrow')).opacity)"
    time.sleep(0.3)  # for the transition
    assert browser.execute_script(opacity) < 0.3
    assert text_of(browser, "#told") == "no loops on cp312-linux_x86_64"
    choose(browser, "#target", "")
    assert count(browser, ".off") == 0


def test_cell_of_the_heat_map_chooses_its_target(show: Open) -> None:
    browser = show(torch())
    cell = "[data-target='cp310-linux_x86_64']"
    browser.find_element("css selector", cell).click()
    assert browser.execute_script("return document.getElementById('target').value") == (
        "cp310-linux_x86_64"
    )
    assert count(browser, ".chosen") == 1
    browser.find_element("css selector", cell).click()
    assert count(browser, ".chosen") == 0


def test_filters_and_search_hide_findings(show: Open) -> None:
    report = torch()
    browser = show(report)
    every = len(report.findings)
    assert shown(browser, ".finding") == every
    browser.find_element("css selector", "[name=kind][value=deny]").click()
    assert shown(browser, ".finding") == every - report.summary.deny
    assert text_of(browser, "#counted") == f"{every - 1} of {every} findings shown"
    choose(browser, "#code", "wheels-disagree")
    same = [finding for finding in report.findings if finding.code == "wheels-disagree"]
    assert shown(browser, ".finding") == len(same)
    browser.find_element("css selector", "#search").send_keys("CUSOLVER")
    assert shown(browser, ".finding") == 1


def test_search_marks_packages_in_the_drawing(show: Open) -> None:
    browser = show(sphinx())
    browser.find_element("css selector", "#search").send_keys("devhelp")
    assert count(browser, ".node.found") == 1


def test_package_is_reached_with_tab_and_its_arrows_with_arrow_keys(show: Open) -> None:
    browser = show(torch())
    seen = []
    while "torch 2.0.0: requires triton; required by triton" not in seen and len(seen) < 20:
        press(browser, Keys.TAB)
        seen.append(focused(browser))
    # The region that scrolls comes before; the svg in it is no stop of its own.
    assert seen[-2].startswith("Drawing of")
    assert focused(browser) == "torch 2.0.0: requires triton; required by triton"
    assert "triton (==2.0.0) ; platform_system" in text_of(browser, ".panel")
    assert "torch-2.0.0-cp310-cp310-manylinux1_x86_64.whl" in text_of(browser, ".panel")
    press(browser, Keys.ARROW_RIGHT)
    assert focused(browser).startswith("torch 2.0.0 requires triton 2.0.0")
    press(browser, Keys.ARROW_RIGHT)
    assert focused(browser).startswith("triton 2.0.0 requires torch 2.0.0")
    assert text_of(browser, ".panel").startswith("triton 2.0.0 requires torch wheel")
    press(browser, Keys.ENTER)
    assert count(browser, ".panel.kept") == 1
    press(browser, Keys.ESCAPE)
    assert count(browser, ".panel.kept") == 0
    assert focused(browser).startswith("torch 2.0.0: requires")


def test_pointing_at_an_arrow_tells_of_it_and_a_click_keeps_it(show: Open) -> None:
    browser = show(torch())
    actions = webdriver.ActionChains(browser)
    arrow = browser.find_element("css selector", ".arrow polygon")
    actions.move_to_element(arrow).perform()
    assert "triton (==2.0.0)" in text_of(browser, ".panel")
    assert count(browser, "svg.dim .lit") == 3
    actions.click().perform()
    actions.move_to_element(browser.find_element("css selector", "h1")).perform()
    assert count(browser, "svg.dim .lit") == 3
    assert browser.current_url.endswith(".html")


def test_loop_of_modules_tells_its_imports_and_is_searched(show: Open, tmp_path: Path) -> None:
    browser = show(report_of(tmp_path / "src"))
    assert shown(browser, "#target, .heat") == 0
    node = browser.find_element("css selector", ".node[data-name='farm.egg']")
    webdriver.ActionChains(browser).move_to_element(node).perform()
    panel = text_of(browser, ".panel")
    assert "imports farm.barn type-checking from farm.barn import Barn" in panel
    assert "lazy from farm import hen" in panel
    assert panel.endswith("Imported by farm.barn, farm.hen.")
    browser.find_element("css selector", "#search").send_keys("barn")
    assert count(browser, ".node.found") == 1


_LOOKS = """
const looks = {};
for (const arrow of document.querySelectorAll('svg.key')) {
  const style = getComputedStyle(arrow.querySelector('path'));
  looks[arrow.parentElement.textContent.trim()] =
    [style.stroke, style.strokeDasharray, parseFloat(style.strokeWidth)];
}
return [getComputedStyle(document.documentElement).backgroundColor, looks];
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_classes_of_imports_are_told_apart_without_colours_too(
    scheme: str, show: Open, browser: Any, tmp_path: Path
) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        show(report_of(tmp_path / "src"))
        page, looks = browser.execute_script(_LOOKS)
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert set(looks) == {
        "at import time",
        "in functions only",
        "for type checkers only",
        "without these, no loop is left",
    }
    # Dashes or width differ for each; and each stands out from the page (WCAG 2.2, 1.4.11).
    assert len({(dashes, width) for _, dashes, width in looks.values()}) == 4
    assert looks["at import time"][1] == "none"
    for color, _, _ in looks.values():
        assert contrast(color, page) >= 3


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, as WCAG 2.2 defines it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_loops_of_modules_fit_a_narrow_window(show: Open, browser: Any, tmp_path: Path) -> None:
    size = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        show(report_of(tmp_path, ring_of(100)))
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        assert count(browser, ".node") == 100
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_skip_link_passes_the_drawing(show: Open) -> None:
    browser = show(sphinx())
    link = browser.find_element("css selector", "figure .skip")
    browser.execute_script("arguments[0].focus()", link)
    press(browser, Keys.ENTER)
    assert browser.execute_script("return document.activeElement.tagName") == "FIGCAPTION"


def test_markup_in_names_is_text(show: Open) -> None:
    browser = show(HOSTILE)
    seen = " ".join(printable(NASTY).split())
    assert seen in text_of(browser, ".members")
    node = browser.find_element("css selector", ".node")
    browser.execute_script("arguments[0].focus()", node)
    assert seen in text_of(browser, ".panel")
    assert count(browser, "img, iframe, script:not(#data)") == 1
    assert count(browser, ".panel script, .panel img") == 0


def test_copying_says_that_it_did(show: Open) -> None:
    browser = show(sphinx())
    browser.find_element("css selector", ".copy").click()
    time.sleep(0.2)
    assert text_of(browser, ".copy") in {"Copied", "Selected"}


def test_light_and_dark(show: Open) -> None:
    browser = show(sphinx())
    color = "return getComputedStyle(document.documentElement).backgroundColor"
    seen = set()
    for theme in ("light", "dark"):
        media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        system = browser.execute_script(color)
        browser.find_element("css selector", "#theme").click()
        assert browser.execute_script(color) != system
        browser.find_element("css selector", "#theme").click()
        assert browser.execute_script(color) == system
        browser.execute_script(
            "localStorage.clear(); delete document.documentElement.dataset.theme"
        )
        seen.add(system)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert len(seen) == 2


def test_print_leaves_out_what_is_for_the_screen(show: Open) -> None:
    browser = show(sphinx())
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert shown(browser, "#tools, #filters, button, .panel") == 0
    assert shown(browser, ".loop svg, .heat, .finding") >= 3
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_without_scripts_everything_can_be_read(show: Open, browser: Any) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        show(torch())
        body = browser.find_element("css selector", "body").text
        shots = [browser.find_elements("css selector", s) for s in ("#tools", ".panel", ".copy")]
        assert not any(element.is_displayed() for found in shots for element in found)
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert "torch 2.0.0 requires triton (==2.0.0) ; platform_system" in body
    assert "opened by removing 1 edge" in body
    assert "wheels-disagree" in body


def test_narrow_window_scrolls_drawings_only(show: Open, browser: Any) -> None:
    lock = CORPUS / "req" / "airflow-uv-compiled-579.txt"
    if not lock.exists():
        pytest.skip("the corpus of real files is not beside this repository")
    size = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        show(audit(read(str(lock)), edges="lock"))
        script = "return document.documentElement.scrollWidth <= innerWidth"
        assert browser.execute_script(script)
        assert count(browser, ".node") == 91
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
