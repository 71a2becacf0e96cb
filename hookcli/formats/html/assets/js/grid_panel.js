/** A grid in a panel, which follows the search and the selection of the page. */

import { el } from "./dom.js";
import { createTreegrid } from "./treegrid.js";

/**
 * Append a grid to `host`; see treegrid.js for `options`. `selected()` returns the selected row,
 * `matches()` the rows to show (the same array as before if they did not change), and `choose(row)`
 * selects one with the origin `id`. Return the panel's `update`.
 */
export function gridPanel(host, { id, selected, matches, choose, ...options }) {
  const grid = createTreegrid({ ...options, onselect: choose });
  let shown = null;
  let row = -1;
  host.append(grid.tools, grid.element);
  return {
    grid,
    update({ origin }) {
      const wanted = matches();
      const next = selected();
      if (wanted !== shown) grid.filter(wanted);
      if (next !== row) grid.select(next, origin !== id);
      else if (wanted === shown) grid.refresh();
      shown = wanted;
      row = next;
    },
  };
}

/**
 * Return a switch {element, matches(found)} that shows only some rows: `matches` returns those of
 * `found` (null: all) that are `wanted(row)` as well, if it is on. It calls `changed()`.
 */
export function rowSwitch(label, count, wanted, changed, on = false) {
  const box = el("input", { type: "checkbox", checked: on, onchange: changed });
  let last = { found: undefined };
  return {
    element: el("label", { class: "row-switch" }, box, ` ${label}`),
    matches(found) {
      if (!box.checked) return found;
      if (last.found === found) return last.both;
      const both = Uint8Array.from({ length: count }, (_, row) => (
        (!found || found[row]) && wanted(row) ? 1 : 0));
      last = { found, both };
      return both;
    },
  };
}
