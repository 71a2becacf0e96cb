/** The page of a comparison of two files of weights. */

import { readPage } from "./frame/data.js";
import { createShell } from "./frame/shell.js";
import { Store } from "./frame/store.js";
import { createThemeSwitch } from "./frame/theme.js";
import { changesPanel, createChangeDetails } from "./comparison/weights_panels.js";

createThemeSwitch();
createShell(new Store(readPage()), [changesPanel], createChangeDetails);
