"""Pages show the truth: output of commands, existing commands and options, valid configurations.

Console blocks of README.md and the tutorial run as a reader would run them: each line `$ COMMAND`,
in one shell per page. The lines below a command are its output: `...` stands for any text within a
line and, alone on a line, for any number of lines. A command without output must succeed. A block
whose fence names a file, as in "```yaml heliograph.yaml", is saved as that file.
"""

import copy
import functools
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading

import confluent_kafka
import pytest
import yaml

from harness import contracts
from harness.certificates import openssl
from harness.commands import run_command
from harness.processes import LEASH, ROOT, built_binary, clean_environment

BLOCK = re.compile(r"(?ms)^```(\w+)(?: (\S+))?\n(.*?)^```$")
HOW_TO = ROOT / "docs" / "how-to"
MARK = "--- the command has ended with"
SECONDS_OF_A_PAGE = 600


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
    """The expected output as a regular expression."""
    shown = [
        r"(?:.*\n)*?" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + r" *\n"
        for line in lines
    ]
    return re.compile("".join(shown))


class Shell:
    """A shell that reads commands one by one; processes that it starts end with it."""

    def __init__(self, folder):
        programs = str(pathlib.Path(built_binary("heliograph")).parent)
        # A page's python3 has confluent-kafka, like the reader's.
        python = str(pathlib.Path(sys.executable).parent)
        path = os.pathsep.join([programs, python, os.environ["PATH"]])
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
        # The shell's end also ends a command that waits forever.
        self._limit = threading.Timer(SECONDS_OF_A_PAGE, self._end)
        self._limit.start()

    def _end(self):
        os.killpg(self._process.pid, signal.SIGKILL)

    def run(self, command):
        """The command's output and its exit code."""
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
def test_commands_of_a_page_print_what_it_shows(clone, page):
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


def files_of(page):
    """The blocks whose fences name a file."""
    return {file: text for _, file, text in BLOCK.findall(page.read_text()) if file}


def run_python(text, name, **others):
    """The module's definitions; its `__name__` is not "__main__"."""
    scope = {"__name__": name, **others}
    exec(compile(text, name, "exec"), scope)  # noqa: S102
    return scope


# The consumer that deletes dead tokens

TOKEN = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
DEAD_SINCE = 1760000000000


@pytest.fixture
def cleanup():
    """The page's module with an empty table, as the page creates it."""
    files = files_of(HOW_TO / "delete-dead-tokens.md")
    scope = run_python(files["cleanup.py"], "cleanup")
    scope["db"] = sqlite3.connect(":memory:")
    scope["db"].executescript(files["tokens.sql"])
    return scope


def register(db, at=DEAD_SINCE - 1, environment="production"):
    db.execute("DELETE FROM device_tokens")
    db.execute(
        "INSERT INTO device_tokens VALUES (?, ?, 'com.example.MyApp', ?, NULL, NULL)",
        (TOKEN, environment, at),
    )
    db.commit()


def state_of(db):
    [(deleted_at, flag)] = db.execute("SELECT deleted_at, flag FROM device_tokens").fetchall()
    return (deleted_at is not None, flag)


def sample(name, **changes):
    text = (contracts.EXAMPLES / "notification-outcome.v1" / f"{name}.json").read_text()
    return json.loads(text) | changes


def value_of(document):
    return None if document is None else json.dumps(document).encode()


def status(action, since=DEAD_SINCE):
    return {
        "status": "unregistered", "token_action": action, "reason": "Unregistered",
        "unregistered_at": since, "observed_at": "2025-10-09T08:53:21.000Z",
    }


KEPT, MARKED = (False, None), (True, None)
LATER = DEAD_SINCE + 1


@pytest.mark.parametrize(
    ("outcome", "registered", "expected"),
    [
        (sample("valid/unregistered", unregistered_at=DEAD_SINCE), DEAD_SINCE, MARKED),
        (sample("valid/unregistered", unregistered_at=DEAD_SINCE), LATER, KEPT),
        (sample("valid/unregistered", device_token=TOKEN.upper()), 0, MARKED),
        (sample("valid/unregistered-without-time"), 0, MARKED),
        (sample("valid/unregistered-without-time"), 1 << 60, KEPT),
        (sample("valid/unregistered-held"), 0, KEPT),
        (sample("valid/suppressed"), DEAD_SINCE, MARKED),
        (sample("valid/suppressed"), LATER, KEPT),
        (sample("valid/accepted"), 0, KEPT),
        (sample("valid/duplicate"), 0, KEPT),
        (sample("valid/broadcast"), 0, KEPT),
        (sample("valid/unreadable"), 0, KEPT),
        (sample("valid/accepted", a_new_field=1), 0, KEPT),
        (sample("valid/accepted", token_action="a new one"), 0, KEPT),
    ],
)
def test_the_cleanup_acts_on_outcomes(cleanup, outcome, registered, expected):
    register(cleanup["db"], registered)
    for _ in range(2):
        cleanup["on_outcome"](cleanup["db"], None, value_of(outcome))
        assert state_of(cleanup["db"]) == expected


@pytest.mark.parametrize("environment", ["production", "sandbox"])
def test_the_cleanup_finds_a_token_of_the_other_environment(cleanup, environment):
    register(cleanup["db"], environment=environment)
    outcome = sample("valid/rejected", token_action="check_environment", reason="BadDeviceToken")
    cleanup["on_outcome"](cleanup["db"], None, value_of(outcome))
    assert state_of(cleanup["db"]) == (False, "BadDeviceToken in production")


def test_no_invalid_sample_deletes_a_token(cleanup):
    register(cleanup["db"], at=0)
    files = sorted((contracts.EXAMPLES / "notification-outcome.v1" / "invalid").glob("*.json"))
    told = []
    for file in files:
        outcome = json.loads(file.read_text())
        if outcome.get("token_action") in ("keep", "hold") and outcome["outcome"] != "suppressed":
            cleanup["on_outcome"](cleanup["db"], None, value_of(outcome))
            assert state_of(cleanup["db"]) == KEPT, file.name
            told.append(file.name)
    assert told
    with pytest.raises(ValueError, match="unregistered_at"):
        outcome = sample("invalid/unregistered-at-text")
        cleanup["on_outcome"](cleanup["db"], None, value_of(outcome))
    assert state_of(cleanup["db"]) == KEPT


@pytest.mark.parametrize(
    ("document", "registered", "expected"),
    [
        (status("remove"), DEAD_SINCE, MARKED),
        (status("remove"), LATER, KEPT),
        (status("remove", None), DEAD_SINCE + 1000, MARKED),
        (status("remove", None), DEAD_SINCE + 1001, KEPT),
        (status("hold"), 0, KEPT),
        (status("check_topic"), 0, (False, "Unregistered in production")),
    ],
)
def test_the_cleanup_acts_on_token_status(cleanup, document, registered, expected):
    db, key = cleanup["db"], f"com.example.MyApp|production|{TOKEN}".encode()
    register(db, registered)
    cleanup["on_token_status"](db, key, value_of(document))
    assert state_of(db) == expected
    cleanup["on_token_status"](db, key, None)
    assert state_of(db) == KEPT


class Record:
    def __init__(self, value, error=None):
        self.value, self.error = lambda: value, lambda: error
        self.key = lambda: f"com.example.MyApp|production|{TOKEN}".encode()
        self.partition = self.offset = lambda: 0


class ScriptedConsumer:
    """Returns its records one by one."""

    def __init__(self, records):
        self._records = iter([None, *records])
        self.settings, self.stored, self.is_closed = None, [], False
        self.subscribe = lambda topics: None

    def __call__(self, settings):
        self.settings = settings
        return self

    def poll(self, seconds):
        return next(self._records)

    def store_offsets(self, record):
        self.stored.append(record)

    def close(self):
        self.is_closed = True


def test_the_cleanup_skips_only_unreadable_records(cleanup):
    db = cleanup["db"]
    register(db)
    poison, good = Record(b"no JSON"), Record(value_of(status("remove")))
    forbidden = confluent_kafka.KafkaError(confluent_kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED)
    consumer = ScriptedConsumer([poison, good, Record(None, forbidden)])
    cleanup["Consumer"] = consumer
    with pytest.raises(confluent_kafka.KafkaException):
        cleanup["run"]("notifications.token-status", cleanup["on_token_status"], db)
    assert state_of(db) == MARKED
    assert consumer.stored == [poison, good] and consumer.is_closed
    # The real client accepts the settings.
    confluent_kafka.Consumer(consumer.settings).close()

    db.execute("DROP TABLE device_tokens")
    consumer = cleanup["Consumer"] = ScriptedConsumer([good])
    with pytest.raises(sqlite3.OperationalError):
        cleanup["run"]("notifications.token-status", cleanup["on_token_status"], db)
    assert consumer.stored == []


# The producer of one event


def test_the_producer_writes_the_event_that_the_page_shows(empty_broker, tmp_path):
    page = HOW_TO / "emit-an-event.md"
    files = files_of(page)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    empty_broker.create("notifications", 4)
    command = [sys.executable, "emit.py", "event.json"]
    environment = {**os.environ, "KAFKA": empty_broker.bootstrap_servers}

    def emit(topic):
        text = files["emit.py"].replace('"notifications"', f'"{topic}"')
        (tmp_path / "emit.py").write_text(text)
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
        )

    done = emit("notifications")
    assert done.returncode == 0, done.stderr
    event = json.loads(files["event.json"])
    [written] = empty_broker.read_all("notifications")
    assert written.key().decode() == event["device_token"].lower()
    assert json.loads(written.value()) == event
    checked = subprocess.run(
        [built_binary("heliograph"), "validate", "--payload", "strict", "-"],
        input=written.value(), capture_output=True, timeout=60,
    )
    assert checked.returncode == 0, checked.stdout
    # A record that Kafka refuses is an error.
    assert emit("not a topic").returncode != 0


# The check without `heliograph validate`


@pytest.mark.parametrize(
    ("change", "is_valid"),
    [
        ({}, True),
        ({"priority": 4711}, False),
        ({"payload": {"aps": {"alert": "x", "bagde": 1}}}, False),
    ],
)
def test_the_check_script_fails_on_an_invalid_event(change, is_valid, tmp_path):
    files = files_of(HOW_TO / "check-events-in-ci.md")
    (tmp_path / "schemas").symlink_to(ROOT / "schemas")
    (tmp_path / "check.py").write_text(files["check.py"])
    event = json.loads(files_of(HOW_TO / "emit-an-event.md")["event.json"]) | change
    (tmp_path / "events.ndjson").write_text(json.dumps(event) + "\n")
    command = [sys.executable, "check.py", "events.ndjson"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) == is_valid, done.stdout + done.stderr
    (tmp_path / "events.ndjson").write_text("")
    assert subprocess.run(command, cwd=tmp_path, timeout=60).returncode != 0


GUIDES = sorted(HOW_TO.glob("*.md"))
# A block of commands, its indentation, and why it is not run, if a comment above gives a reason.
COMMANDS = re.compile(
    r"(?m)^( *)(?:<!-- not run: (?P<reason>[^\n]+) -->\n *)?```(?P<language>sh|console)\n"
    r"(?P<text>(?:.*\n)*?) *```$"
)


def blocks_of(page):
    """(language, commands, reason not to run) of each block of commands."""
    for found in COMMANDS.finditer(page.read_text()):
        yield found["language"], textwrap.dedent(found["text"]), found["reason"]


@pytest.fixture
def readers_files(tmp_path):
    """A folder with the files that the guides' commands name."""
    examples = ROOT / "schemas" / "examples"
    [event, *_] = sorted((examples / "notification-event.v1" / "valid").glob("*.json"))
    [outcome, *_] = sorted((examples / "notification-outcome.v1" / "valid").glob("*.json"))
    outcomes = json.dumps(json.loads(outcome.read_text()))
    [shown] = re.findall(
        r"(?ms)^```json[^\n]*\n(.*?)^```", (ROOT / "docs/how-to/emit-an-event.md").read_text()
    )[:1]
    for folder in ("samples", "schemas"):
        (tmp_path / folder).mkdir()
    reference = {"$ref": "https://example.com/schemas/address.json"}
    for name, text in {
        "event.json": shown,
        "events.ndjson": json.dumps(json.loads(shown)) + "\n",
        "samples/one.json": event.read_text(),
        "outcomes.ndjson": outcomes + "\n",
        "order.json": json.dumps({"properties": {"to": reference}}),
        "schemas/address.json": json.dumps({"type": "string"}),
        "orders.ndjson": json.dumps({"to": "Main Street 1"}) + "\n",
        "heliograph.yaml": yaml.safe_dump({"apns": {"credentials": [CREDENTIAL]}}),
    }.items():
        (tmp_path / name).write_text(text)
    schema = "notification-outcome.v1.schema.json"
    (tmp_path / "schemas" / schema).symlink_to(ROOT / "schemas" / schema)
    openssl(
        *("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"),
        *("-out", tmp_path / "key.p8"),
    )
    (tmp_path / "AuthKey_NEW123DEFG.p8").write_bytes((tmp_path / "key.p8").read_bytes())
    openssl(
        *("req", "-x509", "-key", tmp_path / "key.p8", "-subj", "/CN=push", "-outform", "DER"),
        *("-out", tmp_path / "aps.cer"),
    )
    return tmp_path


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_the_commands_of_a_guide_work(page, readers_files):
    """A `console` block prints what it shows; a `sh` block succeeds."""
    with Shell(readers_files) as shell:
        assert shell.run("set -o pipefail") == ("", 0)
        for language, text, reason in blocks_of(page):
            if reason:
                continue
            shown = commands(text) if language == "console" else [(text.rstrip("\n"), None)]
            for command, lines in shown:
                printed, code = shell.run(command)
                assert code == 0, f"$ {command}\n{printed}"
                assert lines is None or pattern(lines).fullmatch(printed), f"$ {command}\n{printed}"


def test_no_command_block_of_a_guide_is_missed():
    """The test above finds every fence of commands; each block that does not run has a reason."""
    seen = [block for page in GUIDES for block in blocks_of(page)]
    fences = [
        fence
        for page in GUIDES
        for fence in re.findall(r"(?m)^ *```(?:sh|console|bash|shell)\b", page.read_text())
    ]
    assert len(seen) == len(fences)
    assert sum(reason is None for _, _, reason in seen) >= 8
    comments = sum(page.read_text().count("<!-- not run") for page in GUIDES)
    assert comments == sum(reason is not None for _, _, reason in seen)


def test_wrong_output_does_not_match():
    assert pattern(["a ... c", "...", "end"]).fullmatch("a b c\nx\ny\nend\n")
    assert not pattern(["a", "end"]).fullmatch("a\nx\nend\n")
    assert not pattern(["a"]).fullmatch("b\n")
    assert not pattern([]).fullmatch("a\n")


DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.glob("*.md"), *(DOCS / "how-to").glob("*.md")])


def named_commands(page):
    """Every `heliograph ...` and `heliograph-lab ...` in a page's blocks and code spans."""
    text = page.read_text()
    blocks = "\n".join(re.findall(r"(?ms)^ *```\w*[^\n]*\n(.*?)^ *```", text)).replace("\\\n", " ")
    spans = re.findall(r"`(heliograph(?:-lab)? [^`]+)`", text)
    lines = re.findall(r"(?m)(?:^|[|;(]) *(?:\$ )?(heliograph(?:-lab)? [a-z][^|;)\n]*)", blocks)
    return [re.split(r" [12]?[<>#&]", line)[0] for line in spans + lines]


@functools.cache
def manual(program, *subcommands):
    command = [built_binary(program), *subcommands, "--help"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return ended.stdout if ended.returncode == 0 else None


# Messages such as `heliograph is starting` look like commands.
WITH_COMMANDS = [page for page in PAGES if page.name != "log-messages.md"]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_commands_and_options_of_a_page_exist(page):
    for command in named_commands(page):
        program, *words = command.split()
        # A table row may name several: `dead-letters list|replay`.
        for choice in words[0].replace("\\", "").split("|") if words else []:
            subcommands = [] if choice.startswith("-") else [choice]
            if choice in ("channels", "dead-letters", "campaigns") and words[1:]:
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
    """The YAML blocks that are parts of a configuration, by page."""
    for page in PAGES:
        found = re.findall(r"(?ms)^( *)```yaml[^\n]*\n(.*?)^\1```", page.read_text())
        for number, (_, text) in enumerate(found):
            settings = yaml.safe_load(textwrap.dedent(text))
            # test_kafka_docs.py checks docs/kafka.md; docs/framings.md names files of the reader's.
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
    assert ended.code == 0, ended.output
