/** What is above a grid: buttons that fold a tree, and the choice of columns. */

import { el } from "../frame/dom.js";

/** Return the element; `update()` shows how far the tree is open. */
export function createTools(grid, columns, label) {
  const { rows } = grid;
  const tree = rows.isTree ? foldTools(grid) : { parts: [], update() {} };
  const element = el(
    "div", { class: "grid-tools", role: "group", "aria-label": `View of ${label}` },
    ...tree.parts, columnTool(grid, columns),
  );
  return { element, update: tree.update };
}

function foldTools(grid) {
  const { rows } = grid;
  const button = (text, label, depth) => el("button", {
    type: "button", title: label, "aria-label": label, text, onclick: () => grid.setDepth(depth()),
  });
  const depth = el("span", { class: "grid-depth" });
  const less = button("−", "Show a level less", () => rows.openDepth - 1);
  const more = button("+", "Show a level more", () => rows.openDepth + 1);
  const list = el("input", { type: "checkbox", onchange: () => grid.setListed(list.checked) });
  return {
    parts: [
      button("Expand all", "Expand all rows", () => rows.deepest),
      button("Collapse all", "Collapse all rows", () => (rows.roots.length === 1 ? 1 : 0)),
      el("span", { class: "grid-depths" }, less, depth, more),
      el("label", { title: "Show all rows without levels, to sort them" }, list, "As a list"),
    ],
    update() {
      depth.textContent = `Depth ${rows.openDepth} of ${rows.deepest}`;
      less.disabled = rows.openDepth === 0;
      more.disabled = rows.openDepth === rows.deepest;
    },
  };
}

function columnTool(grid, columns) {
  const choices = columns.slice(1).map((column) => el(
    "label", {},
    el("input", {
      type: "checkbox", checked: !column.off,
      onchange: ({ target }) => grid.showColumn(column, target.checked),
    }),
    column.title,
  ));
  const menu = el(
    "details",
    {
      class: "grid-columns",
      onkeydown: ({ key }) => {
        if (key !== "Escape") return;
        menu.open = false;
        menu.firstChild.focus();
      },
      onfocusout: ({ relatedTarget }) => {
        if (relatedTarget && !menu.contains(relatedTarget)) menu.open = false;
      },
    },
    el("summary", { text: "Columns" }), el("div", {}, ...choices),
  );
  return menu;
}
