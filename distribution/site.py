"""The documentation as a site with search, whole in itself: build/site.

python -m distribution.site

Every page stands where it stands in the repository, so that links work in both.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"\]\(([^)#\s:]+)[^)]*\)")


def main() -> None:
    """Write the site anew."""
    pages = ROOT / "build" / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    for path in sorted(set(_files())):
        (pages / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, pages / path)
    build = ("mkdocs", "build", "--quiet", "--strict", "--config-file", "distribution/mkdocs.yml")
    subprocess.run([sys.executable, "-m", *build], cwd=ROOT, check=True)


def _files() -> Iterator[Path]:
    """Yield the pages that are kept, and the files that they link to."""
    tracked = ("git", "ls-files", "*.md")
    for name in subprocess.run(tracked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        page = Path(name)
        yield page
        for link in _LINK.findall((ROOT / page).read_text("utf-8")):
            target = (ROOT / page.parent / link).resolve()
            if target.is_file():
                yield target.relative_to(ROOT)


if __name__ == "__main__":
    main()
