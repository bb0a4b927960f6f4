"""`heliograph validate` as upstream teams use it, and the shipped schemas in other validators."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import subprocess

import pytest

from harness import contracts
from harness.events import encoded, new_event
from harness.processes import ROOT, built_binary

SECONDS = 60
SUITE = ROOT / ".build" / "schema-suite"


def validate(*arguments, text=b"", **options):
    """(exit code, results, standard error) of the command with this input."""
    run = subprocess.run(
        [built_binary("heliograph"), "validate", *map(str, arguments)],
        input=text,
        capture_output=True,
        timeout=SECONDS,
        **options,
    )
    results = [json.loads(line) for line in run.stdout.decode().splitlines()]
    return run.returncode, results, run.stderr.decode()


def lines(documents):
    """As JSON lines, in ASCII, so that half a surrogate pair can be written."""
    return "".join(json.dumps(document) + "\n" for document in documents).encode()


def examples(name, folder):
    files = sorted((contracts.EXAMPLES / name / folder).glob("*.json"))
    assert files
    return [(file.name, file.read_bytes()) for file in files]


def expected_violations(name):
    return json.loads((contracts.EXAMPLES / name / "violations.json").read_text())


# The shipped schemas


@pytest.mark.parametrize("name", contracts.NAMES)
def test_another_validator_accepts_the_valid_examples(name):
    for file, text in examples(name, "valid"):
        errors = contracts.validator(name).iter_errors(json.loads(text))
        assert [error.message for error in errors] == [], file


@pytest.mark.parametrize("name", contracts.NAMES)
def test_another_validator_finds_the_same_violation(name):
    expected = expected_violations(name)
    for file, text in examples(name, "invalid"):
        errors = list(contracts.validator(name).iter_errors(json.loads(text)))
        if expected[file]["keyword_location"].endswith("/x-maxBytes"):
            assert not errors, f"{file}: other validators ignore the extension keyword"
            continue
        [error] = errors
        assert location_of(error) == location_in(expected[file]), file


def location_of(error):
    """(instance, keyword) in the form that jsonschema reports."""
    steps = list(error.absolute_schema_path)
    after = [*steps[1:], None]
    steps = [s for s, next in zip(steps, after) if not (s == "if" and next in ("then", "else"))]
    return tuple(map(str, error.absolute_path)), tuple(map(str, steps))


def location_in(violation):
    """The same for an expected violation.

    jsonschema names the object for `additionalProperties` and `false`, and follows `$ref` silently.
    """
    instance = violation["instance_location"].split("/")[1:]
    keyword = violation["keyword_location"].split("/")[1:]
    is_refusal = len(keyword) > 1 and keyword[-2] == "properties"
    if is_refusal:
        keyword.pop()
    if is_refusal or keyword[-1] == "additionalProperties":
        instance.pop()
    return tuple(instance), tuple(step for step in keyword if step != "$ref")


@pytest.mark.core
@pytest.mark.parametrize("name", contracts.NAMES)
def test_validate_agrees_with_the_folder_of_each_example(name):
    schema = ROOT / "schemas" / f"{name}.schema.json"
    expected = expected_violations(name)
    for folder, code in (("valid", 0), ("invalid", 1)):
        files = examples(name, folder)
        # Sizes count the bytes as given, so only line ends are removed.
        text = b"".join(document.replace(b"\n", b" ") + b"\n" for _, document in files)
        status, results, error = validate("--schema", schema, "--assert-format", "-", text=text)
        assert status == code, error
        assert [result["line"] for result in results] == [n + 1 for n in range(len(files))]
        for (file, _), result in zip(files, results):
            assert result["valid"] == (code == 0), (file, result)
            if code == 1:
                first = {k: v for k, v in result["violations"][0].items() if k != "message"}
                assert first == expected[file], file


# Events


def test_an_event_is_valid_if_and_only_if_the_service_would_send_it():
    good, warned = new_event(), new_event(payload={"aps": {"alert": "x", "bage": 1}})
    documents = [good, warned, new_event(priority=7), new_event(payload={}, topic="a")]
    status, results, error = validate("-", text=lines(documents))
    assert status == 1
    assert [result["valid"] for result in results] == [True, True, False, False]
    assert [len(result["violations"]) > 0 for result in results] == [False, True, True, True]
    assert results[1]["violations"][0]["instance_location"] == "/payload/aps/bage"
    assert error.splitlines()[-1] == "heliograph: 2 of 4 lines invalid, 1 with warnings"


def test_common_mistakes_are_named():
    folder = ROOT / "Tests" / "Mistakes"
    answers = json.loads((folder / "answers.json").read_text())
    assert {file.name for file in folder.iterdir()} == {*answers, "answers.json"}
    for name, expected in answers.items():
        status, [result], error = validate(folder / name)
        found = [[v["instance_location"], v["message"]] for v in result["violations"]]
        assert found == expected, name
        assert (status, result["valid"]) == (int(bool(expected)), not expected), name
        assert "whole document" not in error, name


def test_texts_for_another_schema_are_read_like_events(tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text('{"properties":{"user_id":{"type":"integer"}},"additionalProperties":false}')
    good = '{"user_id":1}'
    text = b"\xef\xbb\xbf" + good.encode() + b"\n" + b'{"userId":1}\n{"user_id":"1"}\n'
    _, results, error = validate("--schema", schema, "-", text=text + good.encode("utf-16-le"))
    assert "whole document" not in error
    assert [result["valid"] for result in results] == [True, False, False, False]
    assert [result["violations"][0]["message"] for result in results[1:]] == [
        "is not allowed; did you mean `user_id`?",
        "must be integer; found a string of 1 character, which holds a number: leave out the quotes",
        "is UTF-16; send UTF-8",
    ]


@pytest.mark.parametrize(
    ("rule", "code", "count"), [("warn", 0, 1), ("strict", 1, 1), ("off", 0, 0)]
)
def test_the_payload_rule_comes_from_the_configuration(rule, code, count):
    text = encoded(new_event(payload={"aps": {"alert": "x", "badge": -1}}))
    status, [result], _ = validate("--payload", rule, "-", text=text)
    assert (status, len(result["violations"])) == (code, count)


def test_broadcasts_are_checked_like_those_of_their_source():
    good = {
        "id": "goal-3",
        "channel_id": "dHN0LXNyY2gtY2hubA==",
        "bundle_id": "com.example.MyApp",
        "expiration": 0,
        "payload": {"aps": {"event": "end", "timestamp": 1790000000, "content-state": {}}},
    }
    wrapped = {"specversion": "1.0", "id": "1", "source": "s", "type": "t", "data": good}
    twice = encoded(good)[:-1] + b',"expiration":0}'
    text = lines([good, wrapped, good | {"payload": {}}, new_event()]) + twice
    status, results, error = validate("--broadcast", "-", text=text)
    assert status == 1, error
    assert [result["valid"] for result in results] == [True, True, False, False, False]
    assert not validate("-", text=encoded(good))[1][0]["valid"]


def test_the_docs_show_the_real_messages():
    text = lines([new_event(), new_event(priority=-4711)])
    said = subprocess.run(
        [built_binary("heliograph"), "validate", "-"],
        input=text,
        capture_output=True,
        timeout=SECONDS,
    )
    page = (ROOT / "docs" / "how-to" / "check-events-in-ci.md").read_text()
    assert "validate events.ndjson\n" + (said.stdout + said.stderr).decode() in page
    manual = subprocess.run(
        [built_binary("heliograph"), "validate", "--help"], capture_output=True, timeout=SECONDS
    )
    bare = re.sub(r"\s", "", manual.stdout.decode())
    assert all(re.sub(r"\s", "", line) in bare for line in said.stdout.decode().splitlines())
    outcome = json.loads((ROOT / "schemas/notification-outcome.v1.schema.json").read_text())
    shown = outcome["properties"]["violations"]["items"]["properties"]["message"]["examples"]
    [violation] = json.loads(said.stdout.splitlines()[1])["violations"]
    assert shown == [violation["message"]]


def test_each_line_gets_a_result_in_order(tmp_path):
    good = encoded(new_event())
    pieces = [good, b"", good + b"\r", b"  \t", b"{", b"\xff\xfe", b"null", b"x" * 2_000_000, good]
    file = tmp_path / "events.ndjson"
    file.write_bytes(b"\n".join(pieces))
    status, results, error = validate(file)
    assert status == 1
    assert [result["line"] for result in results] == [1, 3, 5, 6, 7, 8, 9]
    assert [result["valid"] for result in results] == [True, True, *[False] * 4, True]
    assert "4 of 7 lines invalid" in error
    assert "line 5 is not a whole JSON document" in error


def test_a_document_of_several_lines_is_explained():
    text = json.dumps(new_event(), indent=2).encode()
    status, results, error = validate("-", text=text)
    assert status == 1
    assert not any(result["valid"] for result in results)
    assert "line 1 is not a whole JSON document" in error


# As a command


def test_a_result_comes_before_the_next_line_is_written():
    command = [built_binary("heliograph"), "validate", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for number in (1, 2, 3):
            process.stdin.write(encoded(new_event()) + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["line"] == number
        process.stdin.close()
        assert process.wait(SECONDS) == 0


def test_memory_is_bounded_for_any_input_and_line_length(tmp_path):
    file = tmp_path / "long.ndjson"
    event = encoded(new_event()) + b"\n"
    with file.open("wb") as output:
        for _ in range(25):
            output.write(event * 2000)
        for _ in range(100):
            output.write(b"y" * 1_000_000)
    command = [built_binary("heliograph"), "validate", str(file)]
    peak = 0
    with (tmp_path / "results").open("wb") as results, (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(command, stdout=results, stderr=said)
        while process.poll() is None:
            # Not ru_maxrss, which includes the parent's memory before exec.
            peak = max(peak, resident_peak(process.pid))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.02)
    assert process.returncode == 1
    assert "1 of 50001 lines invalid" in (tmp_path / "said").read_text()
    assert 0 < peak < 150_000, f"{peak} KiB"


def resident_peak(pid):
    """In KiB; 0 if the process has ended meanwhile."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    sizes = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(sizes[0]) if sizes else 0


def test_a_reader_that_leaves_ends_it_without_a_crash(tmp_path):
    file = tmp_path / "many.ndjson"
    file.write_bytes((encoded(new_event()) + b"\n") * 50_000)
    command = [built_binary("heliograph"), "validate", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        error = process.stderr.read().decode()
        assert process.wait(SECONDS) == 2
    assert "standard output: cannot be written" in error


def page_faults(file, tmp_path):
    """How many page faults the check of a file causes."""
    command = [built_binary("heliograph"), "validate", str(file)]
    with (tmp_path / "results").open("wb") as results:
        process = subprocess.Popen(command, stdout=results, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 1
    return usage.ru_minflt


def test_the_work_for_a_line_does_not_grow_with_the_lines_before_it(tmp_path):
    file = tmp_path / "short.ndjson"
    few, many = (file.write_bytes(b"{}\n" * n) and page_faults(file, tmp_path) for n in (1, 4_000))
    # Copying all earlier content for each line would cause hundreds of thousands.
    assert many < few + 1_000, (few, many)


def everything_written(descriptor):
    """Everything left in a pipe or a terminal whose other end is closed. Closes this end too."""
    with open(descriptor, "rb", buffering=0) as end:
        content = b""
        while part := read_or_nothing(end):
            content += part
    return content


def read_or_nothing(end):
    try:
        return end.read(1 << 16)
    except OSError:  # Linux returns EIO if a terminal's other end is closed.
        return b""


@pytest.mark.parametrize("is_input_a_file", [True, False])
def test_progress_is_shown_only_on_a_terminal(is_input_a_file, tmp_path):
    file = tmp_path / "short.ndjson"
    file.write_bytes((encoded(new_event()) + b"\n") * 1_000)
    for is_terminal in (True, False):
        ours, theirs = os.openpty() if is_terminal else os.pipe()
        with file.open("rb") as text, (tmp_path / "results").open("wb") as results:
            name = file if is_input_a_file else "-"
            pipe = None if is_input_a_file else subprocess.PIPE
            command = [built_binary("heliograph"), "validate", name]
            process = subprocess.Popen(command, stdin=pipe, stdout=results, stderr=theirs)
            process.communicate(None if is_input_a_file else text.read(), SECONDS)
        os.close(theirs)
        said = everything_written(ours).decode()
        shown = re.search(r"\r\x1b\[2Kheliograph: \d+ lines checked, 0 invalid(, \d+ %)?", said)
        assert bool(shown) == is_terminal, said
        assert not is_terminal or bool(shown[1]) == is_input_a_file, said
        last = "\r\x1b[2Kheliograph: 0 of 1000" if is_terminal else "heliograph: 0 of 1000"
        assert last in said, said


def test_input_that_cannot_be_checked_has_its_own_exit_code(tmp_path):
    (tmp_path / "broken.json").write_text('{"properties":{"a":{"type":"text"}}}')
    (tmp_path / "lost.json").write_text('{"$ref":"https://example.com/nowhere"}')
    (tmp_path / "no.json").write_text("{")
    table = [
        ([tmp_path / "missing.ndjson"], 2, "missing.ndjson: cannot be read: No such file"),
        ([tmp_path], 2, str(tmp_path)),
        (["--schema", tmp_path / "missing.json", "-"], 2, "missing.json"),
        (["--schema", tmp_path / "broken.json", "-"], 2, "/properties/a/type"),
        (["--schema", tmp_path / "lost.json", "-"], 2, "/$ref"),
        (["--schema", tmp_path / "no.json", "-"], 2, "no.json"),
        (["--schema", tmp_path / "lost.json", "--schema-directory", tmp_path / "x", "-"], 2, "x"),
        ([], 64, "Usage"),
        (["--payload", "perhaps", "-"], 64, "perhaps"),
        (["--payload", "off", "--schema", tmp_path / "lost.json", "-"], 64, "--payload"),
        (["--assert-format", "-"], 64, "--schema"),
        (["--broadcast", "--schema", tmp_path / "lost.json", "-"], 64, "--broadcast"),
        (["--broadcast", "--payload", "off", "-"], 64, "--broadcast"),
    ]
    for arguments, code, word in table:
        status, results, error = validate(*arguments, text=b"{}\n")
        assert (status, results) == (code, []), (arguments, error)
        assert word in error, (arguments, error)


@pytest.mark.parametrize("text", [b"", b"\n \n"])
def test_an_input_without_a_line_is_not_a_success(text, tmp_path):
    """For example of tests that no longer write events, or of a jq that failed."""
    file = tmp_path / "events.ndjson"
    file.write_bytes(text)
    for name, given in ((file, b""), ("-", text)):
        status, results, error = validate(name, text=given)
        assert (status, results) == (2, [])
        assert "the input has no documents; nothing was checked" in error


# Any schema


def test_references_of_a_schema_are_resolved(tmp_path):
    folder = tmp_path / "own schemas"
    (folder / "parts").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "broken.json").write_text("{")
    (folder / "parts" / "text.json").write_text('{"type":"string"}')
    (folder / "named.json").write_text('{"$id":"urn:example:named","type":"integer"}')
    properties = {
        "relative": {"$ref": "parts/text.json"},
        "named": {"$ref": "urn:example:named"},
    }
    schema = folder / "main.json"
    schema.write_text(json.dumps({"properties": properties}))
    text = lines([{"relative": "a", "named": 1}, {"relative": 1, "named": 1}, {"named": "a"}])
    status, results, error = validate(
        "--schema", schema, "--schema-directory", folder, "-", text=text
    )
    assert status == 1, error
    assert [result["valid"] for result in results] == [True, False, False]
    assert results[1]["violations"][0]["keyword_location"] == "/properties/relative/$ref/type"

    properties = {"mapped": {"$ref": "https://example.com/schemas/parts/text.json"}}
    schema = tmp_path / "elsewhere.json"
    schema.write_text(json.dumps({"properties": properties}))
    status, results, error = validate(
        "--schema",
        schema,
        "--schema-directory",
        f"https://example.com/schemas/={folder}",
        "-",
        text=lines([{"mapped": "a"}, {"mapped": 1}]),
    )
    assert [result["valid"] for result in results] == [True, False], error


def test_format_is_enforced_on_request(tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text('{"format":"ipv4"}')
    assert validate("--schema", schema, "-", text=b'"x"')[0] == 0
    assert validate("--schema", schema, "--assert-format", "-", text=b'"x"')[0] == 1


def test_a_schema_without_a_draft_uses_the_given_one(tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text('{"items":[{"type":"string"}]}')
    assert validate("--schema", schema, "--default-draft", "7", "-", text=b"[1]")[0] == 1
    assert validate("--schema", schema, "-", text=b"[1]")[0] == 2


@pytest.fixture(scope="module")
def suite():
    """The official test suite, downloaded by scripts/fetch-schema-suite."""
    subprocess.run([ROOT / "scripts" / "fetch-schema-suite"], check=True, timeout=120)
    return SUITE


@pytest.mark.parametrize(("draft", "name"), [("draft2020-12", "2020-12"), ("draft7", "7")])
def test_the_command_passes_the_official_suite(draft, name, suite, tmp_path):
    """Part of each file, and everything that reads other files; JSONSchemaTests run all of it."""
    groups = [
        (file.name, group)
        for file in sorted((suite / "tests" / draft).glob("*.json"))
        for group in json.loads(file.read_text())[:: 1 if file.name == "refRemote.json" else 8]
    ]
    assert len(groups) > 60

    def wrong(numbered):
        number, (file, group) = numbered
        schema = tmp_path / f"{number}.json"
        schema.write_text(json.dumps(group["schema"]))
        status, results, error = validate(
            *("--schema", schema, "--default-draft", name),
            *("--schema-directory", f"http://localhost:1234/={suite / 'remotes'}", "-"),
            text=lines(test["data"] for test in group["tests"]),
        )
        wanted = [test["valid"] for test in group["tests"]]
        if [result["valid"] for result in results] == wanted and status == int(not all(wanted)):
            return None
        return f"{file}: {group['description']}: {status} {error} {results}"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [failure for failure in pool.map(wrong, enumerate(groups)) if failure]
    assert not failures, "\n".join(failures[:10])


# The configuration's schemas


def test_check_lists_the_schemas(tmp_path):
    folder = tmp_path / "schemas"
    folder.mkdir()
    (folder / "order.json").write_text('{"$id":"urn:example:order","title":"An order"}')
    (tmp_path / "key.p8").write_text("read by the full check only")
    configuration = tmp_path / "heliograph.yaml"
    settings = {
        "kafka": {"bootstrap_servers": "localhost:1"},
        "sources": [
            {"topic": "orders", "payload_schema": "order"},
            {"topic": "news"},
            {"topic": "goals", "kind": "broadcast"},
        ],
        "schemas": {"directory": str(folder), "payload": "strict"},
        "apns": {
            "credentials": [
                {
                    "name": "a",
                    "team_id": "ABCDEFGHIJ",
                    "key_id": "ABCDEFGHIJ",
                    "key_file": str(tmp_path / "key.p8"),
                    "bundle_ids": ["com.example.App"],
                }
            ]
        },
    }
    configuration.write_text(json.dumps(settings))

    def check():
        command = [built_binary("heliograph"), "check", "--schemas", "--config", configuration]
        # The command refuses unknown variables, so the tests' own are removed.
        own = {name: v for name, v in os.environ.items() if not name.startswith("HELIOGRAPH_")}
        return subprocess.run(command, capture_output=True, timeout=SECONDS, text=True, env=own)

    listed = check()
    assert listed.returncode == 0, listed.stderr
    for name in contracts.NAMES:
        assert f"{name}\n" in listed.stdout
    use = use_of(listed.stdout)
    assert use("notification-event.v1") == "events from orders, news"
    assert use("aps-payload.v1") == "payloads from orders, news (schemas.payload: strict)"
    assert use("broadcast-event.v1") == "broadcasts from goals"
    own = listed.stdout[listed.stdout.index("order\n") :]
    assert "An order" in own and "urn:example:order" in own and "payloads from orders" in own

    settings["sources"] = [{"topic": "goals", "kind": "broadcast"}]
    configuration.write_text(json.dumps(settings))
    use = use_of(check().stdout)
    assert use("notification-event.v1") == use("aps-payload.v1") == "nothing"

    (folder / "broken.json").write_text('{"type":"text"}')
    refused = check()
    assert refused.returncode == 1
    assert "broken.json" in refused.stderr and "/type" in refused.stderr


def use_of(listing):
    """What the listing says about a schema's use, by the schema's name."""

    def use(name):
        paragraph = listing[listing.index(f"{name}\n") :]
        return re.search(r"^  used for: (.*)$", paragraph, re.M)[1]

    return use
