/** The panel of gradients: where they die, explode or become NaN. */

import { el, nameElement } from "./dom.js";
import { SERIES, decadesOf, drawBars, drawNormAxis } from "./gradient_bars.js";
import { MARKS, cellText, createInks, drawMark, rampOf, sizeOf } from "./gradient_cells.js";
import { layerTable, parameterTable, problemsOf } from "./gradient_rows.js";
import { drawColumnAxis, drawHeatmap } from "./heatmap.js";
import { Plot } from "./plot.js";
import { counted, figure, integer } from "./text.js";
import { color } from "./theme.js";

const ORIGIN = "gradients";
const ORDERS = [["forward", "forward order"], ["size", "norm in the last step"], ["name", "name"]];

export const gradientsPanel = {
  id: "gradients",
  title: "Gradients",
  available: ({ record }) =>
    Boolean(record?.parameters.status.texts.length || record?.parameters.grad_norm.some(known)),
  count: ({ record }) => record.parameters.count,
  create: (host, store) => new GradientsView(host, store),
};

function known(value) {
  return value !== null;
}

class GradientsView {
  constructor(host, store) {
    this.host = host;
    this.store = store;
    this.record = store.record;
    const { parameters, layers } = this.record;
    this.steps = parameters.steps;
    this.byStep = this.steps.length > 1;
    this.table = parameterTable(this.record);
    this.tables = { parameter: this.table };
    this.problems = problemsOf(this.table);
    this.only = null;
    this.sort = "forward";
    this.series = {
      grad: this.table.forward.map((_, id) => this.table.value(id, this.table.columns - 1)),
      weight: parameters.weight_norm,
      output: parameters.layer.map((layer) => layers.grad_norm[layer] ?? null),
    };
    this.decades = decadesOf(Object.values(this.series));
    this.legend = el("div", { class: "plot-legend" });
    this.summary = el("p", { class: "grad-summary" });
    this.shown = el("span", { class: "muted", role: "status" });
    this.note = el("p", { class: "hint" });
    this.about = el("p", { class: "unseen", id: "gradients-about" });
    const area = el("div", {});
    host.append(this.summary, this.toolbar(), this.legend, area, this.note, this.about);
    this.plot = new Plot(area, {
      label: this.byStep ? "Heat map of gradient norms" : "Gradient norms of parameters",
      describedBy: "gradients-about",
      column: this.byStep ? 56 : Infinity,
      bin: this.byStep ? 2 : 3,
      draw: (ctx, view) => this.draw(ctx, view),
      drawAxis: (ctx, view) => this.byStep
        ? drawColumnAxis(ctx, view, this.steps, "step")
        : drawNormAxis(ctx, view, this.decades),
      tell: (bin) => this.tell(bin),
      choose: (row, column) => this.choose(row, column),
      changed: (view) => this.writeNote(view),
    });
    const onTheme = () => {
      if (!host.isConnected) removeEventListener("hookcli:theme", onTheme);
      else if (!host.hidden) this.update({ type: "show" });
    };
    addEventListener("hookcli:theme", onTheme);
    this.writeSummary();
  }

  toolbar() {
    const zoom = (text, label, act) =>
      el("button", { type: "button", "aria-label": label, title: label, text, onclick: act });
    const rows = [["parameter", "parameters"], ["layer", "layers"]];
    return el(
      "div", { class: "grad-tools" },
      this.byStep ? picker("Rows", rows, (value) => this.showRows(value)) : null,
      picker("Order", ORDERS, (value) => {
        this.sort = value;
        this.arrange();
      }),
      el("span", { class: "grad-zoom", role: "group", "aria-label": "Zoom" },
        zoom("−", "Zoom out", () => this.plot.zoomBy(1 / 1.5)),
        zoom("+", "Zoom in", () => this.plot.zoomBy(1.5)),
        zoom("Fit", "Show all", () => this.plot.reset())),
      this.shown,
    );
  }

  showRows(noun) {
    this.tables[noun] ??= layerTable(this.record, this.tables.parameter);
    this.table = this.tables[noun];
    this.arrange();
  }

  update({ type, origin }) {
    if (type === "show") {
      this.inks = null;
      this.plot.print(matchMedia("print").matches);
      this.arrange();
    } else if (type === "filter") this.arrange();
    else if (type === "select") this.mark(origin !== ORIGIN);
  }

  /** Find which rows are shown, and in which order. */
  arrange() {
    const { table, store, only, sort } = this;
    const chosen = only && new Set(only.rows);
    const shows = table.members
      ? (id) => store.matches[table.layer(id)] !== 0 &&
        (!chosen || table.members[id].some((row) => chosen.has(row)))
      : (id) => store.parameterMatches[id] && (!chosen || chosen.has(id));
    const order = table.forward.filter(shows);
    const { names } = table.names;
    const last = table.columns - 1;
    if (sort === "size") {
      order.sort((a, b) => sizeOf(table.value(b, last)) - sizeOf(table.value(a, last)) || 0);
    } else if (sort === "name") {
      order.sort((a, b) => (names[a] < names[b] ? -1 : Number(names[a] > names[b])));
    }
    this.order = order;
    this.places = new Map(order.map((id, at) => [id, at]));
    table.names.arrange(order);
    this.plot.show(table.names, table.columns);
    this.shown.textContent = order.length < table.count
      ? `${integer(order.length)} of ${counted(table.count, table.noun)} shown`
      : "";
    this.writeLegend();
    this.mark(true);
  }

  draw(ctx, view) {
    if (!this.inks || this.inks.ratio !== view.ratio) {
      this.inks = createInks(this.record.parameters.palette, view.ratio);
    }
    if (this.byStep) drawHeatmap(ctx, view, this.table.cells, this.order, this.inks);
    else drawBars(ctx, view, this.series, this.decades, this.order, this.inks);
  }

  /** Return the worst cell of a bin in words. */
  tell({ first, last, start, end }) {
    const { table, order } = this;
    const { bytes, columns } = table.cells;
    let [row, column, most, size] = [first, start, -1, -Infinity];
    for (let at = first; at < last; at += 1) {
      for (let step = start; step < end; step += 1) {
        const byte = bytes[order[at] * columns + step];
        if (byte < most) continue;
        const value = sizeOf(table.value(order[at], step));
        if (byte > most || value > size) [row, column, most, size] = [at, step, byte, value];
      }
    }
    const id = order[row];
    const lines = this.byStep
      ? [`step ${this.steps[column]}: ${cellText(table.value(id, column))}`]
      : this.figures(id);
    const cells = (last - first) * (end - start);
    if (cells > 1) lines.push(`the worst of ${counted(cells, "cell")} here`);
    return { title: table.names.names[id], lines, row, column };
  }

  figures(id) {
    const { weight, output } = this.series;
    const { ratio } = this.record.parameters;
    return [
      ["gradient norm", cellText(this.table.value(id, 0))], ["weight norm", weight[id]],
      ["gradient / weight", ratio[id]], ["gradient at the layer's output", output[id]],
    ].filter(([, value]) => value !== null)
      .map(([label, value]) => `${label}: ${figure(value)}`);
  }

  choose(row, column) {
    const id = this.order[row];
    const change = this.table.members ? { layer: this.table.layer(id) } : { parameter: id };
    if (this.byStep) change.step = this.steps[column];
    this.store.select(change, ORIGIN);
  }

  /** Outline the rows of what is selected, and the column of its step. */
  mark(reveal) {
    const { selection } = this.store;
    const { table, record } = this;
    let ids = [];
    if (selection.parameter >= 0) ids = [selection.parameter];
    else if (selection.layer >= 0) {
      ids = record.parametersOf(selection.layer);
      const prefix = record.layers.name.get(selection.layer);
      if (!ids.length && prefix) {
        const { names } = this.tables.parameter.names;
        ids = this.tables.parameter.forward.filter((id) => names[id].startsWith(`${prefix}.`));
      }
    }
    if (table.members) {
      const owners = new Set(ids.map((id) => this.tables.parameter.layer(id)));
      ids = table.forward.filter((id) => owners.has(table.layer(id)));
    }
    const rows = ids.map((id) => this.places.get(id)).filter((at) => at !== undefined);
    rows.sort((a, b) => a - b);
    this.plot.mark(rows, this.steps.indexOf(selection.step), reveal);
  }

  writeSummary() {
    const { problems, steps } = this;
    const total = this.table.count;
    const { names } = this.table.names;
    const trained = problems.every(({ id }) => id === "frozen");
    const sentences = problems.map((problem, index) => {
      const many = problem.rows.length > 1;
      const count = integer(problem.rows.length) + (index ? "" : ` of ${counted(total, "parameter")}`);
      const when = problem.first && this.byStep
        ? `${many ? ", first" : ""} at step ${steps[problem.column]}` : "";
      const where = problem.first || !many ? [" (", nameElement(names[problem.row]), ")"] : [];
      const button = el(
        "button",
        {
          type: "button", class: `grad-problem grad-${problem.id}`, "aria-pressed": "false",
          onclick: () => this.choosePart(problem, button),
        },
        `${count} ${problem.text}${when}`, ...where,
      );
      return button;
    });
    this.buttons = sentences;
    if (trained) {
      const others = `The gradients of all ${counted(total, "parameter")}`;
      sentences.push(el("span", {
        text: `${problems.length ? "all others" : others} are finite and above zero`,
      }));
    }
    this.summary.replaceChildren(...sentences);
    this.about.textContent = [
      counted(total, "parameter"), ...(this.byStep ? [counted(steps.length, "step")] : []),
      ...sentences.map((node) => node.textContent), ...this.extremes(),
      "arrow keys move between cells, Enter selects, + and − zoom, 0 shows all",
    ].join("; ");
  }

  extremes() {
    const { grad } = this.series;
    const ids = this.table.forward.filter((id) => grad[id] > 0 && grad[id] < Infinity);
    if (!ids.length) return [];
    ids.sort((a, b) => grad[a] - grad[b]);
    return [["smallest", ids[0]], ["largest", ids.at(-1)]].map(([word, id]) =>
      `${word} norm ${figure(grad[id])} (${this.table.names.names[id]})`);
  }

  /** Show only the parameters of a problem, and select the first; once more, show all. */
  choosePart(problem, button) {
    this.only = this.only === problem ? null : problem;
    for (const other of this.buttons) {
      other.setAttribute("aria-pressed", String(other === button && this.only !== null));
    }
    this.arrange();
    if (!this.only) return;
    const step = this.byStep ? { step: this.steps[problem.column] } : {};
    this.store.select({ parameter: problem.row, ...step });
  }

  writeLegend() {
    const { parameters } = this.record;
    const present = new Set(this.table.cells.bytes);
    const marks = MARKS.filter(({ code }) => present.has(code));
    const draw = (width, paint) => legendCanvas(width, this, paint);
    const items = this.byStep ? [] : SERIES.filter(({ id }) => this.series[id].some((v) => v > 0));
    this.legend.replaceChildren(...[
      this.byStep && parameters.scale && el(
        "span", { class: "legend-scale" },
        `≤ ${figure(parameters.scale[0])}`,
        draw(160, (ctx) => {
          ctx.fillStyle = rampOf(ctx, parameters.palette, 0, 160);
          ctx.fillRect(0, 0, 160, 14);
        }),
        `≥ ${figure(parameters.scale[1])}`,
        el("span", { class: "muted", text: "norm of the gradient, log scale" }),
      ),
      ...items.map(({ id, word, color: name }) => el("span", {}, draw(16, (ctx) => {
        ctx.fillStyle = color(name);
        ctx.strokeStyle = color(name);
        ctx.lineWidth = 1.5;
        if (id === "grad") ctx.fillRect(0, 3, 16, 8);
        else if (id === "output") ctx.fillRect(7, 0, 2, 14);
        else {
          ctx.arc(8, 7, 3.5, 0, 7);
          ctx.stroke();
        }
      }), word)),
      ...marks.map((mark) => el("span", {}, draw(16, (ctx, inks) => {
        drawMark(ctx, mark, inks, 0, 0, 16, 14);
        ctx.strokeStyle = color("--line");
        ctx.strokeRect(0.5, 0.5, 15, 13);
      }), mark.word)),
    ].filter(Boolean));
  }

  /** Say what a cell of the picture stands for, and which steps are missing. */
  writeNote({ rows, columns }) {
    const parts = [];
    if (rows * columns > 1) {
      const what = [
        rows > 1 ? counted(rows, this.table.noun) : "", columns > 1 ? counted(columns, "step") : "",
      ].filter(Boolean).join(" × ");
      parts.push(`A cell shows the worst of ${what}: NaN, infinite, no gradient, else the largest norm`);
    }
    const { steps } = this;
    const gaps = new Set(steps.slice(1).map((step, at) => step - steps[at]));
    if (gaps.size && (gaps.size > 1 || !gaps.has(1))) {
      const every = gaps.size === 1 ? `every ${[...gaps][0]} steps` : "at unequal distances";
      parts.push(`${counted(steps.length, "sampled step")}, ${every}, in columns of equal width`);
    }
    parts.push("Drag, Ctrl + wheel or + and − zoom in and out, 0 shows all");
    this.note.textContent = parts.join(" · ");
  }
}

function picker(label, options, chosen) {
  const select = el(
    "select", { onchange: () => chosen(select.value) },
    ...options.map(([value, text]) => el("option", { value, text })),
  );
  return el("label", {}, `${label} `, select);
}

function legendCanvas(width, { record }, paint) {
  const ratio = Math.max(devicePixelRatio || 1, 2);
  const canvas = el("canvas", {
    width: width * ratio, height: 14 * ratio, "aria-hidden": "true",
    style: { width: `${width}px`, height: "14px" },
  });
  const ctx = canvas.getContext("2d");
  ctx.scale(ratio, ratio);
  paint(ctx, createInks(record.parameters.palette, ratio));
  return canvas;
}
