/** The frame of a page: tabs, the search, the panels, the details of what is selected. */

import { createDetails } from "./details.js";
import { el } from "./dom.js";
import { paper } from "./paper.js";
import { createStepSlider } from "./steps.js";
import { integer } from "./text.js";

/**
 * Show the panels of a page. A panel is {id, title, available(store), count(store), create(host,
 * store)}; `create` returns {update({type, origin})}, which is called at each change while the panel
 * is shown, with the type "show" when it appears. `stepNote(store)`, if it has one, tells which step
 * of several the panel shows. `makeDetails(store)` makes the aside with what is selected.
 */
export function createShell(store, panels, makeDetails = createDetails) {
  const main = document.getElementById("main");
  const views = new Map();
  const tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Panels" });
  const hosts = el("div", { class: "panels" });
  const records = recordPicker(store);
  const { element: toolbar, focus, refresh } = searchBar(store);
  const details = makeDetails(store);
  const slider = createStepSlider(store);
  main.append(
    el("div", { class: "bar" }, records, tabs, toolbar),
    slider.element,
    el("div", { class: "work" }, hosts, details.element),
  );

  let shown = [];

  function build() {
    views.clear();
    hosts.replaceChildren();
    tabs.replaceChildren();
    shown = panels.filter((panel) => panel.available(store));
    for (const panel of shown) {
      const host = el("section", {
        class: `panel panel-${panel.id}`, id: `panel-${panel.id}`, role: "tabpanel", hidden: true,
        "aria-labelledby": `tab-${panel.id}`,
      });
      hosts.append(host);
      const count = panel.count?.(store);
      tabs.append(el(
        "button",
        {
          type: "button", role: "tab", id: `tab-${panel.id}`, "aria-controls": `panel-${panel.id}`,
          onclick: () => store.showTab(panel.id), onkeydown: (event) => moveTab(event, panel.id),
        },
        panel.title,
        count ? el("span", { class: "tab-count", text: integer(count) }) : null,
      ));
    }
    if (!shown.some((panel) => panel.id === store.tab)) store.tab = shown[0]?.id ?? null;
    refresh();
    showTab();
  }

  function moveTab(event, id) {
    const ids = shown.map((panel) => panel.id);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const target = { Home: ids[0], End: ids.at(-1) }[event.key] ??
      (step && ids[(ids.indexOf(id) + step + ids.length) % ids.length]);
    if (!target) return;
    event.preventDefault();
    store.showTab(target);
    document.getElementById(`tab-${target}`).focus();
  }

  function open(panel) {
    const host = document.getElementById(`panel-${panel.id}`);
    host.hidden = false;
    if (!views.has(panel.id)) {
      host.append(el("h2", { class: "panel-title", text: panel.title }));
      views.set(panel.id, panel.create(host, store));
    }
    views.get(panel.id).update({ type: "show", origin: null });
  }

  function showTab() {
    for (const panel of shown) {
      const active = panel.id === store.tab;
      const tab = document.getElementById(`tab-${panel.id}`);
      tab.setAttribute("aria-selected", String(active));
      tab.tabIndex = active ? 0 : -1;
      if (active) open(panel);
      else document.getElementById(`panel-${panel.id}`).hidden = true;
    }
    moveSlider();
  }

  function moveSlider() {
    slider.update(shown.find((panel) => panel.id === store.tab)?.stepNote?.(store) ?? "");
  }

  store.subscribe((change) => {
    if (change.type === "record") build();
    else if (change.type === "tab") {
      if (!shown.some((panel) => panel.id === store.tab)) store.tab = shown[0]?.id ?? null;
      showTab();
    } else views.get(store.tab)?.update(change);
    details.update(change);
    if (change.type === "select") moveSlider();
  });

  // On paper all panels follow each other.
  paper.subscribe((matches) => {
    if (matches) shown.forEach(open);
    else showTab();
  });

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      focus();
    }
  });
  addEventListener("hashchange", () => {
    if (location.hash !== store.written) store.readFragment();
  });
  build();
  store.readFragment();
  performance.mark("hookcli:ready");
}

function recordPicker(store) {
  const { records } = store.page;
  if (records.length < 2) return null;
  const select = el(
    "select",
    { id: "record", onchange: () => store.showRecord(select.selectedIndex) },
    ...records.map((record, index) => el("option", { value: index, text: record.name })),
  );
  store.subscribe(({ type }) => {
    if (type === "record") select.selectedIndex = store.recordIndex;
  });
  return el("label", { class: "record-picker" }, "Record ", select);
}

function searchBar(store) {
  const text = el("input", {
    type: "search", id: "search", placeholder: "Search names, types ( / )", autocomplete: "off",
    spellcheck: "false", "aria-label": "Search names and types",
    oninput: () => store.setQuery({ text: text.value }),
    onkeydown: (event) => {
      if (event.key !== "Escape") return;
      text.value = "";
      store.setQuery({ text: "" });
      text.blur();
    },
  });
  const type = choice("type", "Type", (value) => store.setQuery({ type: value }));
  const status = choice("status", "Status", (value) => store.setQuery({ status: value }));
  const count = el("span", { class: "match-count", role: "status" });

  function refresh() {
    const { record } = store;
    element.hidden = !record;
    if (!record) return;
    type.fill(record.layers.type.texts);
    status.fill([...new Set(record.layers.status.texts.flatMap((words) => words.split(" ")))]);
    text.value = store.query.text;
  }

  store.subscribe(({ type: change }) => {
    if (change !== "filter" && change !== "record") return;
    count.textContent = store.filtered
      ? `${integer(store.matchCount)} of ${integer(store.record.layers.count)}`
      : "";
  });
  const element = el(
    "search", { class: "search" }, text, type.element, status.element, count,
  );
  return { element, focus: () => text.focus(), refresh };
}

function choice(id, label, chosen) {
  const select = el("select", { id, "aria-label": label, onchange: () => chosen(select.value) });
  return {
    element: select,
    fill(values) {
      const sorted = values.filter(Boolean).sort();
      select.replaceChildren(
        el("option", { value: "", text: `${label}: all` }),
        ...sorted.map((value) => el("option", { value, text: value })),
      );
      select.hidden = sorted.length === 0;
    },
  };
}
