"""What pages show is so: output of commands, commands and their options, configurations.

Console blocks of README.md and the tutorial are run as a reader would: each line `$ COMMAND`, in one
shell for the whole page. The lines below it are its output. In them `...` stands for any text of a
line, and alone on a line for any lines. A command without output has to succeed. A block whose fence names a file, as in "```yaml heliograph.yaml", is saved as that file.
"""

import copy
import functools
import os
import pathlib
import re
import signal
import subprocess
import textwrap
import threading

import pytest
import yaml

from harness.certificates import openssl
from harness.commands import run_command
from harness.processes import LEASH, ROOT, built_binary, clean_environment

BLOCK = re.compile(r"(?ms)^```(\w+)(?: (\S+))?\n(.*?)^```$")
MARK = "--- the command has ended with"
SECONDS_OF_A_PAGE = 180


def commands(text):
    """The commands of a console block, and the lines that each should print."""
    found = []
    is_continued = False
    for line in text.splitlines():
        if is_continued:
            found[-1][0] += "\n" + line
        elif line.startswith("$ "):
            found.append([line[2:], []])
        else:
            found[-1][1].append(line)
        is_continued = line.endswith("\\")
    return found


def pattern(lines):
    """What the output has to look like, as a regular expression."""
    shown = [
        r"(?:.*\n)*?" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + r" *\n"
        for line in lines
    ]
    return re.compile("".join(shown))


class Shell:
    """A shell that reads commands one by one; what it starts ends with it."""

    def __init__(self, folder):
        programs = str(pathlib.Path(built_binary("heliograph")).parent)
        path = os.pathsep.join([programs, os.environ["PATH"]])
        self._process = subprocess.Popen(
            [*LEASH, "bash", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env={**clean_environment(), "PATH": path},
            process_group=0,
        )
        # A command that waits for something that never comes ends with the shell.
        self._limit = threading.Timer(SECONDS_OF_A_PAGE, self._end)
        self._limit.start()

    def _end(self):
        os.killpg(self._process.pid, signal.SIGKILL)

    def run(self, command):
        """What the command prints, and its exit code."""
        self._process.stdin.write(f"{command}\nprintf '%s %s\\n' '{MARK}' $?\n")
        self._process.stdin.flush()
        printed = ""
        for line in self._process.stdout:
            if line.startswith(MARK):
                return printed, int(line.split()[-1])
            printed += line
        raise AssertionError(f"the shell has ended at: {command}\n{printed}")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._limit.cancel()
        self._end()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture
def clone(tmp_path):
    """A folder that looks like a clone; its scripts/demo builds nothing."""
    for name in ("examples", "schemas"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "scripts").mkdir()
    demo = tmp_path / "scripts" / "demo"
    demo.write_text('#!/bin/sh\nexec heliograph-lab demo "$@"\n')
    demo.chmod(0o755)
    return tmp_path


@pytest.mark.takes(40)
@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_a_page_shows_what_its_commands_print(clone, page):
    count = 0
    with Shell(clone) as shell:
        for language, file, text in BLOCK.findall((ROOT / page).read_text()):
            if file:
                (clone / file).write_text(text)
            if language != "console":
                continue
            for command, lines in commands(text):
                count += 1
                printed, code = shell.run(command)
                assert pattern(lines).fullmatch(printed), f"$ {command}\n{printed}"
                assert lines or code == 0, f"$ {command}\nexit code {code}"
    assert count, "no console block"


def test_a_wrong_output_does_not_match():
    assert pattern(["a ... c", "...", "end"]).fullmatch("a b c\nx\ny\nend\n")
    assert not pattern(["a", "end"]).fullmatch("a\nx\nend\n")
    assert not pattern(["a"]).fullmatch("b\n")
    assert not pattern([]).fullmatch("a\n")


DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.glob("*.md"), *(DOCS / "how-to").glob("*.md")])


def named_commands(page):
    """Every `heliograph ...` and `heliograph-lab ...` of a page's blocks and code spans."""
    text = page.read_text()
    blocks = "\n".join(re.findall(r"(?ms)^ *```\w*[^\n]*\n(.*?)^ *```", text)).replace("\\\n", " ")
    spans = re.findall(r"`(heliograph(?:-lab)? [^`]+)`", text)
    lines = re.findall(r"(?m)(?:^|[|;(]) *(?:\$ )?(heliograph(?:-lab)? [a-z][^|;)\n]*)", blocks)
    return [re.split(r" [12]?[<>#&]", line)[0] for line in spans + lines]


@functools.cache
def manual(program, *subcommands):
    command = [built_binary(program), *subcommands, "--help"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30)
    return ended.stdout if ended.returncode == 0 else None


# Messages such as `heliograph is starting` look like commands.
WITH_COMMANDS = [page for page in PAGES if page.name != "log-messages.md"]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_commands_and_options_of_a_page_exist(page):
    for command in named_commands(page):
        program, *words = command.split()
        # A row may name several: `dead-letters list|replay`.
        for choice in words[0].replace("\\", "").split("|") if words else []:
            subcommands = [] if choice.startswith("-") else [choice]
            if choice in ("channels", "dead-letters") and words[1:]:
                subcommands.append(words[1].replace("\\", "").split("|")[0])
            shown = manual(program, *subcommands)
            assert shown, f"no such command: {command}"
            for option in re.findall(r"(?:^| )(--[a-z-]+)", " ".join(words)):
                assert re.search(rf"{option}\b", shown), f"no such option: {option} of {command}"


CREDENTIAL = {
    "name": "example",
    "team_id": "DEF123GHIJ",
    "key_id": "ABC123DEFG",
    "key_file": "key.p8",
    "bundle_ids": ["com.example.*"],
}
CONFIGURATION = {"kafka", "sources", "apns", "limits", "admin"}


def configurations():
    """The blocks of YAML that are parts of a configuration, by page."""
    for page in PAGES:
        found = re.findall(r"(?ms)^( *)```yaml[^\n]*\n(.*?)^\1```", page.read_text())
        for number, (_, text) in enumerate(found):
            settings = yaml.safe_load(textwrap.dedent(text))
            # docs/kafka.md has a test of its own, and docs/framings.md names files of the reader's.
            if set(settings) <= CONFIGURATION and page.name != "kafka.md":
                yield pytest.param(settings, id=f"{page.stem}-{number}")


@pytest.mark.parametrize("settings", list(configurations()))
def test_check_accepts_the_configurations_of_a_page(settings, tmp_path):
    key, key_id = tmp_path / "key.p8", tmp_path / "key-id"
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key)
    key_id.write_text("ABC123DEFG\n")
    settings = copy.deepcopy(settings)
    apns = settings.setdefault("apns", {"credentials": [CREDENTIAL]})
    apns.pop("ca_file", None)
    for credential in apns["credentials"]:
        files = {"key_file": key, "key_id_file": key_id}
        credential |= {name: str(files[name]) for name in files if name in credential}
    ended = run_command(tmp_path, settings, "check")
    assert ended.code == 0, ended.said
