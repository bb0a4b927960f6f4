"""docs/threat-model.md: every file, suite and test that it names exists."""

import re

import pytest

from harness.processes import ROOT

TEXT = (ROOT / "docs" / "threat-model.md").read_text()
WORDS = sorted(set(re.findall(r"`([\w/+.-]+)`", TEXT)))
TESTS = ROOT / "Tests"


def named(pattern):
    found = [word for word in WORDS if re.fullmatch(pattern, word)]
    assert found, pattern
    return found


def sources_of(files):
    return "\n".join(path.read_text() for path in files)


@pytest.mark.parametrize("path", named(r"(Sources|scripts)/.*"))
def test_named_files_exist(path):
    assert (ROOT / path).exists()


@pytest.mark.parametrize("suite", named(r"[A-Z]\w+Tests"))
def test_named_suites_exist(suite):
    assert list(TESTS.rglob(f"{suite}.swift"))


@pytest.mark.parametrize("name", named(r"test_\w+(\.py)?"))
def test_named_system_tests_exist(name):
    files = list((TESTS / "SystemTests").glob("test_*.py"))
    if name.endswith(".py"):
        assert name in [path.name for path in files]
    else:
        assert f"def {name}(" in sources_of(files)


@pytest.mark.parametrize(("suite", "name"), re.findall(r"`(\w+Tests)`: `([^`]+)`", TEXT))
def test_named_unit_tests_exist(suite, name):
    assert f"func `{name}`" in sources_of(TESTS.rglob(f"{suite}.swift"))
