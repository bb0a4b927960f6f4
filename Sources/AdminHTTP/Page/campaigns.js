"use strict";
// The table of campaigns, and the buttons that order something for one.

const ORDER_PATIENCE = 35000;
/** The campaigns of the rows: one keeps its row, so that no button moves under a finger. */
let rowNames = [];
let isOrdering = false;

const placeRows = campaigns => {
  const byName = new Map(campaigns.map(one => [one.campaign, one]));
  const fresh = campaigns.map(one => one.campaign).filter(name => !rowNames.includes(name));
  rowNames = rowNames.map(name => byName.has(name) ? name : fresh.shift())
    .filter(name => name !== undefined).concat(fresh);
  return rowNames.map(name => byName.get(name));
};

const holdingOf = ({ holds, order }) => {
  const until = order?.until && order.until * 1000 > Date.now()
    ? `until ${new Date(order.until * 1000).toLocaleString("en-GB")}` : undefined;
  const pace = order?.per_second ? `at ${format.rate(order.per_second)}/s` : "";
  switch (holds) {
    case "paused": return { text: "paused", className: "watch",
      note: [until, pace && `then ${pace}`].filter(Boolean).join(", ") || undefined };
    case "paced": return { text: `running ${pace}`, note: until };
    case "cancelled": return { text: "cancelled", className: "bad" };
    default: return { text: "running", className: "good" };
  }
};

const ordersFor = ({ campaign, holds }) => {
  const order = action => () => writeOrder(campaign, action);
  const pause = { label: "Pause", act: order("pause") };
  const resume = { label: "Resume", act: order("resume") };
  const cancel = { label: "Cancel", act: () => askToCancel(campaign), className: "harmful" };
  if (holds === "cancelled") return [];
  return [holds === "paused" ? resume : pause, cancel];
};

const drawCampaigns = ({ campaigns }) => {
  const { shown: known, others, allows_orders: allowsOrders } = campaigns;
  showSection("campaigns", known.length > 0);
  const rows = placeRows(known);
  const columns = ["Campaign", "State", "Accepted", "Cancelled", "Others", "Per second", "In flight",
    "Waiting", ...(allowsOrders ? ["Order"] : [])];
  // The token may be set, or removed, while the page is open.
  if (tables.campaigns && tables.campaigns.heads.length !== columns.length) {
    tables.campaigns.root.remove();
    delete tables.campaigns;
  }
  const table = tableIn("campaigns", {
    caption: "Outcomes and events in memory in this process; what waits in Kafka is not counted",
    columns, numbers: [2, 3, 4, 5, 6, 7],
  });
  table.fill(rows.map(one => {
    const { accepted, cancelled, ...rest } = one.outcomes;
    const kinds = Object.entries(rest).filter(([, count]) => count > 0);
    const sum = kinds.reduce((total, [, count]) => total + count, 0);
    return [
      one.campaign, holdingOf(one), format.count(accepted), format.count(cancelled),
      { text: format.count(sum),
        note: kinds.map(([kind, count]) => `${format.count(count)} ${kind}`).join(", ")
          || undefined },
      format.rate(one.outcomes_per_second), format.count(one.in_flight),
      format.count(one.waiting),
      ...(allowsOrders ? [{ text: "", buttons: ordersFor(one) }] : []),
    ];
  }));
  rows.forEach((one, index) => {
    for (const button of table.body.rows[index].querySelectorAll("button")) {
      button.setAttribute("aria-label", `${button.textContent} ${one.campaign}`);
      button.disabled = isOrdering;
    }
  });
  setText(byID("campaigns-note"), others > 0
    ? `${plural(others, "more campaign")} ${others === 1 ? "is" : "are"} not shown:`
      + " 'heliograph campaigns list' prints all orders." : "");
};

const showAnswer = (text, isGood) => {
  const line = byID("campaigns-answer");
  line.hidden = false;
  setClass(line, isGood ? "" : "bad");
  setText(line, text);
};

/** The order is shown once the service has read it. */
const writeOrder = async (campaign, action) => {
  isOrdering = true;
  drawCampaigns(shown);
  try {
    const answer = await fetch(`campaigns/${encodeURIComponent(campaign)}/${action}`,
      { method: "POST", cache: "no-store", signal: AbortSignal.timeout(ORDER_PATIENCE) });
    const text = (await answer.text()).trim();
    showAnswer(answer.ok ? `Ordered: ${text}.` : `Not ordered. ${text}.`, answer.ok);
  } catch {
    showAnswer("No answer from the service; check the current order before you retry.", false);
  }
  isOrdering = false;
  drawCampaigns(shown);
  run();
};

const askToCancel = campaign => {
  const dialog = byID("cancelling");
  setText(byID("cancelling-title"), `Cancel ${campaign}?`);
  dialog.dataset.campaign = campaign;
  dialog.showModal();
};

byID("cancelling-no").addEventListener("click", () => byID("cancelling").close());
byID("cancelling-yes").addEventListener("click", () => {
  const dialog = byID("cancelling");
  dialog.close();
  writeOrder(dialog.dataset.campaign, "cancel");
});
