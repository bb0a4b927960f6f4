"""All holders of a key send the same provider token, seen by independent servers."""

import base64
import json
import time

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from harness.commands import run_command
from harness.events import APP, new_event, record

TOKEN = "a11ce000" + "5e" * 28


def rfc_6979(key_file, signed):
    """The deterministic signature that OpenSSL 3.2 and newer makes, encoded as in a JWT."""
    with open(key_file, "rb") as file:
        key = serialization.load_pem_private_key(file.read(), None)
    der = key.sign(signed, ec.ECDSA(hashes.SHA256(), deterministic_signing=True))
    octets = b"".join(number.to_bytes(32) for number in utils.decode_dss_signature(der))
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def issue_time(token):
    claims = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["iat"]


@pytest.mark.core
def test_processes_and_commands_with_one_key_send_the_same_token(broker, benches, peer, tmp_path):
    began = time.time()
    server = peer(max_concurrent_streams=10)
    for _ in range(2):
        bench = benches(broker, 1)
        bench.produce([record(new_event())])
        bench.run(server)
        bench.wait_for_outcomes(1)
    settings = bench.configuration(server)
    settings["apns"]["endpoints"]["management_production"] = server.ready["production"]
    words = ["push", "--token", TOKEN, "--bundle-id", APP, "--alert", "Hello"]
    for arguments in (words, words, ["channels", "list", "--bundle-id", APP]):
        run_command(tmp_path, settings, *arguments)
    assert len(server.requests) == 5
    tokens = {request["authorization"].removeprefix("bearer ") for request in server.requests}
    # A new time slot may begin in between; each slot has one token.
    issue_times = sorted(map(issue_time, tokens))
    assert [second - first for first, second in zip(issue_times, issue_times[1:])] in ([], [1800])
    for token in tokens:
        assert 900 <= time.time() - issue_time(token)
        assert began - issue_time(token) < 2760
        signed, signature = token.rsplit(".", 1)
        assert signature == rfc_6979(server.ready["key_file"], signed.encode())


def test_restarts_and_commands_use_one_token_with_a_strict_apns(
    broker, benches, simulators, tmp_path
):
    simulator = simulators({"strictness": {"token_updates": "key"}})
    bench = benches(broker, 1)
    for count in (1, 2, 3):
        bench.produce([record(new_event())])
        service = bench.run(simulator)
        bench.wait_for_outcomes(count)
        service.drain()
    words = ["push", "--token", TOKEN, "--bundle-id", APP, "--alert", "Hello"]
    for _ in range(2):
        assert run_command(tmp_path, bench.configuration(simulator), *words).code == 0
    assert [request["status"] for request in simulator.requests()] == [200] * 5
