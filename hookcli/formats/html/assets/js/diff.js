/** The page of a diff of two runs. */

import { readPage } from "./data.js";
import { callsPanel, createDiffDetails, readComparison, statePanel } from "./diff_panels.js";
import { createShell } from "./shell.js";
import { Store } from "./store.js";
import { createThemeSwitch } from "./theme.js";

createThemeSwitch();
createShell(new Store(readComparison(readPage())), [callsPanel, statePanel], createDiffDetails);
