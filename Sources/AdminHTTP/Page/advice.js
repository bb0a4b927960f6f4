"use strict";
// What to check first when something is wrong, and what may help.

const DAY = 86400;

/** Part, word of the reason, what to do: the first match counts. */
const PART_ADVICE = [
  ["kafka", "AUTHORIZATION_FAILED",
    "Grant the right that the reason names (docs/kafka.md, Access). No restart is needed."],
  ["kafka", "loading token status", "Wait: the topic is read to its end before anything is sent."],
  ["kafka", "loading campaign orders",
    "Wait: nothing is sent before the orders are known. If the reason names an error, fix that."],
  ["kafka", "token status cannot be read",
    "Events are sent. Check that the topic exists, and that the service may read it."],
  ["kafka", "campaign orders cannot be read",
    "Events are sent by the last known orders. Check that the topic exists, and that the service"
      + " may read it."],
  ["kafka", "not in the consumer group", "Wait a minute; then check brokers and ACLs."],
  ["kafka", "", "Check the brokers, and the network to them."],
  ["credential", "too many failures",
    "Check Apple's system status and the last answer. The breaker closes by itself."],
  ["credential", "answers no request",
    "Look for a proxy on the way, and check Apple's system status. Events wait or are retried."],
  ["credential", "apns.endpoints", "Check the network path: DNS, proxy, firewall for port 443."],
  ["schema_registry", "", "Check the registry. Events that name its schemas wait."],
  ["schemas", "", "Fix the file. The old schemas stay in use."],
];

/** All of `/ready`: its reasons, then its warnings. */
const troublesOf = ({ readiness }) => [...readiness.reasons, ...readiness.warnings];

/** {level: "bad" | "watch", part, text, remedy?}, the bad ones first. */
const findingsOf = (status, metrics) => {
  const said = troublesOf(status).map(reason => reason.part);
  const isSaid = credential => said.some(part => part.startsWith(`credential ${credential}`));
  return [
    ...accountFindings(metrics), ...flowFindings(status, metrics),
    ...routeFindings(metrics, isSaid), ...credentialFindings(metrics),
    ...processFindings(metrics),
  ].sort((left, right) => (left.level === "bad" ? 0 : 1) - (right.level === "bad" ? 0 : 1));
};

const accountFindings = metrics => {
  const unaccounted = metrics.sum("events_unaccounted");
  if (!unaccounted) return [];
  return [{ level: "bad", part: "Accounting",
    text: `${plural(unaccounted, "event")} cannot be accounted for.`,
    remedy: "This is a bug. Keep the log, and report it with the version." }];
};

const flowFindings = (status, metrics) => {
  const findings = [];
  const oldest = metrics.max("oldest_unsettled_seconds");
  if (oldest >= 60) {
    findings.push({ level: oldest >= 300 ? "bad" : "watch", part: "Oldest event",
      text: `has waited ${format.seconds(oldest)} for its outcome.`,
      remedy: "Check the reasons below, then breakers and Kafka's produce errors." });
  }
  const limit = metrics.sum("inflight_limit_events");
  const flight = metrics.sum("inflight_events");
  if (limit && flight / limit >= .9) {
    findings.push({ level: "watch", part: "Memory",
      text: `${format.count(flight)} of ${format.count(limit)} events in flight: fetching is paused.`,
      remedy: "APNs or Kafka is slower than the incoming rate; check latency, streams." });
  }
  const lag = status.history.levels.lag || [];
  const before = lag.slice(0, -60).filter(isNumber).pop();
  if (isNumber(before) && last(lag) >= 1000 && last(lag) > 1.5 * before) {
    findings.push({ level: "watch", part: "Lag",
      text: `grew from ${format.count(before)} to ${format.count(last(lag))} in 5 minutes.`,
      remedy: "If a campaign is paused or paced, its events wait on purpose. Otherwise add processes,"
        + " up to partitions divided by shards, or raise limits if streams are free." });
  }
  for (const { credential, value } of metrics.samples("events_giving_up")) {
    if (!(value > 0)) continue;
    findings.push({ level: "bad", part: credential || "No credential",
      text: "valid events are given up, more than one in a hundred.",
      remedy: "The recent reasons say why. Fix that, then replay the dead letters." });
  }
  const accepted = acceptedShare(status.history, 60);
  if (accepted && accepted.total >= 20 && accepted.share < .9) {
    findings.push({ level: accepted.share < .5 ? "bad" : "watch", part: "Outcomes",
      text: `only ${format.share(accepted.share)} of the last 5 minutes were accepted.`,
      remedy: "The recent reasons say why, and what to do." });
  }
  return findings;
};

const routeFindings = (metrics, isSaid) => {
  const findings = [];
  const seen = (name, labels, build) => {
    for (const sample of metrics.samples(name, labels)) {
      if (sample.value > 0 && !(sample.credential && isSaid(sample.credential))) {
        findings.push(build(sample));
      }
    }
  };
  const nameOf = sample => [sample.credential, sample.environment].filter(Boolean).join(", ")
    || "One or more credentials";
  seen("apns_credentials_parked", {}, sample => ({ level: "bad", part: nameOf(sample),
    text: "APNs refused the credential: nothing is sent with it.",
    remedy: "Replace its key or certificate; the files are read again without a restart." }));
  seen("token_fuse_blown", {}, sample => ({ level: "bad", part: nameOf(sample),
    text: "token fuse blown: too many device tokens are refused at once.",
    remedy: "Stop jobs that delete tokens; check endpoint, key and app." }));
  const breakers = [["open", "bad", "open"], ["half_open", "watch", "half-open"]];
  for (const [state, level, word] of breakers) {
    seen("apns_breakers", { state }, sample => ({ level, part: nameOf(sample),
      text: `its circuit breaker is ${word}.`,
      remedy: "The endpoint failed too often; check answers, connection failures and the network." }));
  }
  return findings;
};

const credentialFindings = metrics => {
  const now = Date.now() / 1000;
  const expiring = metrics.samples("certificate_expiry_timestamp_seconds")
    .map(sample => ({ name: sample.credential, left: sample.value - now }))
    .filter(({ left }) => left < 30 * DAY)
    .map(({ name, left }) => ({ level: left < 7 * DAY ? "bad" : "watch", part: name,
      text: left < 0 ? "its certificate has expired."
        : `its certificate expires in ${format.seconds(left)}.`,
      remedy: "Replace the file with the renewed certificate; no restart is needed." }));
  const stale = metrics.samples("provider_token_age_seconds")
    .filter(sample => sample.value > 3600)
    .map(sample => ({ level: "bad", part: sample.credential,
      text: `its provider token is ${format.seconds(sample.value)} old; APNs accepts 60 min.`,
      remedy: "The log says why it is not renewed." }));
  return [...expiring, ...stale];
};

const processFindings = metrics => {
  const findings = [];
  const skew = metrics.sum("apns_clock_skew_seconds");
  if (Math.abs(skew) >= 60) {
    findings.push({ level: "watch", part: "Clock",
      text: `APNs' clock is ${format.seconds(Math.abs(skew))} ${skew > 0 ? "ahead" : "behind"}.`,
      remedy: "Check this machine's NTP: provider tokens contain the time." });
  }
  const silence = metrics.max("shard_silence_seconds");
  if (silence >= 5) {
    findings.push({ level: silence >= 20 ? "bad" : "watch", part: "Shard",
      text: `a shard has made no progress for ${format.seconds(silence)}.`,
      remedy: "After 30 s the process exits; check for a starved CPU." });
  }
  return findings;
};

/** Of the last `count` points: how many outcomes there were, and the share that APNs accepted. */
const acceptedShare = (history, count = Infinity) => {
  const columns = history.outcomes_per_second;
  const sum = column => (column || []).slice(-count)
    .reduce((sum, value) => sum + (value || 0) * history.interval_seconds, 0);
  // What an operator cancelled says nothing about the rest.
  const all = Object.entries(columns).filter(([kind]) => kind !== "cancelled")
    .reduce((total, [, column]) => total + sum(column), 0);
  return all >= .5 ? { total: Math.round(all), share: sum(columns.accepted) / all } : undefined;
};

/** What may help against a reason of `/ready`; the table of reasons knows APNs' reasons. */
const remedyFor = (reason, status) => {
  const advice = PART_ADVICE.find(([part, word]) =>
    reason.part.startsWith(part) && reason.reason.includes(word))?.[2];
  // An endpoint that fails often is more than its last answer.
  if (reason.reason.includes("too many failures")) return advice;
  const known = status.reasons.find(one => one.reason.length > 4
    && reason.reason.split(/[^A-Za-z]+/).includes(one.reason));
  return known ? plain(known.remedy) : advice;
};
