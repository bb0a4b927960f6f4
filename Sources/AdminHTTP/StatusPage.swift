/// The page at `/`: one file, no request to anywhere but `/status.json`.
enum StatusPage {
    /// Nothing is loaded from outside, even if someone slips markup in.
    static let policy = """
        default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
        connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """

    static let html = """
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Heliograph</title>
        <style>\(style)</style>
        <header>
          <h1>Heliograph</h1> <span id="state" role="status">loading</span>
          <small id="about"></small>
        </header>
        <ul id="obstacles"></ul>
        <main>
          <section><h2>Events</h2><table id="events"></table></section>
          <section><h2>Outcomes</h2><table id="outcomes"></table></section>
          <section><h2>Reasons</h2><table id="reasons"></table></section>
          <section><h2>APNs</h2><table id="apns"></table></section>
          <section><h2>Answers</h2><table id="answers"></table></section>
          <section><h2>Kafka</h2><table id="kafka"></table></section>
        </main>
        <footer><a href="/metrics">/metrics</a> <a href="/ready">/ready</a>
          <a href="/status.json">/status.json</a></footer>
        <script>\(script)</script>
        </html>

        """

    private static let style = """

        :root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #cf222e; }
        @media (prefers-color-scheme: dark) { :root { --good: #3fb950; --bad: #ff7b72; } }
        body { font: 15px/1.5 system-ui, sans-serif; margin: 1.5rem auto; max-width: 70rem;
          padding: 0 1rem; }
        h1 { display: inline; font-size: 1.4rem; margin-right: .5rem; }
        h2 { font-size: 1rem; margin: 0 0 .3rem; }
        main { display: grid; gap: 1rem;
          grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); }
        section { border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem; }
        table { border-collapse: collapse; width: 100%; }
        td { border-top: 1px solid var(--line); padding: .15rem 0; }
        td:last-child { text-align: right; font-variant-numeric: tabular-nums; }
        #state { font-weight: 600; }
        .good { color: var(--good); }
        .bad, #obstacles { color: var(--bad); }
        footer { margin: 1rem 0; opacity: .8; }

        """

    private static let script = """

        const pick = id => document.getElementById(id);
        const number = new Intl.NumberFormat();
        let metrics = {};
        const total = name => (metrics[name] || []).reduce((sum, one) => sum + one.value, 0);
        const mean = name => {
          const part = word => (metrics[name] || []).find(one => one.sample === word);
          const count = part("count")?.value || 0;
          return count ? Math.round(part("sum").value / count * 1000) + " ms" : "-";
        };
        const counts = (name, label) => (metrics[name] || [])
          .filter(one => one.value > 0)
          .sort((left, right) => right.value - left.value)
          .map(one => [label(one), one.value]);
        const fill = (id, rows) => pick(id).replaceChildren(
          ...(rows.length ? rows : [["none yet", ""]]).map(([name, value, isBad]) => {
            const row = document.createElement("tr");
            for (const text of [name, typeof value === "number" ? number.format(value) : value]) {
              const cell = document.createElement("td");
              cell.textContent = text;
              row.append(cell);
            }
            if (isBad) row.className = "bad";
            return row;
          }));
        const show = (text, isGood) => {
          pick("state").textContent = text;
          pick("state").className = isGood ? "good" : "bad";
        };
        const draw = status => {
          metrics = status.metrics;
          const ready = status.readiness.ready;
          show(status.state + ", " + (ready ? "ready" : "not ready"), ready);
          pick("about").textContent =
            "version " + status.version + ", up " + number.format(status.uptime_seconds) + " s";
          pick("obstacles").replaceChildren(...status.readiness.reasons.map(one => {
            const item = document.createElement("li");
            item.textContent = one.part + ": " + one.reason;
            return item;
          }));
          fill("events", [
            ["consumed", total("events_consumed_total")],
            ["terminal", total("events_terminal_total")],
            ["in flight", total("inflight_events")],
            ["bytes in flight", total("inflight_bytes")],
            ["deferred", total("events_deferred_total")],
            ["unaccounted", total("events_unaccounted"), total("events_unaccounted") !== 0],
            ["tombstones", total("tombstones_total")],
            ["mean time to outcome", mean("end_to_end_seconds")]]);
          fill("outcomes", counts("events_terminal_total", one => one.outcome));
          fill("reasons", counts("outcome_reasons_total",
            one => one.reason + " (" + one.decided_by + ")"));
          fill("apns", [
            ["connections", total("apns_connections")],
            ["streams", total("apns_streams")],
            ["attempts", total("apns_attempts_total")],
            ["retries", total("retries_total")],
            ["connects", total("apns_connects_total")],
            ["connection failures", total("apns_connection_failures_total")],
            ["GOAWAY", total("apns_goaway_total")],
            ["mean request", mean("apns_request_duration_seconds")]]);
          fill("answers", counts("apns_responses_total", one => one.status));
          fill("kafka", [
            ["partitions assigned", total("partitions_assigned")],
            ["partitions paused", total("partition_paused")],
            ["rebalances", total("rebalances_total")],
            ["outcomes acknowledged", total("results_produced_total")],
            ["token-status records", total("token_status_records_total")],
            ["dead letters", total("dlq_total")],
            ["produce errors", total("produce_errors_total")],
            ...counts("commits_total", one => "commits " + one.result)]);
        };
        const update = async () => {
          try {
            draw(await (await fetch("/status.json", { cache: "no-store" })).json());
          } catch {
            show("no answer", false);
          }
          setTimeout(update, 2000);
        };
        update();

        """
}
