/** A grid in a panel, which follows the search and the selection of the page. */

import { el } from "../frame/dom.js";
import { createTreegrid } from "./treegrid.js";

/**
 * Append a grid to `host`; see treegrid.js for `options`. `selected()` returns the selected row,
 * `matches()` the rows to show (the same array as before if they did not change), and `choose(row)`
 * selects one with the origin `id`. The columns in `giveWay` are off at first if there is no room.
 * `inside`: the page is not scrolled to the selected row, as the panel has more than the grid.
 * Return the panel's `update`.
 */
export function gridPanel(
  host, { id, selected, matches, choose, giveWay = [], inside = false, ...options },
) {
  const columns = fitting(options.columns, host.clientWidth, giveWay);
  const grid = createTreegrid({ ...options, columns, onselect: choose });
  let shown = null;
  let row = -1;
  host.append(grid.tools, grid.element);
  return {
    grid,
    update({ origin }) {
      const wanted = matches();
      const next = selected();
      if (wanted !== shown) grid.filter(wanted);
      if (next !== row) {
        grid.refresh();
        grid.select(next, origin !== id);
        if (!inside && origin !== id) grid.showInDocument();
      } else grid.refresh();
      shown = wanted;
      row = next;
    },
  };
}

function fitting(columns, space, giveWay) {
  const width = (column) => (column.off ? 0 : column.width ?? column.min);
  let left = space - columns.reduce((sum, column) => sum + width(column), 0);
  const off = new Set(giveWay.filter((id) => {
    const column = columns.find((each) => each.id === id);
    if (!column || left >= 0) return false;
    left += width(column);
    return true;
  }));
  return columns.map((column) => (off.has(column.id) ? { ...column, off: true } : column));
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
