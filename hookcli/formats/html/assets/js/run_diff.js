/** The page of a comparison of two trainings. */

import { readPage } from "./data.js";
import { createRunDiffDetails, gradientDiffPanel, readTrainings, stepsPanel } from "./run_diff_panels.js";
import { createShell } from "./shell.js";
import { Store } from "./store.js";
import { createThemeSwitch } from "./theme.js";

createThemeSwitch();
createShell(new Store(readTrainings(readPage())), [stepsPanel, gradientDiffPanel], createRunDiffDetails);
