"""Check every link within a built site, and list the external ones: check_links.py FOLDER."""

import sys
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors that a page has, and what it points to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors = set()
        self.targets = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.update(value for name in ("id", "name") if (value := given.get(name)))
        target = given.get("href") if tag in {"a", "link"} else given.get("src") if tag in {"img", "script"} else None
        if target:
            self.targets.append(target)


root = Path(sys.argv[1]).resolve()
# In _modules Sphinx links a class that two modules have to the page of one of them.
skipped = {"_static", "_modules"}
pages = {path: Page(path) for path in sorted(root.rglob("*.html")) if not skipped & {*path.parts}}
broken = []
external = defaultdict(int)
checked = 0
for path, page in pages.items():
    for target in page.targets:
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            if parts.scheme in {"http", "https"} or parts.netloc:
                external[target] += 1
            continue
        checked += 1
        meant = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        meant = meant / "index.html" if meant.is_dir() else meant
        if not meant.exists():
            broken.append(f"{path.relative_to(root)}: {target} is not there")
        elif parts.fragment and meant in pages and unquote(parts.fragment) not in pages[meant].anchors:
            broken.append(f"{path.relative_to(root)}: {target} names no place in its page")

print(f"{len(pages)} pages, {checked} links within the site, {len(broken)} broken; external, not checked:")
for target in sorted(external):
    print(f"  {target} ({external[target]})")
sys.exit("\n".join(broken) or (None if checked else "no link was found"))
