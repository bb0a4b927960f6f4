"""Operators' own schemas: selected by source and bundle ID, reloaded when they change."""

import json
import os
import subprocess

import pytest
import yaml

from harness.deadlines import eventually
from harness.events import new_event, record
from harness.processes import built_binary
from harness.service import outcomes_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"
APP_NEWS, APP_CHAT = "com.example.News", "com.example.Chat"


def requiring(*names):
    """A schema whose payloads must have these members."""
    return {"$schema": DIALECT, "type": "object", "required": list(names)}


def event(bundle_id=APP_NEWS, **payload):
    return new_event(bundle_id=bundle_id, payload={"aps": {"alert": "x"}, **payload})


class ConfigMap:
    """A directory as Kubernetes mounts it: links to a folder that is swapped as a whole."""

    def __init__(self, path):
        self.path = path
        self._count = 0
        path.mkdir()

    def publish(self, files):
        self._count += 1
        folder = self.path / f"..{self._count}"
        folder.mkdir()
        for name, text in files.items():
            text = text if isinstance(text, str) else json.dumps(text)
            (folder / name).write_text(text)
            link = self.path / name
            if not link.is_symlink():
                link.symlink_to(f"..data/{name}")
        fresh = self.path / "..data_tmp"
        fresh.symlink_to(folder.name)
        os.replace(fresh, self.path / "..data")
        return self


def metric(service, sample):
    for line in service.fetch("/metrics")[1].splitlines():
        if line.startswith(f"heliograph_{sample} "):
            return float(line.split()[-1])
    raise AssertionError(f"no {sample} in the metrics")


def reloads(service, result):
    return metric(service, f'schemas_reloads_total{{result="{result}"}}')


def ends(bench):
    return {
        outcome["event_id"]: (outcome["outcome"], outcome["reason"])
        for _, outcome in outcomes_of(bench.kafka, bench.topics)
    }


INVALID = ("invalid", "SchemaViolation")
ACCEPTED = ("accepted", None)


def settings(directory, **bound):
    schemas = {
        "directory": str(directory),
        "payload_schemas": [
            {"bundle_ids": [pattern], "schema": name} for pattern, name in bound.items()
        ],
    }
    return {"schemas": schemas}


@pytest.mark.core
def test_schemas_apply_by_source_and_by_app(broker, simulators, benches, tmp_path):
    bench, simulator = benches(broker), simulators()
    directory = ConfigMap(tmp_path / "schemas").publish(
        {
            "every.json": requiring("trace"),
            "news.schema.json": requiring("story"),
            "example.json": requiring("never"),
            "README.md": "no schema",
        }
    )
    changes = settings(
        directory.path, **{APP_NEWS: "news", "com.example.*": "example"}
    )
    changes["sources"] = [{"topic": bench.topics.source, "payload_schema": "every"}]
    good = event(trace="t", story="s")
    neither, no_story = event(), event(trace="t")
    by_pattern = event(APP_CHAT, trace="t", story="s")
    by_topic = new_event(
        bundle_id=None,
        topic=f"{APP_NEWS}.voip",
        push_type="voip",
        payload={"trace": "t"},
    )
    bench.produce([record(e) for e in (good, neither, no_story, by_pattern, by_topic)])
    service = bench.run(simulator, **changes)
    bench.wait_for_outcomes(5, service=service)
    outcomes = {o["event_id"]: o for _, o in outcomes_of(broker, bench.topics)}
    assert outcomes[good["id"]]["outcome"] == "accepted"

    def rules(sent):
        outcome = outcomes[sent["id"]]
        assert (outcome["outcome"], outcome["reason"]) == INVALID
        assert {v["instance_location"] for v in outcome["violations"]} == {"/payload"}
        return [v["keyword_location"] for v in outcome["violations"]]

    assert rules(neither) == ["every#/required", "news#/required"]
    assert rules(no_story) == ["news#/required"]
    assert rules(by_pattern) == ["example#/required"]
    assert rules(by_topic) == ["news#/required"]
    service.drain()


def test_a_schema_can_refer_to_files_next_to_it(broker, simulators, benches, tmp_path):
    bench, simulator = benches(broker), simulators()
    story = {"type": "object", "properties": {"url": {"type": "string", "format": "uri"}}}
    directory = ConfigMap(tmp_path / "a folder").publish(
        {
            "news.json": {"$schema": DIALECT, "properties": {"story": {"$ref": "story.json"}}},
            "story.json": {"$schema": DIALECT, **story},
        }
    )
    changes = settings(directory.path, **{APP_NEWS: "news"})
    changes["schemas"]["assert_format"] = True
    good, number = event(story={"url": "https://example.com/1"}), event(story={"url": 1})
    no_url = event(story={"url": "no url"})
    bench.produce([record(e) for e in (good, number, no_url)])
    service = bench.run(simulator, **changes)
    bench.wait_for_outcomes(3, service=service)
    found = {o["event_id"]: o for _, o in outcomes_of(broker, bench.topics)}
    assert found[good["id"]]["outcome"] == "accepted"
    for bad, rule in [(number, "type"), (no_url, "format")]:
        [violation] = found[bad["id"]]["violations"]
        assert violation["instance_location"] == "/payload/story/url"
        assert violation["keyword_location"].startswith("news#")
        assert violation["keyword_location"].endswith(f"/properties/url/{rule}")
    service.drain()


def test_a_change_is_loaded_without_a_restart(broker, simulators, benches, tmp_path):
    bench, simulator = benches(broker), simulators()
    directory = ConfigMap(tmp_path / "schemas").publish({"news.json": requiring("a")})
    service = bench.run(simulator, **settings(directory.path, **{APP_NEWS: "news"}))
    count = 0

    def both():
        """The outcomes of an event with `a` and of one with `b`."""
        nonlocal count
        with_a, with_b = event(a=1), event(b=1)
        bench.produce([record(with_a), record(with_b)])
        count += 2
        bench.wait_for_outcomes(count, service=service)
        found = ends(bench)
        return found[with_a["id"]], found[with_b["id"]]

    loaded_at = metric(service, "schemas_last_load_timestamp_seconds")
    assert loaded_at > 0
    assert both() == (ACCEPTED, INVALID)

    directory.publish({"news.json": requiring("b")})
    eventually(lambda: reloads(service, "ok") == 1, 60, "the new schema to be loaded")
    assert metric(service, "schemas_last_load_timestamp_seconds") >= loaded_at
    assert both() == (INVALID, ACCEPTED)

    directory.publish({"news.json": {"type": "objekt"}})
    eventually(lambda: reloads(service, "failed") == 1, 60, "the bad schema to be refused")
    [warning] = service.warnings()
    assert warning.startswith("schemas: ") and "news.json" in warning and "/type" in warning
    assert metric(service, 'unusable_files{use="schemas"}') == 1
    assert both() == (INVALID, ACCEPTED)

    directory.publish({"news.json": requiring("a")})
    eventually(lambda: reloads(service, "ok") == 2, 60, "the good schema to be loaded")
    assert metric(service, 'unusable_files{use="schemas"}') == 0
    assert not service.warnings()
    assert both() == (ACCEPTED, INVALID)
    # They are logged after they are counted.
    eventually(lambda: len(service.log_lines("schemas reloaded")) == 2, 60, service.child.output)
    service.drain()


BAD = {
    "does not compile": ({"news.json": {"type": "objekt"}}, "news.json' at /type: "),
    "no JSON": ({"news.json": "{"}, "news.json': "),
    "not there": ({"other.json": {}}, "is 'news'; expected a schema of schemas.directory"),
    "refers to nothing": (
        {"news.json": {"$ref": "nothing.json"}},
        "news.json' at /$ref: ",
    ),
    "twice": ({"news.json": {}, "news.schema.json": {}}, "two files for the schema 'news'"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["run", "check"])
def test_a_bad_schema_fails_the_start(
    broker, simulators, benches, tmp_path, name, command
):
    files, message = BAD[name]
    bench, simulator = benches(broker), simulators()
    directory = ConfigMap(tmp_path / "schemas").publish(files)
    changes = settings(directory.path, **{APP_NEWS: "news"})
    path = tmp_path / "heliograph.yaml"
    path.write_text(yaml.safe_dump(bench.configuration(simulator, **changes)))
    run = subprocess.run(
        [built_binary("heliograph"), command, "--config", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 1
    key = "schemas.payload_schemas.0.schema" if name == "not there" else "schemas.directory"
    said = [line for line in run.stderr.splitlines() if message in line]
    assert len(said) == 1, run.stderr
    assert key in said[0] and "heliograph.yaml:" in said[0]
