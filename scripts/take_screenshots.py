"""Take the documentation's pictures of the page and of a report, with Debian's Chromium and Playwright.

.venv/bin/python scripts/take_screenshots.py    writes pictures of pages and of a report to docs/pictures
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from suffice.datasets import load_breast_cancer

ROOT = Path(__file__).parent.parent
DATA = ROOT / "src" / "suffice" / "data"
MODEL, ROWS = DATA / "breast_cancer.safetensors", DATA / "breast_cancer_rows.csv"
PICTURES = ROOT / "docs" / "pictures"


def command(*arguments: object) -> list[str]:
    """Return a command line of suffice."""
    return [sys.executable, "-m", "suffice.cli", *map(str, arguments)]


# What is shown: the file's name, the part of the address that says what is asked, width, height, colours.
VIEWS = (
    ("page.png", "row=75&radius=0.8&unit=std&claim=same", 1280, 900, "light"),
    ("page-dark.png", "row=75&radius=0.8&unit=std&claim=same", 1280, 900, "dark"),
    ("page-narrow.png", "row=75&radius=0.8&unit=std&claim=same", 390, 844, "light"),
    ("page-narrow-dark.png", "row=75&radius=0.8&unit=std&claim=same", 390, 844, "dark"),
    ("rows.png", "view=all&row=75&radius=0.5&unit=std&claim=same", 1280, 900, "light"),
    ("rows-dark.png", "view=all&row=75&radius=0.5&unit=std&claim=same", 1280, 900, "dark"),
    ("rows-narrow.png", "view=all&row=75&radius=0.5&unit=std&claim=same", 390, 844, "light"),
    ("rows-narrow-dark.png", "view=all&row=75&radius=0.5&unit=std&claim=same", 390, 844, "dark"),
)


def take_page(browser: Browser, address: str) -> None:
    """Show a patient, and all patients: wide and narrow, light and dark."""
    for name, asked, width, height, scheme in VIEWS:
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        page.set_default_timeout(300_000)
        page.goto(f"{address}#{asked}")
        page.wait_for_selector("#found tbody tr" if asked.startswith("view=all") else "#proof:not([hidden]) .proven")
        page.screenshot(path=PICTURES / name)
        page.close()


def take_portfolio(browser: Browser, address: str) -> None:
    """Show what is asked of all patients together."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(300_000)
    page.goto(f"{address}#view=all&row=75&radius=0.5&unit=std&claim=same&without=worst texture")
    page.wait_for_selector("#all-more figure")
    page.wait_for_selector("#all-more .bars")
    page.click("#stable")
    page.wait_for_selector("#all-more :text('radius 0.25')")
    page.locator("#all-more").screenshot(path=PICTURES / "portfolio.png")
    page.close()


def take_report(browser: Browser, folder: Path) -> None:
    """Show the beginning of a report on one patient."""
    path = folder / "report.html"
    asked = ["--rows", "1", "--radius", "0.8", "--unit", "std", "--title", "Patient 75"]
    subprocess.run(command("report", MODEL, ROWS, *asked, "-o", path), check=True, capture_output=True)
    page = browser.new_page(viewport={"width": 1040, "height": 800})
    page.goto(path.as_uri())
    page.screenshot(path=PICTURES / "report.png", clip={"x": 0, "y": 0, "width": 1040, "height": 1500}, full_page=True)


def main() -> None:
    """Start a server, take the pictures, stop it."""
    table = Path(tempfile.mkdtemp()) / "breast_cancer.csv"
    load_breast_cancer().frame.to_csv(table, index=False)
    model = table.with_name("model.safetensors")  # with domains, so that features can only be what they can be
    subprocess.run(command("domains", MODEL, "--learn", table, "-o", model), check=True, capture_output=True)
    asked = command("serve", model, "--data", table, "--port", 0, "--max-seconds", 300)
    server = subprocess.Popen(asked, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[0]
        with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            take_page(browser, address)
            take_portfolio(browser, address)
            take_report(browser, Path(folder))
            browser.close()
    finally:
        server.terminate()
        server.wait(30)


if __name__ == "__main__":
    main()
