/** The page of one report. */

import { readPage } from "./data.js";
import { diagramPanel } from "./diagram.js";
import { hooksPanel } from "./hooks.js";
import { layersPanel } from "./layers.js";
import { createShell } from "./shell.js";
import { Store } from "./store.js";
import { createThemeSwitch } from "./theme.js";

createThemeSwitch();
createShell(new Store(readPage()), [layersPanel, diagramPanel, hooksPanel]);
