/** The panel of hooks: which fired in which order, and what they changed. */

import { figureTable } from "./details.js";
import { el, nameElement } from "./dom.js";
import { counted, figure, integer } from "./text.js";
import { Timeline, depthsOf, eventsByStep } from "./timeline.js";
import { createTreegrid } from "./treegrid.js";

const ORIGIN = "hooks";

export const hooksPanel = {
  id: "hooks",
  title: "Hooks",
  available: ({ record }) => Boolean(record && (record.events.count || record.events.streamed)),
  count: ({ record }) => record.events.count,
  create: (host, store) => new HooksView(host, store),
};

class HooksView {
  constructor(host, store) {
    this.store = store;
    this.record = store.record;
    const { events } = this.record;
    if (!events.count) {
      host.append(streamedNote(events.streamed));
      this.update = () => {};
      return;
    }
    this.depths = depthsOf(this.record.layers);
    this.steps = eventsByStep(events);
    this.stepIndex = 0;
    this.kind = "";
    this.onlyChanges = false;
    this.timeline = new Timeline((row) => store.select({ event: row }, ORIGIN));
    this.now = el("div", { class: "event-now", "aria-live": "polite" });
    this.grid = this.createGrid();
    host.append(this.controls(), this.timeline.element, legend(), this.now, this.grid.element);
    if (events.streamed) host.append(streamedNote(events.streamed));
    this.showStep();
  }

  get rows() {
    return this.steps[this.stepIndex][1];
  }

  controls() {
    const { events } = this.record;
    const kinds = el(
      "select",
      { "aria-label": "Kind of hook", onchange: () => { this.kind = kinds.value; this.filter(); } },
      el("option", { value: "", text: "Kind: all" }),
      ...events.kind.texts.map((kind) => el("option", { value: kind, text: kind })),
    );
    const changes = events.changed.some(Boolean)
      ? el("label", { class: "check" }, el("input", {
        type: "checkbox", onchange: (event) => { this.onlyChanges = event.target.checked; this.filter(); },
      }), " only changes")
      : null;
    this.stepLabel = el("span", { class: "step-label" });
    const steps = this.steps.length > 1
      ? el("span", { class: "group" }, button("Previous step", "‹", () => this.moveStep(-1)),
        this.stepLabel, button("Next step", "›", () => this.moveStep(1)))
      : null;
    return el(
      "div",
      { class: "event-controls" },
      el("span", { class: "group" },
        button("First event", "⏮", () => this.move("first")),
        button("Previous event", "◀ previous", () => this.move(-1)),
        button("Next event", "next event ▶", () => this.move(1), "primary"),
        button("Last event", "⏭", () => this.move("last"))),
      steps, kinds, changes,
      el("span", { class: "group" },
        button("Zoom in", "+", () => this.timeline.zoom(0.5)),
        button("Zoom out", "−", () => this.timeline.zoom(2)),
        button("Show all events", "all", () => this.timeline.reset())),
    );
  }

  createGrid() {
    const { events, layers } = this.record;
    const { store } = this;
    return createTreegrid({
      label: "Events in the order in which they fired",
      columns: [
        { id: "seq", title: "Seq", width: 64, align: "end", value: (row) => events.seq[row], cell: (row) => integer(events.seq[row]) },
        { id: "phase", title: "Phase", width: 90, value: (row) => events.phase.get(row), cell: (row) => phaseCell(events, row) },
        { id: "kind", title: "Kind", width: 150, value: (row) => events.kind.get(row), cell: (row) => events.kind.get(row) },
        { id: "target", title: "Target", width: 200, grow: 2, value: (row) => events.target.get(row), cell: (row) => nameElement(events.target.get(row) || "(root)") },
        { id: "type", title: "Type", width: 120, value: (row) => layers.type.get(events.layer[row]), cell: (row) => layers.type.get(events.layer[row]) ?? "" },
        { id: "values", title: "Values", width: 170, grow: 1, cell: (row) => el("span", { class: "shape", text: events.values.get(row) }) },
        { id: "changed", title: "Changed by", width: 100, align: "end", value: (row) => events.changed[row], cell: (row) => (events.changed[row] === null ? "" : figure(events.changed[row])) },
      ],
      onselect: (row) => store.select({ event: row }, ORIGIN),
    });
  }

  update({ type, origin }) {
    if (type === "filter") this.filter();
    else if (type === "select" || type === "show") this.showSelection(origin);
    if (type === "show") {
      this.timeline.draw();
      this.grid.refresh();
    }
  }

  showSelection(origin) {
    const { event, layer, parameter } = this.store.selection;
    const index = this.steps.findIndex(([step]) => step === this.store.selection.step);
    if (index >= 0 && index !== this.stepIndex) {
      this.stepIndex = index;
      this.showStep();
    }
    const shown = event >= 0 ? event : this.firstOf(layer, parameter);
    this.timeline.select(shown);
    this.grid.select(shown, { scroll: origin !== ORIGIN || shown !== this.clicked });
    this.describe(event);
  }

  /** Return the first event of a selected parameter or layer, -1 if there is none. */
  firstOf(layer, parameter) {
    const { events } = this.record;
    if (layer < 0 && parameter < 0) return -1;
    const column = parameter >= 0 ? events.parameter : events.layer;
    const wanted = parameter >= 0 ? parameter : layer;
    return this.rows.find((row) => column[row] === wanted) ?? -1;
  }

  matches(row) {
    const { events } = this.record;
    if (this.kind && events.kind.get(row) !== this.kind) return false;
    if (this.onlyChanges && !events.changed[row]) return false;
    if (!this.store.filtered) return true;
    const parameter = events.parameter[row];
    const layer = events.layer[row];
    const text = this.store.query.text.trim().toLowerCase();
    return (layer >= 0 && this.store.matches[layer] === 1) ||
      (parameter >= 0 && this.store.parameterMatches[parameter] === 1) ||
      (Boolean(text) && !this.store.query.type && !this.store.query.status &&
        events.target.get(row).toLowerCase().includes(text));
  }

  filter() {
    this.shown = this.rows.filter((row) => this.matches(row));
    const visible = this.shown.length === this.rows.length ? null : new Set(this.shown);
    this.timeline.filter(visible && ((row) => visible.has(row)));
    this.grid.setRows(this.shown);
  }

  showStep() {
    const [step, rows] = this.steps[this.stepIndex];
    this.stepLabel.textContent = `step ${step}`;
    this.timeline.show(this.record, rows, this.depths);
    this.filter();
    this.describe(this.store.selection.event);
  }

  moveStep(by) {
    const index = Math.max(0, Math.min(this.steps.length - 1, this.stepIndex + by));
    if (index === this.stepIndex) return;
    this.stepIndex = index;
    this.showStep();
    this.store.select({ step: this.steps[index][0] }, ORIGIN);
  }

  /** Select the next or previous event of those that are listed; the first if none is selected. */
  move(by) {
    const { shown } = this;
    if (!shown.length) return;
    const selected = this.timeline.selected;
    let index = shown.indexOf(selected);
    if (by === "first") index = 0;
    else if (by === "last") index = shown.length - 1;
    else if (index >= 0) index += by;
    else if (selected >= 0) {
      const after = shown.findIndex((row) => row > selected);
      index = by > 0 ? (after < 0 ? shown.length - 1 : after) : (after < 0 ? shown.length : after) - 1;
    } else index = by > 0 ? 0 : shown.length - 1;
    const row = shown[Math.max(0, Math.min(shown.length - 1, index))];
    this.store.select({ event: row }, "hooks buttons");
  }

  describe(row) {
    const { events, layers } = this.record;
    const index = this.rows.indexOf(row);
    if (row < 0 || index < 0) {
      this.now.replaceChildren(el("p", { class: "muted", text: `${counted(this.rows.length, "event")} in this step` }));
      return;
    }
    const layer = events.layer[row];
    const kind = events.kind.get(row);
    const changes = events.changes[row];
    this.now.replaceChildren(
      el("p", {},
        el("strong", { text: `${integer(index + 1)} of ${integer(this.rows.length)}` }),
        ` · ${events.phase.get(row)} · `, el("code", { text: kind }), " at ",
        nameElement(events.target.get(row) || "(root)"),
        layer >= 0 ? ` (${layers.type.get(layer)})` : ""),
      el("p", { class: "muted", text: events.kinds[kind]?.fires ? `Fires ${events.kinds[kind].fires}` : "" }),
      ...(changes ?? []).map(([path, before, after]) =>
        figureTable([["before", before], ["after", after]], `what the hook changed${path ? ` at ${path}` : ""}`)),
      !changes && events.changed[row]
        ? el("p", { text: `The hook changed the value by ${figure(events.changed[row])} (2-norm)` })
        : "",
    );
  }
}

function button(label, text, onclick, kind = "") {
  return el("button", { type: "button", class: kind, title: label, "aria-label": label, onclick, text });
}

function phaseCell(events, row) {
  const phase = events.phase.get(row);
  return el("span", { class: `phase phase-${phase}`, text: phase });
}

function streamedNote(file) {
  return el("p", { class: "hint" }, "The events are in the file ", el("code", {}, el("bdi", { text: file })));
}

function legend() {
  return el("p", { class: "timeline-legend muted", text: "One event is one unit wide; the rows are the depth of modules; ◆ a hook changed its value. Zoom: Shift + wheel, +, −, 0. Drag to move." });
}
