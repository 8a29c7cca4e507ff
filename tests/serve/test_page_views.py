"""What the page remembers, takes back, compares and lists; and that everybody can read it, by axe-core's rules."""

import shutil

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="the page is tried in a browser by playwright")
pytest.importorskip("uvicorn", reason="the server needs uvicorn")
pytest.importorskip("numba", reason="all rows are explained by compiled code")
from present.models import hostile, mixed, wide  # noqa: E402
from serve.served import Served  # noqa: E402
from serve.test_page import fixed, opened, settled  # noqa: E402

from suffice import AdditiveModel, Domain, Explainer, Feature, Steps, Table  # noqa: E402
from suffice.tables.reading import DataTable  # noqa: E402

BROWSER = shutil.which("chromium")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no chromium: apt-get install chromium")

LONG = [f"{k} months, and {'nothing else of note ' * 2}" for k in range(4)]


def credit():
    """Return a model with numbers that have two ends, and long categories."""
    features = [
        Feature("duration in months", Domain.integers(4, 72), deviation=12),
        Feature("amount", Domain.interval(250, 20000), deviation=2800),
        Feature("status of the existing checking account"),
    ]
    shapes = [
        Steps([12, 30], [1, 0, -1]),
        Steps([5000], [0.5, -0.5]),
        Table(dict(zip(LONG, (-1, 0, 1, 2), strict=True))),
    ]
    return Explainer(AdditiveModel(shapes, -0.25, features=features, classes=["bad", "good"]))


CREDIT = credit()
ROWS = (*((str(4 + 7 * k), str(300 + 1500 * k), LONG[k % 4]) for k in range(9)), ("90", "1", LONG[0]))


def row_of(k):
    return dict(zip(CREDIT.model.names, ROWS[k], strict=True))


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        one = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield one
        one.close()


@pytest.fixture(scope="module")
def server():
    served = Served(CREDIT, DataTable("folder/loans.csv", CREDIT.model.names, ROWS))
    yield served
    served.close()


@pytest.fixture
def page(browser, server):
    one = opened(browser, server, viewport={"width": 1280, "height": 900})
    yield one
    assert one.complaints == []
    one.context.close()


def shown(page):
    return page.text_content("#said .short")


def test_the_answer_is_shown_with_its_probability(page):
    why = CREDIT.explain(row_of(0))
    assert page.text_content("#outcome") == why.prediction
    assert page.text_content("#chance-said") == f"probability {why.probability:.3f}"
    low, high = why.probability_range
    style = page.evaluate(
        "[...['left', 'width'].map((one) => parseFloat(document.getElementById('chance-range').style[one]))]"
    )
    assert style == pytest.approx([100 * low, 100 * (high - low)])
    box = page.locator("#said .proven").bounding_box()
    assert box["y"] + box["height"] < 900  # above the fold


def test_edits_are_marked_and_undone(page):
    before = shown(page)
    page.get_by_label("Value of duration in months").fill("60")
    settled(page)
    why = CREDIT.explain(row_of(0) | {"duration in months": "60"})
    assert shown(page) == f"In short: {why.facts()[0].text}"
    assert page.locator("tr.edited").count() == 1
    assert page.locator("tr.edited .was span").text_content() == f"was {ROWS[0][0]}"
    page.get_by_label("Undo the edit of duration in months").click()
    settled(page)
    assert (shown(page), page.locator("tr.edited").count(), page.is_hidden("#undo")) == (before, 0, True)
    page.get_by_label("Slide amount").fill("9000")
    page.get_by_label("Slide duration in months").fill("50")
    settled(page)
    assert page.locator("tr.edited").count() == 2
    page.click("#undo")
    settled(page)
    assert (shown(page), page.locator("tr.edited").count()) == (before, 0)


def test_the_address_holds_everything(page, browser, server):
    page.click("#next")
    settled(page)
    page.locator("#radius").fill("0.8")
    page.get_by_label("May amount move?").select_option("fix")
    page.get_by_label("Value of duration in months").fill("33")
    page.select_option("#claim", "probability_at_least")
    page.get_by_label("Value of the claim").fill("0.55")
    settled(page)
    said, url = shown(page), page.url
    for again in (page.reload, lambda: page.goto(url)):
        again()
        settled(page)
        assert (shown(page), page.url) == (said, url)
        assert page.input_value("#row") == "1"
        assert page.get_by_label("Value of duration in months").input_value() == "33"
        assert page.locator("tr.edited").count() == 1
        assert "amount" in fixed(page)


@pytest.mark.parametrize("wrong", ["2.5", "", "-5", "10", "x"])
def test_a_bad_row_number_is_refused_and_takes_the_answer_away(page, wrong):
    page.fill("#row", wrong)
    page.locator("#row").press("Enter")
    page.wait_for_selector("#problem:not([hidden])")
    assert page.text_content("#problem") == f"There is no row {wrong or 'without a number'}; rows count from 0 to 9."
    assert page.is_hidden("#proof")
    assert page.is_hidden("#rest")
    page.fill("#row", "2")
    page.locator("#row").press("Enter")
    settled(page)
    page.wait_for_selector("#proof:not([hidden])")
    assert shown(page) == f"In short: {CREDIT.explain(row_of(2)).facts()[0].text}"


def test_an_error_hides_the_old_proof(page):
    page.get_by_label("Value of duration in months").fill("400")
    page.wait_for_selector("#problem:not([hidden])")
    assert "duration in months" in page.text_content("#problem")
    assert page.is_hidden("#proof")
    assert page.is_disabled("#pin")  # nothing to compare with
    page.complaints.clear()  # the browser notes the refused request
    page.click("#undo")
    page.wait_for_selector("#proof:not([hidden])")
    assert page.is_hidden("#problem")


def test_two_rows_stand_side_by_side(page):
    page.click("#pin")
    page.click("#next")
    settled(page)
    page.wait_for_selector("#compared:has-text('Row 1')")
    first, second = CREDIT.explain(row_of(0)), CREDIT.explain(row_of(1))
    cells = page.locator("#compared tbody tr").evaluate_all(
        "all => all.map((row) => [...row.children].map((one) => one.textContent))"
    )
    assert cells[0] == ["Prediction", first.prediction, second.prediction]
    assert cells[2] == ["Features needed", str(first.size), str(second.size)]
    named = {name: values for name, *values in cells[3:]}
    for name in CREDIT.model.names:
        fixes = [
            f"{row_of(k)[name]}{' (fixed)' if name in why.features else ''}" for k, why in enumerate((first, second))
        ]
        assert named.get(name, fixes) == fixes
    assert "duration in months" in named
    page.click("#pin")
    assert page.is_hidden("#compared")


def test_all_rows_are_counted_listed_and_opened(page):
    page.click("#view-all")
    page.wait_for_selector("#found tbody tr")
    found = [CREDIT.explain(row_of(k)) for k in range(9)]
    rows = page.locator("#found tbody tr").evaluate_all(
        "all => all.map((row) => [...row.children].map((one) => one.textContent))"
    )
    for k, why in enumerate(found):
        row, prediction, probability, size, _, needed = rows[k]
        assert (row, prediction, size) == (str(k), why.prediction, str(why.size))
        assert float(probability) == pytest.approx(why.probability, abs=6e-4)
        assert set(filter(None, needed.split(", "))) == set(", ".join(why.features).split(", ")) - {""}
    assert "outside its domain" in rows[9][-1]
    sizes = sorted(why.size for why in found)
    bar = page.get_by_role("button", name="1 feature", exact=True)
    bar.click()
    assert 0 < page.locator("#found tbody tr").count() == sizes.count(1) < 9
    bar.click()
    page.select_option("#sort-rows", "probability")
    order = page.locator("#found tbody th").all_text_contents()
    assert order[:9] == [str(k) for k in sorted(range(9), key=lambda k: found[k].probability)]
    page.reload()  # the view is in the address
    page.wait_for_selector("#found tbody tr")
    page.get_by_label("Open row 3").click()
    settled(page)
    page.wait_for_selector("#proof:not([hidden])")
    assert shown(page) == f"In short: {found[3].facts()[0].text}"


def test_reports_name_row_table_and_day(page, tmp_path):
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    with page.expect_download() as waiting:
        page.click("#report")
    waiting.value.save_as(tmp_path / "report.html")
    title = page.evaluate("new Date().toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' })")
    assert f"Row 0 of loans.csv, {title}" in (tmp_path / "report.html").read_text()


def test_a_regression_begins_with_a_claim_of_a_fitting_size(browser):
    features = [Feature("area", Domain.interval(10, 300), deviation=30)]
    served = Served(Explainer(AdditiveModel([Steps([50, 100], [0, 50000, 90000])], 150000, "regression", features)))
    try:
        page = opened(browser, served)
        page.wait_for_function("document.querySelector('#claim-fields input').value !== '1'")
        settled(page)
        assert page.get_by_label("Value of the claim").input_value() == "20000"
        page.select_option("#claim", "at_least")  # the value of another claim does not carry over
        assert page.get_by_label("Value of the claim").input_value() == "130000"
        page.context.close()
    finally:
        served.close()


MODELS = {
    "credit": (CREDIT, ROWS),
    "mixed": (mixed(), None),
    "hostile": (hostile(), None),
    "72 features": (wide(72), None),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", list(MODELS))
def test_no_view_scrolls_sideways_or_breaks_a_rule_of_access(browser, name, width, scheme):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-core comes with axe-playwright-python"
    )
    explainer, rows = MODELS[name]
    served = Served(explainer, None if rows is None else DataTable("t.csv", explainer.model.names, rows))
    try:
        page = opened(browser, served, viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True)
        if rows is not None:
            page.click("#pin")
            page.click("#next")
            settled(page)
        views = [None] if rows is None else [None, "#view-all"]
        for view in views:
            if view:
                page.click(view)
                page.wait_for_selector("#found tbody tr")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            found = axe.Axe().run(page).response["violations"]
            assert [
                (one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")
            ] == []
        page.context.close()
    finally:
        served.close()


def test_what_each_feature_adds_stands_beside_the_drops(page):
    found = CREDIT.contributions(row_of(0), table=DataTable("t", CREDIT.model.names, ROWS))
    page.wait_for_selector("#added:not([hidden])")
    cells = page.locator("#adds tbody tr").evaluate_all(
        "all => all.map((row) => [row.children[0].textContent, row.children[1].textContent])"
    )
    ordered = sorted(found.values.items(), key=lambda one: -abs(one[1]))
    assert [name for name, _ in cells] == [name for name, _ in ordered]
    assert [float(text) for _, text in cells] == pytest.approx([float(value) for _, value in ordered], abs=1e-3)
    assert "the average of 9 rows" in page.text_content("#compared-with")
    page.get_by_label("Value of duration in months").fill("400")  # refused: nothing of the old answer stays
    page.wait_for_selector("#problem:not([hidden])")
    assert page.is_hidden("#added")
    page.complaints.clear()


def test_the_whole_table_is_asked_about_a_feature_and_its_stability(page):
    table = DataTable("t", CREDIT.model.names, ROWS)
    page.click("#view-all")
    page.wait_for_selector("#found tbody tr")
    page.wait_for_selector("#all-more figure")
    assert page.locator("#all-more figure").count() == len(CREDIT.model.names)
    page.select_option("#without", "amount")
    page.wait_for_selector("#affected")
    found = CREDIT.unaffected(table, ["amount"])
    assert f"{found.share.count} of {found.share.rows} (" in page.text_content("#all-more")
    page.click("#affected")
    depending = [str(k) for k in range(9) if not found.rows[k]]
    assert page.locator("#found tbody th").all_text_contents() == depending
    assert 0 < len(depending) < 9
    page.click("#stable")
    page.wait_for_selector("#all-more :text('radius 0.25')")
    shares = CREDIT.stability(table, ["0.1", "0.25", "0.5", "1", "2"]).document()["radii"]
    said = page.text_content("#all-more")
    assert all(f"{one['stable']['count']} of {one['stable']['rows']} (" in said for one in shares)
    page.fill("#radius", "0.7")  # stability does not depend on it, the claim does
    page.select_option("#claim", "probability_at_least")
    page.wait_for_selector("#stable")  # the old shares are gone
    page.get_by_role("button", name="1 feature", exact=True).click()
    page.reload()
    page.wait_for_selector("#affected")
    assert page.input_value("#without") == "amount"
    assert page.get_by_role("button", name="1 feature", exact=True).get_attribute("aria-pressed") == "true"
