/** What the page carries compressed: libraries, and the scripts of panels that are seldom shown. */

/** Return the text of a compressed part of the page. */
export async function unpacked(name) {
  const packed = atob(document.getElementById(`library-${name}`).textContent);
  const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

/** Run a compressed script; the page's policy allows it by its hash. */
export function runScript(text) {
  const script = document.createElement("script");
  script.textContent = text;
  document.head.append(script);
}
