"""The notes that `helm install` prints."""

import pytest
from harness import chart

INLINE = {"credentials": {"trial": {"bundle_ids": ["a.b"], "inlineFiles": {"key_file": "text"}}}}
PASSWORD = {"kafka": {"sasl": {"mechanism": "PLAIN", "username": "a", "password": "b"}}}
STRIMZI = chart.CHART / "ci" / "strimzi-values.yaml"
KEY_WARNING = "WARNING: credential trial has its key"
PASSWORD_WARNING = "WARNING: the Kafka password"


def notes(values_file, values):
    arguments = ("install", "push", chart.CHART, "--namespace", "apps", "--dry-run=client")
    ended = chart.helm(*arguments, "--values", values_file, values=values)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.partition("\nNOTES:\n")[2]


@pytest.mark.parametrize("values_file", chart.VALUES_FILES, ids=chart.parameter_name)
def test_the_commands_in_the_notes_name_the_objects_of_the_release(values_file):
    workload = chart.only(chart.render(values_file), *chart.WORKLOADS)
    port = chart.container_of(chart.render(values_file))["ports"][0]["containerPort"]
    said = notes(values_file, {})
    resource = f"{workload['kind'].lower()}/{chart.name_of(workload)}"
    assert f"kubectl --namespace apps rollout status {resource}" in said
    assert f"kubectl --namespace apps port-forward {resource} {port}" in said
    assert "helm test push --namespace apps --logs" in said


def test_topics_that_nothing_creates_are_listed():
    listed = notes(
        chart.LEAST, {"config": {"sources": [{"topic": "in"}], "campaigns": {
            "topic": "orders", "tally_topic": "tallies",
        }}}
    )
    for topic in (
        "in",
        "in.retry.1m",
        "notifications.token-status   (compacted)",
        "orders   (compacted, one partition)",
        "tallies   (compacted and deleted after 30 days)",
    ):
        assert f"\n  {topic}\n" in listed
    assert "Create these topics" not in notes(STRIMZI, {})
    assert "Create these topics" not in notes(chart.LEAST, {"config": {"kafka": {"create_topics": True}}})


@pytest.mark.parametrize(
    "values, is_warned",
    [({}, False), ({"enabled": True}, True), ({"enabled": True, "runbookUrl": "https://a.b/c"}, False)],
)
def test_alerts_without_a_runbook_link_cause_a_warning(values, is_warned):
    assert ("prometheusRule.runbookUrl" in notes(chart.LEAST, {"prometheusRule": values})) == is_warned


@pytest.mark.parametrize(
    "values, warnings", [({}, set()), (INLINE, {KEY_WARNING}), (PASSWORD, {PASSWORD_WARNING})]
)
def test_secrets_in_the_values_cause_a_warning(values, warnings):
    said = notes(chart.LEAST, values)
    assert {text for text in (KEY_WARNING, PASSWORD_WARNING) if text in said} == warnings
