/** The panel of the diagram: modules as nested boxes, and the tensors that flow between them. */

import { el, svg } from "../frame/dom.js";
import { paper } from "../frame/paper.js";
import { integer } from "../frame/text.js";
import { BoxTree } from "./boxes.js";
import { COLOURINGS, BoxFigures, colour } from "./colouring.js";
import { Drawing, sizedGraph } from "./drawing.js";
import { Flow, tensorsOf } from "./flow.js";
import { Layouter } from "./layout.js";
import { gradientStep } from "../frame/steps.js";
import { BoxTitles } from "./titles.js";
import { Viewport } from "./viewport.js";

const MOST_BOXES = 1500;
const MOST_NESTED = 100;
const LARGE = 1000; // boxes: such a diagram opens with its first level
const OPENED = 30; // boxes that a diagram shows at first, about
const MANY_TEXTS = 500; // boxes: more of them have texts only in view
const READABLE = 0.6; // scale
const BUSY_AFTER = 150; // ms

/** The content of the panel; `update` is told of each change of the store. */
export class DiagramPanel {
  constructor(host, store) {
    this.store = store;
    this.tree = new BoxTree(store.record);
    this.titles = new BoxTitles(this.tree);
    this.figures = new BoxFigures(this.tree);
    this.figures.setStep(gradientStep(store).place);
    this.layouter = new Layouter();
    this.focused = -1;
    this.openFirst();
    this.build(host);
  }

  /** Open as many levels as make a diagram of a readable size. */
  openFirst() {
    const { tree } = this;
    this.level = 1;
    this.expanded = tree.above(1);
    if (tree.list.length >= LARGE) return;
    while (this.level < tree.deepest && tree.count(tree.above(this.level + 1)) <= OPENED) {
      this.level += 1;
      this.expanded = tree.above(this.level);
    }
  }

  build(host) {
    const button = (text, name, onclick) =>
      el("button", { type: "button", "aria-label": name, title: name, onclick }, text);
    this.levelText = el("span", { class: "diagram-level" });
    this.status = el("span", { class: "diagram-status", role: "status" });
    this.legend = el("span", { class: "diagram-legend" });
    const ids = Object.keys(COLOURINGS).filter((id) => this.figures.has(id));
    this.choice = el(
      "select", { "aria-label": "Colour by", onchange: () => this.colour() },
      ...ids.map((id) => el("option", { value: id, text: `Colour by ${COLOURINGS[id].label}` })),
    );
    this.toSelection = button("Show selection", "Open the boxes around the selection", () => this.follow());
    const toolbar = el(
      "div", { class: "diagram-tools", role: "group", "aria-label": "Diagram" },
      el("span", { class: "diagram-buttons" },
        button("−", "Close a level", () => this.showLevel(this.level - 1)), this.levelText,
        button("+", "Open a level", () => this.showLevel(this.level + 1))),
      el("span", { class: "diagram-buttons" },
        button("−", "Zoom out (−)", () => this.viewport.zoom(0.8)),
        button("Fit", "Show all (0)", () => this.viewport.fit()),
        button("+", "Zoom in (+)", () => this.viewport.zoom(1.25))),
      this.toSelection, this.choice, this.legend, this.status,
    );
    this.group = svg("g", {});
    this.svg = svg(
      "svg", {
        class: "diagram", role: "tree", "aria-label": `Modules of ${this.store.record.model}`,
        onkeydown: (event) => this.key(event), onclick: (event) => this.click(event),
        ondblclick: (event) => this.toggleAt(event), onfocusin: (event) => this.focusIn(event),
      },
      svg("defs", {}, svg(
        "marker",
        { id: "diagram-arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
        svg("path", { d: "M1 1L7 4L1 7Z", class: "arrow" }),
      )),
      this.group,
    );
    this.viewport = new Viewport(this.svg, this.group, () => this.later());
    const notes = [];
    if (this.store.record.edges === null) {
      notes.push("This report has no edges: dotted lines follow the order of the calls.");
    }
    notes.push("Drag to move, Ctrl and the wheel to zoom. Double-click or Enter opens a box.");
    host.append(toolbar, this.svg, ...notes.map((note) => el("p", { class: "hint diagram-hint", text: note })));
    new ResizeObserver(() => this.drawing && this.later()).observe(this.svg);
  }

  update({ type, origin }) {
    if (this.figures.setStep(gradientStep(this.store).place)) this.colour();
    if (type === "show") {
      if (!this.drawing) {
        const start = () => this.request(() => {
          this.viewport.fit(READABLE);
          this.centre();
        });
        // On paper at once; else in a task of its own, so that none is long.
        if (paper.matches) start();
        else setTimeout(start);
      }
      this.follow();
      this.filter();
      this.fitPaper();
    } else if (type === "filter") this.filter();
    else if (type === "select") {
      if (origin === "diagram") this.select();
      else this.follow();
    }
  }

  /** Lay the diagram out as it is now expanded, and draw it; `then` runs when it is drawn. */
  request(then = () => {}) {
    const { record } = this.store;
    if (this.tensors === undefined) this.tensors = record.edges === null ? null : tensorsOf(record);
    const flow = new Flow(this.tree, this.expanded, this.tensors);
    this.wanted = this.expanded;
    const busy = setTimeout(() => {
      this.status.textContent = "laying out…";
    }, BUSY_AFTER);
    const done = (graph, simple) => {
      clearTimeout(this.busy);
      this.draw(flow, graph);
      this.status.textContent = simple ? "simple layout: this browser runs no worker" : this.note ?? "";
      this.note = null;
      then();
      this.later();
    };
    clearTimeout(this.busy);
    this.busy = busy;
    const graph = sizedGraph(flow);
    if (paper.matches) this.layouter.now(graph, done);
    else this.layouter.request(graph, done);
  }

  draw(flow, graph) {
    const hadFocus = this.group.contains(document.activeElement);
    this.drawing = new Drawing(flow, graph, this.titles);
    const { items } = this.drawing;
    for (const { box, element } of items.values()) {
      if (this.titles.uncalled(box)) element.classList.add("uncalled");
      const mark = this.titles.mark(box, this.expanded.has(box));
      if (mark) element.classList.add(`has-${mark.kind}`);
      if (flow.again.has(box)) element.classList.add("again");
    }
    this.group.replaceChildren(this.drawing.boxes, this.drawing.lines, this.drawing.labels);
    Object.assign(this.viewport, { width: graph.width, height: graph.height });
    this.viewport.shrink();
    this.levelText.textContent = `Level ${this.level} of ${Math.max(1, this.tree.deepest)}`;
    this.colour();
    this.filter();
    this.select();
    this.rove(items.has(this.focused) ? this.focused : items.keys().next().value, hadFocus);
    this.fitPaper();
  }

  colour() {
    if (!this.drawing) return;
    const entries = colour(this.drawing, this.figures, this.choice.value);
    this.legend.replaceChildren(...entries.map(({ kind, opacity, text }) =>
      el("span", { class: "diagram-key" },
        el("span", { class: "diagram-chip", data: { kind }, style: { "--strength": opacity } }), text)));
  }

  /** Write the texts that came into view; all of them if there are few. */
  later() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.writeTexts();
    });
  }

  writeTexts() {
    const { drawing, viewport } = this;
    if (!drawing) return;
    const few = drawing.items.size <= MANY_TEXTS || paper.matches;
    if (!few && viewport.scale < 0.3) return;
    const { left, top, right, bottom } = viewport.view;
    for (const item of drawing.items.values()) {
      const inView = item.left < right && item.left + item.width > left &&
        item.top < bottom && item.top + item.height > top;
      if (few || inView) drawing.write(item);
    }
  }

  /** Open the boxes of the levels above `level`. */
  showLevel(level) {
    const next = Math.max(1, Math.min(level, this.tree.deepest));
    const expanded = this.tree.above(next);
    if (!this.allowed(expanded)) return;
    this.level = next;
    this.expanded = expanded;
    this.request(() => this.viewport.fit(READABLE));
  }

  /** Return whether so many boxes can be drawn; say so if they cannot. */
  allowed(expanded) {
    const count = this.tree.count(expanded);
    const deep = [...expanded].some((box) => box.level > MOST_NESTED);
    if (count <= MOST_BOXES && !deep) return true;
    this.status.textContent = deep
      ? `At most ${MOST_NESTED} boxes are opened within each other`
      : `${integer(count)} boxes are too many: open single boxes instead`;
    return false;
  }

  /** Open or close a box, which stays where it is. */
  toggle(box) {
    if (!box.children.length) return;
    const expanded = new Set(this.expanded);
    if (!expanded.delete(box)) expanded.add(box);
    if (!this.allowed(expanded)) return;
    this.expanded = expanded;
    this.keep(box);
  }

  keep(box) {
    const before = this.drawing.items.get(box.index);
    this.focused = box.index;
    this.request(() => {
      const after = this.drawing.items.get(box.index);
      if (!before || !after) return;
      const { scale } = this.viewport;
      const middle = (item) => item.left + item.width / 2;
      this.viewport.pan((middle(before) - middle(after)) * scale, (before.top - after.top) * scale);
    });
  }

  /** Show what is selected: open the boxes around it, and move it into view. */
  follow() {
    const row = this.store.selection.layer;
    this.toSelection.hidden = row < 0;
    if (row < 0) return this.select();
    const expanded = new Set(this.expanded);
    let box = this.tree.ofRow[row].parent;
    for (; box; box = box.parent) expanded.add(box);
    if (expanded.size > this.expanded.size && this.allowed(expanded)) {
      this.expanded = expanded;
      this.request(() => this.centre());
    } else if (this.drawing && this.wanted === this.expanded) this.centre();
    return undefined;
  }

  /** The drawn box of a layer's row. */
  itemOf(row) {
    if (row < 0) return undefined;
    const box = this.drawing.flow.shown[this.tree.ofRow[row].index];
    return this.drawing.items.get(box.index);
  }

  centre() {
    this.select();
    const item = this.itemOf(this.store.selection.layer);
    if (!item) return;
    if (this.viewport.scale < READABLE) this.viewport.scale = READABLE;
    this.viewport.reveal({ ...item, height: Math.min(item.height, 200) }, true);
  }

  select() {
    if (!this.drawing) return;
    const { layer, event } = this.store.selection;
    this.toSelection.hidden = layer < 0;
    const item = this.itemOf(layer);
    for (const { element } of this.drawing.items.values()) {
      const selected = element === item?.element;
      element.classList.toggle("selected", selected);
      element.classList.toggle("fired", selected && event >= 0);
      element.setAttribute("aria-selected", String(selected));
    }
    for (const line of this.drawing.lines.children) {
      const { from, to } = line.dataset;
      const near = item && [from, to].includes(String(item.box.index));
      line.classList.toggle("near", Boolean(near));
    }
    if (item) this.rove(item.box.index, false);
  }

  /** Dim the boxes without a match; one that is closed has the matches of those within it. */
  filter() {
    if (!this.drawing) return;
    const { matches, filtered } = this.store;
    const { list } = this.tree;
    for (const { box, element } of this.drawing.items.values()) {
      let match = !filtered;
      for (let index = box.index; index < box.end && !match; index += 1) {
        match = list[index].rows.some((row) => matches[row]);
      }
      element.classList.toggle("dim", !match);
    }
  }

  boxAt(event) {
    const element = event.target.closest?.("[data-box]");
    return element ? this.tree.list[element.dataset.box] : null;
  }

  click(event) {
    const box = this.boxAt(event);
    if (this.viewport.dragged || !box) return;
    if (event.target.closest("[data-toggle]")) this.toggle(box);
    else this.choose(box);
  }

  choose(box) {
    this.rove(box.index, true);
    if (box.row >= 0) this.store.select({ layer: box.row }, "diagram");
  }

  toggleAt(event) {
    const box = this.boxAt(event);
    if (box && !event.target.closest("[data-toggle]")) this.toggle(box);
  }

  focusIn(event) {
    const box = this.boxAt(event);
    if (box) this.rove(box.index, false);
  }

  /** Let the tab key lead to one box; move the focus there if `focus`. */
  rove(index, focus) {
    const { items } = this.drawing;
    items.get(this.focused)?.element.setAttribute("tabindex", "-1");
    const item = items.get(index);
    if (!item) return;
    this.focused = index;
    item.element.setAttribute("tabindex", "0");
    if (focus) item.element.focus({ preventScroll: true });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.drawing) return;
    const box = this.tree.list[this.focused];
    const direction = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
    const actions = {
      Enter: () => (box.children.length ? this.toggle(box) : this.choose(box)),
      " ": () => this.choose(box),
      "+": () => this.viewport.zoom(1.25),
      "=": () => this.viewport.zoom(1.25),
      "-": () => this.viewport.zoom(0.8),
      0: () => this.viewport.fit(),
      Home: () => this.goTo(this.drawing.items.keys().next().value),
      End: () => this.goTo([...this.drawing.items.keys()].at(-1)),
    };
    if (direction && event.shiftKey) this.viewport.pan(-60 * direction[0], -60 * direction[1]);
    else if (direction) this.goTo(this.neighbour(direction));
    else if (actions[event.key] && box) actions[event.key]();
    else return;
    event.preventDefault();
  }

  goTo(index) {
    const item = this.drawing.items.get(index);
    if (!item) return;
    this.rove(index, true);
    this.viewport.reveal({ ...item, height: Math.min(item.height, 120) });
  }

  /** Return the box that an arrow key leads to: along an edge up and down, else the nearest. */
  neighbour([dx, dy]) {
    const { items, next, before } = this.drawing;
    const at = items.get(this.focused);
    const [linked] = ((dy > 0 ? next : dy < 0 ? before : new Map()).get(this.focused) ?? [])
      .filter((id) => items.has(id));
    if (linked !== undefined) return linked;
    let best;
    let least = Infinity;
    for (const [index, item] of items) {
      const x = item.left + item.width / 2 - at.left - at.width / 2;
      const y = item.top - at.top;
      const along = x * dx + y * dy;
      const distance = along + 3 * Math.abs(x * dy + y * dx);
      if (index !== this.focused && along > 1 && distance < least) [best, least] = [index, distance];
    }
    return best;
  }

  /** On paper, show all in the width of the page. */
  fitPaper() {
    if (!this.drawing) return;
    const { width, height } = this.drawing;
    if (paper.matches) {
      this.writeTexts();
      this.svg.setAttribute("viewBox", `-4 -4 ${width + 8} ${height + 8}`);
      this.svg.style.setProperty("--paper", `${Math.ceil(width)}px`);
      this.group.removeAttribute("transform");
    } else if (this.svg.hasAttribute("viewBox")) {
      this.svg.removeAttribute("viewBox");
      this.viewport.apply();
    }
  }
}
