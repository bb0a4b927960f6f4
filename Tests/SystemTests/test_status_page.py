"""The status page in a real browser: its content, its accessibility, and its requests."""

import contextlib
import pathlib
import re

import pytest

from harness import apache_kafka, status_page
from harness import kafka as kafka_processes
from harness.bench import Bench
from harness.browser import running_browser
from harness.deadlines import eventually
from harness.events import new_event, record
from harness.processes import ROOT
from harness.simulator import running_simulator

pytestmark = pytest.mark.takes(45)
ARTIFACTS = ROOT / ".build" / "artifacts" / "status-page"
AUDIT = (pathlib.Path(__file__).parent / "harness" / "accessibility.js").read_text()
SCENARIO = ROOT / "examples" / "demo-scenario.json"
WIDE, PHONE = (1280, 900), (360, 740)
LOOKS = {
    "light": (WIDE, False),
    "dark": (WIDE, True),
    "phone": (PHONE, False),
    "phone-dark": (PHONE, True),
}
STATES = {
    "idle": (status_page.idle, "Ready"),
    "busy": (status_page.busy, "Ready"),
    "degraded": (status_page.degraded, "Not ready: 1 reason"),
}


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A service with its own bench that feeds it events."""
    folder = tmp_path_factory.mktemp("status-page")
    with contextlib.ExitStack() as stack:
        kafka = stack.enter_context(kafka_processes.mock_cluster())
        simulator = stack.enter_context(running_simulator(folder / "simulator", SCENARIO))
        bench = Bench(kafka, folder, stack, partitions=3)
        yield bench, bench.run(simulator), simulator


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with running_browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def scripted(browser, running):
    """The service's own page with hand-written documents."""
    _, service, _ = running
    page, headers = service.fetch_with_headers("/")
    names = ("Content-Type", "Content-Security-Policy", "X-Content-Type-Options")
    fields = {name: headers[name] for name in names}
    with status_page.scripted_service(page, fields) as service:
        yield service
        # A page that outlives its server would report errors in the next test.
        browser.open("about:blank")


def text_of(browser, identifier):
    return browser.run("return document.getElementById(arguments[0]).innerText", identifier)


def wait_for_text(browser, identifier, wanted, seconds=60):
    def found():
        return wanted in text_of(browser, identifier)

    def what():
        return f"'{wanted}' in #{identifier}: {text_of(browser, identifier)!r}"

    eventually(found, seconds, what)


def wait_for_number(browser, identifier, pattern, wanted, seconds=60):
    def found():
        said = re.search(pattern, text_of(browser, identifier))
        return said and int(said[1]) in wanted

    def what():
        return f"{pattern} in {wanted} in #{identifier}: {text_of(browser, identifier)!r}"

    eventually(found, seconds, what)


def show(browser, scripted, told, headline, look=(WIDE, False)):
    scripted.status = told
    browser.look(*look[0], dark=look[1])
    browser.open(scripted.address)
    wait_for_text(browser, "state", headline)


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("state", STATES)
def test_each_state_renders_in_each_theme_and_size(browser, scripted, state, look):
    make, headline = STATES[state]
    seen_before, said_before = len(browser.requests), len(browser.complaints)
    show(browser, scripted, make(), headline, LOOKS[look])
    assert browser.run(AUDIT) == []
    browser.screenshot(ARTIFACTS / f"{state}-{look}.png")
    # Folded sections are checked, too.
    browser.run("for (const one of document.querySelectorAll('details')) one.open = true")
    eventually(
        lambda: browser.run("return document.querySelectorAll('figure tbody tr').length"),
        60,
        "the tables of the charts",
    )
    assert browser.run(AUDIT) == []
    assert browser.complaints[said_before:] == []
    asked = browser.requests[seen_before:]
    assert asked and all(url.startswith((scripted.address, "data:,")) for url in asked), asked


def test_the_page_follows_the_service(browser, scripted):
    show(browser, scripted, status_page.idle(), "Ready")
    assert "No events at the moment" in text_of(browser, "summary")
    assert browser.run("return document.getElementById('reasons-section').hidden")
    scripted.status = status_page.busy()
    wait_for_text(browser, "summary", "outcomes per second")
    tiles = text_of(browser, "tiles")
    assert "512" in tiles and "of 10,000 allowed" in tiles
    assert "412 of 1,000" in text_of(browser, "connections")
    assert "Remove the token, unless" in text_of(browser, "reasons")
    assert text_of(browser, "lag").index("310") < text_of(browser, "lag").index("41")
    label = "return document.querySelector('figure svg[role=img]').getAttribute('aria-label')"
    assert "accepted: now" in browser.run(label)
    scripted.status = status_page.degraded()
    wait_for_text(browser, "state", "Not ready: 1 reason")
    obstacles = text_of(browser, "obstacles")
    assert "parked: BadCertificate" in obstacles and "Renew the certificate" in obstacles
    watch = text_of(browser, "watch")
    for sign in ("waited 7 min", "9,800 of 10,000", "breaker is open", "token fuse blown",
                 "more than one in a hundred"):
        assert sign in watch
    # Problems that readiness reports appear once.
    assert "nothing is sent with it" not in watch
    assert "paused" in text_of(browser, "lag") and "parked" in text_of(browser, "connections")
    assert browser.run("return document.title").startswith("✕ Not ready")


def test_events_in_retry_topics_are_not_lag(browser, scripted):
    told = status_page.busy()
    lags = told["metrics"]["kafka_consumer_lag_records"]
    behind = sum(sample["value"] for sample in lags)
    put_off = {"topic": "notifications.retry.15m", "partition": "0", "value": 250_000}
    told["metrics"]["kafka_consumer_lag_records"] = [*lags, put_off]
    show(browser, scripted, told, "Ready")
    assert f"{behind:,}" in text_of(browser, "tiles")
    assert "250,000" in text_of(browser, "lag")


@pytest.mark.parametrize(
    "said, advice",
    [
        ("too many failures, last: 503 ServiceUnavailable", "Apple's system status"),
        ("too many failures, last: RequestTimeout", "Apple's system status"),
        ("Connection refused", "DNS, proxy, firewall"),
        ("connecting", "DNS, proxy, firewall"),
    ],
)
def test_the_route_to_apns_is_blamed_only_without_a_connection(browser, scripted, said, advice):
    told = status_page.busy()
    reason = f"apns.endpoints.production: {said}"
    part = "credential example (production)"
    told["readiness"]["warnings"] = [{"part": part, "reason": reason}]
    show(browser, scripted, told, "Ready, but look at one thing")
    obstacles = text_of(browser, "obstacles")
    assert advice in obstacles
    assert ("DNS" in obstacles) == ("DNS" in advice)


@pytest.mark.parametrize(
    "said, advice",
    [
        ("orders: TOPIC_AUTHORIZATION_FAILED: Broker: Topic authorization failed", "Grant the right"),
        ("loading campaign orders: TOPIC_AUTHORIZATION_FAILED", "Grant the right"),
        ("loading campaign orders", "before the orders are known"),
        ("campaign orders cannot be read: no such topic", "by the last known orders"),
        ("token status cannot be read: no such topic", "Check that the topic exists"),
        ("2/2 brokers are down", "Check the brokers"),
    ],
)
def test_brokers_are_blamed_only_without_a_better_reason(browser, scripted, said, advice):
    told = status_page.busy()
    told["readiness"]["warnings"] = [{"part": "kafka", "reason": said}]
    show(browser, scripted, told, "Ready, but look at one thing")
    obstacles = text_of(browser, "obstacles")
    assert advice in obstacles
    assert ("Check the brokers" in obstacles) == ("Check the brokers" in advice)


def test_a_silent_service_is_reported_until_it_answers(browser, scripted):
    show(browser, scripted, status_page.busy(), "Ready")
    scripted.is_silent = True
    wait_for_text(browser, "state", "No answer from the service")
    assert "The data below is from" in text_of(browser, "summary")
    # The last numbers stay visible.
    assert "512" in text_of(browser, "tiles")
    assert browser.run(AUDIT) == []
    browser.screenshot(ARTIFACTS / "silent-light.png")
    scripted.is_silent = False
    wait_for_text(browser, "state", "Ready")
    assert not browser.run("return document.body.classList.contains('stale')")


def test_a_hidden_tab_sends_no_requests(browser, scripted):
    show(browser, scripted, status_page.idle(), "Ready")
    hide = """
        Object.defineProperty(document, "hidden", { value: arguments[0], configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
        """
    browser.run(hide, True)
    assert browser.run("return timer === undefined")
    scripted.status = status_page.degraded()
    browser.run(hide, False)
    wait_for_text(browser, "state", "Not ready")


def test_the_keyboard_pauses_the_page_and_numbers_stay(browser, scripted):
    show(browser, scripted, status_page.idle(), "Ready")
    browser.run("document.getElementById('pause').focus()")
    browser.press("Enter")
    pressed = "return document.getElementById('pause').getAttribute('aria-pressed')"
    assert browser.run(pressed) == "true" and "paused at" in text_of(browser, "freshness")
    assert browser.run("return timer === undefined")
    scripted.status = status_page.degraded()
    browser.press("Enter")
    assert browser.run(pressed) == "false"
    wait_for_text(browser, "state", "Not ready")


def test_tab_visits_every_control_in_order(browser, scripted):
    show(browser, scripted, status_page.degraded(), "Not ready", (PHONE, False))
    wanted = browser.run(
        """
        document.activeElement.blur();
        window.getSelection().removeAllRanges();
        const ways = "a[href], button, summary, [tabindex='0']";
        window.ways = [...document.querySelectorAll(ways)].filter(one => one.checkVisibility());
        return ways.length && window.ways.length;
        """
    )
    visited = []
    for _ in range(wanted):
        browser.press("Tab")
        visited.append(
            browser.run(
                """
                const style = getComputedStyle(document.activeElement);
                return [window.ways.indexOf(document.activeElement),
                        style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2];
                """
            )
        )
    assert visited == [[index, True] for index in range(wanted)]


@pytest.mark.parametrize("points", [0, 1, 2, 40])
def test_missing_data_is_left_out(browser, scripted, points):
    said_before = len(browser.complaints)
    told = status_page.document(uptime=max(1, points) * 5, points=points)
    told["metrics"] = {}
    told["configuration"] = []
    show(browser, scripted, told, "Ready")
    assert browser.run("return document.getElementById('lag-section').hidden")
    assert browser.run("return document.getElementById('connections-section').hidden")
    assert browser.run(AUDIT) == []
    assert browser.complaints[said_before:] == []
    if points == 40:
        browser.screenshot(ARTIFACTS / "young-light.png")


def test_text_is_never_markup(browser, scripted):
    said_before = len(browser.complaints)
    evil = "<img src=x onerror=document.title='owned'><script>owned()</script>"
    told = status_page.degraded()
    told["version"] = evil
    told["readiness"]["reasons"] = told["readiness"]["warnings"] = [{"part": evil, "reason": evil}]
    told["reasons"][0].update(reason=evil, meaning=evil, remedy=evil)
    told["configuration"] = [{"key": evil, "value": evil}]
    told["metrics"]["kafka_consumer_lag_records"][0]["topic"] = evil
    told["metrics"]["apns_connections"][0]["credential"] = evil
    show(browser, scripted, told, "Not ready: 1 reason")
    assert evil in text_of(browser, "obstacles")
    assert browser.run("return document.querySelectorAll('img').length") == 0
    assert "owned" not in browser.run("return document.title")
    assert browser.complaints[said_before:] == []


def test_injected_code_never_runs(browser, scripted):
    show(browser, scripted, status_page.idle(), "Ready")
    ran = browser.run(
        """
        window.owned = 0;
        const script = document.createElement("script");
        try { script.textContent = "owned += 1"; } catch { /* Trusted Types refuse it. */ }
        document.head.append(script);
        try { document.body.insertAdjacentHTML("beforeend", "<b>owned</b>"); owned += 1; } catch {}
        return window.owned;
        """
    )
    assert ran == 0


def test_many_partitions_are_folded(browser, scripted):
    told = status_page.busy()
    told["metrics"]["kafka_consumer_lag_records"] = status_page.labelled(
        "partition", {str(i): 500 - i for i in range(64)}, topic="notifications"
    )
    show(browser, scripted, told, "Ready")
    rows = "return document.querySelectorAll('#lag tbody tr').length"
    assert browser.run(rows) == 12
    browser.run("document.getElementById('lag-more').click()")
    assert browser.run(rows) == 64
    assert text_of(browser, "lag-more") == "Show fewer"


def test_campaigns_keep_their_rows_and_have_buttons_where_a_token_is_needed(browser, scripted):
    told = status_page.idle()
    known = status_page.campaigns()
    told["campaigns"] = {"allows_orders": False, "shown": known, "others": 1}
    show(browser, scripted, told, "Ready")
    table = text_of(browser, "campaigns")
    for part in ("breaking-news", "412,007", "1,204 unregistered, 3 duplicate", "2,210", "paused",
                 "then at 500/s", "running at 0.5/s", "99,880", "in this process"):
        assert part in table, part
    assert "1 more campaign is not shown" in text_of(browser, "campaigns-note")
    buttons = "return [...document.querySelectorAll('#campaigns button')].map(one => one.ariaLabel)"
    assert browser.run(buttons) == []

    # The busiest comes first, but a campaign stays where it is; a new one follows.
    told["campaigns"]["allows_orders"] = True
    told["campaigns"]["shown"] = [status_page.campaign("fresh"), *reversed(known)]
    wanted = [
        "Pause breaking-news", "Cancel breaking-news", "Resume spring-sale", "Cancel spring-sale",
        "Pause weekly-digest", "Cancel weekly-digest", "Pause fresh", "Cancel fresh",
    ]  # fmt: skip
    eventually(lambda: browser.run(buttons) == wanted, 60, lambda: browser.run(buttons))
    assert browser.run(AUDIT) == []
    told["campaigns"]["shown"] = [status_page.campaign("other"), *known[1:]]
    eventually(
        lambda: browser.run(buttons)[:3] == ["Pause other", "Cancel other", "Resume spring-sale"],
        60,
        lambda: browser.run(buttons),
    )
    told["campaigns"]["shown"] = []
    eventually(
        lambda: browser.run("return document.getElementById('campaigns-section').hidden"),
        60,
        "no campaigns",
    )


def test_a_button_orders_and_cancelling_asks_once_more(browser, scripted):
    said_before = len(browser.complaints)
    told = status_page.idle()
    evil = 'a/"b"?<b>&ü'
    told["campaigns"] = {
        "allows_orders": True, "shown": [status_page.campaign(evil)], "others": 0,
    }  # fmt: skip
    scripted.order_answer = 200, f"{evil}: paused"
    show(browser, scripted, told, "Ready")
    origin = scripted.address.removesuffix("/")
    press = "document.querySelectorAll('#campaigns button')[arguments[0]].click()"
    browser.run(press, 0)
    wait_for_text(browser, "campaigns-answer", f"Ordered: {evil}: paused.")
    path = "/campaigns/a%2F%22b%22%3F%3Cb%3E%26%C3%BC"
    assert scripted.orders == [(f"{path}/pause", origin)]

    is_open = "return document.getElementById('cancelling').open"
    browser.run(press, 1)
    assert browser.run(is_open) and f"Cancel {evil}?" in text_of(browser, "cancelling")
    assert browser.run(AUDIT) == []
    browser.run("document.getElementById('cancelling-no').click()")
    assert not browser.run(is_open)
    browser.run(press, 1)
    scripted.order_answer = 200, f"{evil}: cancelled"
    browser.run("document.getElementById('cancelling-yes').click()")
    wait_for_text(browser, "campaigns-answer", f"Ordered: {evil}: cancelled.")
    assert not browser.run(is_open)
    assert scripted.orders[1:] == [(f"{path}/cancel", origin)]
    assert browser.complaints[said_before:] == []

    scripted.order_answer = 502, "nothing was written: no right"
    browser.run(press, 0)
    wait_for_text(browser, "campaigns-answer", "Not ordered. nothing was written: no right.")


def test_the_scripted_documents_have_the_shape_of_real_ones(running):
    _, service, _ = running
    told, real = status_page.busy(), service.status()
    assert set(told) == set(real)
    for part in ("history", "readiness"):
        assert set(told[part]) == set(real[part])
    assert set(told["history"]["per_second"]) >= set(real["history"]["per_second"])
    assert set(told["history"]["levels"]) >= set(real["history"]["levels"])
    assert real["configuration"] and set(real["configuration"][0]) == {"key", "value"}


def test_the_page_shows_no_secret(apache, benches, simulators):
    bench = benches(apache.kafka, 1)
    settings = bench.configuration(simulators())
    settings["kafka"]["bootstrap_servers"] = apache.server("LOGIN")
    settings["kafka"]["properties"].update(apache.login())
    service = bench.start(settings).wait_until_ready(60)
    status, page = service.fetch("/status.json")[1], service.fetch("/")[1]
    assert apache_kafka.PASSWORD not in status + page
    settings = {one["key"]: one["value"] for one in service.status()["configuration"]}
    for name in ("sasl.password", "sasl.username"):
        assert settings[f"kafka.properties.{name}"] == "(hidden)"
    assert settings["kafka.properties.session.timeout.ms"] == "30000"


def test_a_real_service_goes_from_idle_to_busy_to_degraded(browser, running):
    bench, service, simulator = running
    said_before = len(browser.complaints)
    browser.look(*WIDE)
    browser.open(f"http://127.0.0.1:{service.port}/")
    wait_for_text(browser, "state", "Ready")
    bench.produce([record(new_event()) for _ in range(300)])
    bench.produce([record(new_event(bundle_id="com.example.Unknown")) for _ in range(7)])
    bench.wait_for_outcomes(307, service=service)
    # At most about 307: the page shows rates, and takes all intervals to be as short as the
    # shortest. On a busy machine, one may be fifteen times as long.
    wait_for_number(browser, "tiles", r"of (\d+), 15 min", range(20, 350))
    wait_for_text(browser, "reasons", "NoCredential")
    # The explanation in the table of reasons.
    assert "credential" in text_of(browser, "reasons")
    wait_for_text(browser, "outcomes", "300")
    assert browser.run(AUDIT) == []
    browser.run("document.querySelector('#configuration-section details').open = true")
    assert bench.group in text_of(browser, "configuration")
    assert browser.complaints[said_before:] == []
    browser.screenshot(ARTIFACTS / "real-busy-light.png")
    told = service.status()
    assert told["version"] and told["history"]["at_seconds"]

    def refused():
        [one] = [one for one in service.status()["reasons"] if one["reason"] == "NoCredential"]
        assert one["remedy"]
        return one["outcomes"]

    eventually(lambda: refused() == {"recent": 7, "total": 7}, 60, refused)
    # The simulator is gone from here on; this is the last test.
    simulator.child.kill()
    wait_for_text(browser, "obstacles", "apns.endpoints.production", seconds=60)
    assert "Ready, but look at" in text_of(browser, "state")
    assert browser.run(AUDIT) == []
    browser.screenshot(ARTIFACTS / "real-degraded-light.png")
