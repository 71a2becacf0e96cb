/** The page of a comparison of two trainings. */

import { readPage } from "./frame/data.js";
import { createRunDiffDetails, gradientDiffPanel, readTrainings, stepsPanel } from "./comparison/run_diff_panels.js";
import { createShell } from "./frame/shell.js";
import { Store } from "./frame/store.js";
import { createThemeSwitch } from "./frame/theme.js";

createThemeSwitch();
createShell(new Store(readTrainings(readPage())), [stepsPanel, gradientDiffPanel], createRunDiffDetails);
