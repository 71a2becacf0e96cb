/** The panel of the diagram. Its scripts, in diagram/, are unpacked when the page is ready. */

import { el } from "./dom.js";
import { runScript, unpacked } from "./packed.js";

let diagramScript = null;

/** Return a promise of the function that creates the panel's content. */
function loadDiagram() {
  diagramScript ??= unpacked("diagram").then(runScript);
  return diagramScript;
}

export const diagramPanel = {
  id: "diagram",
  title: "Diagram",
  available: (store) => store.record.layers.count > 0,
  create(host, store) {
    let panel = null;
    const create = () => {
      panel = globalThis.createDiagram(host, store);
      panel.update({ type: "show", origin: null });
    };
    if (globalThis.createDiagram) panel = globalThis.createDiagram(host, store);
    else {
      loadDiagram().then(create).catch((error) => {
        host.append(el("p", { class: "hint", text: `The diagram cannot be shown: ${error.message}` }));
      });
    }
    return { update: (change) => panel?.update(change) };
  },
};

// Before the panel is shown, so that a printed page has it.
if (document.getElementById("library-diagram")) setTimeout(loadDiagram, 300);
