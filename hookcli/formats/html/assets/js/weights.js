/** The page of a file of weights. */

import { readPage } from "./frame/data.js";
import { createShell } from "./frame/shell.js";
import { Store } from "./frame/store.js";
import { createThemeSwitch } from "./frame/theme.js";
import { createTensorDetails, tensorsPanel } from "./comparison/weights_panels.js";

createThemeSwitch();
createShell(new Store(readPage()), [tensorsPanel], createTensorDetails);
