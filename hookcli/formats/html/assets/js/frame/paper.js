/**
 * Whether the page is on paper, or will be at once: a browser counts the pages before it tells that
 * the medium has changed, so that what scripts add has to be there earlier.
 */

const media = matchMedia("print");
const listeners = new Set();
let soon = false;
let last = media.matches;

export const paper = {
  get matches() {
    return soon || media.matches;
  },
  /** Call `listener(matches)` at each change. */
  subscribe(listener) {
    listeners.add(listener);
  },
};

function tell() {
  if (paper.matches === last) return;
  last = paper.matches;
  for (const listener of listeners) listener(last);
}

function expect(printed) {
  soon = printed;
  tell();
}

addEventListener("beforeprint", () => expect(true));
addEventListener("afterprint", () => expect(false));
media.addEventListener("change", tell);
