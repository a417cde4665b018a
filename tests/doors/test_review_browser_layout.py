"""The review page in a browser: words, groups of rows and contrast at every width, hostile cells, old browsers."""

import pandas as pd
import pytest
from review_browser import drop, lines, write_review

from nmlsdr import ResidualPropagation

pytest.importorskip("jinja2")


@pytest.mark.parametrize("width", [900, 1000, 1200, 1400])
def test_both_groups_of_rows_are_seen_whole(visit, width):
    window = visit(viewport={"width": width, "height": 900})
    table = window.page.locator("#rv-cells").bounding_box()
    box = window.page.locator("#rv-panel .scroll").bounding_box()
    assert table["x"] >= box["x"]
    assert table["x"] + table["width"] <= box["x"] + box["width"] + 1
    assert window.page.locator("#rv-cells thead tr").nth(1).locator("th").count() == 9


def test_words_are_not_broken(visit, frame, tmp_path):
    """A label, a date and a name of up to 20 letters stand on one line each, and from 900 px on six rows whole.

    At 900 px both is not possible for long labels in cells; there names of columns alone are not broken.
    """
    _, X, y = frame
    names = ["Standsicherheit gefährdet", "Wurzelschaden", "unbekannt"]
    table = pd.DataFrame({"Stammumfang_in_Meter": ["26.05.2021"] * 90, "b": ["Wurzelschadenbehebung"] * 90})
    y = y.set_axis(names, axis=1)
    write_review(tmp_path / "r.html", ResidualPropagation(n_neighbors=6).fit(X, y), X, y, table=table)
    for width in (420, 900, 1400):
        window = visit(tmp_path / "r.html", viewport={"width": width, "height": 900})
        broken = window.page.evaluate(BROKEN)
        assert "Stammumfang_in_Meter" not in broken if width == 900 else broken == []
        box = "(([box]) => box.scrollWidth - box.clientWidth)(document.querySelectorAll('#rv-panel .scroll'))"
        assert (window.page.evaluate(box) <= 1) == (width > 420)


# Words of the table of at most 20 letters that stand on two lines.
BROKEN = """() => {
  const found = [], walk = document.createTreeWalker(document.getElementById("rv-cells"), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    for (const {0: word, index} of walk.currentNode.data.matchAll(/\\S+/g)) {
      const range = new Range();
      range.setStart(walk.currentNode, index);
      range.setEnd(walk.currentNode, index + word.length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (word.length <= 20 && lines.size > 1) found.push(word);
    }
  }
  return found;
}"""


@pytest.mark.parametrize("width", [420, 900, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_contrast_and_nothing_leaves_the_window(visit, width, scheme):
    """WCAG AA: 4.5 to 1 for every text that is seen."""
    window = visit(viewport={"width": width, "height": 900}, color_scheme=scheme)
    window.press("1", "0")
    assert window.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert window.page.evaluate(CONTRAST) == []


CONTRAST = """() => {
  const parse = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return {r, g, b, a}; };
  const linear = (v) => v <= 0.04045 * 255 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
  const light = ({r, g, b}) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.a === 1) return color;
    }
    return {r: 255, g: 255, b: 255};
  };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || !node.checkVisibility() || node.closest("script, :disabled, [disabled]")) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push([node.id || node.className || node.tagName, ratio]);
  }
  return found;
}"""
HOSTILE = [
    "<script>document.title='taken'</script>",
    "</script><img src=x onerror=\"document.title='taken'\">",
    "\u202egnp.exe\u2066 end",
    "שלום עולם",
    "👩‍👩‍👧‍👦 family",
    "line one\nline two\ttab",
    "x" * 10_000,
    "{{ 7 * 7 }} ${7 * 7}",
]


def test_hostile_cells_names_and_ids_are_texts(visit, tmp_path, rng):
    n = 40
    y = pd.DataFrame((rng.random((n, 2)) < 0.4).astype(int), columns=HOSTILE[:2])
    X = rng.normal(size=(n, len(HOSTILE)))
    table = pd.DataFrame({f"{name[:60]} {j}": [name] * n for j, name in enumerate(HOSTILE)})
    model = ResidualPropagation(n_neighbors=5).fit(X, y)
    path = tmp_path / "hostile.html"
    write_review(path, model, X, y, table=table, ids=[f"{HOSTILE[1]} {i}" for i in range(n)], title=HOSTILE[0])
    window = visit(path)
    page = window.page
    page.locator("#rv-near summary").first.click()
    assert page.title() == f"Labels to check: {HOSTILE[0]}"
    assert page.locator("img, iframe, object, embed").count() == 0
    shown = page.inner_text("#rv-entry")
    for text in ("שלום עולם", HOSTILE[4], "line one\nline two", HOSTILE[7], "\ufffdgnp.exe", HOSTILE[1]):
        assert text in shown
    assert "x" * 10_000 in page.text_content("#rv-near")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    window.press("1")
    written = window.saved()
    assert lines(written)[0]["label"] in HOSTILE[:2]
    second_window = visit(path)
    drop(second_window.page, written.decode("utf-8-sig"))  # whose cells have quotes
    second_window.until_checked(1)


def test_a_browser_that_cannot_unpack_the_entries_says_so(browser, page_file, visit):
    with browser.new_context() as context:
        context.add_init_script("delete window.DecompressionStream")
        page = context.new_page()
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(page_file.resolve().as_uri())
        assert page.inner_text("#rv-old").startswith("This browser is too old to show the entries: open the page in")
        assert errors == []
    assert not visit().page.is_visible("#rv-old")
