"""The commands' help, completions and exit codes."""

import re
import subprocess

import pytest

from harness.processes import built_binary, clean_environment

COMMANDS = {
    "run": 1,
    "check": 1,
    "validate": 2,
    "explain": 1,
    "push": 1,
    "channels": 1,
    "tail": 1,
    "dead-letters": 1,
    "fingerprint": 1,
    "health": 1,
}
NESTED = [("channels", "list"), ("channels", "create"), ("dead-letters", "replay")]


def heliograph(*words):
    return subprocess.run(
        [built_binary("heliograph"), *words],
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        env=clean_environment(),
    )


def test_the_manual_tells_of_every_command():
    manual = heliograph("--help")
    assert manual.returncode == 0
    listed = re.findall(r"^  ([a-z-]+)  +\S", manual.stdout.partition("SUBCOMMANDS")[2], re.M)
    assert set(listed) == set(COMMANDS)
    for word in ("EXIT CODES", "FILES AND VARIABLES", "SHELL COMPLETIONS", "NO_COLOR"):
        assert word in manual.stdout
    for code in (0, 1, 2, 64, 75):
        assert re.search(rf"^  {code} +\S", manual.stdout, re.M), code


@pytest.mark.parametrize("words", [(name,) for name in COMMANDS] + NESTED)
def test_every_command_has_help(words):
    for asked in ((*words, "--help"), ("help", *words)):
        said = heliograph(*asked)
        assert said.returncode == 0
        assert said.stdout.startswith("OVERVIEW: ")
        assert f"USAGE: heliograph {' '.join(words)}" in said.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_a_wrong_command_line_is_64(name):
    said = heliograph(name, "--no-such-option")
    assert said.returncode == 64
    assert said.stderr.startswith("Error: ") and not said.stdout


NOT_THERE = [
    ("run", "--config", "/nowhere.yaml"),
    ("check", "--config", "/nowhere.yaml"),
    ("validate", "/nowhere.ndjson"),
    ("explain", "NoSuchReason"),
    ("push", "--config", "/nowhere.yaml", "--event", "-"),
    ("channels", "list", "--config", "/nowhere.yaml", "--bundle-id", "com.example.App"),
    ("tail", "--config", "/nowhere.yaml"),
    ("dead-letters", "list", "--config", "/nowhere.yaml"),
    ("fingerprint", "00ff", "--key-file", "/nowhere.key"),
    ("health", "--url", "http://127.0.0.1:1/live"),
]


@pytest.mark.parametrize("words", NOT_THERE)
def test_what_cannot_be_done_is_one_line_and_its_code(words):
    said = heliograph(*words)
    assert said.returncode == COMMANDS[words[0]], said.stderr
    [line] = said.stderr.splitlines()
    assert line.startswith("heliograph: ")
    assert words[-1] in line or "nowhere" in line
    assert not said.stdout


def test_a_complaint_that_nobody_can_read_changes_no_exit_code():
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [built_binary("heliograph"), "run", "--config", "/nowhere.yaml"],
            stderr=full,
            timeout=60,
            env=clean_environment(),
        )
    assert done.returncode == COMMANDS["run"]


def test_every_command_has_such_a_case():
    assert {words[0] for words in NOT_THERE} == set(COMMANDS)


def test_bash_takes_the_completions(tmp_path):
    said = heliograph("--generate-completion-script", "bash")
    assert said.returncode == 0
    script = tmp_path / "heliograph.bash"
    script.write_text(said.stdout)
    subprocess.run(["bash", "-n", str(script)], check=True, timeout=30)
    asked = f"""
        source {script}
        complete -p heliograph
        complete_line() {{
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${{#COMP_LINE}}
            COMPREPLY=()
            "$(complete -p heliograph | sed 's/.*-F \\([^ ]*\\) .*/\\1/')" heliograph "${{!#}}" "${{@: -2:1}}"
            printf '%s\\n' "${{COMPREPLY[@]}}"
        }}
        complete_line heliograph f
        complete_line heliograph tail --no
    """
    answer = subprocess.run(
        ["bash", "-c", asked], capture_output=True, text=True, timeout=30, check=True
    )
    words = answer.stdout.split()
    assert "fingerprint" in words and "--no-follow" in words, answer


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_completions_too(shell):
    said = heliograph("--generate-completion-script", shell)
    assert said.returncode == 0
    assert all(name in said.stdout for name in COMMANDS)
