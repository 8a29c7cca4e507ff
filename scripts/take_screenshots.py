"""Take the documentation's pictures of the page and of a report, with Debian's Chromium and Playwright.

.venv/bin/python scripts/take_screenshots.py    writes docs/pictures/page.png, page-narrow.png and report.png
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parent.parent
DATA = ROOT / "src" / "suffice" / "data"
MODEL, ROWS = DATA / "breast_cancer.safetensors", DATA / "breast_cancer_rows.csv"
PICTURES = ROOT / "docs" / "pictures"


def command(*arguments: object) -> list[str]:
    """Return a command line of suffice."""
    return [sys.executable, "-m", "suffice.cli", *map(str, arguments)]


def take_page(browser: Browser, address: str) -> None:
    """Show the second patient, and what would change the diagnosis; once wide, once narrow."""
    page = browser.new_page(viewport={"width": 1240, "height": 860})
    page.goto(address)
    page.wait_for_selector("#answer[aria-busy=false]")
    page.click("#next")
    page.wait_for_selector("#answer[aria-busy=false]")
    page.locator("#slider").fill("0.8")
    page.wait_for_selector("#answer[aria-busy=false]")
    page.screenshot(path=PICTURES / "page.png", clip={"x": 0, "y": 0, "width": 1240, "height": 1500}, full_page=True)
    page.set_viewport_size({"width": 360, "height": 740})
    page.screenshot(
        path=PICTURES / "page-narrow.png", clip={"x": 0, "y": 0, "width": 360, "height": 1400}, full_page=True
    )


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
    server = subprocess.Popen(command("serve", MODEL, "--data", ROWS, "--port", 0), stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[0]
        with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            take_page(browser, address)
            take_report(browser, Path(folder))
            browser.close()
    finally:
        server.terminate()
        server.wait(30)


if __name__ == "__main__":
    main()
