/** The panel of the diagram. */

import { DiagramPanel } from "./diagram/panel.js";

export const diagramPanel = {
  id: "diagram",
  title: "Diagram",
  available: (store) => store.record.layers.count > 0,
  create: (host, store) => new DiagramPanel(host, store),
};
