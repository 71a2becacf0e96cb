/** The page of a training script. */

import { checksPanel } from "./checks.js";
import { readPage } from "./data.js";
import { createDetails } from "./details.js";
import { hooksPanel } from "./hooks.js";
import { layersPanel } from "./layers.js";
import { ranksPanel } from "./ranks.js";
import { runPanel, stepDetails } from "./run.js";
import { createShell } from "./shell.js";
import { Store } from "./store.js";
import { createThemeSwitch } from "./theme.js";

createThemeSwitch();
createShell(
  new Store(readPage()), [runPanel, layersPanel, hooksPanel, checksPanel, ranksPanel],
  (store) => createDetails(store, stepDetails),
);
