/** Charts of figures by step, with a common cursor and a common range. */

import { el, svg } from "../frame/dom.js";
import { counted, figure, integer } from "../frame/text.js";
import { color } from "../frame/theme.js";

const HEIGHT = 150;
const FEW = 80;
const SIGN = 4;
const PAGE = 10;

// The signs of values that a line cannot show, at the top, and of skipped steps, at the bottom.
const SIGNS = {
  nan: { label: "NaN", color: "--data-nan", path: "M-4,4L4,4L0,-4Z" },
  inf: { label: "Inf", color: "--data-inf", path: "M0,-5L5,0L0,5L-5,0Z" },
  skipped: { label: "skipped", color: "--text", path: "M-4,-4L4,4M4,-4L-4,4" },
};

/**
 * Return charts {element, show()}; `show` draws them, also after the selection changed.
 *
 * `figures` are {title, lines: [{label, values, color, dash}], skipped}. A value is a number, or
 * "nan", "inf", "-inf", or null if it was not measured. `skipped` has 1 for each step that the
 * optimizer did not make.
 * `selected()` returns the number of the selected step, and `choose(step)` selects one.
 */
export function createCharts(steps, figures, { selected, choose }) {
  const key = `steps-${Math.random()}`;
  let zooming = false;
  const shared = { steps, key, selected, choose, zoom };
  const charts = figures.map((entry) => createChart(entry, shared));

  function zoom({ min, max }) {
    if (zooming) return;
    zooming = true;
    for (const chart of charts) chart.setRange({ min, max });
    zooming = false;
  }

  addEventListener("hookcli:theme", () => charts.forEach((chart) => chart.draw()));
  const boxes = el("div", { class: "charts" }, ...charts.map(({ element }) => element));
  return {
    element: el("div", {}, boxes, signList(steps, figures)),
    show: () => charts.forEach((chart) => chart.show()),
  };
}

function createChart({ title, lines, skipped }, { steps, key, selected, choose, zoom }) {
  const readout = el("span", { class: "readout" });
  const host = el("div", {
    class: "chart-lines", tabindex: "0", role: "slider", "aria-label": `${title} by step`,
    "aria-valuemin": steps[0], "aria-valuemax": steps.at(-1), onkeydown: move,
  });
  const box = el("input", { type: "checkbox", onchange: rebuild });
  const element = el("figure", { class: "chart" },
    el("figcaption", {}, el("strong", { text: title }),
      ...(lines.length > 1 ? lines.map(lineName) : []), readout,
      el("label", { title: `Logarithmic scale of ${title}` }, box, "log")),
    host);
  let plot = null;

  function rebuild() {
    plot?.destroy();
    const data = lines.map(({ values }) => values.map((value) => drawable(value, box.checked)));
    plot = new uPlot(options(), [steps, ...data], host);
  }

  function options() {
    const grid = { stroke: () => color("--line"), width: 1 };
    const font = "11px system-ui, sans-serif";
    const axis = { stroke: () => color("--muted"), grid, ticks: grid, font };
    const written = (value) => (value === null ? "" : figure(value));
    return {
      width: host.clientWidth || 600, height: HEIGHT, legend: { show: false },
      cursor: { sync: { key }, drag: { x: true, y: false }, points: { size: 7 } },
      scales: { x: { time: false }, y: { distr: box.checked ? 3 : 1 } },
      axes: [
        { ...axis, size: 26, values: (_, at) => at.map((step) => (step % 1 ? "" : integer(step))) },
        { ...axis, size: 62, values: (_, at) => at.map(written) },
      ],
      series: [{}, ...lines.map(({ color: name, values, dash }) => ({
        stroke: () => color(name), width: 1.5, dash, points: { show: isSparse(values), size: 4 },
      }))],
      hooks: {
        draw: [drawSigns],
        setCursor: [({ cursor }) => read(cursor.idx ?? rowOf(steps, selected()))],
        setScale: [({ scales }, name) => name === "x" && zoom(scales.x)],
        ready: [({ over, cursor, select }) => over.addEventListener("click", () => {
          if (typeof cursor.idx === "number" && !select.width) choose(steps[cursor.idx]);
        })],
      },
    };
  }

  function drawSigns({ ctx, bbox, valToPos }) {
    const x = (step) => valToPos(step, "x", true);
    const inside = (step) => x(step) >= bbox.left - 1 && x(step) <= bbox.left + bbox.width + 1;
    const top = bbox.top + 2 * SIGN;
    const all = lines.flatMap(({ values }) => ["nan", "inf"].map((kind) => [
      kind, (row) => isKind(values[row], kind), top,
    ]));
    if (skipped) all.push(["skipped", (row) => skipped[row], bbox.top + bbox.height - 2 * SIGN]);
    for (const [kind, has, y] of all) {
      let last = -Infinity;
      steps.forEach((step, row) => {
        if (!has(row) || !inside(step) || x(step) - last < 2 * SIGN * devicePixelRatio) return;
        last = x(step);
        drawSign(ctx, last, y, SIGNS[kind]);
      });
    }
    const step = selected();
    if (step === null || !inside(step)) return;
    ctx.fillStyle = color("--text");
    ctx.fillRect(x(step) - devicePixelRatio / 2, bbox.top, devicePixelRatio, bbox.height);
  }

  function read(row) {
    readout.textContent = row < 0 ? "" : textOf(row);
  }

  function textOf(row) {
    const values = lines.map(({ label, values: list }) =>
      (lines.length > 1 ? `${label} ${figure(list[row])}` : figure(list[row])));
    const end = skipped?.[row] ? ", skipped" : "";
    return `step ${integer(steps[row])}: ${values.join(", ")}${end}`;
  }

  function move(event) {
    const by = {
      ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: PAGE, PageDown: -PAGE,
    }[event.key];
    const last = steps.length - 1;
    const row = { Home: 0, End: last }[event.key] ?? rowOf(steps, selected()) + by;
    if (Number.isNaN(row)) return;
    event.preventDefault();
    choose(steps[Math.max(0, Math.min(last, row))]);
  }

  function show() {
    if (plot) draw();
    else {
      rebuild();
      new ResizeObserver(() => {
        const width = host.clientWidth;
        if (width && width !== plot.width) plot.setSize({ width, height: HEIGHT });
      }).observe(host);
    }
    const row = rowOf(steps, selected());
    read(row);
    host.setAttribute("aria-valuenow", steps[Math.max(row, 0)]);
    host.setAttribute("aria-valuetext", row < 0 ? "no step is selected" : textOf(row));
  }

  function draw() {
    plot?.redraw(false, true);
  }

  function setRange(range) {
    if (plot && (plot.scales.x.min !== range.min || plot.scales.x.max !== range.max)) {
      plot.setScale("x", range);
    }
  }

  return { element, draw, setRange, show };
}

function lineName({ label, color: name }) {
  const style = { "--of": `var(${name})` };
  return el("span", { class: "line-name", style }, el("bdi", { text: label }));
}

/** Return the row of a step, -1 if there is none; `steps` are sorted. */
export function rowOf(steps, step) {
  let low = 0;
  let high = step === null ? -1 : steps.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (steps[middle] === step) return middle;
    if (steps[middle] < step) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

function isSparse(values) {
  return values.reduce((count, value) => count + (value !== null), 0) < FEW;
}

function isKind(value, kind) {
  return typeof value === "string" && value.endsWith(kind);
}

// uPlot joins the points around undefined, and breaks the line at null.
function drawable(value, isLog) {
  if (value === null) return undefined;
  return typeof value === "number" && (!isLog || value > 0) ? value : null;
}

function drawSign(ctx, x, y, { color: name, path }) {
  ctx.save();
  ctx.setLineDash([]);
  ctx.translate(x, y);
  ctx.scale(devicePixelRatio, devicePixelRatio);
  const shape = new Path2D(path);
  ctx.fillStyle = color(name);
  ctx.strokeStyle = ctx.fillStyle;
  ctx.lineWidth = 1.5;
  ctx.fill(shape);
  ctx.stroke(shape);
  ctx.restore();
}

/** Return what the signs mean, with the number of steps that have one. */
function signList(steps, figures) {
  const all = figures.flatMap(({ lines }) => lines.map(({ values }) => values));
  const has = (kind) => (_, row) => (kind === "skipped" ? figures[0]?.skipped?.[row]
    : all.some((values) => isKind(values[row], kind)));
  const signs = Object.entries(SIGNS).map(([kind, sign]) =>
    ({ ...sign, count: steps.filter(has(kind)).length })).filter(({ count }) => count);
  return el("p", { class: "sign-list muted" }, ...signs.map(signNote),
    "Click or use the arrow keys to select a step, drag to zoom in, double-click to zoom out");
}

function signNote({ path, color: name, label, count }) {
  const style = { stroke: `var(${name})`, fill: `var(${name})` };
  const sign = svg("svg", { viewBox: "-7 -7 14 14", "aria-hidden": "true" },
    svg("path", { d: path, style }));
  return el("span", {}, sign, ` ${label} in ${counted(count, "step")}`);
}
