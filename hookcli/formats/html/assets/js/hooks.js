/** The panel of hooks: which fired in which order, and what they changed. */

import { changeTitle, wideFigureTable } from "./frame/details.js";
import { el, nameElement } from "./frame/dom.js";
import { placeAt, sortedSteps } from "./frame/steps.js";
import { counted, figure, integer } from "./frame/text.js";
import { Timeline, depthsOf, eventsByStep } from "./hooks/timeline.js";
import { createTreegrid, marked } from "./grid/treegrid.js";

const ORIGIN = "hooks";
const MOST_BUTTONS = 12;

export const hooksPanel = {
  id: "hooks",
  title: "Hooks",
  available: ({ record }) => Boolean(record && (record.events.count || record.events.streamed)),
  count: ({ record }) => record.events.count,
  stepNote({ record, selection }) {
    const steps = sortedSteps(record.events);
    return steps.length > 1
      ? `the events are those of step ${integer(steps[selection.step === null ? 0 : placeAt(steps, selection.step)])}` : "";
  },
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
    this.steps = eventsByStep(events).sort(([a], [b]) => a - b);
    this.stepIndex = 0;
    this.kind = "";
    this.onlyChanges = false;
    this.timeline = new Timeline((row) => store.select({ event: row }, "timeline"));
    this.now = el("div", { class: "event-now", "aria-live": "polite" });
    this.grid = this.createGrid();
    host.append(this.controls(), this.timeline.element, legend(), this.now, this.grid.tools, this.grid.element);
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
        button("First event", "first", () => this.move("first")),
        button("Previous event", "◀ previous", () => this.move(-1)),
        button("Next event", "next event ▶", () => this.move(1), "primary"),
        button("Last event", "last", () => this.move("last"))),
      steps, kinds, changes,
      el("span", { class: "group" },
        button("Zoom in", "+", () => this.timeline.zoom(0.5)),
        button("Zoom out", "−", () => this.timeline.zoom(2)),
        button("Show all events", "all", () => this.timeline.reset())),
    );
  }

  createGrid() {
    const { events, layers } = this.record;
    return createTreegrid({
      label: "Events in the order in which they fired",
      count: events.count,
      onselect: (row) => this.store.select({ event: row }, ORIGIN),
      columns: [
        column("seq", "Seq", { width: 64, align: "end" }, (row) => events.seq[row]),
        column("phase", "Phase", { width: 106 }, (row) => events.phase.get(row), (row) => phaseCell(events, row)),
        column("kind", "Kind", { width: 150 }, (row) => events.kind.get(row)),
        column("target", "Target", { min: 160, grow: 2 }, (row) => events.target.get(row),
          (row) => el("bdi", {}, marked(events.target.get(row) || "(root)", this.store.query.text))),
        column("type", "Type", { width: 120 }, (row) => layers.type.get(events.layer[row]) ?? ""),
        column("values", "Values", { min: 140, grow: 1 }, (row) => events.values.get(row)),
        ...(events.changed.some(Boolean) ? [column("changed", "Changed by",
          { width: 100, align: "end", descending: true }, (row) => events.changed[row],
          (row) => (events.changed[row] === null ? "" : figure(events.changed[row])))] : []),
      ],
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
    const { step } = this.store.selection;
    const index = step === null ? this.stepIndex : placeAt(this.steps.map(([each]) => each), step);
    if (index !== this.stepIndex) {
      this.stepIndex = index;
      this.showStep();
    }
    const shown = event >= 0 ? event : this.firstOf(layer, parameter);
    this.timeline.select(shown, layer);
    this.grid.select(this.listed.has(shown) ? shown : -1, origin !== ORIGIN);
    this.describe(event);
  }

  /** Return the first event of a selected parameter, else of its layer; -1 if there is none. */
  firstOf(layer, parameter) {
    const { events } = this.record;
    const first = (column, wanted) =>
      wanted < 0 ? undefined : this.rows.find((row) => column[row] === wanted);
    return first(events.parameter, parameter) ?? first(events.layer, layer) ?? -1;
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
    this.listed = new Set(this.shown);
    const all = this.shown.length === this.rows.length;
    this.timeline.filter(all ? null : (row) => this.listed.has(row));
    const mask = new Uint8Array(this.record.events.count);
    for (const row of this.shown) mask[row] = 1;
    this.grid.filter(mask);
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
    const others = this.eventsOfSelection();
    if (row < 0 || index < 0) {
      const count = el("p", { class: "muted", text: `${counted(this.rows.length, "event")} in this step` });
      this.now.replaceChildren(count, ...others);
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
      ...(changes ?? []).map((change) =>
        wideFigureTable([["before", change[1]], ["after", change[2]]], `The hook changed: ${changeTitle(change)}`) ?? ""),
      !changes && events.changed[row]
        ? el("p", { text: `The hook changed the value by ${figure(events.changed[row])} (2-norm)` })
        : "",
      ...others,
    );
  }

  /** Return the events of the selected layer in this step as buttons, by phase. */
  eventsOfSelection() {
    const { layer } = this.store.selection;
    const { events } = this.record;
    if (layer < 0) return [];
    const rows = this.rows.filter((row) => events.layer[row] === layer);
    if (!rows.length) return [el("p", { class: "muted" }, "No hook fired at ", nameElement(this.record.layerName(layer)))];
    const phases = [...new Set(rows.map((row) => events.phase.get(row)))];
    return phases.map((phase) => {
      const own = rows.filter((row) => events.phase.get(row) === phase);
      const rest = own.length - MOST_BUTTONS;
      return el("p", { class: "event-links" }, phaseCell(events, own[0]), " of ",
        nameElement(this.record.layerName(layer)), ": ",
        ...own.slice(0, MOST_BUTTONS).map((row) => this.eventButton(row)),
        rest > 0 ? ` and ${integer(rest)} more` : "");
    });
  }

  eventButton(row) {
    const { events } = this.record;
    const current = row === this.store.selection.event;
    return el("button", {
      type: "button", class: "event-link", "aria-pressed": String(current),
      title: events.target.get(row) || "(root)",
      onclick: () => this.store.select({ event: row }, "hooks buttons"),
      text: `${events.seq[row]} ${events.kind.get(row)}`,
    });
  }
}

function button(label, text, onclick, kind = "") {
  return el("button", { type: "button", class: kind, title: label, "aria-label": label, onclick, text });
}

function column(id, title, layout, value, cell = (row) => String(value(row))) {
  return { id, title, ...layout, value, cell, hint: (row) => String(value(row) ?? "") };
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
