/** The details of what is selected: all figures of a layer, a parameter or an event. */

import { FIGURES } from "./data.js";
import { neighbours } from "../diagram/neighbours.js";
import { el, nameElement } from "./dom.js";
import { histogramSection } from "./histograms.js";
import { bytes, figure, integer } from "./text.js";

const COUNTS = new Set(["numel", "zeros", "nans", "infs"]);

/**
 * Return the aside with the details; `update` shows what is selected now. `more(store)` returns
 * elements about what a page has in addition.
 */
export function createDetails(store, more = () => []) {
  return createAside(() => {
    const { record, selection } = store;
    const parts = [];
    if (record && selection.event >= 0) parts.push(eventDetails(store, record, selection.event));
    if (record && selection.parameter >= 0) {
      parts.push(parameterDetails(store, record, selection.parameter));
    }
    if (record && selection.layer >= 0) parts.push(layerDetails(store, record, selection.layer));
    return [...parts, ...more(store)];
  });
}

/** Return an aside that shows the elements of `describe()` at each change, hidden without any. */
export function createAside(describe) {
  const body = el("div", { class: "details-body" });
  const element = el(
    "aside",
    { class: "details", "aria-label": "Details of the selection", "aria-live": "polite" },
    el("h2", { text: "Selection" }),
    body,
  );

  function update({ type }) {
    if (type === "filter" || type === "tab") return;
    const parts = describe();
    element.hidden = !parts.length;
    body.replaceChildren(...parts);
  }

  update({ type: "show" });
  return { element, update };
}

function facts(rows) {
  const known = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el(
    "dl",
    { class: "detail-facts" },
    ...known.map(([label, value]) =>
      el("div", {}, el("dt", { text: label }),
        el("dd", {}, value instanceof Node ? value : el("bdi", { text: value }))),
    ),
  );
}

function amount(value, write) {
  return value === null || value === undefined ? null : write(value);
}

function layerDetails(store, record, row) {
  const { layers } = record;
  const call = layers.call[row];
  const status = layers.status.get(row);
  const tensors = layers.tensors[row];
  const own = record.parametersOf(row);
  return el(
    "section",
    { class: "detail" },
    el("h3", {}, nameElement(record.layerName(row)), call > 0 ? ` call ${call}` : ""),
    facts([
      ["type", layers.type.get(row)],
      ["place", code(layers.place.get(row))],
      ["status", status],
      ["mode", layers.training[row] === null ? null : layers.training[row] ? "train" : "eval"],
      ["input", layers.input.get(row)],
      ["output", layers.output.get(row)],
      ["parameters", amount(layers.parameters[row], integer)],
      ["own", amount(layers.own[row], integer)],
      ["trainable", amount(layers.trainable[row], integer)],
      [record.children.has(row) ? "own FLOPs" : "FLOPs", amount(layers.flops[row], integer)],
      ["activation", amount(layers.activation[row], bytes)],
      ["saved for backward", amount(layers.saved[row], bytes)],
      ["peak in forward", amount(layers.peak[row], bytes)],
      ["also named", layers.aliases[row]?.join(", ")],
      ["shared with", layers.shared_with[row]?.join(", ")],
    ]),
    ...(layers.notes[row] ?? []).map((note) => el("p", { class: "note" }, el("bdi", { text: note }))),
    histogramSection(store, (event) => record.events.layer[event] === row),
    tensors ? tensorTable("Tensors", [...labelled("input", tensors.input), ...labelled("output", tensors.output)]) : null,
    own.length ? parameterLinks(store, record, own) : null,
    ...neighbourLinks(store, record, row),
    findingList(record.checks.filter((check) => check.layer === row && check.outcome !== "pass")),
  );
}

function labelled(label, leaves) {
  return leaves.map(([path, ...rest]) => [label + path, ...rest]);
}

function code(text) {
  return text === null ? null : el("code", { class: "place" }, el("bdi", { text }));
}

function parameterLinks(store, record, rows) {
  return el(
    "div",
    { class: "detail-links" },
    el("h4", { text: "Parameters" }),
    el(
      "ul", {},
      ...rows.slice(0, 20).map((row) =>
        el("li", {},
          el("button", { type: "button", class: "link", onclick: () => store.select({ parameter: row }) },
            nameElement(record.parameters.name.get(row))),
          " ", el("span", { class: "shape", text: record.parameters.shape.get(row) }),
          " ", statusMark(record.parameters.status.get(row)))),
    ),
  );
}

const MOST_NEIGHBOURS = 8;

function neighbourLinks(store, record, row) {
  const { sources, targets, outputs } = neighbours(record, row);
  const sections = [["Receives from", sources], ["Sends to", targets], ["Is in the output of", outputs]];
  return sections.filter(([, rows]) => rows.size).map(([title, rows]) =>
    el("div", { class: "detail-links" }, el("h4", { text: title }), el(
      "ul", {},
      ...[...rows].slice(0, MOST_NEIGHBOURS).map(([other, shape]) => el("li", {},
        other < 0 ? "the batch" : el(
          "button", { type: "button", class: "link", onclick: () => store.select({ layer: other }) },
          nameElement(record.layerName(other))),
        " ", el("span", { class: "shape", text: shape }))),
      rows.size > MOST_NEIGHBOURS ? el("li", { class: "hint", text: `and ${rows.size - MOST_NEIGHBOURS} more` }) : null,
    )));
}

/** Return the status of a gradient in words; nothing if it is as usual. */
export function statusMark(status) {
  const words = { none: "no gradient", zero: "zero gradient", non_finite: "NaN or Inf", frozen: "frozen" };
  return words[status] ? el("span", { class: `status status-${status}`, text: words[status] }) : null;
}

function parameterDetails(store, record, row) {
  const { parameters } = record;
  return el(
    "section",
    { class: "detail" },
    el("h3", {}, nameElement(parameters.name.get(row))),
    facts([
      ["of", parameters.module_type.get(row)],
      ["shape", parameters.shape.get(row)],
      ["dtype", parameters.dtype.get(row)],
      ["elements", amount(parameters.numel[row], integer)],
      ["trainable", parameters.requires_grad[row] ? "yes" : "no"],
      ["gradient", statusMark(parameters.status.get(row))],
      ["gradient norm", amount(parameters.grad_norm[row], figure)],
      ["weight norm", amount(parameters.weight_norm[row], figure)],
      ["gradient / weight", amount(parameters.ratio[row], figure)],
      ["shared with", parameters.shared_with[row]?.join(", ")],
      ["placements", parameters.placements?.[row]],
      ["part of this rank", parameters.part?.[row]],
    ]),
    figureTable([
      ["weight", parameters.weight[row]],
      ["gradient", parameters.grad[row]],
    ]),
    histogramSection(store, (event) => record.events.parameter[event] === row),
    findingList(record.checks.filter((check) => check.parameter === row && check.outcome !== "pass")),
  );
}

function eventDetails(store, record, row) {
  const { events } = record;
  const changes = events.changes[row];
  const tensors = events.tensors[row];
  return el(
    "section",
    { class: "detail" },
    el("h3", { text: `Event ${events.seq[row]}` }),
    facts([
      ["kind", events.kind.get(row)],
      ["target", nameElement(events.target.get(row) || "(root)")],
      ["phase", events.phase.get(row)],
      ["step", events.step[row]],
      ["call", events.call[row]],
      ["node", events.node.get(row)],
      ["hook", events.hook[row]],
      ["values", events.values.get(row)],
      ["changed by", amount(events.changed[row], figure)],
      ["recomputed", events.recomputed[row] ? "yes" : null],
    ]),
    changes
      ? el("div", {}, ...changes.map((change) =>
        figureTable([["before", change[1]], ["after", change[2]]], changeTitle(change))))
      : null,
    !changes && tensors ? tensorTable("Values", tensors.map(([path, ...rest]) => [path || "value", ...rest])) : null,
  );
}

/** Return which value a hook changed, with its shapes and dtypes if they differ. */
export function changeTitle([path, , , shapes, dtypes]) {
  const both = [shapes, dtypes].filter(Boolean).map((pair) => ` ${pair[0] ?? "none"} → ${pair[1] ?? "none"}`);
  return `${path || "value"}${both.join(",")}`;
}

/** Return a table with a row for each figure and a column for each set of them, or null. */
export function figureTable(sets, caption = "") {
  const known = sets.filter(([, figures]) => figures);
  if (!known.length) return null;
  const rows = FIGURES.map((name, index) => [name, known.map(([, figures]) => figures[index])])
    .filter(([, values]) => values.some((value) => value !== null));
  return el(
    "table",
    { class: "figures" },
    caption ? el("caption", {}, el("bdi", { text: caption })) : null,
    el("thead", {}, el("tr", {}, el("td"), ...known.map(([label]) => el("th", { scope: "col", text: label })))),
    el("tbody", {}, ...rows.map(([name, values]) =>
      el("tr", {}, el("th", { scope: "row", text: name.replace("_", " ") }),
        ...values.map((value) => el("td", { text: written(name, value) }))))),
  );
}

function written(name, value) {
  return COUNTS.has(name) ? integer(value) : figure(value);
}

/** Return a table with a column for each figure and a row for each set of them, or null. */
export function wideFigureTable(sets, caption = "") {
  const known = sets.filter(([, figures]) => figures);
  if (!known.length) return null;
  const names = FIGURES.filter((_, index) => known.some(([, figures]) => figures[index] !== null));
  return el(
    "table",
    { class: "figures wide" },
    caption ? el("caption", {}, el("bdi", { text: caption })) : null,
    el("thead", {}, el("tr", {}, el("td"),
      ...names.map((name) => el("th", { scope: "col", text: name.replace("_", " ") })))),
    el("tbody", {}, ...known.map(([label, figures]) =>
      el("tr", {}, el("th", { scope: "row", text: label }),
        ...names.map((name) => el("td", { text: written(name, figures[FIGURES.indexOf(name)]) }))))),
  );
}

function tensorTable(title, tensors) {
  return el(
    "div",
    { class: "tensors" },
    el("h4", { text: title }),
    ...tensors.map(([path, shape, dtype, values, gradient]) =>
      el("div", {},
        el("p", {}, el("bdi", { text: path }), " ", el("span", { class: "shape", text: shape }), ` ${dtype}`),
        figureTable([["values", values], ["gradient", gradient]]))),
  );
}

function findingList(checks) {
  if (!checks.length) return null;
  return el(
    "div",
    { class: "detail-findings" },
    el("h4", { text: "Findings" }),
    ...checks.map((check) =>
      el("p", { class: `finding-${check.severity}` },
        el("strong", { text: `${check.outcome}: ${check.rule}` }), " ", el("bdi", { text: check.message }))),
  );
}
