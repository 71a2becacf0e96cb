/** What is selected and searched for. All panels read it here and are told when it changes. */

const NOTHING = { layer: -1, parameter: -1, event: -1, step: null };

/**
 * The state of a page. `selection` has the rows of a layer, a parameter and an event of the current
 * record (-1: none), and the number of a step (null: none). `query` has what is searched for.
 *
 * A listener is called with {type, origin}: type is "select", "filter", "tab" or "record", and
 * origin is what the caller of `select` passed, so that a panel need not scroll to its own choice.
 */
export class Store {
  constructor(page) {
    this.page = page;
    this.recordIndex = 0;
    this.tab = null;
    this.selection = { ...NOTHING };
    this.query = { text: "", type: "", status: "" };
    this.listeners = new Set();
    this.filterRows();
  }

  get record() {
    return this.page.records[this.recordIndex];
  }

  /** Call `listener` at each change; return a function that ends this. */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /**
   * Select a layer, parameter, event or step. A parameter or event selects its layer too; a layer
   * that is selected alone clears the parameter and the event. A step stays until another is chosen.
   */
  select(change, origin = null) {
    performance.mark("hookcli:select");
    const next = this.completed(change);
    const same = Object.keys(next).every((key) => next[key] === this.selection[key]);
    if (same) return;
    this.selection = next;
    this.writeFragment();
    this.emit("select", origin);
    performance.measure("hookcli:select", "hookcli:select");
  }

  completed(change) {
    const step = change.step === undefined ? this.selection.step : change.step;
    const { events, parameters } = this.record ?? {};
    if (change.event !== undefined && change.event >= 0) {
      const row = change.event;
      const at = { layer: events.layer[row], parameter: events.parameter[row], event: row };
      return { ...at, step: change.step === undefined ? events.step[row] : change.step };
    }
    if (change.parameter !== undefined && change.parameter >= 0) {
      return { ...NOTHING, layer: parameters.layer[change.parameter], parameter: change.parameter, step };
    }
    if (change.layer !== undefined) return { ...NOTHING, layer: change.layer, step };
    return { ...this.selection, step };
  }

  /** Show the panel `tab`. */
  showTab(tab, origin = null) {
    if (tab === this.tab) return;
    this.tab = tab;
    this.writeFragment();
    this.emit("tab", origin);
  }

  /** Show another record of a training. */
  showRecord(index) {
    if (index === this.recordIndex || !this.page.records[index]) return;
    this.recordIndex = index;
    this.selection = { ...NOTHING };
    this.filterRows();
    this.writeFragment();
    this.emit("record");
  }

  /** Search for a text in names and types; `type` and `status` must be equal to a layer's. */
  setQuery(change) {
    performance.mark("hookcli:filter");
    this.query = { ...this.query, ...change };
    this.filterRows();
    this.emit("filter");
    performance.measure("hookcli:filter", "hookcli:filter");
  }

  /** Whether something is searched for. */
  get filtered() {
    return Boolean(this.query.text || this.query.type || this.query.status);
  }

  /** Update `matches`: whether each layer matches the query. */
  filterRows() {
    const { record } = this;
    if (!record) return;
    const { name, type, count } = record.layers;
    const { text } = this;
    const named = matching(name, text);
    const typed = matching(type, text);
    this.matches = new Uint8Array(count);
    this.matchCount = 0;
    for (let row = 0; row < count; row += 1) {
      if (text && !named[name.at[row]] && !typed[type.at[row]]) continue;
      if (!this.isChosen(row)) continue;
      this.matches[row] = 1;
      this.matchCount += 1;
    }
    this.foundParameters = null;
  }

  get text() {
    return this.query.text.trim().toLowerCase();
  }

  /** Whether a layer has the type and the status of the query; -1 has none. */
  isChosen(layer) {
    const { type, status } = this.query;
    const { layers } = this.record;
    return (!type || layers.type.get(layer) === type) &&
      (!status || Boolean(layers.status.get(layer)?.split(" ").includes(status)));
  }

  /** Whether each parameter matches: its name, and the type and the status of its layer. */
  get parameterMatches() {
    this.foundParameters ??= this.record && this.filterParameters();
    return this.foundParameters;
  }

  filterParameters() {
    const { text } = this;
    const { name, layer, count } = this.record.parameters;
    const named = matching(name, text);
    return Uint8Array.from({ length: count }, (_, row) =>
      (!text || named[name.at[row]]) && this.isChosen(layer[row]) ? 1 : 0);
  }

  emit(type, origin = null) {
    for (const listener of this.listeners) listener({ type, origin });
  }

  /** Write the state into the fragment of the address, so that a link or a reload shows it again. */
  writeFragment() {
    const { record, selection } = this;
    const parts = new URLSearchParams();
    if (this.tab) parts.set("tab", this.tab);
    if (this.recordIndex > 0) parts.set("record", this.recordIndex);
    if (selection.event >= 0) parts.set("event", record.events.seq[selection.event]);
    else if (selection.parameter >= 0) {
      parts.set("parameter", record.parameters.name.get(selection.parameter));
    } else if (selection.layer >= 0) parts.set("layer", record.layerId(selection.layer));
    if (selection.step !== null) parts.set("step", selection.step);
    const fragment = `#${parts.toString().replaceAll("+", "%20")}`;
    if (fragment === location.hash) return;
    this.written = fragment;
    history.replaceState(null, "", fragment);
  }

  /** Take over the state of the fragment; what it names and the page lacks is ignored. */
  readFragment() {
    const parts = new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));
    if (parts.has("record")) this.showRecord(Number(parts.get("record")));
    const { record } = this;
    if (parts.has("tab")) this.showTab(parts.get("tab"));
    if (!record) return;
    const change = {};
    if (parts.has("step")) change.step = Number(parts.get("step"));
    const event = record.events.seq.indexOf(Number(parts.get("event") ?? NaN));
    const parameter = record.parameterRows.get(parts.get("parameter"));
    const layer = record.layerIds.get(parts.get("layer"));
    if (event >= 0) change.event = event;
    else if (parameter !== undefined) change.parameter = parameter;
    else if (layer !== undefined) change.layer = layer;
    if (Object.keys(change).length) this.select(change);
  }
}

function matching(column, text) {
  return text ? column.lower.map((name) => name.includes(text)) : [];
}
