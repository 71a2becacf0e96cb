/** The page of a run that goes on loads its own file again, and shows the place it has shown. */

const KEY = "hookcli:scroll";
const MILLISECONDS = 1000;

/** Load the page again after the seconds that its body names; not while somebody types. */
export function createReload() {
  const seconds = Number(document.body.dataset.reload);
  restore();
  if (seconds) setTimeout(() => reload(seconds), seconds * MILLISECONDS);
}

function reload(seconds) {
  if (document.activeElement?.matches("input")) {
    setTimeout(() => reload(seconds), seconds * MILLISECONDS);
    return;
  }
  try {
    sessionStorage.setItem(KEY, JSON.stringify([location.pathname, scrollX, scrollY]));
  } catch {
    // the browser keeps nothing of files
  }
  location.reload(); // the fragment, which has the selection, stays
}

function restore() {
  try {
    const [path, left, top] = JSON.parse(sessionStorage.getItem(KEY)) ?? [];
    sessionStorage.removeItem(KEY);
    if (path === location.pathname) scrollTo(left, top);
  } catch {
    // as above
  }
}
