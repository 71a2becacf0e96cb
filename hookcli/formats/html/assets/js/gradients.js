/** The panel of gradients. */

import { gradientStep } from "./frame/steps.js";
import { GradientsView } from "./gradients/panel.js";

export const gradientsPanel = {
  id: "gradients",
  title: "Gradients",
  available: ({ record }) => Boolean(record?.parameters.status.texts.length ||
    record?.parameters.grad_norm.some((norm) => norm !== null)),
  count: ({ record }) => record.parameters.count,
  stepNote: (store) => gradientStep(store).text && `the table shows ${gradientStep(store).text}`,
  create: (host, store) => new GradientsView(host, store),
};
