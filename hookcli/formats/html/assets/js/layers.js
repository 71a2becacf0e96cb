/** The panel of layers: a tree of calls with their shapes and costs. */

import { el, nameElement } from "./dom.js";
import { counted } from "./text.js";

export const layersPanel = {
  id: "layers",
  title: "Layers",
  available: (store) => store.record.layers.count > 0,
  count: (store) => store.record.layers.count,
  create(host, store) {
    const list = el("ul", {});
    host.append(list);
    return {
      update() {
        const { record } = store;
        const rows = [];
        for (let row = 0; row < record.layers.count && rows.length < 100; row += 1) {
          if (store.matches[row]) {
            rows.push(el("li", { onclick: () => store.select({ layer: row }) }, nameElement(record.layerName(row))));
          }
        }
        list.replaceChildren(...rows, el("li", { text: counted(record.layers.count, "layer") }));
      },
    };
  },
};
