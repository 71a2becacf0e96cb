/** The switch between the light and the dark theme; without a choice, the system's is used. */

const THEMES = ["system", "light", "dark"];

/** Make the button of the header switch themes. The style makes paper light. */
export function createThemeSwitch() {
  const button = document.getElementById("theme");
  let theme = stored();

  function apply() {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
    drawAgain();
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
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", drawAgain);
  }
  apply();
}

/** Tell canvases, which draw with the colours of the theme. */
function drawAgain() {
  dispatchEvent(new Event("hookcli:theme"));
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
