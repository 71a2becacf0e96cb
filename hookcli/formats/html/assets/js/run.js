/** The panel of a training: its script, its figures by step, its optimizer and its updates. */

import { el, svg } from "./dom.js";
import { SIGNS, createCharts } from "./lines.js";
import { factList, nameLink, plainTable } from "./tables.js";
import { counted, figure, integer } from "./text.js";

const CHARTS = [
  ["loss", "Loss"], ["grad_norm", "Gradient norm"], ["lr", "Learning rate"],
  ["update_ratio", "Update / weight"], ["scale", "Loss scale"],
];

export const runPanel = {
  id: "run",
  title: "Run",
  available: () => true,
  create(host, store) {
    const { run } = store.page;
    const training = store.record?.training;
    const charts = training ? chartsOf(training, store) : null;
    const table = el("div", {});
    host.append(el("div", { class: "sections" },
      firstNonFinite(run.first_non_finite, store), factList(run.facts),
      training ? recordSection(training, store) : null,
      charts ? charts.element : null, charts ? signList(training.steps) : null,
      table, othersTable(run.others)));
    return {
      update({ type }) {
        charts?.show();
        if (training && type !== "select") table.replaceChildren(...stepTable(training, store));
      },
    };
  },
};

function chartsOf({ steps }, store) {
  const figures = CHARTS.filter(([key]) => steps[key]).map(([key, title]) => ({
    title, skipped: steps.skipped, lines: [{ label: title, values: steps[key], color: "--accent" }],
  }));
  return createCharts(steps.step, figures, {
    selected: () => store.selection.step, choose: (step) => store.select({ step }, "run"),
  });
}

/** Return what the signs in the charts mean, and how many steps have one. */
function signList(steps) {
  const values = CHARTS.flatMap(([key]) => (steps[key] ? [steps[key]] : []));
  const has = (kind) => (_, row) => (kind === "skipped"
    ? steps.skipped[row] : values.some((list) => typeof list[row] === "string" && list[row].includes(kind)));
  const found = Object.entries(SIGNS)
    .map(([kind, sign]) => [sign, steps.step.filter(has(kind)).length]).filter(([, count]) => count);
  return el("p", { class: "sign-list" }, ...found.map(([sign, count]) => el("span", {}, signIcon(sign),
    ` ${sign.label}: ${counted(count, "step")}`)), "Click a chart to select a step. Drag to zoom; double-click to zoom out.");
}

function signIcon({ color, points, cross }) {
  const shape = cross ? "M-4,-4L4,4M4,-4L-4,4" : `M${points.map(([x, y]) => `${x * 4},${y * 4}`).join("L")}Z`;
  return svg("svg", { viewBox: "-7 -7 14 14", width: 12, height: 12, "aria-hidden": "true" }, svg("path", {
    d: shape, style: { [cross ? "stroke" : "fill"]: `var(${color})` }, "stroke-width": cross ? 1.5 : null,
  }));
}

function firstNonFinite(first, store) {
  if (!first) return null;
  const change = first.layer >= 0 ? { layer: first.layer } : {};
  return el("section", { class: "error-box", "aria-label": "First non-finite value" },
    el("h3", { text: "First non-finite value" }),
    el("p", {}, el("button", {
      type: "button", class: "link", text: first.what,
      onclick: () => {
        store.showRecord(first.record);
        store.select({ ...change, step: first.step }, "details");
      },
    })),
    factList(first.facts));
}

function recordSection(training, store) {
  const { unheld } = training;
  return el("section", {},
    el("h3", {}, el("bdi", { text: training.title })),
    el("p", { class: "muted" }, el("bdi", { text: training.summary.join(" · ") })),
    factList(training.facts),
    unheld.length ? el("details", { class: "unheld" },
      el("summary", { text: `${counted(unheld.length, "trainable parameter")} in no optimizer` }),
      el("ul", {}, ...unheld.map(([name, parameter]) =>
        el("li", {}, nameLink(name, store, { parameter }, "run"))))) : null);
}

function stepTable({ steps }) {
  const keys = Object.keys(steps).filter((key) => steps[key]);
  return [plainTable(keys.map((key) => `#${key}`), steps.step.slice(0, 200).map((_, row) =>
    keys.map((key) => figure(steps[key][row]))), { label: "Steps" })];
}

function othersTable(others) {
  if (!others.length) return null;
  return el("section", {}, el("h3", { text: "Called, but trained by no optimizer" }), plainTable(
    ["Module", "Type", "#Calls", "#Parameters", "Place"],
    others.map((other) => [other.name, other.type, integer(other.calls), integer(other.parameters), other.place]),
    { label: "Other modules" }));
}
