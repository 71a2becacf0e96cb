/** The panel of gradients: where they die, explode or become NaN. */

import { statusMark } from "../frame/details.js";
import { el, nameElement } from "../frame/dom.js";
import { gradientStep } from "../frame/steps.js";
import { figuresColumn, sortable, textsColumn } from "../frame/tables.js";
import { counted, figure, integer } from "../frame/text.js";
import { createTreegrid, marked } from "../grid/treegrid.js";
import { SERIES, decadesOf, drawBars, drawSeries, normTicks } from "./bars.js";
import { MARKS, cellText, createInks, drawMark, drawRamp, sizeOf } from "./cells.js";
import { columnTicks, drawHeatmap } from "./heatmap.js";
import { Plot } from "./plot.js";
import { layerTable, parameterTable, problemsOf } from "./rows.js";

const GRADIENTS = "gradients";
// In the order in which they are told: what one parameter does, what several do.
const PROBLEMS = {
  none: ["gets no gradient", "get no gradient"], zero: ["is all zeros", "are all zeros"],
  nan: ["is NaN", "are NaN"], inf: ["is infinite", "are infinite"],
  frozen: ["is frozen", "are frozen"],
};
const ORDERS = { forward: "forward order", size: "norm of the gradient", name: "name" };

/** The panel in `host`: a summary, a heat map of several steps or bars of one, and a table. */
export class GradientsView {
  constructor(host, store) {
    Object.assign(this, { store, record: store.record, only: null, sort: "forward" });
    const { parameters, layers } = this.record;
    this.byStep = parameters.steps.length > 1;
    this.parameters = parameterTable(this.record);
    this.table = this.parameters;
    const { columns, value } = this.table;
    this.place = this.byStep ? gradientStep(store).place : columns - 1;
    this.series = {
      grad: parameters.layer.map((_, id) => value(id, this.place)),
      output: parameters.layer.map((layer) => layers.grad_norm[layer] ?? null),
      weight: parameters.weight_norm,
    };
    this.decades = decadesOf(Object.values(this.series));
    this.summary = el("p", { class: "grad-summary" });
    this.legend = el("p", { class: "grad-legend" });
    this.shown = el("span", { class: "muted", role: "status" });
    this.note = el("p", { class: "hint" });
    this.about = el("p", { class: "unseen", id: "gradients-about" });
    this.area = el("div", {});
    this.caption = el("p", { class: "muted", hidden: !this.byStep });
    this.grid = this.createGrid();
    this.plot = new Plot(this.area, {
      label: this.byStep ? "Heat map of gradient norms" : "Bars of gradient norms",
      describedBy: this.about.id, column: this.byStep ? 56 : Infinity, bin: this.byStep ? 2 : 3,
      draw: (ctx, view) => (this.byStep
        ? drawHeatmap(ctx, view, this.table.cells, this.order, this.inks)
        : drawBars(ctx, view, this.series, this.decades, this.order, this.inks)),
      ticks: (view) =>
        (this.byStep ? columnTicks(view, parameters.steps) : normTicks(view, this.decades)),
      tell: (bin) => this.tell(bin),
      choose: (row, column) => this.choose(this.order[row], column),
      changed: (view) => this.writeNote(view),
    });
    this.writeSummary();
    host.append(this.summary, this.controls(), this.legend, this.area, this.note, this.about,
      this.caption, this.grid.element);
    const onTheme = () => {
      if (!host.isConnected) removeEventListener("hookcli:theme", onTheme);
      else if (!host.hidden) this.show();
    };
    addEventListener("hookcli:theme", onTheme);
  }

  controls() {
    const choice = (label, options, chosen) => el(
      "label", {}, `${label} `,
      el("select", { onchange: ({ target }) => chosen(target.value) },
        ...Object.entries(options).map(([value, text]) => el("option", { value, text }))),
    );
    const zoom = (text, label, onclick) =>
      el("button", { type: "button", "aria-label": label, title: label, text, onclick });
    return el(
      "div", { class: "grad-controls" },
      this.byStep && choice("Rows", { parameter: "parameters", layer: "layers" }, (noun) => {
        this.layers ??= layerTable(this.record, this.parameters);
        this.table = noun === "layer" ? this.layers : this.parameters;
        this.arrange();
      }) || null,
      choice("Order", ORDERS, (sort) => {
        this.sort = sort;
        this.arrange();
      }),
      el("span", {}, zoom("−", "Zoom out", () => this.plot.zoomBy(2 / 3)),
        zoom("+", "Zoom in", () => this.plot.zoomBy(1.5)),
        zoom("Fit", "Show all", () => this.plot.zoomTo(1, 1, 0, 0, 0, 0))),
      this.shown,
    );
  }

  /** Return a table of the parameters, in forward order. */
  createGrid() {
    const { name, shape, status, ratio, count } = this.record.parameters;
    const { forward } = this.parameters;
    const texts = (id, title, column, more) =>
      textsColumn(id, title, (row) => column.get(forward[row]), more);
    const figures = (id, title, values) =>
      figuresColumn(id, title, forward.map((row) => values[row]));
    const gradient = { ...figures("grad", "Gradient norm", []),
      value: (row) => sortable(this.series.grad[forward[row]]),
      cell: (row) => figure(measured(this.series.grad[forward[row]])) };
    return createTreegrid({
      label: "Gradients of parameters", count,
      onselect: (row) => this.store.select({ parameter: forward[row] }, GRADIENTS),
      columns: [
        texts("name", "Parameter", name, {
          min: 200, grow: 3, cell: (row) => el("bdi", {}, marked(name.get(forward[row]), this.store.query.text)),
        }),
        texts("shape", "Shape", shape), gradient,
        figures("weight", "Weight norm", this.series.weight), figures("ratio", "Ratio", ratio),
        ...(status.texts.every((text) => !text || text === "ok") ? [] : [
          texts("status", "Status", status, {
            cell: (row) => statusMark(status.get(forward[row])), hint: null,
          })]),
      ],
    });
  }

  update({ type, origin }) {
    if (this.byStep) this.setStep(gradientStep(this.store));
    if (type === "show") this.show();
    else if (type === "filter") this.arrange();
    else if (type === "select") this.mark(origin !== GRADIENTS);
  }

  /** Show the gradients of a step in the table, and in the order by their size. */
  setStep({ place, text }) {
    this.caption.textContent = `Gradient norm: ${text}; weight norm and ratio: the last step`;
    if (place === this.place) return;
    this.place = place;
    const { value } = this.parameters;
    this.series.grad = this.series.grad.map((_, id) => value(id, place));
    this.grid.revalue();
    if (this.sort === "size" && this.inks) this.arrange();
  }

  show() {
    this.inks = createInks(this.record.parameters.palette);
    this.arrange();
  }

  /** Find which rows are shown, and in which order. */
  arrange() {
    const { table, store, sort, parameters } = this;
    const chosen = new Uint8Array(parameters.count);
    for (const id of this.only?.rows ?? parameters.forward) chosen[id] = 1;
    const matches = chosen.map((on, id) => on & store.parameterMatches[id]);
    this.order = table.forward.filter(table.members
      ? (id) => store.matches[table.layer(id)] !== 0 && table.members(id).some((row) => chosen[row])
      : (id) => matches[id]);
    const { names } = table.names;
    const size = (id) => sizeOf(table.value(id, this.place));
    if (sort === "size") this.order.sort((a, b) => (size(a) < size(b)) - (size(a) > size(b)));
    if (sort === "name") this.order.sort((a, b) => (names[a] > names[b]) - (names[a] < names[b]));
    table.names.arrange(this.order);
    this.plot.show(table.names, table.columns);
    const rows = Uint8Array.from(parameters.forward, (id) => matches[id]);
    this.grid.filter(rows.every(Boolean) ? null : rows);
    this.shown.textContent = this.order.length < table.count
      ? `${integer(this.order.length)} of ${counted(table.count, table.noun)} shown` : "";
    this.writeLegend();
    this.mark(true);
  }

  /** Return the worst cell of a bin, and what it is in words. */
  tell({ first, last, start, end }) {
    const { table, order } = this;
    const { bytes } = table.cells;
    let worst = { code: -1 };
    for (let row = first; row < last; row += 1) {
      for (let column = start; column < end; column += 1) {
        const code = bytes[order[row] * table.columns + column];
        if (code < worst.code) continue;
        const size = sizeOf(table.value(order[row], column));
        if (code > worst.code || size > worst.size) worst = { row, column, code, size };
      }
    }
    const id = order[worst.row];
    const value = cellText(table.value(id, worst.column));
    const cells = (last - first) * (end - start);
    const lines = this.byStep
      ? [`step ${this.record.parameters.steps[worst.column]}: ${value}`]
      : [`gradient ${value}`, ...[
        ["weight", this.series.weight[id]], ["gradient / weight", this.record.parameters.ratio[id]],
        ["gradient at the layer's output", this.series.output[id]],
      ].filter(([, norm]) => norm !== null).map(([label, norm]) => `${label} ${figure(norm)}`)];
    if (cells > 1) lines.push(`the worst of ${integer(cells)} here`);
    return { ...worst, lines: [table.names.names[id], ...lines] };
  }

  choose(id, column) {
    const { table, byStep, record } = this;
    const change = table.members ? { layer: table.layer(id) } : { parameter: id };
    if (byStep) change.step = record.parameters.steps[column];
    this.store.select(change, GRADIENTS);
  }

  /** Outline the rows of what is selected, and the column of its step. */
  mark(reveal) {
    const { table, record, parameters, store: { selection } } = this;
    const { layer, parameter, step } = selection;
    const inside = `${record.layers.name.get(layer)}.`;
    const own = parameter >= 0 ? [parameter] : layer >= 0 ? record.parametersOf(layer) : [];
    const ids = new Set(own.length || layer < 0 ? own
      : parameters.forward.filter((id) => parameters.names.names[id].startsWith(inside)));
    const rows = [...this.order.keys()].filter((at) =>
      (table.members?.(this.order[at]) ?? [this.order[at]]).some((row) => ids.has(row)));
    const column = this.byStep ? record.parameters.steps.indexOf(step) : -1;
    this.plot.mark(rows, column, reveal);
    this.grid.select(parameters.forward.indexOf(parameter), reveal);
  }

  /** Say what is wrong, with a button for each problem that shows only its parameters. */
  writeSummary() {
    const { parameters, series, byStep } = this;
    const { names } = parameters.names;
    const { steps } = this.record.parameters;
    const problems = problemsOf(parameters);
    const ids = Object.keys(PROBLEMS);
    problems.sort((a, b) => ids.indexOf(a.id) - ids.indexOf(b.id) || a.some - b.some);
    const all = counted(parameters.count, "parameter");
    const buttons = problems.map((problem, index) => {
      const { id, some, rows, row, column } = problem;
      const first = id === "nan" || id === "inf";
      const count = integer(rows.length) + (index ? "" : ` of ${all}`);
      const when = !byStep ? "" : first ? `, first at step ${steps[column]}`
        : some ? " in some steps" : "";
      return el(
        "button", { type: "button", "aria-pressed": "false", class: `grad-${id}`,
          onclick: ({ currentTarget }) => this.showOnly(problem, currentTarget, buttons) },
        `${count} ${PROBLEMS[id][Number(rows.length > 1)]}`, when,
        ...(first || rows.length === 1 ? [" (", nameElement(names[row]), ")"] : []),
      );
    });
    const frozen = problems.find(({ id }) => id === "frozen")?.rows.length ?? 0;
    const { codes } = parameters;
    const fine = MARKS.every(({ code, id }) => id === "frozen" || !codes.has(code));
    const others = frozen ? "all others" : `The gradients of all ${all}`;
    if (!fine || frozen === parameters.count) this.summary.append(...buttons);
    else this.summary.append(...buttons, `${others} are finite and above zero`);
    const ranked = parameters.forward.filter((id) => series.grad[id] > 0)
      .sort((a, b) => series.grad[a] - series.grad[b]);
    this.about.textContent = [
      all, byStep ? counted(steps.length, "step") : "", ...buttons.map((node) => node.textContent),
      ...[["smallest", 0], ["largest", -1]].map(([word, at]) =>
        (ranked.length ? `${word} norm: ${names[ranked.at(at)]}` : "")),
      "Arrow keys move, Enter selects, + and − zoom, 0 shows all",
    ].filter(Boolean).join("; ");
  }

  showOnly(problem, button, buttons) {
    this.only = this.only === problem ? null : problem;
    for (const other of buttons) {
      other.setAttribute("aria-pressed", String(other === button && this.only !== null));
    }
    this.arrange();
    if (this.only) {
      const step = this.byStep ? this.record.parameters.steps[problem.column] : undefined;
      this.store.select({ parameter: problem.row, step });
    }
  }

  writeLegend() {
    const { palette, scale } = this.record.parameters;
    const item = (width, paint, ...texts) => el("span", {}, sample(width, paint), ...texts);
    const series = Object.entries(SERIES)
      .filter(([id]) => this.series[id].some((norm) => norm > 0));
    const ends = scale && `from ≤ ${figure(scale[0])} to ≥ ${figure(scale[1])}`;
    const ramp = scale ? [item(160, (ctx) => drawRamp(ctx, palette, 160),
      `norm of the gradient, log scale ${ends}`)] : [];
    this.legend.replaceChildren(
      ...(this.byStep ? ramp
        : series.map(([id, word]) => item(16, (ctx) =>
          drawSeries(ctx, id, 0, id === "grad" ? 16 : 8, 7, 14), word))),
      ...MARKS.filter(({ code }) => this.table.codes.has(code)).map((mark) =>
        item(16, (ctx) => drawMark(ctx, mark, this.inks, 0, 0, 16, 14), mark.word)),
    );
  }

  /** Say what a cell of the picture stands for, and which steps are missing. */
  writeNote({ rows, columns }) {
    const { steps } = this.record.parameters;
    const gaps = [...new Set(steps.slice(1).map((step, at) => step - steps[at]))];
    const size = [[rows, this.table.noun], [columns, "step"]].filter(([count]) => count > 1)
      .map(([count, noun]) => counted(count, noun)).join(" × ");
    this.note.textContent = [
      size && `A ${this.byStep ? "cell" : "bar"} shows the worst of ${size}: ` +
        "NaN, infinite, no gradient, else the largest norm",
      gaps.some((gap) => gap > 1) && `${counted(steps.length, "sampled step")}, ` +
        (gaps.length > 1 ? "at unequal distances" : `one of ${gaps[0]}`),
      "Zoom: drag, Ctrl + wheel, + and −; 0 shows all",
    ].filter(Boolean).join(" · ");
  }
}

function measured(value) {
  return value === "" ? null : value;
}

function sample(width, paint) {
  const canvas = el("canvas", { width: width * 2, height: 28, "aria-hidden": "true" });
  canvas.style.setProperty("width", `${width}px`);
  const ctx = canvas.getContext("2d");
  ctx.scale(2, 2);
  paint(ctx);
  return canvas;
}
