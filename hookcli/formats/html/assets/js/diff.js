/** The page of a diff of two runs. */

import { readPage } from "./frame/data.js";
import { callsPanel, createDiffDetails, readComparison, statePanel } from "./comparison/diff_panels.js";
import { createShell } from "./frame/shell.js";
import { Store } from "./frame/store.js";
import { createThemeSwitch } from "./frame/theme.js";

createThemeSwitch();
createShell(new Store(readComparison(readPage())), [callsPanel, statePanel], createDiffDetails);
