/**
 * Unpack the style of the panels and the script of the page, and run the script. Both are named by
 * their hashes in the Content-Security-Policy, or made by this script.
 */

// Before anything is painted: what js/theme.js stored.
try {
  const theme = localStorage.getItem("hookcli:theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be disabled.
}

async function unpacked(name) {
  const packed = atob(document.getElementById(`library-${name}`).textContent);
  const content = Uint8Array.from(packed, (character) => character.charCodeAt(0));
  const stream = new Blob([content]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

const sheet = new CSSStyleSheet();
sheet.replaceSync(await unpacked("style"));
document.adoptedStyleSheets = [sheet];

const script = document.createElement("script");
script.type = "module";
script.textContent = await unpacked("page");
document.body.append(script);
script.remove();
