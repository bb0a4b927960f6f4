"""The rendered alerts and dashboard equal their source files."""

import json
import re
import shutil
import subprocess

import pytest
import yaml
from harness import chart

ALERTS = yaml.load((chart.CHART / "files" / "alerts.yaml").read_text(), yaml.CSafeLoader)
ON = {"prometheusRule": {"enabled": True}, "dashboard": {"enabled": True}}


def rule_spec(**values):
    manifests = chart.render(values={"prometheusRule": {"enabled": True, **values}})
    return chart.only(manifests, "PrometheusRule")["spec"]


def alerts_of(spec):
    return [rule for group in spec["groups"] for rule in group["rules"] if "alert" in rule]


def test_the_rendered_alerts_equal_the_file_with_its_templates():
    assert "{{" in str(ALERTS), "no annotation is a template, so this test proves nothing"
    assert rule_spec() == {"groups": ALERTS["groups"]}


def test_promtool_accepts_the_rendered_rules(tmp_path):
    assert shutil.which("promtool"), "promtool is missing; scripts/setup installs it"
    rules = tmp_path / "rules.yaml"
    rules.write_text(yaml.safe_dump(rule_spec(alertLabels={"team": "push"})))
    ended = subprocess.run(["promtool", "check", "rules", rules], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_labels_are_added_to_every_alert():
    for before, after in zip(alerts_of(ALERTS), alerts_of(rule_spec(alertLabels={"team": "push"}))):
        assert after == {**before, "labels": {**before.get("labels", {}), "team": "push"}}


def test_an_alert_can_be_disabled():
    left_out = alerts_of(ALERTS)[0]["alert"]
    names = [rule["alert"] for rule in alerts_of(rule_spec(disabledAlerts=[left_out]))]
    assert names == [rule["alert"] for rule in alerts_of(ALERTS) if rule["alert"] != left_out]


def test_every_rule_sums_by_labels_that_begin_with_namespace_and_job():
    """The chart adds further labels before them."""
    for group in ALERTS["groups"]:
        for rule in group["rules"]:
            for labels in re.findall(r"\b(?:by|on|without)\s*\(([^)]*)\)", rule["expr"]):
                assert labels.startswith("namespace, job"), rule["expr"]


@pytest.mark.parametrize("labels", [[], ["cluster"], ["region", "cluster"]])
def test_one_cluster_does_not_hide_another(labels, tmp_path):
    """Both have a backlog; one has stopped."""
    (tmp_path / "rules.yaml").write_text(
        yaml.safe_dump(rule_spec(additionalAggregationLabels=labels))
    )
    place = 'region="eu",namespace="push",job="heliograph"'
    lag = 'heliograph_kafka_consumer_lag_records{topic="notifications",partition="0"'
    settled = 'heliograph_events_terminal_total{outcome="accepted"'
    series = [
        {"series": f'{lag},{place},cluster="{cluster}"}}', "values": "100x60"}
        for cluster in ("good", "bad")
    ]
    series += [
        {"series": f'{settled},{place},cluster="good"}}', "values": "0+60x60"},
        {"series": f'{settled},{place},cluster="bad"}}', "values": "7x60"},
    ]
    firing = f"count by ({', '.join(labels)}) (ALERTS{{alertname='HeliographStalled',alertstate='firing'}})"
    values = {"region": "eu", "cluster": "bad"}
    told = ", ".join(f'{label}="{values[label]}"' for label in labels)
    samples = [{"labels": f"{{{told}}}", "value": 1}] if labels else []
    test = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": series,
                "promql_expr_test": [
                    {"expr": firing, "eval_time": "60m", "exp_samples": samples}
                ],
            }
        ],
    }
    (tmp_path / "test.yaml").write_text(yaml.safe_dump(test))
    ended = subprocess.run(
        ["promtool", "test", "rules", tmp_path / "test.yaml"], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_alerts_link_to_their_runbook():
    url = "https://docs.example.net/heliograph/operations"
    for rule in alerts_of(rule_spec(runbookUrl=url)):
        assert rule["annotations"]["runbook_url"] == f"{url}#{rule['alert'].lower()}"


TOKEN_FILE = {"admin.bearer_token_file": {"secret": "admin-login", "key": "token"}}
OWN = {"type": "Bearer", "credentials": {"name": "scrape-login", "key": "bearer"}}


@pytest.mark.parametrize(
    "files, authorization, wanted",
    [
        ({}, {}, None),
        (TOKEN_FILE, {}, {"credentials": {"name": "admin-login", "key": "token"}}),
        (TOKEN_FILE, OWN, OWN),
    ],
)
def test_a_scrape_sends_the_bearer_token_of_the_admin_port(files, authorization, wanted):
    values = {"enabled": True, "authorization": authorization}
    for kind, endpoints in [("PodMonitor", "podMetricsEndpoints"), ("ServiceMonitor", "endpoints")]:
        name = kind[0].lower() + kind[1:]
        monitor = chart.only(chart.render(values={"files": files, name: values}), kind)
        (endpoint,) = monitor["spec"][endpoints]
        assert endpoint.get("authorization") == wanted


@pytest.mark.parametrize("files", [{}, {"admin.certificate_file": {"secret": "a", "key": "b"}}])
def test_a_scrape_uses_tls_if_the_admin_port_does(files):
    checks = {"serverName": "push.example.com"}
    values = {"enabled": True, "tlsConfig": checks}
    for kind, endpoints in [("PodMonitor", "podMetricsEndpoints"), ("ServiceMonitor", "endpoints")]:
        name = kind[0].lower() + kind[1:]
        monitor = chart.only(chart.render(values={"files": files, name: values}), kind)
        (endpoint,) = monitor["spec"][endpoints]
        found = (endpoint.get("scheme"), endpoint.get("tlsConfig"))
        assert found == (("https", checks) if files else (None, None))


def test_the_dashboard_equals_the_file():
    manifests = chart.render(values=ON)
    (dashboard,) = (m for m in manifests if chart.name_of(m).endswith("-dashboard"))
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    ((name, text),) = dashboard["data"].items()
    assert name == "apps-push-heliograph.json"
    assert json.loads(text) == json.loads((chart.CHART / "files" / "dashboard.json").read_text())


@pytest.mark.parametrize(
    "value, file", [("prometheusRule", "alerts.yaml"), ("dashboard", "dashboard.json")]
)
def test_a_chart_without_its_files_reports_it(value, file, tmp_path):
    bare = tmp_path / "heliograph"
    shutil.copytree(chart.CHART, bare)
    (bare / "files" / file).unlink()
    ended = chart.template(chart.LEAST, {value: {"enabled": True}}, chart=bare)
    assert ended.returncode != 0
    assert f"{value}: " in ended.stderr and file in ended.stderr
