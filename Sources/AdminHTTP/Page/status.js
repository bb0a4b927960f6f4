"use strict";
// Asks the service for its status every two seconds, and draws it.

const PERIOD = 2000;
const PATIENCE = 5000;
const SIGNS = { good: "✓", watch: "!", bad: "✕" };
let charts;
let timer;
let shown;
let shownAt;
let isPaused = false;

const makeCharts = () => {
  const parent = byID("charts");
  const lines = names => names.map(name => ({ name, color: `--${name}` }));
  const waits = [
    { name: "APNs p50", color: "--apns", dash: "2 3" }, { name: "APNs p99", color: "--apns" },
    { name: "end to end p50", color: "--whole", dash: "2 3" },
    { name: "end to end p99", color: "--whole" },
  ];
  return {
    throughput: new Chart(parent, { title: "Throughput", unit: "outcomes per second",
      lines: [...lines(["accepted"]), { name: "all others", color: "--rejected" }],
      isStacked: true, write: format.rate }),
    others: new Chart(parent, { title: "Not accepted", unit: "outcomes per second",
      lines: lines(OUTCOMES.slice(1)), isStacked: true, write: format.rate }),
    latency: new Chart(parent, { title: "Latency", unit: "percentiles over a minute",
      lines: waits, isLogarithmic: true, write: format.seconds }),
    waiting: new Chart(parent, { title: "Waiting", unit: "events",
      lines: [{ name: "lag", color: "--lag" }, { name: "in flight", color: "--flight" }],
      isWhole: true, write: format.count }),
  };
};

const drawCharts = status => {
  const { history } = status;
  const outcomes = history.outcomes_per_second;
  const empty = history.at_seconds.map(() => null);
  const common = { at: history.at_seconds, now: status.uptime_seconds,
    span: history.interval_seconds * history.point_count };
  const others = OUTCOMES.slice(1).map(kind => outcomes[kind] || empty);
  charts ||= makeCharts();
  charts.throughput.show({ ...common,
    columns: [outcomes.accepted || empty, total(others)] });
  charts.others.show({ ...common, columns: others });
  charts.latency.show({ ...common, columns: [history.apns_seconds, history.end_to_end_seconds]
    .flatMap(part => [part.p50 || empty, part.p99 || empty]) });
  charts.waiting.show({ ...common,
    columns: [history.levels.lag || empty, history.levels.in_flight || empty] });
};

const fillFindings = (id, findings) => {
  const list = byID(id);
  list.hidden = findings.length === 0;
  while (list.childElementCount > findings.length) list.lastElementChild.remove();
  findings.forEach(({ part, text, remedy, level }, index) => {
    const item = list.children[index] || list.appendChild(make("li", {},
      make("strong"), make("span"), make("span", { class: "remedy" })));
    [part, text, remedy ?? ""].forEach((value, child) => setText(item.children[child], value));
    item.children[2].hidden = !remedy;
    setClass(item, level);
  });
};

const verdictOf = (status, findings) => {
  const { ready, reasons, warnings } = status.readiness;
  if (status.state === "draining") return ["watch", "Shutting down"];
  const why = plural(reasons.length, "reason");
  if (!ready && status.state === "starting") return ["watch", `Starting, not ready: ${why}`];
  if (!ready) return ["bad", `Not ready: ${why}`];
  const count = warnings.length + findings.length;
  if (count === 0) return ["good", "Ready"];
  const isBad = warnings.length > 0 || findings.some(({ level }) => level === "bad");
  return [isBad ? "bad" : "watch",
    `Ready, but look at ${count === 1 ? "one thing" : `${count} things`}`];
};

const sentenceOf = (status, metrics) => {
  const rate = mean(total(Object.values(status.history.outcomes_per_second)), 12);
  const oldest = metrics.max("oldest_unsettled_seconds");
  const flow = rate > 0 ? `${format.rate(rate)} outcomes per second.`
    : "No events at the moment.";
  const wait = oldest >= 1 ? ` The oldest event waits for ${format.seconds(oldest)}.` : "";
  const uptime = format.seconds(status.uptime_seconds);
  return `${flow}${wait} Version ${status.version}, up for ${uptime}.`;
};

const say = (level, headline, sentence) => {
  setClass(byID("verdict"), `verdict ${level}`);
  setText(byID("sign"), SIGNS[level]);
  setText(byID("state"), headline);
  setText(byID("summary"), sentence);
  document.title = `${SIGNS[level]} ${headline} · Heliograph`;
};

const draw = status => {
  const metrics = new Metrics(status.metrics);
  const findings = findingsOf(status, metrics);
  say(...verdictOf(status, findings), sentenceOf(status, metrics));
  fillFindings("obstacles", troublesOf(status).map(reason =>
    ({ level: "bad", part: reason.part, text: reason.reason, remedy: remedyFor(reason, status) })));
  fillFindings("watch", findings);
  const parts = [drawTiles, drawCharts, drawCampaigns, drawReasons, drawConnections, drawPartitions, drawOutcomes,
    drawRetries, drawAnswers, drawCredentials, drawKafka, drawProcess, drawConfiguration];
  for (const part of parts) {
    // One that trips over what it is told leaves the others to the reader.
    try { part(status, metrics); } catch (problem) { console.error(problem); }
  }
};

const showFreshness = () => setText(byID("freshness"),
  isPaused ? `paused at ${format.time(shownAt ?? new Date())}`
    : shownAt ? `as of ${format.time(shownAt)}` : "loading");

/** The numbers stay, and it is said how old they are. */
const showSilence = () => {
  document.body.classList.add("stale");
  say("bad", "No answer from the service", shownAt
    ? `The data below is from ${format.time(shownAt)}. Retrying every 2 seconds.`
    : "No data yet. Retrying every 2 seconds.");
};

const update = async () => {
  try {
    const answer = await fetch("status.json",
      { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    shown = await answer.json();
  } catch {
    if (!isPaused) showSilence();
    return;
  }
  if (isPaused) return;
  shownAt = new Date();
  document.body.classList.remove("stale");
  draw(shown);
  showFreshness();
};

/** Nobody looks at a hidden tab: it asks for nothing. */
const run = async () => {
  clearTimeout(timer);
  timer = undefined;
  if (document.hidden || isPaused) return;
  const round = timer = setTimeout(() => {}, 0);
  await update();
  if (timer === round) timer = setTimeout(run, PERIOD);
};

document.addEventListener("visibilitychange", run);
byID("pause").addEventListener("click", () => {
  isPaused = !isPaused;
  byID("pause").setAttribute("aria-pressed", String(isPaused));
  showFreshness();
  run();
});
byID("lag-more").addEventListener("click", event => {
  const button = event.currentTarget;
  button.setAttribute("aria-expanded", String(button.getAttribute("aria-expanded") !== "true"));
  drawPartitions(shown, new Metrics(shown.metrics));
});
run();
