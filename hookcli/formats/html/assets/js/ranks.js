/** The panel of ranks: buckets of gradients, shards, and how ranks differ. */

import { el } from "./frame/dom.js";
import { placeAt } from "./frame/steps.js";
import { appendSome, evenBar, factList, logShare, nameLink, plainTable, titled } from "./frame/tables.js";
import { bytes, counted, figure, integer } from "./frame/text.js";

const LEAST_ERROR = 1e-9;
const FEW_NAMES = 3;
const MOST_DIFFERENCES = 8;

export const ranksPanel = {
  id: "ranks",
  title: "Ranks",
  available: (store) => Boolean(store.record?.distributed),
  count: (store) => store.record.distributed.world,
  create(host, store) {
    const data = store.record.distributed;
    const buckets = el("section", {});
    host.append(el("div", { class: "sections" },
      factList(data.facts), alarmList(data), buckets, unitTable(data, store),
      unreachedTable(data, store), rankTable(data, store)));
    return { update: () => buckets.replaceChildren(...bucketTable(data, store)) };
  },
};

function alarmList({ alarms }) {
  return alarms.length ? el("ul", { class: "alarms" }, ...alarms.map(([label, text]) =>
    el("li", {}, el("strong", { text: label }), " ", el("bdi", { text })))) : null;
}

function parameterList(indices, { names, rows }, store) {
  const link = (index) =>
    el("li", {}, nameLink(names[index], store, { parameter: rows[index] }, "ranks"));
  const list = el("ul", { class: "names" });
  if (indices.length <= FEW_NAMES) {
    list.append(...indices.map(link));
    return list;
  }
  const fill = () => list.childElementCount || list.append(...indices.map(link));
  return el("details", { ontoggle: fill },
    el("summary", { text: counted(indices.length, "parameter") }), list);
}

function bucketTable(data, store) {
  const steps = [...new Set(data.buckets.map((row) => row.step))].sort((a, b) => a - b);
  if (!steps.length) return [];
  const step = steps[placeAt(steps, store.selection.step)];
  const select = el("select", {
    "aria-label": "Step",
    onchange: () => store.select({ step: steps[select.selectedIndex] }, "ranks"),
  }, ...steps.map((value) => el("option", { text: stepSummary(data, value) })));
  select.selectedIndex = steps.indexOf(step);
  const rows = data.buckets.filter((row) => row.step === step).sort((a, b) => a.order - b.order);
  const most = Math.max(...rows.map((row) => row.bytes));
  const sent = (row) => (row.wire === null ? "–"
    : `${bytes(row.wire)} of ${bytes(row.plain)}`);
  return [
    el("h3", {}, "Buckets, in the order in which they became ready ", select),
    plainTable("Buckets", [
      "#Ready", "Bucket", "Parameters", "#Size", "Norms before, by rank", "#Norm after",
      "#Exact norm", "#Error", "#Sent, of all-reduce",
    ], rows.map((row) => [
      integer(row.order), `${row.index}, ${row.dtype}${row.last ? ", last" : ""}`,
      parameterList(row.parameters, data, store),
      evenBar(bytes(row.bytes), row.bytes / most), normBars(row), figure(row.after),
      figure(row.exact), evenBar(figure(row.error), logShare(row.error, LEAST_ERROR, 1)),
      row.plain ? evenBar(sent(row), row.wire / row.plain) : sent(row),
    ])),
    el("p", { class: "hint" }, "Error: the difference from the mean over the ranks in float64, ",
      "divided by its norm; bars from 1e-9 to 1, logarithmic"),
  ];
}

function stepSummary({ buckets }, step) {
  const rows = buckets.filter((row) => row.step === step);
  const errors = rows.map(({ error }) => error).filter((error) => typeof error === "number");
  const most = errors.length ? `, error up to ${figure(Math.max(...errors))}` : "";
  return `step ${integer(step)}: ${counted(rows.length, "bucket")}${most}`;
}

function normBars({ before }) {
  const most = Math.max(0, ...before.filter((norm) => typeof norm === "number"));
  return el("ol", { class: "rank-norms" }, ...before.map((norm, rank) =>
    el("li", {}, el("span", { class: "muted", text: `${rank} ` }),
      evenBar(figure(norm), typeof norm === "number" && most ? norm / most : 0))));
}

function unitTable(data, store) {
  if (!data.units.length) return null;
  const most = Math.max(...data.units.map((unit) => unit.bytes));
  return titled("Units that FSDP shards", plainTable(
    "Units", ["Shard", "Parameters", "#Size", "#On rank 0"],
    data.units.map((unit) => [
      nameLink(unit.module, store, { layer: unit.layer }, "ranks"),
      parameterList(unit.parameters, data, store),
      evenBar(bytes(unit.bytes), unit.bytes / most), evenBar(bytes(unit.shard), unit.shard / most),
    ])));
}

function unreachedTable({ unreached, names, rows, world }, store) {
  if (!unreached.length) return null;
  return titled("Parameters that the loss does not reach", plainTable(
    "Unreached parameters", ["Parameter", "On ranks"],
    unreached.map(([index, ranks]) => [
      nameLink(names[index], store, { parameter: rows[index] }, "ranks"),
      ranks.length === world ? "all" : ranks.join(", "),
    ])));
}

function rankTable({ ranks }, store) {
  if (!ranks.length) return null;
  return titled("Other ranks", plainTable(
    "Other ranks", ["#Rank", "Run", "Losses", "Differences from rank 0"],
    ranks.map((rank) => [
      String(rank.rank), rank.status, rank.losses.slice(-8).map(figure).join(", ") || "–",
      rank.error ? el("bdi", { class: "wrong", text: rank.error }) : differences(rank, store),
    ])));
}

function differences({ differs }, store) {
  if (!differs.length) return "none";
  const list = el("ul", { class: "names" });
  appendSome(list, differs, MOST_DIFFERENCES, ([text, layer, parameter]) => el("li", {},
    nameLink(text, store, parameter >= 0 ? { parameter } : { layer }, "ranks")));
  return list;
}
