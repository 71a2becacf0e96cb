/** Histograms of what hooks saw: the counts of the report, by layer, parameter or event. */

import { el, nameElement, svg } from "./dom.js";
import { placeAt } from "./steps.js";
import { figure, integer } from "./text.js";

const [BAR, HEIGHT] = [8, 60];
const MOST = 12;

/**
 * Return a section with the histograms of the events that are `wanted(row)`, in the selected step
 * or the last one before it that has any; null if none was measured.
 */
export function histogramSection({ record, selection }, wanted) {
  const { events } = record;
  const rows = Object.keys(events.histograms ?? {}).map(Number).filter(wanted);
  if (!rows.length) return null;
  const steps = [...new Set(rows.map((row) => events.step[row]))].sort((a, b) => a - b);
  const step = steps[placeAt(steps, selection.step)];
  const shown = rows.filter((row) => events.step[row] === step)
    .flatMap((row) => events.histograms[row].map((counted) => [row, counted]));
  const title = steps.length > 1 ? `Histograms, step ${integer(step)}` : "Histograms";
  return el("div", { class: "histograms" }, el("h4", { text: title }),
    ...shown.slice(0, MOST).map(([row, counted]) => histogram(events, row, counted)),
    shown.length > MOST ? el("p", { class: "hint", text: `and ${integer(shown.length - MOST)} more` }) : null);
}

function histogram(events, row, [path, low, high, counts]) {
  const most = Math.max(...counts, 1);
  const width = (high - low) / counts.length;
  const bars = counts.map((count, at) => {
    const height = (count / most) * HEIGHT;
    const ends = `from ${figure(low + at * width)} to ${figure(low + (at + 1) * width)}`;
    return svg("rect", {
      x: at * BAR, y: HEIGHT - height, width: BAR - 1, height, data: { count },
    }, svg("title", {}, `${integer(count)} ${ends}`));
  });
  const total = counts.reduce((sum, count) => sum + count, 0);
  const target = `${events.target.get(row) || "(root)"}${path}`;
  const kind = events.kind.get(row);
  return el("figure", { class: "histogram" },
    el("figcaption", {}, nameElement(target), ` ${events.phase.get(row)}, ${kind}`),
    svg("svg", {
      viewBox: `0 0 ${counts.length * BAR} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
      "aria-label": `${integer(total)} values of ${target} from ${figure(low)} to ${figure(high)}`,
    }, ...bars),
    el("p", { class: "histogram-ends" }, el("span", { text: figure(low) }), el("span", { text: figure(high) })));
}
