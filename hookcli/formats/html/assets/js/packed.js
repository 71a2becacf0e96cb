/** What the page carries compressed: libraries that few pages use. */

/** Return the text of a compressed part of the page. */
export async function unpacked(name) {
  const packed = atob(document.getElementById(`library-${name}`).textContent);
  const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
