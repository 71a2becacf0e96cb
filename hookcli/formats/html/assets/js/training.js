/** The page of a training script. */

import { readPage } from "./data.js";
import { createDetails } from "./details.js";
import { REPORT_PANELS } from "./report_panels.js";
import { runPanel, stepDetails } from "./run.js";
import { createShell } from "./shell.js";
import { Store } from "./store.js";
import { createThemeSwitch } from "./theme.js";

createThemeSwitch();
createShell(
  new Store(readPage()), [runPanel, ...REPORT_PANELS],
  (store) => createDetails(store, stepDetails),
);
