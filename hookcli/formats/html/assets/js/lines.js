/** Charts of figures by step, one below the other, with a common cursor and range. */

import { el } from "./dom.js";
import { figure, integer } from "./text.js";
import { color } from "./theme.js";

const HEIGHT = 150;
const FEW = 80;
const SIGN = 4;

/** The signs of values that a line cannot show, at the top of a chart, and of skipped steps. */
export const SIGNS = {
  nan: { label: "NaN", color: "--data-nan", points: [[-1, 1], [1, 1], [0, -1]] },
  inf: { label: "Inf", color: "--data-inf", points: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]] },
  skipped: { label: "skipped", color: "--text", cross: true },
};

/**
 * Return charts as {element, show()}. `figures` are {title, lines: [{label, values, color}], skipped}:
 * a value is a number, "nan", "inf", "-inf", or null if it was not measured. `skipped` has 1 for a
 * step that did not run the optimizer. `selected()` returns the number of the selected step, and
 * `choose(step)` selects one.
 */
export function createCharts(steps, figures, { selected, choose }) {
  const key = `steps-${Math.random()}`;
  const charts = figures.map((entry) => createChart(steps, entry, { key, selected, choose, zoom }));
  const element = el("div", { class: "charts" }, ...charts.map((chart) => chart.element));
  let zooming = false;

  function zoom(source, min, max) {
    if (zooming) return;
    zooming = true;
    for (const chart of charts) if (chart !== source) chart.range(min, max);
    zooming = false;
  }

  addEventListener("hookcli:theme", () => charts.forEach((chart) => chart.draw()));
  return { element, show: () => charts.forEach((chart) => chart.show()) };
}

function createChart(steps, { title, lines, skipped }, { key, selected, choose, zoom }) {
  const readout = el("span", { class: "readout" });
  const canvas = el("div", {
    class: "chart-canvas", tabindex: "0", role: "slider", "aria-label": `${title} by step`,
    "aria-valuemin": steps[0], "aria-valuemax": steps.at(-1), onkeydown: move,
  });
  const positive = lines.some(({ values }) => values.some((value) => value > 0));
  const log = el("button", {
    type: "button", class: "log-switch", text: "log", "aria-pressed": "false", hidden: !positive,
    "aria-label": `logarithmic scale of ${title}`,
    onclick: () => {
      log.setAttribute("aria-pressed", String(log.getAttribute("aria-pressed") === "false"));
      rebuild();
    },
  });
  const names = lines.length < 2 ? [] : lines.map((line) =>
    el("span", { class: "line-name", style: { color: `var(${line.color})` } }, el("bdi", { text: line.label })));
  const element = el("figure", { class: "chart" },
    el("figcaption", {}, el("strong", { text: title }), ...names, readout, log), canvas);
  let plot = null;
  const self = { element, draw, range, show };

  function rebuild() {
    plot?.destroy();
    const isLog = log.getAttribute("aria-pressed") === "true";
    const data = [steps, ...lines.map(({ values }) => values.map((value) => plain(value, isLog)))];
    plot = new uPlot(options(isLog), data, canvas);
  }

  function options(isLog) {
    const axis = {
      stroke: () => color("--muted"), grid: { stroke: () => color("--line"), width: 1 },
      ticks: { stroke: () => color("--line"), width: 1, size: 4 }, font: "11px system-ui, sans-serif",
    };
    const points = { show: steps.length < FEW, size: 4 };
    return {
      width: canvas.clientWidth || 600, height: HEIGHT, legend: { show: false },
      cursor: { sync: { key }, drag: { x: true, y: false }, points: { size: 7 } },
      scales: { x: { time: false }, y: { distr: isLog ? 3 : 1 } },
      axes: [
        { ...axis, size: 26, values: (_, splits) => splits.map((at) => (at % 1 ? "" : integer(at))) },
        { ...axis, size: 64, values: (_, splits) => splits.map((at) => (at === null ? "" : figure(at))) },
      ],
      series: [{}, ...lines.map((line) => ({
        stroke: () => color(line.color), width: 1.5, points: { ...points, show: points.show || few(line) },
      }))],
      hooks: {
        draw: [drawSigns], setCursor: [read], setScale: [(u, name) => {
          if (name === "x") zoom(self, u.scales.x.min, u.scales.x.max);
        }],
        ready: [(u) => u.over.addEventListener("click", () => {
          if (u.cursor.idx !== null && !u.select.width) choose(steps[u.cursor.idx]);
        })],
      },
    };
  }

  function drawSigns(u) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left - 4, bbox.top - 4, bbox.width + 8, bbox.height + 8);
    ctx.clip();
    const at = (step) => u.valToPos(step, "x", true);
    for (const { values } of lines) {
      for (const kind of ["nan", "inf"]) {
        const rows = (value) => typeof value === "string" && value.includes(kind);
        signs(ctx, values, rows, at, bbox.top + SIGN + 2, SIGNS[kind]);
      }
    }
    if (skipped) signs(ctx, skipped, Boolean, at, bbox.top + bbox.height - SIGN - 2, SIGNS.skipped);
    const step = selected();
    if (step !== null) {
      ctx.strokeStyle = color("--accent");
      ctx.lineWidth = 2 * devicePixelRatio;
      ctx.beginPath();
      ctx.moveTo(at(step), bbox.top);
      ctx.lineTo(at(step), bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  function signs(ctx, values, is, at, y, sign) {
    let last = -Infinity;
    ctx.fillStyle = color(sign.color);
    ctx.strokeStyle = ctx.fillStyle;
    values.forEach((value, row) => {
      if (!is(value)) return;
      const x = at(steps[row]);
      if (x - last < SIGN * devicePixelRatio) return;
      last = x;
      drawSign(ctx, x, y, sign);
    });
  }

  function read(u) {
    const row = u.cursor.idx;
    readout.textContent = row === null || row === undefined ? "" : textOf(row);
  }

  function textOf(row) {
    const values = lines.map(({ values, label }) => `${lines.length > 1 ? `${label} ` : ""}${figure(values[row])}`);
    return `step ${integer(steps[row])}: ${values.join(", ")}${skipped?.[row] ? ", skipped" : ""}`;
  }

  function move(event) {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
    const row = { Home: 0, End: steps.length - 1 }[event.key] ??
      (by && Math.max(0, Math.min(steps.length - 1, rowOf(steps, selected()) + by)));
    if (row === undefined) return;
    event.preventDefault();
    choose(steps[row]);
  }

  function range(min, max) {
    plot?.setScale("x", { min, max });
  }

  function draw() {
    plot?.redraw(false, true);
  }

  function show() {
    if (!plot) {
      rebuild();
      new ResizeObserver(() => {
        const width = canvas.clientWidth;
        if (width && width !== plot.width) plot.setSize({ width, height: HEIGHT });
      }).observe(canvas);
    } else draw();
    const row = rowOf(steps, selected());
    canvas.setAttribute("aria-valuenow", steps[Math.max(row, 0)]);
    canvas.setAttribute("aria-valuetext", row < 0 ? "no step is selected" : textOf(row));
    readout.textContent = row < 0 ? "" : textOf(row);
  }

  return self;
}

/** Return the row of a step, -1 if there is none; the numbers of steps are sorted. */
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

function few({ values }) {
  return values.reduce((count, value) => count + (value !== null), 0) < FEW;
}

// uPlot joins the points around undefined, and breaks the line at null.
function plain(value, isLog) {
  if (value === null) return undefined;
  return typeof value === "number" && (!isLog || value > 0) ? value : null;
}

function drawSign(ctx, x, y, { points, cross }) {
  const size = SIGN * devicePixelRatio;
  ctx.beginPath();
  if (cross) {
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.moveTo(x - size, y - size);
    ctx.lineTo(x + size, y + size);
    ctx.moveTo(x + size, y - size);
    ctx.lineTo(x - size, y + size);
    ctx.stroke();
    return;
  }
  for (const [dx, dy] of points) ctx.lineTo(x + dx * size, y + dy * size);
  ctx.fill();
}
