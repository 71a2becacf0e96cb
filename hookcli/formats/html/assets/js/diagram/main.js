/** The scripts of the diagram begin here. */

import { DiagramPanel } from "./panel.js";

globalThis.createDiagram = (host, store) => new DiagramPanel(host, store);
