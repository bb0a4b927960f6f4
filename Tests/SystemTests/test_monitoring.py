"""Metrics, alerts, dashboard and docs/operations.md agree."""

import contextlib
import json
import re
import subprocess
import urllib.parse
import urllib.request

import pytest
import yaml
from harness.deadlines import eventually
from harness.processes import ROOT, Child, built_binary

ALERTS = ROOT / "helm" / "heliograph" / "files" / "alerts.yaml"
DASHBOARD = ROOT / "helm" / "heliograph" / "files" / "dashboard.json"
ALERT_TESTS = ROOT / "Tests" / "Alerts" / "alerts.yaml"
OPERATIONS = ROOT / "docs" / "operations.md"
LOG_KEYS = ROOT / "Sources" / "Telemetry" / "LogKey.swift"
# The suffixes of a histogram's samples.
SUFFIX = re.compile(r"_(bucket|sum|count)$")


def rules():
    groups = yaml.load(ALERTS.read_text(), yaml.CSafeLoader)["groups"]
    return [rule for group in groups for rule in group["rules"]]


def alerts():
    return [rule for rule in rules() if "alert" in rule]


def dashboard():
    return json.loads(DASHBOARD.read_text())


def panels():
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def queries():
    """The dashboard's expressions with values for Grafana's variables."""
    for panel in panels():
        for target in panel["targets"]:
            yield target["expr"].replace("$__rate_interval", "1m").replace("$__range", "1h")


def names_in(expression):
    """The metrics that an expression reads."""
    return set(re.findall(r"\b(?:heliograph|process)_[a-z0-9_]+", expression))


def rule_texts():
    return [rule["expr"] for rule in rules()]


def used_names():
    texts = rule_texts() + list(queries())
    return {name for text in texts for name in names_in(text)}


def promtool(*arguments):
    ended = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True)
    return ended.returncode, ended.stdout + ended.stderr


def section(title):
    """The text of a section of docs/operations.md, including its subsections."""
    text = OPERATIONS.read_text()
    return re.search(rf"(?ms)^## {title}\n(.*?)(?=^## |\Z)", text)[1]


def first_cells(text):
    return re.findall(r"(?m)^\| `([^`]+)` \|", text)


@pytest.mark.core
def test_rules_are_valid():
    code, told = promtool("check", "rules", ALERTS)
    assert code == 0, told


@pytest.mark.takes(20)
def test_every_alert_fires_and_stays_silent_as_its_tests_say():
    code, told = promtool("test", "rules", ALERT_TESTS)
    assert code == 0, told


@pytest.mark.core
def test_every_alert_has_a_test():
    tested = {}
    for case in yaml.load(ALERT_TESTS.read_text(), yaml.CSafeLoader)["tests"]:
        for check in case["promql_expr_test"]:
            # An entry without an alert name tests a recording rule.
            for name in re.findall(r'alertname="(\w+)"', check["expr"]):
                tested.setdefault(name, []).append(bool(check.get("exp_samples")))
    assert set(tested) == {rule["alert"] for rule in alerts()}
    for name, fires in tested.items():
        assert set(fires) == {True, False}, f"{name} is tested only firing or only silent"


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_every_alert_says_what_to_do(alert):
    assert alert["labels"]["severity"] in ("critical", "warning", "info")
    notes = alert["annotations"]
    assert set(notes) == {"summary", "description", "runbook_url"}
    assert notes["runbook_url"] == f"docs/operations.md#{alert['alert'].lower()}"
    parts = ("Meaning", "Severity", "Check", "Do", "Restart", "Over")
    chapter = re.search(
        rf"(?ms)^### {alert['alert']}\n\n"
        + "\n".join(rf"- \*\*{part}:\*\* (?P<{part}>(?:(?!\\n#).)+?)" for part in parts)
        + r"\n\n",
        section("Alerts") + "\n",
    )
    assert chapter, f"no section of this name with {', '.join(parts)}"
    assert chapter["Severity"].startswith(f"`{alert['labels']['severity']}`. ")


@pytest.mark.core
def test_only_alerts_have_sections():
    assert re.findall(r"(?m)^### (\w+)$", section("Alerts")) == [rule["alert"] for rule in alerts()]


@pytest.mark.core
def test_inhibition_rules_name_existing_alerts():
    """Each name or pattern of the advice matches existing alerts, and no alert inhibits itself."""
    [text] = re.findall(r"(?s)```yaml\n(inhibit_rules:.+?)```", section("Service levels"))
    names = {rule["alert"] for rule in alerts()}
    # An alert over all processes has only the labels of its sum; one about a process has more.
    kept = {
        rule["alert"]: set(re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)", rule["expr"]))))
        for rule in alerts()
    }

    def matched(matchers):
        found = names
        for matcher in matchers:
            operator, pattern = re.fullmatch(r'alertname(=~|!=|=)"(.+)"', matcher).groups()
            parts = pattern.split("|") if "(" not in pattern else [pattern]
            for part in parts:
                assert any(re.fullmatch(part, name) for name in names), part
            fits = {name for name in names if re.fullmatch(pattern, name)}
            found = found - fits if operator == "!=" else found & fits
        return found

    for rule in yaml.safe_load(text)["inhibit_rules"]:
        causes, consequences = matched(rule["source_matchers"]), matched(rule["target_matchers"])
        assert causes and consequences and not causes & consequences, rule
        assert rule["equal"][:2] == ["namespace", "job"]
        for name in causes | consequences:
            # Alertmanager treats labels that both alerts lack as equal.
            assert set(rule["equal"][2:]) <= kept[name], (name, rule["equal"])


def test_trouble_with_one_part_hides_no_other_part():
    """HeliographDegraded covers many parts of a process, so an alert about one part must not inhibit it."""
    [text] = re.findall(r"(?s)```yaml\n(inhibit_rules:.+?)```", section("Service levels"))
    for rule in yaml.safe_load(text)["inhibit_rules"]:
        if "HeliographAbsent" not in str(rule["source_matchers"]):
            assert "HeliographDegraded" not in str(rule["target_matchers"]), rule


@pytest.mark.core
def test_links_within_operations_resolve():
    text = OPERATIONS.read_text()
    titles = re.findall(r"(?m)^#+ (.+)$", text)
    anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= anchors
    for path in re.findall(r"\]\(([\w.]+\.md)\)", text):
        assert (OPERATIONS.parent / path).exists(), path


@pytest.mark.core
def test_every_log_key_is_explained():
    cases = re.findall(r'(?m)^    case (\w+)(?: = "(\w+)")?$', LOG_KEYS.read_text())
    assert cases
    missing = {value or name for name, value in cases} - set(first_cells(section("Log keys")))
    assert not missing


@pytest.mark.core
def test_quoted_log_messages_exist():
    """A code span of words that is not a command is a log message."""
    pages = [OPERATIONS, *(ROOT / "docs" / "how-to").glob("*.md")]
    text = "\n".join(page.read_text() for page in pages)
    spans = re.findall(r"`([A-Za-z]+(?: (?!NAME\b)[A-Za-z,:;']+)+)`", text)
    commands = ("heliograph", "kubectl", "docker", "helm")
    quoted = [span for span in spans if not span.startswith(commands)]
    sources = "\n".join(path.read_text() for path in (ROOT / "Sources").rglob("*.swift"))
    # A long message consists of several literals.
    written = re.sub(r'"\s*\+\s*"|\\\n\s*', "", sources)
    assert len(quoted) > 5
    assert not [line for line in quoted if line not in written]


@pytest.mark.core
def test_quoted_panels_exist():
    """Capitalized quotes in the runbook are panel titles, or texts of the programs."""
    text = re.sub(r"(?ms)^ *```.*?^ *```|`[^`]*`", "", section("First steps") + section("Alerts"))
    quoted = set(re.findall(r'"([A-Z][^"]*)"', re.sub(r"\s+", " ", text)))
    titles = {panel["title"] for panel in panels()}
    sources = "\n".join(path.read_text() for path in (ROOT / "Sources").rglob("*.swift"))
    assert len(quoted & titles) > 20
    assert not [words for words in quoted - titles if words not in sources]


def test_dashboard_queries_are_valid(tmp_path):
    file = tmp_path / "rules.yaml"
    records = [{"record": f"query:{n}", "expr": text} for n, text in enumerate(queries())]
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": records}]}))
    code, told = promtool("check", "rules", file)
    assert code == 0, told


def test_dashboard_panels_are_complete():
    board = dashboard()
    names = ["datasource", "cluster", "namespace", "job"]
    assert [variable["name"] for variable in board["templating"]["list"]] == names
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in panels():
        title = panel["title"]
        assert panel["description"].endswith("."), title
        unit = panel["fieldConfig"]["defaults"].get("unit") or panel["options"]["yAxis"]["unit"]
        assert unit, title
        for source in [panel["datasource"]] + [t["datasource"] for t in panel["targets"]]:
            assert source["uid"] == "${datasource}", title


def test_each_query_is_limited_to_the_selection():
    """A metric without a cluster has an empty one, which `.*` matches."""
    for text in queries():
        selectors = re.findall(r"\b(?:heliograph|process)_[a-z0-9_]+(\{[^}]*\})?", text)
        for selector in selectors:
            for variable in ("cluster", "namespace", "job"):
                assert f'{variable}=~"${variable}"' in selector, text
        for labels in re.findall(r"\bon \(([^)]*)\)", text):
            assert labels.startswith("cluster, namespace, job"), text


def test_dashboard_panels_do_not_overlap():
    taken = {}
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                other = taken.setdefault((x, y), panel["title"])
                assert other is panel["title"], f"{panel['title']} lies over {other}"


@pytest.mark.core
def test_metrics_of_a_running_service_match_alerts_dashboard_and_docs(broker, simulators, benches):
    """A service exposes every metric that alerts, dashboard and docs name, and the docs name all of them."""
    bench = benches(broker)
    service = bench.run(simulators())
    status, text = service.fetch("/metrics")
    assert status == 200
    exposed = {m[1]: m[2] for m in re.finditer(r"(?m)^# TYPE (\S+) (\S+)$", text)}
    used = {
        name if name in exposed else SUFFIX.sub("", name)
        for name in used_names()
        # test_canary.py has these.
        if not name.startswith("heliograph_canary_")
    }
    assert used <= set(exposed), "used, but not exposed"
    # A `le` value that the histogram does not have selects nothing, without an error.
    bounds = re.findall(r'(\w+_bucket)\{le=~"([^"]+)"', "\n".join([*queries(), *rule_texts()]))
    assert bounds
    for name, pattern in set(bounds):
        exposed_bounds = re.findall(rf'(?m)^{name}\{{(?:[^}}]*,)?le="([^"]+)"\}}', text)
        assert [bound for bound in exposed_bounds if re.fullmatch(pattern, bound)], (name, pattern)
    documented = first_cells(section("Metrics"))
    assert sorted(documented) == sorted(exposed), "documented and exposed differ"
    kinds = dict(re.findall(r"(?m)^\| `([^`]+)` \| (\w+) \|", section("Metrics")))
    assert kinds == exposed


# These are empty for a service without dead letters, retry topics, GOAWAY, certificates and canary.
QUIET_PANELS = {"Dead letters", "Certificates expire in", "Canary events", "Canary latency"}
QUIET_WORDS = ("heliograph_apns_goaway_total", 'round="later"')


@contextlib.contextmanager
def prometheus(folder, service):
    """A Prometheus that scrapes the service; yields a function that queries its API."""
    targets = [{"targets": [f"127.0.0.1:{service.port}"]}]
    settings = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(ALERTS)],
        "scrape_configs": [{"job_name": "heliograph", "static_configs": targets}],
    }
    file = folder / "prometheus.yml"
    file.write_text(yaml.safe_dump(settings))
    options = [f"--config.file={file}", f"--storage.tsdb.path={folder / 'data'}"]
    with Child(["/usr/bin/prometheus", *options, "--web.listen-address=127.0.0.1:0"]) as child:

        def listening(line):
            found = re.search(r'msg="Listening on" address=127.0.0.1:(\d+)', line)
            return found and found[1]

        port = child.wait_for("stderr", listening)
        child.wait_for("stderr", lambda line: "Server is ready" in line or None)

        def ask(path, **query):
            url = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
            with urllib.request.urlopen(url, timeout=60) as answer:
                return json.load(answer)["data"]

        yield ask


@pytest.mark.takes(10)
def test_prometheus_evaluates_rules_and_dashboard(broker, simulators, benches, tmp_path):
    """With real numbers: no rule fails, no alert fires, every panel has data."""
    bench = benches(broker)
    service = bench.run(simulators())
    load = ["load", "--bootstrap-servers", broker.bootstrap_servers, "--topic", bench.topics.source]
    with prometheus(tmp_path, service) as ask, Child(
        [built_binary("heliograph-lab"), *load, "--rate", "20", "--unhappy", "100"]
    ):
        for panel in panels():
            if panel["title"] in QUIET_PANELS:
                continue
            for target in panel["targets"]:
                text = re.sub(r"\$(cluster|namespace|job)\b", ".*", target["expr"])
                text = text.replace("$__rate_interval", "10s").replace("$__range", "10s")
                text = text.replace("[5m]", "[10s]")
                if any(word in text for word in QUIET_WORDS):
                    continue

                def shown(text=text):
                    return ask("query", query=text)["result"]

                eventually(shown, 60, f"{panel['title']}: {text}", interval=0.5)
        groups = ask("rules")["groups"]
        states = {rule["name"]: rule for group in groups for rule in group["rules"]}
        assert len(states) == len(rules())
        for name, rule in states.items():
            assert rule["health"] == "ok", f"{name}: {rule.get('lastError')}"
            assert rule.get("state") != "firing", name
