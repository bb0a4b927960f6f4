"""The commands' help, completions and exit codes."""

import re
import shutil
import subprocess

import pytest

from harness.processes import built_binary, clean_environment

COMMANDS = {
    "run": 1,
    "canary": 1,
    "check": 1,
    "validate": 2,
    "explain": 1,
    "push": 1,
    "channels": 1,
    "tail": 1,
    "dead-letters": 1,
    "campaigns": 1,
    "fingerprint": 1,
    "health": 1,
}
NESTED = [
    ("channels", "list"), ("channels", "create"), ("dead-letters", "replay"),
    ("campaigns", "pause"),
]


def heliograph(*words, stdin="", **variables):
    return subprocess.run(
        [built_binary("heliograph"), *words],
        capture_output=True,
        text=True,
        timeout=60,
        input=stdin,
        env=clean_environment() | variables,
    )


@pytest.mark.core
def test_the_manual_covers_every_command():
    manual = heliograph("--help")
    assert manual.returncode == 0
    listed = re.findall(r"^  ([a-z][a-z-]*)  +\S", manual.stdout, re.M)
    assert set(listed) == set(COMMANDS)
    for word in ("Exit codes:", "Files and variables:", "Shell completion:", "NO_COLOR"):
        assert word in manual.stdout
    for code in (0, 1, 2, 64, 75):
        assert re.search(rf"^  {code} +\S", manual.stdout, re.M), code


@pytest.mark.parametrize("words", [(name,) for name in COMMANDS] + NESTED)
def test_every_command_has_help(words):
    for asked in ((*words, "--help"), ("help", *words)):
        said = heliograph(*asked)
        assert said.returncode == 0
        assert f"\n\nUsage: heliograph {' '.join(words)} " in said.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_a_wrong_command_line_exits_with_64(name):
    said = heliograph(name, "--no-such-option")
    assert said.returncode == 64
    assert said.stderr.startswith("heliograph: --no-such-option: ") and not said.stdout


NOT_THERE = [
    ("run", "--config", "/nowhere.yaml"),
    ("check", "--config", "/nowhere.yaml"),
    ("canary", "--token", "a" * 64, "--bundle-id", "com.example.App", "--config", "/nowhere.yaml"),
    ("validate", "/nowhere.ndjson"),
    ("explain", "NoSuchReason"),
    ("push", "--config", "/nowhere.yaml", "--event", "-"),
    ("channels", "list", "--config", "/nowhere.yaml", "--bundle-id", "com.example.App"),
    ("tail", "--config", "/nowhere.yaml"),
    ("dead-letters", "list", "--config", "/nowhere.yaml"),
    ("campaigns", "cancel", "spring", "--yes", "--config", "/nowhere.yaml"),
    ("fingerprint", "00ff", "--key-file", "/nowhere.key"),
    ("health", "--url", "http://127.0.0.1:1/live"),
]


@pytest.mark.core
@pytest.mark.parametrize("words", NOT_THERE)
def test_a_failure_prints_one_line_and_sets_its_exit_code(words):
    said = heliograph(*words)
    assert said.returncode == COMMANDS[words[0]], said.stderr
    [line] = said.stderr.splitlines()
    assert line.startswith("heliograph: ")
    assert words[-1] in line or "nowhere" in line
    assert not said.stdout


def test_an_unwritable_stderr_changes_no_exit_code():
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [built_binary("heliograph"), "run", "--config", "/nowhere.yaml"],
            stderr=full,
            timeout=60,
            env=clean_environment(),
        )
    assert done.returncode == COMMANDS["run"]


@pytest.mark.parametrize(
    "words",
    [("--help",), ("--generate-manual",), ("--generate-completion-script", "bash")],
    ids=["help", "manual", "completions"],
)
def test_output_cut_off_by_a_full_disk_is_an_error(words):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [built_binary("heliograph"), *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            env=clean_environment(),
        )
    assert done.returncode == 1
    assert done.stderr == "heliograph: standard output: cannot be written: No space left on device\n"


def test_every_command_has_a_failure_case():
    assert {words[0] for words in NOT_THERE} == set(COMMANDS)


def test_bash_accepts_the_completions(tmp_path):
    said = heliograph("--generate-completion-script", "bash")
    assert said.returncode == 0
    script = tmp_path / "heliograph.bash"
    script.write_text(said.stdout)
    subprocess.run(["bash", "-n", str(script)], check=True, timeout=60)
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
        ["bash", "-c", asked], capture_output=True, text=True, timeout=60, check=True
    )
    words = answer.stdout.split()
    assert "fingerprint" in words and "--no-follow" in words, answer


# Suggestions for typing mistakes


@pytest.mark.parametrize(
    "words, line",
    [
        (["tial"], "tial: unknown command; did you mean 'tail'?"),
        (["help", "chanels"], "chanels: unknown command; did you mean 'channels'?"),
        (["channels", "lst"], "lst: unknown command; did you mean 'list'?"),
        (["run", "--confg", "x"], "--confg: unknown option; did you mean '--config'?"),
        (["tail", "-config", "x"], "-config: unknown option; did you mean '--config'?"),
        (["tail", "--conf", "x"], "--conf: unknown option"),
        (["tail", "--json=yes"], "--json: takes no value; remove '=yes'"),
        (["tail", "--config"], "--config: needs a value; write --config <file>"),
        (["tail", "--config", "a", "--config", "b"], "--config: given twice; pass it once"),
        (["run", "--config", "a", "b"], "b: unexpected argument; remove it"),
        (
            ["check", "--config", "x", "--connect", "--schemas"],
            "--schemas: opens no connections; remove it or --connect",
        ),
        (["check", "h.yaml"], "h.yaml: unexpected argument; did you mean '--config h.yaml'?"),
        (
            ["health", "--url", "localhost:9464"],
            "--url: invalid value 'localhost:9464'; "
            "expected a URL such as http://127.0.0.1:9464/live",
        ),
        (
            ["health", "--url", "https://localhost/live"],
            "--url: invalid value 'https://localhost/live'; "
            "expected a URL such as http://127.0.0.1:9464/live",
        ),
        (["run"], "--config <file>: missing; pass it or set HELIOGRAPH_CONFIG"),
        (
            ["health", "--timeout", "0"],
            "--timeout: invalid value '0'; expected a number from 1 to 60",
        ),
        (
            ["tail", "--config", "x", "--color", "alway"],
            "--color: invalid value 'alway'; expected auto, always or never; "
            "did you mean 'always'?",
        ),
        (["fingerprint", "00ff"], "--config, --key-file: pass exactly one of them"),
        (
            ["fingerprint", "00", "--config=a", "--key-file=b"],
            "--config, --key-file: pass exactly one of them",
        ),
    ],
)
def test_a_usage_error_says_what_is_expected(words, line):
    said = heliograph(*words)
    assert (said.returncode, said.stdout) == (64, "")
    error, usage, hint = said.stderr.splitlines()
    assert error == f"heliograph: {line}"
    assert usage.startswith("Usage: heliograph ")
    assert hint.startswith("For more, run 'heliograph ") and hint.endswith("--help'.")


def test_rules_between_options_are_checked_before_any_file():
    said = heliograph("validate", "--broadcast", "--payload", "off", "/nowhere.ndjson")
    assert said.returncode == 64 and said.stderr.startswith("heliograph: --broadcast: has ")
    said = heliograph("dead-letters", "list", "--config", "/nowhere.yaml", "--offset", "1")
    assert said.returncode == 64 and said.stderr.startswith("heliograph: --offset: needs --partition; add it\n")


def test_a_variable_can_name_the_configuration(tmp_path):
    named = heliograph("check", HELIOGRAPH_CONFIG="/variable.yaml")
    assert named.returncode == 1 and "/variable.yaml" in named.stderr
    both = heliograph("check", "--config", "/line.yaml", HELIOGRAPH_CONFIG="/variable.yaml")
    assert both.returncode == 1 and "/line.yaml" in both.stderr
    key = tmp_path / "fingerprint.key"
    key.write_text("5e" * 32)
    given = heliograph(
        "fingerprint", "00ff", "--key-file", str(key), HELIOGRAPH_CONFIG="/variable.yaml"
    )
    assert (given.returncode, len(given.stdout.strip())) == (0, 16), given.stderr


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "standard input: has no device token"),
        ("\n \n", "standard input: has no device token"),
        ("00ff\n\nxx\n", "line 3: not a device token"),
    ],
)
def test_errors_in_tokens_from_standard_input_have_their_line(tmp_path, text, error):
    key = tmp_path / "fingerprint.key"
    key.write_text("5e" * 32)
    said = heliograph("fingerprint", "-", "--key-file", str(key), stdin=text)
    assert said.returncode == 1 and said.stderr.startswith(f"heliograph: {error}"), said.stderr


# Help and the version


@pytest.mark.parametrize("words", [(), ("channels",), ("dead-letters",)])
def test_a_group_without_a_command_lists_its_commands(words):
    said = heliograph(*words)
    assert (said.returncode, said.stderr) == (0, "")
    assert f"\n\nUsage: heliograph {' '.join(words)}" in said.stdout
    assert len(said.stdout) < len(heliograph(*words, "--help").stdout)


def test_the_version_is_one_line():
    said = heliograph("--version")
    assert said.returncode == 0 and re.fullmatch(r"\d+\.\d+\.\d+(-[\w.]+)?\n", said.stdout)
    assert heliograph("tail", "--version").stdout == said.stdout


@pytest.mark.parametrize("columns, width", [("60", 60), ("80", 80), ("500", 80), ("x", 80)])
def test_help_fits_the_width_of_the_terminal(columns, width):
    for words in [()] + [(name,) for name in COMMANDS] + NESTED:
        help = heliograph(*words, "--help", COLUMNS=columns).stdout
        # Examples must paste; paths and quoted JSON cannot be broken.
        lines = re.sub(r"(?ms)^Examples:\n.*?\n\n", "", help).splitlines()
        long = [line for line in lines if len(line) > width and "'{" not in line]
        wide = [line for line in long if " " in line.strip()]
        assert not wide, (words, wide)
    lines = heliograph("tail", "--help", COLUMNS=columns).stdout.splitlines()
    assert max(map(len, lines)) > width - 10


# Shells


def asked_of_bash(script, *words):
    """The words that bash offers for the last word, as its completion calls the function."""
    line = " ".join(f"'{word}'" for word in words)
    asked = f"""
        source {script}
        COMP_WORDS=(heliograph {line}) COMP_CWORD={len(words)}
        _heliograph
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    answer = subprocess.run(
        ["bash", "--norc", "-c", asked],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=script.parent,
    )
    assert not answer.stderr
    return answer.stdout.split()


def asked_of_fish(script, *words):
    line = " ".join(words)
    answer = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script}; complete -C 'heliograph {line}'"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=script.parent,
    )
    assert not answer.stderr
    return [row.split("\t")[0] for row in answer.stdout.splitlines()]


# Catches the completions where they are added, in an interactive zsh on its own terminal. zsh is
# ready for keys when its line editor reports it.
ZSHRC = """
PROMPT=
autoload -Uz compinit
compinit -D -u
source ./script
compadd() {
    if [[ " ${@[1,(i)(-|--)]} " == *" -"(O|A|D)" "* ]]; then builtin compadd "$@"; return; fi
    local -a found
    builtin compadd -A found "$@"
    print -rl -- $found >>found
    builtin compadd "$@"
}
ask() { zle complete-word; print -r -- end-of-found }
zle-line-init() { print -r -- ready-to-ask }
zle -N ask
zle -N zle-line-init
bindkey '^I' ask
"""
ZSH = """
zmodload zsh/zpty
zpty shell zsh -d -i
zpty -r shell text '*ready-to-ask*'
zpty -w -n shell "$LINE"$'\t'
zpty -r shell text '*end-of-found*'
zpty -d shell
"""


def asked_of_zsh(script, *words):
    folder = script.parent
    (folder / ".zshrc").write_text(ZSHRC)
    (folder / "found").touch()
    line = " ".join(("heliograph", *words))
    subprocess.run(
        ["zsh", "-f", "-c", ZSH],
        capture_output=True,
        timeout=60,
        check=True,
        cwd=folder,
        env=clean_environment() | {"LINE": line, "ZDOTDIR": str(folder), "TERM": "dumb"},
    )
    return (folder / "found").read_text().split()


ASK = {"bash": asked_of_bash, "fish": asked_of_fish, "zsh": asked_of_zsh}


@pytest.mark.parametrize("shell", ASK)
@pytest.mark.parametrize(
    "words, offered, withheld",
    [
        (["ta"], ["tail"], ["run"]),
        (["help", "chan"], ["channels"], []),
        (["channels", ""], ["create", "delete", "list", "read"], ["tail"]),
        (["help", "channels", "l"], ["list"], []),
        (["dead-letters", "replay", "--dry"], ["--dry-run"], []),
        (["campaigns", "p"], ["pause", "pace"], ["cancel"]),
        (["tail", "--no"], ["--no-follow"], ["--json"]),
        (["tail", "--outcome", "un"], ["unregistered", "undeliverable"], ["rejected"]),
        (["tail", "--config", "x", "--color", ""], ["always", "auto", "never"], ["--json"]),
        (["run", "--config", "heliograph"], ["heliograph.yaml"], []),
        (["validate", "heliograph"], ["heliograph.yaml"], []),
        (["validate", "--schema-directory", ""], ["folder"], ["heliograph.yaml"]),
        (["--generate-completion-script", "f"], ["fish"], ["zsh"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else None,
)
def test_a_shell_completes_each_kind_of_word(shell, words, offered, withheld, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    script = tmp_path / "script"
    script.write_text(heliograph("--generate-completion-script", shell).stdout)
    (tmp_path / "heliograph.yaml").touch()
    (tmp_path / "folder").mkdir()
    answer = {word.rstrip("/") for word in ASK[shell](script, *words)}
    assert set(offered) <= answer, answer
    assert not set(withheld) & answer


def test_bash_completes_a_value_after_an_equals_sign(tmp_path):
    script = tmp_path / "script"
    script.write_text(heliograph("--generate-completion-script", "bash").stdout)
    assert asked_of_bash(script, "tail", "--color", "=") == ["auto", "always", "never"]
    assert asked_of_bash(script, "tail", "--color", "=", "ne") == ["never"]


# The manual page


@pytest.mark.parametrize(
    "checker",
    [["groff", "-man", "-ww", "-z"], ["mandoc", "-T", "lint", "-W", "warning"]],
    ids=["groff", "mandoc"],
)
def test_the_manual_page_has_no_format_errors(checker, tmp_path):
    if shutil.which(checker[0]) is None:
        pytest.skip(f"there is no {checker[0]}")
    page = tmp_path / "heliograph.1"
    page.write_text(heliograph("--generate-manual").stdout)
    found = subprocess.run([*checker, page], capture_output=True, text=True, timeout=60)
    # The page has the version and no date, so that two builds give the same page.
    lines = (found.stdout + found.stderr).splitlines()
    assert not [line for line in lines if "missing date" not in line]


def test_the_manual_page_has_every_command_and_option():
    page = heliograph("--generate-manual").stdout.replace("\\-", "-")
    for words in [(name,) for name in COMMANDS] + NESTED:
        help = heliograph(*words, "--help").stdout
        if "<command> --help" not in help:
            assert f".SS heliograph {' '.join(words)}\n" in page
            assert all(option in page for option in re.findall(r"^  (--[a-z-]+)", help, re.M))
    for title in ("NAME", "SYNOPSIS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT", "EXAMPLES"):
        assert f".SH {title}\n" in page
