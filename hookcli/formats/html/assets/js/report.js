/** The page of one report. */

import { checksPanel } from "./checks.js";
import { readPage } from "./data.js";
import { hooksPanel } from "./hooks.js";
import { layersPanel } from "./layers.js";
import { ranksPanel } from "./ranks.js";
import { createShell } from "./shell.js";
import { Store } from "./store.js";
import { createThemeSwitch } from "./theme.js";

createThemeSwitch();
createShell(new Store(readPage()), [layersPanel, hooksPanel, checksPanel, ranksPanel]);
