"""`--keys`: signing keys of every kind that Apple issues."""

import json
import os
import subprocess

import pytest

from harness.curl import APP, provider_token, push
from harness.processes import built_binary
from harness.simulator import keys_option

TOKEN = "a11ce000" + "5e" * 28
SANDBOX, TOPIC, RELATED, OTHER = "SANDBOXKEY", "TOPICKEY01", "TOPICKEY02", "TOPICKEY03"


@pytest.fixture
def files(tmp_path):
    return {key_id: tmp_path / f"{key_id}.p8" for key_id in (SANDBOX, TOPIC, RELATED, OTHER)}


@pytest.fixture
def simulator(simulators, tmp_path, files):
    keys = [{"key_id": key_id, "file": str(file)} for key_id, file in files.items()]
    keys[0]["environments"] = ["sandbox"]
    for key in keys[1:]:
        key["bundle_ids"] = ["com.example.other"] if key["key_id"] == OTHER else [APP]
    keys[1]["related_key_id"] = RELATED
    return simulators({}, keys_option(tmp_path / "keys.json", *keys))


@pytest.mark.parametrize(
    "key_id, environment, status, reason",
    [
        (SANDBOX, "sandbox", 200, None),
        (SANDBOX, "production", 403, "BadEnvironmentKeyIdInToken"),
        (TOPIC, "production", 200, None),
        (OTHER, "production", 400, "TopicDisallowed"),
    ],
)
def test_a_key_works_as_far_as_the_file_allows(
    simulator, files, key_id, environment, status, reason
):
    """The key files did not exist, so the simulator created them."""
    token = provider_token(simulator, key_id, files[key_id])
    found, _, body = push(simulator, TOKEN, environment=environment, jwt_token=token)
    assert (found, json.loads(body)["reason"] if body else None) == (status, reason)


@pytest.mark.parametrize("second, statuses", [(RELATED, "200 200 "), (OTHER, "200 403 ")])
def test_only_related_keys_share_a_connection(simulator, files, second, statuses):
    words = ["curl", "-sS"]
    for key_id in (TOPIC, second):
        words += ["--http2", "--cacert", simulator.ready["ca_file"], "-d", "{}", "-o", "/dev/null"]
        words += ["-H", f"authorization: bearer {provider_token(simulator, key_id, files[key_id])}"]
        words += ["-H", f"apns-topic: {APP}", "-w", "%{http_code} "]
        words += [f"{simulator.ready['production']}/3/device/{TOKEN}", "--next"]
    done = subprocess.run(words[:-1], capture_output=True, text=True, timeout=60)
    assert done.stdout == statuses, done.stderr


@pytest.mark.parametrize(
    "text, words",
    [
        ("{}", "is not a JSON array"),
        ('[{"key_id": "A"}]', "needs key_id, team_id and file"),
        (
            '[{"key_id": "A", "team_id": "B", "file": "keys.json"}]',
            "keys.json' is JSON; expected the .p8 private key",
        ),
        (
            '[{"key_id": "A", "team_id": "B", "file": "new.p8", "environments": ["mars"]}]',
            "[0].environments: production, sandbox or both",
        ),
    ],
)
def test_a_bad_key_file_names_the_problem(tmp_path, text, words):
    (tmp_path / "keys.json").write_text(text)
    lab = os.path.abspath(built_binary("heliograph-lab"))
    command = [lab, "simulate-apns", "--keys", "keys.json"]
    command += ["--write-ca", "ca.pem", "--write-key", "key.p8"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 1 and words in done.stderr, done.stderr
