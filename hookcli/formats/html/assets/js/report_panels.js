/** The panels of a report, in the order of their tabs. */

import { checksPanel } from "./checks.js";
import { diagramPanel } from "./diagram.js";
import { gradientsPanel } from "./gradients.js";
import { hooksPanel } from "./hooks.js";
import { layersPanel } from "./layers.js";
import { ranksPanel } from "./ranks.js";

export const REPORT_PANELS = [
  layersPanel, gradientsPanel, diagramPanel, hooksPanel, checksPanel, ranksPanel,
];
