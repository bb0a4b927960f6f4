"""What the pages say of the published reports."""

import json
import sys

import pytest
from harness.processes import ROOT

sys.path.insert(0, str(ROOT / "Benchmarks"))

from Whole import publish  # noqa: E402


@pytest.mark.core
def test_the_pages_show_the_published_reports():
    paths = list(publish.REPORTS.glob("*.json"))
    assert paths
    for path in paths:
        found = json.loads(path.read_text())
        assert path.with_suffix(".md").read_text() == publish.text(path.stem, found)
        for page, content in publish.pages(path.stem, found).items():
            assert page.read_text() == content, f"{page} does not show {path}"
