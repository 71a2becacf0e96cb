/** The slider over the steps of a record, and which step in detail is shown at a step. */

import { el } from "./dom.js";
import { integer } from "./text.js";

/** Return the numbers of the steps that a record has figures of, in order; [] if it is one run. */
export function stepsOf(record) {
  if (!record) return [];
  const { training, parameters, events } = record;
  const measured = parameters.steps?.length > 1 ? parameters.steps : sortedSteps(events);
  const steps = training ? training.steps.step : measured;
  return steps.length > 1 ? steps : [];
}

/** Return the steps that events have, in order. */
export function sortedSteps({ step }) {
  return [...new Set(step)].sort((a, b) => a - b);
}

/**
 * Return the place in `steps`, which are sorted, of what is shown at a step: that of the step
 * itself or of the last one before it, else the first. `step` null is the end.
 */
export function placeAt(steps, step) {
  if (step === null) return steps.length - 1;
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] <= step) low = middle + 1;
    else high = middle;
  }
  return Math.max(low - 1, 0);
}

/** Return the place in the steps with gradients that is shown now, and words about it. */
export function gradientStep({ record, selection }) {
  const steps = record.parameters.steps ?? [];
  const place = placeAt(steps, selection.step);
  return { place, text: steps.length > 1 ? `step ${integer(steps[place])}` : "" };
}

/**
 * Return the slider {element, update(note)}: it selects a step in the store. `note` says which step
 * the panel shows.
 */
export function createStepSlider(store) {
  let steps = [];
  const range = el("input", {
    type: "range", id: "step", min: 0, step: 1,
    oninput: () => store.select({ step: steps[Number(range.value)] }, "slider"),
  });
  const text = el("output", { class: "step-text", for: "step" });
  const note = el("span", { class: "muted step-note", role: "status" });
  const element = el("div", { class: "step-slider" },
    el("label", { for: "step", text: "Step" }), range, text, note);

  function update(words) {
    steps = stepsOf(store.record);
    element.hidden = !steps.length;
    if (!steps.length) return;
    const { step } = store.selection;
    const at = placeAt(steps, step);
    range.max = steps.length - 1;
    range.value = at;
    text.textContent = step === null ? "all" : integer(steps[at]);
    range.setAttribute("aria-valuetext", step === null ? "no step is selected" : `step ${integer(steps[at])}`);
    note.textContent = words;
  }

  return { element, update };
}
