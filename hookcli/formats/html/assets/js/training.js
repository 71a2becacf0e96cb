/** The page of a training script. */

import { checksPanel } from "./checks.js";
import { readPage } from "./frame/data.js";
import { createDetails } from "./frame/details.js";
import { REPORT_PANELS } from "./report_panels.js";
import { runPanel, stepDetails } from "./run.js";
import { createReload } from "./frame/reload.js";
import { createShell } from "./frame/shell.js";
import { Store } from "./frame/store.js";
import { createThemeSwitch } from "./frame/theme.js";

createThemeSwitch();
const page = readPage();
// Without a record nothing was trained, and the script has at most an error and checks.
const others = page.records.length ? REPORT_PANELS : [checksPanel];
createShell(
  new Store(page), [runPanel, ...others], (store) => createDetails(store, stepDetails),
);
createReload();
