"""scripts/check-docs, the part of lint for pages: it finds what it looks for, and nothing else."""

import importlib.machinery
import importlib.util

import pytest

from harness.processes import ROOT


@pytest.fixture(scope="module")
def check():
    loader = importlib.machinery.SourceFileLoader("check_docs", str(ROOT / "scripts/check-docs"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_docs", loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("[here](there.md)", "no such file: there.md"),
        ("[here](#there)", "no such heading: #there"),
        ("[here](other.md#there)", "no such heading: other.md#there"),
        ('<img src="there.png">', "no such file: there.png"),
        ("We mend it.", "'mend'; write: fix, repair"),
        ("It is no file.", "'is no file'; write: is not a"),
    ],
)
def test_a_mistake_is_found(check, tmp_path, text, mistake):
    (tmp_path / "other.md").write_text("# Here\n")
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n{text}\n")
    assert list(check.mistakes(page, "page.md")) == [f"page.md:3: {mistake}"]


def test_what_is_right_is_passed_over(check, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A `code` & more\n\n## Twice\n\n## Twice\n\n[a](#a-code--more) [b](#twice-1)\n"
        "[c](https://example.com/x) [d](page.md)\n`mend [x](y)`\n\n```\nmend\n# Mend\n```\n"
        "There is no file. It is no longer there.\n"
    )
    assert not list(check.mistakes(page, "page.md"))


def test_words_of_some_pages_are_not_checked_yet(check, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("We mend it.\n")
    assert not list(check.mistakes(page, "docs/decisions/0001-x.md"))
