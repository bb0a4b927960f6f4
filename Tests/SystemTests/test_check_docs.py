"""scripts/check-docs, the part of lint for pages: it finds each kind of mistake, and nothing else."""

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


def test_correct_text_is_accepted(check, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A `code` & more\n\n## Twice\n\n## Twice\n\n[a](#a-code--more) [b](#twice-1)\n"
        "[c](https://example.com/x) [d](page.md)\n`mend [x](y)`\n\n```\nmend\n# Mend\n```\n"
        "There is no file. It is no longer there.\n"
    )
    assert not list(check.mistakes(page, "page.md"))


SOURCE = """
static let gone = "it is gone"
func f(_ text: String) {
    log.info("not listed")
    log(of: shard).warning(isLost ? "lost \\(count(of: "x")) of them" : "found", [.error: "no message"])
    log.log(isNews ? .warning : .debug, Self.gone)
    log.log(isNews ? .info : .debug, "not listed either")
}
func g() {
    let message: String
    message = isEnd ? "at the end" : "at the start"
    log.everyLine.error(message)
}
func h(_ message: String) { log.notice(message) }
func i() { h("said by a caller") }
"""
ROWS = [
    ("lost … of them", "warning"),
    ("found", "warning"),
    ("it is gone", "warning"),
    ("at the end", "error"),
    ("at the start", "error"),
    ("said by a caller", "notice"),
]


def page_of(rows):
    return "".join(f"| `{message}` | {levels} | What it means. |\n" for message, levels in rows)


def log_mistakes(check, rows, source=SOURCE):
    return list(check.log_message_mistakes(("page.md", page_of(rows)), [("a.swift", source)]))


def test_a_complete_page_of_log_messages_is_accepted(check):
    assert not log_mistakes(check, ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_a_missing_message_and_a_wrong_level_are_found(check, row):
    rest = [other for other in ROWS if other != row]
    [missing] = log_mistakes(check, rest)
    assert f"page.md does not have '{row[0]}' with level {row[1]}" in missing
    assert log_mistakes(check, [*rest, (row[0], "critical")]) == [missing]


def test_a_message_that_is_not_in_the_sources_is_found(check):
    [mistake] = log_mistakes(check, [*ROWS, ("made up", "error")])
    assert mistake == "page.md:7: no such log message in Sources: made up"


@pytest.mark.parametrize("call", ["log.error(words())", "other.warning(x)", "log.notice(unknown)"])
def test_a_message_that_is_not_a_literal_is_found(check, call):
    [mistake] = log_mistakes(check, [], f"func f() {{ {call} }}")
    assert mistake.startswith("a.swift:1: the log message is not a fixed text")


@pytest.mark.parametrize(
    "text",
    ['fail("We mend it.")', 'fail(\n    """\n    We mend it.\n    """\n)', 'text = "a" + "We mend it."'],
)
def test_string_literals_of_sources_are_checked(check, text):
    [found] = check.unplain_texts("source.swift", f"// The first line.\n{text}\n")
    assert found.endswith(": 'mend'; write: fix, repair")


@pytest.mark.parametrize(
    "text",
    ['// We mend "it and" that.', 'let name = "mend"', 'precondition(isWhole, "We mend it.")']
    + ['precondition(\n    isWhole,\n    "We mend it."\n)', "let mend = count"],
)
def test_text_that_no_user_reads_is_not_checked(check, text):
    assert not list(check.unplain_texts("source.swift", f"{text}\n"))
