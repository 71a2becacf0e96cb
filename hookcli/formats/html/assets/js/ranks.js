/** The panel of ranks: buckets of gradients, shards, and how ranks differ. */

import { el } from "./dom.js";
import { factList, logShare, nameLink, plainTable, shareBar } from "./tables.js";
import { bytes, counted, figure, integer } from "./text.js";

const LEAST_ERROR = 1e-9;

export const ranksPanel = {
  id: "ranks",
  title: "Ranks",
  available: (store) => Boolean(store.record?.distributed),
  count: (store) => store.record.distributed.world,
  create(host, store) {
    const data = store.record.distributed;
    const buckets = el("section", {});
    host.append(el("div", { class: "sections" },
      factList(data.facts), alarmList(data), buckets, unitTable(data, store), unreached(data, store),
      ranksSection(data, store)));
    return { update: () => buckets.replaceChildren(...bucketTable(data, store)) };
  },
};

function alarmList(data) {
  return el("ul", { class: "alarms" }, ...data.alarms.map(([label, text]) =>
    el("li", {}, el("strong", { text: label }), " ", el("bdi", { text }))));
}

function parameterList(indices, data, store) {
  const links = () => indices.flatMap((index) => [
    nameLink(data.names[index], store, { parameter: data.rows[index] }, "ranks"), el("br"),
  ]);
  if (indices.length < 3) return el("span", {}, ...links());
  const rest = el("div", {});
  return el("details", { ontoggle: () => rest.childElementCount || rest.append(...links()) },
    el("summary", { text: counted(indices.length, "parameter") }), rest);
}

function bucketTable(data, store) {
  const steps = [...new Set(data.buckets.map((row) => row.step))];
  if (!steps.length) return [];
  const step = steps.includes(store.selection.step) ? store.selection.step : steps.at(-1);
  const select = el("select", {
    "aria-label": "Step", onchange: () => store.select({ step: steps[select.selectedIndex] }, "ranks"),
  }, ...steps.map((value) => el("option", { text: integer(value) })));
  select.selectedIndex = steps.indexOf(step);
  const rows = data.buckets.filter((row) => row.step === step).sort((a, b) => a.order - b.order);
  const most = Math.max(...rows.map((row) => row.bytes));
  return [
    el("h3", {}, "Buckets in the order in which they became ready",
      el("label", { class: "inline" }, " step ", select)),
    plainTable(
      ["#Ready", "#Bucket", "Parameters", "#Size", "Type", "Norms before, by rank", "#Norm after", "#Exact norm", "Error", "#Sent", "#Of all-reduce"],
      rows.map((row) => [
        integer(row.order), `${row.index}${row.last ? ", last" : ""}`,
        parameterList(row.parameters, data, store),
        shareBar(row.bytes / most, bytes(row.bytes)), row.dtype, normBars(row),
        figure(row.after), figure(row.exact),
        shareBar(logShare(row.error, LEAST_ERROR, 1), figure(row.error), { title: "relative to the exact mean, on a logarithmic scale" }),
        bytes(row.wire), row.wire === null || !row.plain ? "–" : (row.wire / row.plain).toFixed(2),
      ]),
      { label: "Buckets", class: "buckets" }),
  ];
}

function normBars(row) {
  const most = Math.max(...row.before.filter((norm) => typeof norm === "number"), 0);
  return el("ol", { class: "rank-norms", start: "0" }, ...row.before.map((norm, rank) =>
    el("li", { "aria-label": `rank ${rank}: ${figure(norm)}` },
      shareBar(typeof norm === "number" && most ? norm / most : 0, figure(norm), { title: `rank ${rank}` }))));
}

function unitTable(data, store) {
  if (!data.units.length) return null;
  const most = Math.max(...data.units.map((unit) => unit.bytes));
  return el("section", {}, el("h3", { text: "Units that FSDP shards" }), plainTable(
    ["Shard", "Parameters", "#Size", "#On rank 0"],
    data.units.map((unit) => [
      nameLink(unit.module, store, { layer: unit.layer }, "ranks"),
      parameterList(unit.parameters, data, store),
      shareBar(unit.bytes / most, bytes(unit.bytes)), shareBar(unit.shard / most, bytes(unit.shard)),
    ]), { label: "Units" }));
}

function unreached(data, store) {
  if (!data.unreached.length) return null;
  return el("section", {}, el("h3", { text: "Parameters that the loss does not reach" }), plainTable(
    ["Parameter", "On ranks"],
    data.unreached.map(([index, ranks]) => [
      nameLink(data.names[index], store, { parameter: data.rows[index] }, "ranks"),
      ranks.length === data.world ? "all" : ranks.join(", "),
    ]), { label: "Unreached parameters" }));
}

function ranksSection(data, store) {
  if (!data.ranks.length) return null;
  return el("section", {}, el("h3", { text: "Other ranks" }), plainTable(
    ["Rank", "Ended", "Losses", "Differences from rank 0"],
    data.ranks.map((rank) => [
      `${rank.rank}`, rank.status, rank.losses.slice(-8).map(figure).join(", ") || "–",
      rank.error ? el("span", { class: "rank-error" }, el("bdi", { text: rank.error })) : differences(rank, store),
    ]), { label: "Ranks" }));
}

function differences(rank, store) {
  if (!rank.differs.length) return "none";
  const list = el("ul", { class: "differences" });
  const show = (rows) => list.append(...rows.map(([text, layer, parameter]) => el("li", {},
    nameLink(text, store, parameter >= 0 ? { parameter } : { layer }, "ranks"))));
  show(rank.differs.slice(0, 5));
  const left = rank.differs.slice(5);
  if (!left.length) return list;
  const more = el("button", { type: "button", text: `Show ${integer(left.length)} more`, onclick: () => {
    more.remove();
    show(left);
  } });
  return el("div", {}, list, more);
}
