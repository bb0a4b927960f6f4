"use strict";
// The sections below the drawings: numbers in tables.

const OUTCOMES = ["accepted", "unregistered", "rejected", "invalid", "expired", "suppressed",
  "duplicate", "undeliverable", "cancelled"];
const PARTITIONS_SHOWN = 12;
const tables = {};

const tableIn = (id, options) => tables[id] ||= new Table(byID(id), options);
const showSection = (id, isShown) => { byID(`${id}-section`).hidden = !isShown; };

/** Rows [label, value]; those of families that are missing are left out. */
const fillList = (id, caption, rows) => tableIn(id,
  { caption, columns: ["What", "Number"], numbers: [1], className: "list" })
  .fill(rows.filter(([, value]) => (typeof value === "object" ? value.text : value) !== "–"));

const alarming = (count, className = "watch") =>
  ({ text: format.count(count), className: count > 0 ? className : "" });

const drawTiles = (status, metrics) => {
  const { history } = status;
  const minute = mean(total(Object.values(history.outcomes_per_second)), 12);
  const recipients = mean(history.per_second.recipients, 12);
  const accepted = acceptedShare(history);
  const limit = metrics.sum("inflight_limit_events");
  const retries = status.history.per_second.retries;
  const recent = column => column && mean(column) * column.length * history.interval_seconds;
  // What waits in a retry topic does so on purpose.
  const isOfSource = ({ topic }) => !/.[.]retry[.][^.]+$/.test(topic);
  const lag = metrics.sum("kafka_consumer_lag_records", {}, isOfSource);
  const tiles = [
    ["Throughput", minute === undefined ? "–" : `${format.rate(minute)}/s`,
      recipients > 0 ? `${format.rate(recipients)}/s of recipients` : "in the last minute"],
    ["Accepted", format.share(accepted?.share),
      accepted ? `of ${format.count(accepted.total)}, 15 min` : "none in 15 min"],
    ["APNs, p99", format.seconds(last(history.apns_seconds.p99)),
      `p50 ${format.seconds(last(history.apns_seconds.p50))}`],
    ["End to end, p99", format.seconds(last(history.end_to_end_seconds.p99)),
      `p50 ${format.seconds(last(history.end_to_end_seconds.p50))}`],
    ["Lag", format.count(lag),
      `${plural(metrics.sum("partitions_assigned") || 0, "partition")} here`],
    ["In flight", format.count(metrics.sum("inflight_events")),
      limit ? `of ${format.count(limit)} allowed` : format.bytes(metrics.sum("inflight_bytes"))],
    ["Retries", format.count(Math.round(recent(retries) ?? NaN)), "in 15 min"],
    ["Deferred", format.count(Math.round(recent(history.per_second.deferred) ?? NaN)),
      "to later, 15 min"],
  ];
  const list = byID("tiles");
  if (!list.childElementCount) {
    list.append(...tiles.map(([name]) => make("div", {}, make("dt", {}, name),
      make("dd", { class: "figure" }), make("dd", { class: "aside" }))));
  }
  tiles.forEach(([, figure, aside], index) => {
    const [, value, note] = list.children[index].children;
    setText(value, figure);
    setText(note, aside);
  });
};

const routesOf = metrics => {
  const routes = new Map();
  const note = (name, field, wanted = () => true) => {
    for (const sample of metrics.samples(name)) {
      if (!wanted(sample)) continue;
      const key = `${sample.credential ?? ""} ${sample.environment ?? ""}`;
      if (!routes.has(key)) {
        routes.set(key, { credential: sample.credential, environment: sample.environment });
      }
      const route = routes.get(key);
      route[field] = (route[field] || 0) + (sample.value || 0);
    }
  };
  note("apns_connections", "connections");
  note("apns_connections", "opening", sample => ["connecting", "proving"].includes(sample.state));
  note("apns_streams", "streams");
  note("apns_streams_limit", "limit");
  note("apns_waiting_events", "waiting");
  note("apns_breakers", "open", sample => sample.state === "open");
  note("apns_breakers", "probed", sample => sample.state === "half_open");
  note("token_fuse_blown", "fuse", sample => sample.credential !== undefined);
  const parked = metrics.by("apns_credentials_parked", "credential");
  return [...routes.values()].map(route => ({ ...route, parked: parked.get(route.credential) }));
};

const stateOf = route => {
  if (route.parked > 0) return { text: "parked", className: "bad" };
  if (route.open > 0) return { text: "breaker open", className: "bad" };
  if (route.fuse > 0) return { text: "token fuse blown", className: "bad" };
  if (route.probed > 0) return { text: "breaker half-open", className: "watch" };
  if (!route.connections) return { text: "not in use" };
  if (route.opening === route.connections) return { text: "connecting", className: "watch" };
  return { text: "open", className: "good" };
};

const streamsOf = ({ streams, limit, connections }) => {
  if (!limit && !connections) return "–";
  const note = plural(connections || 0, "connection");
  return limit
    ? { text: `${format.count(streams)} of ${format.count(limit)}`, note, share: streams / limit }
    : { text: format.count(streams), note };
};

const drawConnections = (status, metrics) => {
  const routes = routesOf(metrics);
  showSection("connections", routes.length > 0);
  tableIn("connections", {
    caption: "Streams in use, streams allowed by APNs, and events that wait for one",
    columns: ["Credential", "State", "Streams", "Waiting"], numbers: [2, 3],
  }).fill(routes.map(route => [
    { text: route.credential ?? "all", note: route.environment ?? "both environments" },
    stateOf(route), streamsOf(route),
    alarming(route.waiting),
  ]));
};

const drawPartitions = (status, metrics) => {
  const lags = metrics.samples("kafka_consumer_lag_records")
    .sort((left, right) => right.value - left.value
      || String(left.topic).localeCompare(String(right.topic))
      || left.partition - right.partition);
  showSection("lag", lags.length > 0);
  const isWhole = byID("lag-more").getAttribute("aria-expanded") === "true";
  const most = Math.max(1, ...lags.map(sample => sample.value));
  tableIn("lag", {
    caption: "Records without an outcome, by partition, largest lag first",
    columns: ["Partition", "Lag", "Fetching"], numbers: [1],
  }).fill(lags.slice(0, isWhole ? Infinity : PARTITIONS_SHOWN).map(sample => {
    const { topic, partition } = sample;
    const isPaused = metrics.sum("partition_paused", { topic, partition }) > 0;
    return [
      { text: topic, note: `partition ${partition}` },
      { text: format.count(sample.value), share: sample.value / most },
      isPaused ? { text: "paused", className: "watch" } : "on",
    ];
  }));
  const more = byID("lag-more");
  more.hidden = lags.length <= PARTITIONS_SHOWN;
  setText(more, isWhole ? "Show fewer" : `Show all ${format.count(lags.length)} partitions`);
};

const drawOutcomes = (status, metrics) => {
  const totals = metrics.by("events_terminal_total", "outcome");
  const { outcomes_per_second: columns, interval_seconds: interval } = status.history;
  const recent = kind => Math.round(
    (columns[kind] || []).reduce((sum, value) => sum + (value || 0) * interval, 0));
  showSection("outcomes", totals.size > 0);
  tableIn("outcomes", {
    caption: "Events that ended, by outcome",
    columns: ["Outcome", "Last 15 min", "Since start"], numbers: [1, 2],
  }).fill([...totals].map(([kind, count]) => [
    { text: kind, color: OUTCOMES.includes(kind) ? `--${kind}` : "--quiet" },
    format.count(recent(kind)), format.count(count),
  ]));
};

/** The table of reasons is written in Markdown. */
const plain = text => text.replaceAll("`", "");

const drawReasons = status => {
  const recent = status.reasons
    .filter(({ outcomes, refusals }) => outcomes.recent + refusals.recent > 0);
  showSection("reasons", recent.length > 0);
  const list = byID("reasons");
  while (list.childElementCount > recent.length) list.lastElementChild.remove();
  recent.forEach((reason, index) => {
    const { outcomes, refusals, last_seen_seconds: seen } = reason;
    const item = list.children[index] || list.appendChild(make("article", { class: "reason" },
      make("div", {}, make("h3"), make("p", { class: "counts" }), make("p", { class: "counts" })),
      make("div", {}, make("p"), make("p", { class: "quiet" }))));
    const [heading, who, counts] = item.children[0].children;
    const [meaning, remedy] = item.children[1].children;
    const ago = seen === null ? "" : `, last ${format.seconds(status.uptime_seconds - seen)} ago`;
    const parts = [];
    if (outcomes.recent) parts.push(plural(outcomes.recent, "outcome"));
    if (refusals.recent) parts.push(plural(refusals.recent, "answer"));
    setText(heading, reason.reason);
    setText(who, `${reason.decided_by === "apns" ? "APNs" : "Heliograph"}${ago}`);
    setText(counts, parts.join(", "));
    setText(meaning, plain(reason.meaning));
    setText(remedy, reason.remedy ? `To do: ${plain(reason.remedy)}` : "");
  });
};

const drawRetries = (status, metrics) => {
  const tiers = [...metrics.by("retries_total", "tier")].filter(([, count]) => count > 0);
  const rows = [
    ["Retries", format.count(metrics.sum("retries_total"))],
    ...tiers.map(([tier, count]) =>
      [tier === "here" ? "· from memory" : `· put off by ${tier}`, format.count(count)]),
    ["Retries denied by the budget", alarming(metrics.sum("retries_denied_total"))],
    ["Moved to a retry topic", format.count(metrics.sum("events_deferred_total"))],
    ["· came back from there", format.count(metrics.sum("events_returned_total"))],
    ["Waiting in memory until due", format.count(metrics.sum("waiting_for_due_events"))],
    ["Recipients waiting for a place", format.count(metrics.sum("waiting_recipients"))],
    ["Waiting for their campaign", format.count(metrics.sum("campaign_waiting_events"))],
    ["Waiting for a schema", alarming(metrics.sum("events_awaiting_schema"))],
    ["Waiting for limits.rates", format.count(metrics.sum("rate_limited_events"))],
    ["Oldest without outcome", format.seconds(metrics.max("oldest_unsettled_seconds"))],
    ["Dead device tokens", format.count(metrics.sum("suppressed_tokens"))],
  ];
  fillList("retries", "Since the process started, or current", rows);
};

const drawAnswers = (status, metrics) => fillList("answers", "Since the process started", [
  ["Attempts", format.count(metrics.sum("apns_attempts_total"))],
  ...[...metrics.by("apns_responses_total", "status")].filter(([, count]) => count > 0)
    .map(([code, count]) => [`Answered with ${code}`, format.count(count)]),
  ["GOAWAY", format.count(metrics.sum("apns_goaway_total"))],
  ["Connections opened", format.count(metrics.sum("apns_connects_total"))],
  ["Connections that failed", alarming(metrics.sum("apns_connection_failures_total"))],
]);

const drawCredentials = (status, metrics) => {
  const now = Date.now() / 1000;
  const loaded = metrics.samples("credentials_last_load_timestamp_seconds");
  showSection("credentials", loaded.length > 0);
  tableIn("credentials", {
    caption: "Keys and certificates",
    columns: ["Credential", "Loaded", "Token age", "Certificate expires"], numbers: [1, 2, 3],
  }).fill(loaded.map(({ credential, value }) => {
    const left = metrics.sum("certificate_expiry_timestamp_seconds", { credential }) - now;
    return [credential, `${format.seconds(Math.max(0, now - value))} ago`,
      format.seconds(metrics.sum("provider_token_age_seconds", { credential })),
      { text: isNumber(left) ? `in ${format.seconds(left)}` : "–",
        className: left < 7 * DAY ? "bad" : left < 30 * DAY ? "watch" : "" }];
  }));
};

const drawKafka = (status, metrics) => fillList("kafka", "Totals and current values", [
  ["Partitions assigned", format.count(metrics.sum("partitions_assigned"))],
  ["Partitions paused", alarming(metrics.sum("partition_paused"))],
  ["Outcomes acknowledged", format.count(metrics.sum("results_produced_total"))],
  ["Token-status records", format.count(metrics.sum("token_status_records_total"))],
  ["Dead letters", format.count(metrics.sum("dlq_total"))],
  ["Produce errors", alarming(metrics.sum("produce_errors_total"))],
  ["Commits", format.count(metrics.sum("commits_total"))],
  ["Commits that failed", alarming(metrics.sum("commits_total", { result: "failed" }))],
  ["Rebalances", format.count(metrics.sum("rebalances_total"))],
  ["Prefetched", format.count(metrics.sum("kafka_fetch_queue_records"))],
  ["Produced, not acknowledged", format.count(metrics.sum("kafka_producer_queue_records"))],
  ["Slowest broker, round trip", format.seconds(metrics.max("kafka_broker_rtt_seconds"))],
]);

const drawProcess = (status, metrics) => {
  const build = metrics.samples("build_info")[0] || {};
  fillList("process", "This member of the consumer group", [
    ["Version", status.version],
    ["librdkafka", build.librdkafka ?? "–"],
    ["Uptime", format.seconds(status.uptime_seconds)],
    ["Shards", format.count(metrics.sum("shards"))],
    ["Shards in the group", format.count(metrics.sum("shards_joined"))],
    ["Events consumed", format.count(metrics.sum("events_consumed_total"))],
    ["Events unaccounted for", alarming(metrics.sum("events_unaccounted"), "bad")],
    ["Memory in flight", format.bytes(metrics.sum("inflight_bytes"))],
    ["Resident memory", format.bytes(metrics.sum("process_resident_memory_bytes"))],
    ["Open descriptors", format.count(metrics.sum("process_open_fds"))],
    ["CPU time", format.seconds(metrics.sum("process_cpu_seconds_total"))],
    ["APNs' clock minus ours", `${format.count(metrics.sum("apns_clock_skew_seconds"))} s`],
  ]);
};

const drawConfiguration = ({ configuration }) => {
  showSection("configuration", configuration.length > 0);
  setText(byID("configuration-summary"), `Show all ${configuration.length} keys`);
  tableIn("configuration", { caption: "From file, environment and defaults; secrets are hidden",
    columns: ["Key", "Value"], className: "configuration" })
    .fill(configuration.map(({ key, value }) => [key, value]));
};
