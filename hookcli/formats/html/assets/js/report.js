/** The page of one report. */

import { readPage } from "./frame/data.js";
import { REPORT_PANELS } from "./report_panels.js";
import { createShell } from "./frame/shell.js";
import { Store } from "./frame/store.js";
import { createThemeSwitch } from "./frame/theme.js";

createThemeSwitch();
createShell(new Store(readPage()), REPORT_PANELS);
