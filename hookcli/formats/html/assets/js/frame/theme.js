/** The switch between the light and the dark theme; without a choice, the system's is used. */

const THEMES = ["system", "light", "dark"];

/** Make the button of the header switch themes. Paper is light. */
export function createThemeSwitch() {
  const button = document.getElementById("theme");
  const paper = matchMedia("print");
  let theme = stored();

  function apply() {
    const shown = paper.matches ? "light" : theme;
    if (shown === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = shown;
    button.textContent = `Theme: ${theme}`;
    dispatchEvent(new Event("hookcli:theme"));
  }

  button.hidden = false;
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    try {
      localStorage.setItem("hookcli:theme", theme);
    } catch {
      // Storage may be disabled: the choice then lasts as long as the page.
    }
    apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    dispatchEvent(new Event("hookcli:theme")));
  paper.addEventListener("change", apply);
  apply();
}

function stored() {
  try {
    const theme = localStorage.getItem("hookcli:theme");
    return THEMES.includes(theme) ? theme : "system";
  } catch {
    return "system";
  }
}

/** Return a colour of the style by the name of its property; canvases need its value. */
export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
