/** The panel of the diagram. */

import { DiagramPanel } from "./diagram/panel.js";
import { gradientStep } from "./frame/steps.js";

export const diagramPanel = {
  id: "diagram",
  title: "Diagram",
  available: (store) => store.record.layers.count > 0,
  stepNote: (store) => gradientStep(store).text &&
    `colours by gradient norm are those of ${gradientStep(store).text}`,
  create: (host, store) => new DiagramPanel(host, store),
};
