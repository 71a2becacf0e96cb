/** The page of one report. */

import { readPage } from "./data.js";
import { REPORT_PANELS } from "./report_panels.js";
import { createShell } from "./shell.js";
import { Store } from "./store.js";
import { createThemeSwitch } from "./theme.js";

createThemeSwitch();
createShell(new Store(readPage()), REPORT_PANELS);
