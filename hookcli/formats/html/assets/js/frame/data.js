/** Read the data of the page. hookcli/formats/html/data/ describes its tables. */

export const FIGURES = [
  "numel", "norm", "mean", "std", "min", "max", "abs_max", "zeros", "nans", "infs",
];

/** The texts of a column: `get(row)` returns one, or null. */
export class TextColumn {
  constructor({ texts, at }) {
    this.texts = texts;
    this.at = at;
  }

  get(row) {
    const index = this.at[row];
    return index === undefined || index < 0 ? null : this.texts[index];
  }

  /** The texts in lower case, for a search. */
  get lower() {
    this.lowered ??= this.texts.map((text) => text.toLowerCase());
    return this.lowered;
  }
}

/** One report: its tables, and the rows that names and parents lead to. */
export class ReportRecord {
  constructor(raw) {
    this.raw = raw;
    this.name = raw.name;
    this.command = raw.command;
    this.model = raw.model;
    this.layers = table(raw.layers);
    this.parameters = table(raw.parameters);
    this.events = table(raw.events);
    this.edges = raw.edges === null ? null : table(raw.edges);
    this.checks = raw.checks;
    this.training = raw.training ?? null;
    this.distributed = raw.distributed;
    this.children = childrenOf(this.layers.parent);
  }

  /**
   * Return the gradient norm of each parameter at a place of `parameters.steps`, or of the only
   * step: a number, "nan", "inf", or null if there is none or it was not measured.
   */
  gradientsAt(place) {
    const { grid, grad_norm: norms, steps } = this.parameters;
    const values = steps?.length ? grid.map((row) => row[place]) : norms;
    return values.map((value) => (value === "frozen" || value === "" ? null : value));
  }

  /** The rows of layers by their names in the fragment of the address. */
  get layerIds() {
    this.rowsById ??= rowsBy(this.layers.count, (row) => this.layerId(row));
    return this.rowsById;
  }

  /** The rows of parameters by name. */
  get parameterRows() {
    this.rowsByName ??= rowsBy(this.parameters.count, (row) => this.parameters.name.get(row));
    return this.rowsByName;
  }

  /** Return the name of a layer's row in the fragment of the address. */
  layerId(row) {
    const name = this.layers.name.get(row);
    if (name === null) return `@${row}`;
    const call = this.layers.call[row];
    return call > 0 ? `${name}~${call}` : name;
  }

  /** Return what to call a layer's row: its name, or its type if it has none. */
  layerName(row) {
    const name = this.layers.name.get(row);
    if (name === null) return `<${this.layers.type.get(row)}>`;
    return name || "(root)";
  }

  /** Return the rows of the parameters that a layer's module owns. */
  parametersOf(layer) {
    if (this.byLayer === undefined) {
      this.byLayer = new Map();
      const first = new Map();
      for (let row = this.layers.count - 1; row >= 0; row -= 1) {
        const name = this.layers.name.get(row);
        if (name !== null) first.set(name, row);
      }
      this.firstCall = first;
      this.parameters.layer.forEach((owner, row) => {
        if (!this.byLayer.has(owner)) this.byLayer.set(owner, []);
        this.byLayer.get(owner).push(row);
      });
    }
    const name = this.layers.name.get(layer);
    const owner = name === null ? layer : this.firstCall.get(name);
    return this.byLayer.get(owner) ?? [];
  }
}

/** Return a table of the data: its columns of texts are TextColumns. */
export function table(raw) {
  const entries = Object.entries(raw).map(([key, value]) => [
    key,
    value !== null && typeof value === "object" && "texts" in value ? new TextColumn(value) : value,
  ]);
  return Object.fromEntries(entries);
}

function childrenOf(parents) {
  const children = new Map();
  parents.forEach((parent, row) => {
    if (!children.has(parent)) children.set(parent, []);
    children.get(parent).push(row);
  });
  return children;
}

/** Return the first row by key. */
function rowsBy(count, key) {
  const rows = new Map();
  for (let row = count - 1; row >= 0; row -= 1) rows.set(key(row), row);
  return rows;
}

/** Return the data that the page carries. */
export function readPage() {
  const page = JSON.parse(document.getElementById("data").textContent);
  page.records = page.records.map((raw) => new ReportRecord(raw));
  return page;
}
