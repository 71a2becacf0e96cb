/**
 * Unpack the style of the panels and the script of the page, and run the script. Both are named by
 * their hashes in the Content-Security-Policy, or made by this script.
 */

// Before anything is painted: what js/frame/theme.js stored.
try {
  const theme = localStorage.getItem("hookcli:theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be disabled.
}

const DIGITS =
  "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~";

/** Return the bytes of a text in base 85: five digits are four bytes; fewer are padded with "~". */
function decoded(text) {
  const padding = (5 - (text.length % 5)) % 5;
  const digits = text + "~".repeat(padding);
  const bytes = new DataView(new ArrayBuffer((digits.length / 5) * 4));
  for (let at = 0; at < digits.length; at += 5) {
    let word = 0;
    for (let i = at; i < at + 5; i += 1) word = word * 85 + DIGITS.indexOf(digits[i]);
    bytes.setUint32((at / 5) * 4, word);
  }
  return bytes.buffer.slice(0, bytes.byteLength - padding);
}

/** Return a promise of the text of a compressed part of the page. */
globalThis.unpacked = (name) => {
  const packed = document.getElementById(`library-${name}`).textContent;
  const stream = new Blob([decoded(packed)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
};

const sheet = new CSSStyleSheet();
sheet.replaceSync(await unpacked("style"));
document.adoptedStyleSheets = [sheet];

const script = document.createElement("script");
script.type = "module";
script.textContent = await unpacked("page");
document.body.append(script);
script.remove();
