"""A third-party Schema Registry: Apicurio, plain, and behind nginx with TLS and a login."""

import subprocess
import struct

import pytest

from harness.events import encoded, new_event
from harness.foreign_servers import nginx, program
from harness.kafka import Written
from harness.real_registry import registry_jar, running_real_registry
from harness.service import outcomes_of

pytestmark = [
    pytest.mark.takes(30),
    pytest.mark.skipif(
        registry_jar() is None, reason="HELIOGRAPH_TEST_REGISTRY names no Apicurio Registry"
    ),
]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
TEAM_SCHEMA = {
    "$schema": DIALECT,
    "properties": {"metadata": {"type": "object", "required": ["team"]}},
    "required": ["metadata"],
}


@pytest.fixture(scope="module")
def registry():
    with running_real_registry() as registry:
        yield registry


def wire_format(schema_id, event):
    return Written(struct.pack(">bI", 0, schema_id) + encoded(event), None, ())


def ends(bench):
    """{event_id: (outcome, reason)}"""
    outcomes = [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    return {o["event_id"]: (o["outcome"], o["reason"]) for o in outcomes}


def test_each_answer_of_a_registry_is_understood(registry, broker, simulators, benches):
    bench, simulator = benches(broker), simulators({})
    name = f"{bench.topics.source}-name"
    registry.register(name, {"$schema": DIALECT, "type": "string", "minLength": 3})
    outer = {
        "$schema": DIALECT,
        "properties": {"metadata": {"properties": {"team": {"$ref": "name.json"}}}},
    }
    reference = {"name": "name.json", "subject": name, "version": 1}
    schemas = {
        "plain": registry.register(f"{name}-plain", TEAM_SCHEMA),
        "referring": registry.register(f"{name}-referring", outer, [reference]),
        "avro": registry.register(f"{name}-avro", '{"type": "string"}', schema_type="AVRO"),
        "unknown": 2**31 - 1,
    }
    settings = {"url": registry.url, "request_timeout": "30s"}
    service = bench.run(simulator, schema_registry=settings)
    expected = {
        ("plain", "team"): ("accepted", None),
        ("plain", None): ("invalid", "SchemaViolation"),
        ("referring", "team"): ("accepted", None),
        ("referring", "te"): ("invalid", "SchemaViolation"),
        ("avro", "team"): ("invalid", "UnusableSchema"),
        ("unknown", "team"): ("invalid", "UnknownSchema"),
    }
    sent = []
    for schema, team in expected:
        metadata = {"team": team} if team else {}
        event = new_event(id=f"{schema}-{team}", metadata=metadata)
        sent.append(wire_format(schemas[schema], event))
    bench.produce(sent)
    bench.wait_until_settled(service=service)
    assert ends(bench) == {f"{schema}-{team}": end for (schema, team), end in expected.items()}
    assert not service.warnings()
    service.drain()


@pytest.mark.skipif(program("nginx") is None, reason="nginx is not installed")
@pytest.mark.parametrize("password", ["right", "wrong"])
def test_a_login_over_tls_works(registry, broker, simulators, benches, tmp_path, password):
    bench, simulator = benches(broker), simulators({})
    schema = registry.register(f"{bench.topics.source}-value", TEAM_SCHEMA)
    kept = subprocess.run(
        ["openssl", "passwd", "-apr1", "right"], check=True, capture_output=True, text=True
    )
    folder = tmp_path / "nginx"
    folder.mkdir()
    (folder / "users").write_text(f"heliograph:{kept.stdout}")
    (tmp_path / "password").write_text(f"{password}\n")
    with nginx(
        folder,
        f"location /registry/ {{ proxy_pass {registry.url}/;"
        f" auth_basic registry; auth_basic_user_file {folder}/users; }}",
    ) as server:
        settings = {
            "url": f"{server.ready['production']}/registry",
            "request_timeout": "30s",
            "ca_file": server.ready["ca_file"],
            "username": "heliograph",
            "password_file": str(tmp_path / "password"),
        }
        service = bench.run(simulator, schema_registry=settings, retry={"here_for": "1s"})
        bench.produce([wire_format(schema, new_event(id="1", metadata={"team": "a"}))])
        bench.wait_for_outcomes(1, service=service)
        accepted, refused = ("accepted", None), ("undeliverable", "SchemaUnavailable")
        assert ends(bench) == {"1": accepted if password == "right" else refused}
        service.drain()
