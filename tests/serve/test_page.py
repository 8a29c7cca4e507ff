"""The page in a real browser: Debian's Chromium, driven by Playwright."""

import json
import shutil
from urllib.parse import urlencode

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="the page is tried in a browser by playwright")
pytest.importorskip("uvicorn", reason="the server needs uvicorn")
from present.models import HOSTILE, MIXED_ROW, hostile, mixed, paired, wide  # noqa: E402
from serve.served import Served  # noqa: E402

from suffice import AdditiveModel, Beats, Explainer, PiecewiseLinear, Table, Within  # noqa: E402
from suffice.errors import visible  # noqa: E402
from suffice.layout.facts import Fact  # noqa: E402
from suffice.question.claims import CLAIMS  # noqa: E402
from suffice.search.registry import SEARCHES  # noqa: E402
from suffice.tables.reading import DataTable  # noqa: E402
from suffice_check import check  # noqa: E402

BROWSER = shutil.which("chromium")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no chromium: apt-get install chromium")

MIXED = mixed()
ROWS = ((0.5, 50, "green", 7), ("0.25", "30", "red", None), (-3, 110, "blue", -9))


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        one = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield one
        one.close()


@pytest.fixture(scope="module")
def mixed_server():
    served = Served(MIXED, DataTable("t", MIXED.model.names, ROWS))
    yield served
    served.close()


@pytest.fixture
def page(browser, mixed_server):
    one = opened(browser, mixed_server)
    yield one
    assert one.complaints == []
    one.context.close()


def empty(browser, **options):
    """Return a page with time enough on a busy machine."""
    context = browser.new_context(**options)
    context.set_default_timeout(120_000)  # milliseconds
    return context.new_page()


def opened(browser, served, **options):
    """Return the page, with its first answer; what goes wrong in it is kept in `complaints`."""
    page = empty(browser, **options)
    page.complaints, page.elsewhere = [], []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda message: page.complaints.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: (page.complaints.append("a dialog opened"), dialog.dismiss()))
    page.on("request", lambda request: page.elsewhere.append(request.url))
    page.goto(served.address)
    settled(page)
    return page


def settled(page):
    """Wait until the answer is that of what the page asks now."""
    page.wait_for_selector("#answer[aria-busy=false]")


def fixed(page):
    return {name.removesuffix(" (fixed)") for name in page.locator("#drops tr.fixed th").all_text_contents()}


def laid_out(page, place):
    """Return what a part of the page says: its sentences, and the cells of its tables."""
    return page.locator(f"{place} p, {place} td").all_text_contents()


def words(facts):
    """Return what facts say, as `laid_out` returns it."""
    found = []
    for one in facts:
        found += (
            [f"{one.label}: {one.text}"] if isinstance(one, Fact) else [cell for row in one.rows for cell in row.cells]
        )
    return found


def row_of(k):
    return dict(zip(MIXED.model.names, ROWS[k], strict=True))


def ask(page, name):
    page.click(f"#ask-{name}")
    page.wait_for_selector(f"#more:not([hidden]) h3:text-is({json.dumps(page.text_content(f'#ask-{name}'))})")


def set_radius(page, value):
    page.locator("#slider").fill(str(value))
    settled(page)


def role(page, feature):
    return page.get_by_label(f"May {feature} move?")


# --- what the page does -----------------------------------------------------------------------------------------------


def test_the_slider_changes_the_set_at_once(page):
    page.select_option("#unit", "raw")
    for radius in (0.5, 1.5, 3):
        set_radius(page, radius)
        why = MIXED.explain(row_of(0), str(radius), unit="raw")
        assert page.input_value("#radius") == str(radius)
        assert fixed(page) == set(why.features)
        assert page.text_content("#said .proven") == f"Proven: {why.proven().text}"
        assert laid_out(page, "#said") + laid_out(page, "#notes") == words(why.facts())
        assert page.locator("#drops tbody tr").count() == 4
        assert page.locator("#shapes figure").count() == 4
    sizes = {len(MIXED.explain(row_of(0), str(r), unit="raw").features) for r in (0.5, 3)}
    assert len(sizes) == 2  # else nothing would have changed


def test_categories_may_be_a_step_apart(page):
    page.select_option("#unit", "raw")
    assert page.is_visible("#categories")
    page.select_option("#categories", "step")
    page.locator("#said", has_text="stays as it is").wait_for()
    why = MIXED.explain(row_of(0), unit="raw", categories="step")
    assert laid_out(page, "#said") == words(why.facts())[:4]
    assert "categories=step" in page.url


def test_rows_are_picked_and_typed_in(page):
    page.select_option("#unit", "raw")
    page.click("#next")
    settled(page)
    row = row_of(1)
    assert laid_out(page, "#said") == words(MIXED.explain(row, unit="raw").facts())[:4]
    page.get_by_label("Value of income").fill("-1/3")
    settled(page)
    assert laid_out(page, "#said") == words(MIXED.explain(row | {"income": "-1/3"}, unit="raw").facts())[:4]
    page.get_by_label("Value of age").fill("old")
    settled(page)
    assert "feature 'age'" in page.text_content("#problem")
    page.complaints.clear()  # the browser notes the refused request
    page.get_by_label("Value of age").fill("31")
    settled(page)
    assert page.is_hidden("#problem")


def test_features_can_be_fixed_freed_and_immutable(page):
    page.select_option("#unit", "raw")
    set_radius(page, 2)
    row = row_of(0)
    plain = MIXED.explain(row, 2, unit="raw")
    locked = next(name for name in MIXED.model.names if name not in plain.features)
    role(page, locked).select_option("fix")
    settled(page)
    assert fixed(page) == set(MIXED.explain(row, 2, unit="raw", fix=[locked]).features)
    assert locked in fixed(page)
    role(page, locked).select_option("free")
    settled(page)
    assert fixed(page) == set(MIXED.explain(row, 2, unit="raw", free=[locked]).features)
    role(page, locked).select_option("")
    last = plain.features[-1]
    role(page, last).select_option("immutable")
    settled(page)
    assert fixed(page) == set(MIXED.explain(row, 2, unit="raw", immutable=[last]).features)
    assert last not in fixed(page)


def test_the_page_begins_with_half_a_standard_deviation(page):
    assert (page.input_value("#unit"), page.input_value("#radius")) == ("std", "0.5")
    assert laid_out(page, "#said") == words(MIXED.explain(row_of(0)).facts())[:4]


def test_without_deviations_the_page_begins_in_the_model_s_units(browser):
    served = Served(wide(4))
    try:
        page = opened(browser, served)
        assert page.input_value("#unit") == "model"
        assert page.is_hidden("#problem")
        page.context.close()
    finally:
        served.close()


def test_claims_are_those_of_the_model(page):
    assert page.locator("#claim option").evaluate_all("all => all.map((one) => one.value)") == [
        kind for kind, claim in CLAIMS.items() if "binary" in claim.tasks
    ]
    assert page.locator("#claim option").all_text_contents() == [
        claim.summary for claim in CLAIMS.values() if "binary" in claim.tasks
    ]
    page.select_option("#claim", "within")
    settled(page)
    page.get_by_label("Value of the claim").fill("2")
    settled(page)
    assert laid_out(page, "#said") == words(MIXED.explain(row_of(0), claim=Within(2)).facts())[:5]
    page.select_option("#claim", "beats")
    settled(page)
    other = page.get_by_label("Value of the claim").input_value()
    assert other != MIXED.predict(row_of(0))
    assert laid_out(page, "#said") == words(MIXED.explain(row_of(0), claim=Beats(other)).facts())[:5]
    page.select_option("#claim", "same")
    settled(page)
    assert page.locator("#claim-fields > *").count() == 0


def test_every_question_can_be_asked(page):
    page.select_option("#unit", "raw")
    set_radius(page, 3)
    role(page, "age").select_option("fix")
    settled(page)
    row, options = row_of(0), {"unit": "raw"}
    preferences = {"fix": ["age"], **options}
    why = MIXED.explain(row, 3, **preferences)
    answers = {
        "sufficiency": MIXED.sufficiency(row, ["age"], 3, **options),
        "contrast": MIXED.contrast(row, 3, **preferences),
        "counterfactual": MIXED.counterfactual(row, 3, **preferences),
        "relevance": MIXED.relevance(row, 3, **preferences),
        "explanations": MIXED.explanations(row, 3, **preferences).listing(),
        "radius": MIXED.radius(row, why.features, **options),
        "curve": MIXED.curve(row, until=6, **preferences),
        "inflate": MIXED.inflate(row, 3, **preferences),
    }
    assert set(answers) == set(SEARCHES) - {"explain"}
    for name, answer in answers.items():
        ask(page, name)
        assert laid_out(page, "#more") == words(answer.facts()), name
        assert page.locator("#more svg").count() == (name == "curve")
    set_radius(page, 1)
    assert page.is_hidden("#more")  # it was about another question


def test_radii_may_be_fractions_and_without_end(page):
    page.select_option("#unit", "raw")
    for said, until in (("3/2", 3), ("inf", 3), ("1/4", 1)):
        page.locator("#radius").fill(said)
        settled(page)
        ask(page, "curve")
        assert laid_out(page, "#more") == words(MIXED.curve(row_of(0), until=until, unit="raw").facts())


def test_every_answer_has_a_certificate_to_download(page, tmp_path):
    page.select_option("#unit", "raw")
    set_radius(page, 2)
    for name in ("contrast", "relevance", "explanations", "curve"):
        ask(page, name)
        with page.expect_download() as waiting:
            page.click("#more-certificate")
        waiting.value.save_as(tmp_path / f"{name}.json")
        content = (tmp_path / f"{name}.json").read_bytes()
        assert check(MIXED.compiled.content, content).startswith("Proven: ")
        assert json.loads(content)["result"]["kind"] == name


def test_downloaded_certificates_are_accepted_and_reports_are_whole(page, browser, tmp_path):
    page.select_option("#unit", "raw")
    set_radius(page, 2)
    with page.expect_download() as waiting:
        page.click("#certificate")
    waiting.value.save_as(tmp_path / "certificate.json")
    content = (tmp_path / "certificate.json").read_bytes()
    with page.expect_download() as waiting:
        page.click("#file")
    waiting.value.save_as(tmp_path / "model.safetensors")
    assert check((tmp_path / "model.safetensors").read_bytes(), content).startswith("Proven: ")
    why = MIXED.explain(row_of(0), 2, unit="raw")
    assert json.loads(content)["result"] == json.loads(why.certificate().text)["result"]
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    with page.expect_download() as waiting:
        page.click("#report")
    waiting.value.save_as(tmp_path / "report.html")
    other = empty(browser)
    seen = []
    other.on("request", lambda request: seen.append(request.url))
    other.goto((tmp_path / "report.html").as_uri())
    assert other.locator("svg").count() == 2
    with other.expect_download() as waiting:
        other.click("a[download]")
    waiting.value.save_as(tmp_path / "attached.json")
    assert (tmp_path / "attached.json").read_bytes() == content
    assert [url for url in seen if not url.startswith(("file:", "data:"))] == []
    other.context.close()


# --- safety and access ------------------------------------------------------------------------------------------------


def test_hostile_names_do_not_execute(browser, tmp_path):
    served = Served(hostile())
    try:
        page = opened(browser, served)
        assert page.title() == "suffice"
        for name in SEARCHES:
            if name != "explain":
                ask(page, name)
        set_radius(page, 3)
        headers = page.locator("#features th").all_text_contents()
        assert headers[: len(HOSTILE)] == [visible(name) for name in HOSTILE]
        shown = page.locator("main").inner_text()
        assert not [one for one in shown if not one.isprintable() and one not in "\n\t"]
        assert page.locator("img, iframe, main script").count() == 0
        with page.expect_download() as waiting:
            page.click("#report")
        waiting.value.save_as(tmp_path / "report.html")
        page.goto((tmp_path / "report.html").as_uri())
        page.wait_for_timeout(200)
        assert page.locator("script, img").count() == 0
        assert "owned" not in page.title()
        assert page.complaints == []
        page.context.close()
    finally:
        served.close()


def test_everything_can_be_done_with_the_keyboard(page):
    page.select_option("#unit", "raw")
    set_radius(page, 1)
    page.evaluate("document.activeElement.blur()")

    def tab_to(wanted):
        for _ in range(60):
            page.keyboard.press("Tab")
            if (
                page.evaluate("document.activeElement.id || document.activeElement.getAttribute('aria-label')")
                == wanted
            ):
                return
        raise AssertionError(f"{wanted} cannot be reached")

    page.goto(page.url)
    settled(page)
    tab_to("next")
    page.keyboard.press("Enter")
    settled(page)
    assert page.input_value("#row") == "1"
    tab_to("slider")
    before = page.input_value("#radius")
    page.keyboard.press("ArrowRight")
    settled(page)
    assert page.input_value("#radius") != before
    tab_to("May age move?")
    page.keyboard.press("ArrowDown")
    settled(page)
    assert "age" in fixed(page)
    tab_to("ask-contrast")
    page.keyboard.press("Enter")
    page.wait_for_selector("#more:not([hidden])")
    page.wait_for_selector("#ask-contrast:focus")
    tab_to("certificate")
    with page.expect_download():
        page.keyboard.press("Enter")


def test_controls_have_names_and_answers_are_announced(page):
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('input, select, button')].filter((one) =>
             !one.labels?.length && !one.getAttribute('aria-label') && !one.textContent.trim()).map((one) => one.id)"""
    )
    assert unnamed == []
    assert page.get_attribute("#said", "aria-live") == "polite"
    assert page.get_attribute("#problem", "role") == "alert"
    assert all(page.locator("#shapes svg").nth(k).get_attribute("aria-label") for k in range(4))
    assert page.get_attribute("html", "lang") == "en"


def test_narrow_screens_and_sixty_long_names_need_no_sideways_scrolling(browser):
    served = Served(wide())
    try:
        page = opened(browser, served, viewport={"width": 340, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= 340
        assert page.locator(".track").first.bounding_box()["width"] > 80
        assert page.evaluate(OVERLAPS) == []
        for name in SEARCHES:
            if name != "explain":
                ask(page, name)
                assert page.evaluate("document.documentElement.scrollWidth") <= 340, name
        page.set_viewport_size({"width": 1200, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 1200
        assert page.locator("#drops tbody tr").count() == 60
        assert page.complaints == []
        page.context.close()
    finally:
        served.close()


def test_long_categories_leave_room_for_the_names_of_features(browser):
    status = {f"{k} months, and {'nothing else of note ' * 3}": k for k in range(3)}
    shapes, names = [Table(status), PiecewiseLinear([0], [0])], ["status of the existing account", "x"]
    served = Served(Explainer(AdditiveModel(shapes, 1, features=names)))
    try:
        page = opened(browser, served, viewport={"width": 1200, "height": 800})
        for width in (1200, 340):
            page.set_viewport_size({"width": width, "height": 800})
            scrolled = page.locator(".scroll").first
            assert scrolled.evaluate("one => one.scrollWidth - one.clientWidth") == 0
            assert page.locator("#features th").first.bounding_box()["width"] > 80
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.context.close()
    finally:
        served.close()


OVERLAPS = """() => [...document.querySelectorAll('svg')].flatMap((svg) => {
  const boxes = [...svg.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
  const frame = svg.getBoundingClientRect();
  const cut = boxes.filter(([, box]) => box.left < frame.left - 1 || box.right > frame.right + 1).map(([said]) => said);
  const clash = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
  const clashes = boxes.flatMap(([said, a], k) =>
    boxes.slice(k + 1).filter(([, b]) => clash(a, b)).map(([other]) => `${said} and ${other}`));
  return [...cut, ...clashes];
})"""


def test_no_text_of_a_picture_is_cut_or_covered(page):
    page.select_option("#unit", "raw")
    set_radius(page, 2)
    assert page.evaluate(OVERLAPS) == []
    page.locator("#radius").fill("inf")
    settled(page)
    assert page.evaluate(OVERLAPS) == []
    ask(page, "curve")
    assert page.evaluate(OVERLAPS) == []


def test_nothing_is_loaded_from_elsewhere(page, mixed_server):
    page.click("#next")
    settled(page)
    assert page.elsewhere
    assert all(url.startswith((mixed_server.address, "data:", "blob:")) for url in page.elsewhere)


# --- the token --------------------------------------------------------------------------------------------------------

TOKEN = "0123456789abcdef+/%&"


@pytest.fixture(scope="module")
def token_server():
    served = Served(MIXED, DataTable("t", MIXED.model.names, ROWS), token=TOKEN)
    yield served
    served.close()


def test_the_page_asks_for_the_token(browser, token_server):
    page = empty(browser)
    page.goto(token_server.address)
    page.wait_for_selector("#enter:not([hidden])")
    assert page.text_content("#problem") == "This server needs its token."
    assert page.evaluate("document.activeElement.id") == "token"
    for wrong in ("no", "é"):
        page.fill("#token", wrong)
        with page.expect_response(lambda answer: answer.status == 401):
            page.keyboard.press("Enter")
        page.wait_for_selector('#problem:text-is("This is not the server\'s token.")')
    page.fill("#token", TOKEN)
    page.keyboard.press("Enter")
    page.wait_for_selector("#enter[hidden]", state="attached")
    settled(page)
    assert fixed(page) == set(MIXED.explain(row_of(0)).features)
    page.reload()  # it is known in this tab
    settled(page)
    assert page.is_hidden("#enter")
    page.context.close()


def test_the_token_can_be_in_the_address_and_does_not_stay_there(browser, token_server):
    page = empty(browser, accept_downloads=True)
    page.goto(f"{token_server.address}#{urlencode({'token': TOKEN})}")
    settled(page)
    assert page.is_hidden("#enter")
    assert "token" not in page.url
    assert fixed(page) == set(MIXED.explain(row_of(0)).features)
    for name in ("certificate", "file"):
        with page.expect_download() as download:
            page.click(f"#{name}")
        assert download.value.path().stat().st_size > 100
    assert download.value.path().read_bytes() == MIXED.compiled.content
    page.context.close()


def test_pairs_of_features_are_drawn_as_maps(browser):
    explainer = paired()
    row = tuple(MIXED_ROW[name] for name in explainer.model.names)
    served = Served(explainer, DataTable("t", explainer.model.names, (row,)))
    page = opened(browser, served)
    maps = page.locator("#shapes figure:has(rect.cell)")
    assert maps.count() == len(explainer.pairs)
    said = " ".join(maps.locator("figcaption").all_text_contents())
    assert all(name in said for pair in explainer.pairs for name in pair)
    assert maps.first.locator("rect.frame").count() >= 1
    assert maps.first.locator("circle.here").count() == 1
    assert "all free ones together" in page.locator("#drops th").all_text_contents()
    assert page.complaints == []
    assert page.locator("#together").is_visible()
    assert not page.locator("#stacked").is_visible()
    page.context.close()
    served.close()
