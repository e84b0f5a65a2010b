// Draws nodes, lists and progress. Everything is built from elements and textContent: a cell is never markup.
import { charts } from "./charts.js";
import { answer, explain, list, open, queue, retrain, undo, write } from "./label.js";

export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, does] of Object.entries(value)) element.addEventListener(event, does);
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false).map(String2));
  return element;
}
const String2 = child => (child instanceof Node ? child : document.createTextNode(String(child)));
const percent = share => `${(100 * share).toFixed(share > .995 && share < 1 ? 1 : 0)}\u00a0%`;
const count = number => number.toLocaleString("en-GB");
const key = name => h("kbd", { "aria-hidden": "true" }, name);
const button = (text, shortcut, does, more = {}) => h("button", { type: "button", "aria-keyshortcuts": shortcut, on: { click: does }, ...more }, text, " ", shortcut ? key(shortcut) : null);

export function drawWaiting(page, main) {
  const { state, view } = page;
  const all = state.labeled >= state.nodes;
  const text = view === "check"
    ? (state.step ? "Looking for labels that look wrong…" : "No label looks wrong to the networks and to its neighbours.")
    : state.rounds.length === 0 ? "Choosing the first nodes…"
    : all ? "Every node has a label." : "Nothing is left to ask: you were not sure of the rest.";
  main.replaceChildren(h("section", { class: "empty" }, h("h1", {}, text),
    h("p", { class: "lede" }, view === "check" ? "Suspicious labels are looked for after every thorough round, when the networks have been trained." : "Find shows all nodes; Progress writes the table."),
    h("div", { class: "acts" }, button("Undo", "u", undo, { disabled: !state.last }))));
}

export function drawNode(page, main) {
  const { card, state, view } = page;
  main.replaceChildren(h("div", { class: "work" }, node(card, state, view, page.chosen), choices(card, state, view)));
}

function node(card, state, view, chosen) {
  const title = card.title || card.id;
  return h("section", { class: "node", "aria-label": `node ${card.id}` },
    h("h1", {}, title),
    h("p", { class: "id" }, `${state.id} ${card.id}`, card.label !== null ? ` · labeled ${card.label}` : "", chosen ? [" · ", h("button", { type: "button", class: "open", on: { click: queue } }, "back to the next node")] : null),
    reason(card, view),
    guesses(card, state),
    cells(card),
    neighbours(card),
    state.explains && card.guesses.length ? explanation(card.node) : null);
}

// The place for explanations, where the server has a function for them: asked for when it is opened.
function explanation(node) {
  const body = h("div", {}), box = h("details", { id: "explain" }, h("summary", {}, "Why this prediction"), body);
  box.addEventListener("toggle", async () => {
    if (!box.open || body.childElementCount) return;
    body.replaceChildren(h("p", { class: "key" }, "Leaving out columns and neighbours, one after the other…"));
    try {
      const { words, head, rows } = await explain(node);
      body.replaceChildren(...words.map(each => h("p", {}, each)), rows && rows.length ? h("div", { class: "scroll" }, h("table", { class: "lines" },
        h("thead", {}, h("tr", {}, head.map(name => h("th", { scope: "col" }, name)))),
        h("tbody", {}, rows.map(row => h("tr", {}, row.map(cell => h("td", {}, cell))))))) : "");
    } catch (error) {
      body.replaceChildren(h("p", { class: "missing bad" }, error.message));
    }
  });
  return box;
}

function reason(card, view) {
  if (!card.reason) return null;
  const wrong = view === "check";
  return h("p", { class: wrong ? "why wrong" : "why" }, h("b", {}, wrong ? `Labeled ${card.label}, looks like ${card.suggested}` : "Why this one"), card.reason);
}

function guesses(card, state) {
  if (!card.guesses.length) {
    const last = state.rounds[state.rounds.length - 1];
    return h("p", { class: "key" }, last && last.needs ? `There is no guess yet: ${last.needs}.` : "There is no guess yet.");
  }
  return [h("h2", {}, card.label === null ? "The model’s guess" : "The model’s guess, which knew its label"), h("ol", { class: "guesses" }, card.guesses.map(([label, share]) => {
    const bar = h("i");
    bar.style.width = `${100 * share}%`;
    return h("li", {}, h("span", {}, label), h("span", { class: "track", "aria-hidden": "true" }, bar), h("span", { class: "number" }, percent(share)));
  }))];
}

function cells(card) {
  if (!card.has_table) return h("p", { class: "key" }, "The table of nodes is not at hand, so its columns are not shown; --nodes names it.");
  return [h("h2", {}, "Columns"), h("table", { class: "cells" }, h("tbody", {}, card.columns.map(([name, text]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, text))))),
    card.more_columns ? h("p", { class: "key" }, `and ${count(card.more_columns)} more columns`) : null];
}

function neighbours(card) {
  const more = card.neighbour_count - card.neighbours.length;
  if (!card.neighbour_count) return [h("h2", {}, "Neighbours"), h("p", { class: "key" }, "It has none.")];
  return [h("h2", {}, `Neighbours (${count(card.neighbour_count)})`), lines(card.neighbours), more > 0 ? h("p", { class: "key" }, `and ${count(more)} more`) : null];
}

function lines(found) {
  return h("div", { class: "scroll" }, h("table", { class: "lines" },
    h("thead", {}, h("tr", {}, ["Node", "Label", "Predicted", ""].map(name => h("th", { scope: "col" }, name)))),
    h("tbody", {}, found.map(each => h("tr", {},
      h("td", {}, h("button", { type: "button", class: "open", "data-node": each.node, on: { click: () => open(each.node) } }, each.title ? `${each.title} (${each.id})` : each.id)),
      h("td", { class: each.said === "label" ? "yours" : "" }, each.label ?? (each.said === "unsure" ? "not sure" : each.said === "skip" ? "skipped" : "–")),
      h("td", {}, each.predicted ?? "–"),
      h("td", { class: "number" }, each.confidence === null ? "" : percent(each.confidence)))))));
}

function choices(card, state, view) {
  const many = state.classes.length > 9, guess = card.guesses.length ? card.guesses[0][0] : null;
  const box = h("div", { class: "classes" }, state.classes.map((label, place) => h("button", {
    type: "button", "data-label": label, class: [label === guess ? "guess" : "", label === card.label ? "now" : ""].join(" ").trim(),
    "aria-keyshortcuts": place < 9 ? String(place + 1) : null, on: { click: () => answer("label", label) },
  }, place < 9 ? key(place + 1) : null, h("span", {}, label), h("small", {}, label === card.label ? "now" : label === guess ? "guess" : count(state.counts[label] || 0)))));
  return h("section", { class: "choose", "aria-label": "Answers" },
    h("h2", {}, view === "check" ? `Which ${state.label} is right?` : `Which ${state.label}?`),
    many ? filter(box) : null,
    box,
    h("div", { class: "acts" },
      card.label !== null ? button(view === "check" ? "Keep it" : "Keep the label", "k", () => answer("label", card.label), { id: "keep" }) : null,
      button("Not sure", "d", () => answer("unsure"), { id: "unsure" }),
      button("Skip", "s", () => answer("skip"), { id: "skip" }),
      button(`Undo${state.last ? ` ${state.last.id}` : ""}`, "u", undo, { id: "undo", disabled: !state.last })),
    fresh());
}

function filter(box) {
  const field = h("input", { type: "search", id: "filter", class: "filter", placeholder: "Type to find a class (0)", "aria-label": "Find a class", maxlength: 200, autocomplete: "off" });
  const shown = () => [...box.children].filter(each => !each.hidden);
  field.addEventListener("input", () => {
    for (const each of box.children) each.hidden = !each.dataset.label.toLowerCase().includes(field.value.toLowerCase());
  });
  field.addEventListener("keydown", event => {
    if (event.key === "Enter" && field.value && shown().length) answer("label", shown()[0].dataset.label);
  });
  return field;
}

function fresh() {
  const field = h("input", { type: "text", id: "new-class", placeholder: "A new class (n)", "aria-label": "A new class", maxlength: 200, autocomplete: "off" });
  const give = () => field.value.trim() && answer("label", field.value);
  field.addEventListener("keydown", event => event.key === "Enter" && give());
  return h("div", { class: "new" }, field, h("button", { type: "button", on: { click: give } }, "Add"));
}

export function drawFind(page, main) {
  const { found, state } = page, wish = page.list;
  const old = document.getElementById("search"), place = old === document.activeElement && old ? old.selectionStart : null;
  const field = h("input", { type: "search", id: "search", "aria-label": "Search ids and cells", placeholder: "Search ids and cells", maxlength: 200, value: wish.text, autocomplete: "off" });
  let timer;
  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => list({ text: field.value }), 200); });
  const select = (name, label, options) => h("label", { class: "control" }, h("span", {}, label), h("select", { on: { change: event => list({ [name]: event.target.value }) } },
    options.map(([value, text]) => h("option", { value, selected: wish[name] === value }, text))));
  main.replaceChildren(h("section", {},
    h("div", { class: "search" }, field),
    wish.text ? null : h("div", { class: "controls" },
      select("which", "Nodes", [["unlabeled", "without a label"], ["labeled", "with a label"], ["mine", "labeled by you"], ["unsure", "not sure"], ["skipped", "skipped"], ["all", "all"]]),
      select("class", "Predicted", [["", "any class"], ...state.classes.map(name => [name, name])]),
      select("order", "First", [["unsure", "the least sure"], ["sure", "the surest"], ["table", "as in the table"]])),
    h("p", { class: "key" }, `${count(found.total)} ${found.total === 1 ? "node" : "nodes"}${wish.text && found.total > found.lines.length ? `, the first ${found.lines.length} shown` : ""}`),
    found.lines.length ? lines(found.lines) : null,
    wish.text || found.pages < 2 ? null : h("div", { class: "pages" },
      h("button", { type: "button", disabled: found.page === 0, on: { click: () => list({ page: found.page - 1 }) } }, "Back"),
      h("span", {}, `page ${count(found.page + 1)} of ${count(found.pages)}`),
      h("button", { type: "button", disabled: found.page + 1 >= found.pages, on: { click: () => list({ page: found.page + 1 }) } }, "Next"))));
  if (place !== null) { field.focus(); field.setSelectionRange(place, place); }
}

export function drawProgress(page, main) {
  const { state } = page, judged = state.rounds.filter(each => each.right !== null), last = judged[judged.length - 1];
  const tile = (name, value, more) => h("li", {}, h("span", {}, name), h("b", {}, value), h("span", {}, more));
  main.replaceChildren(h("section", { class: "progress" },
    h("h1", {}, "Progress"),
    h("ul", { class: "tiles" },
      tile("Labels", count(state.labeled), `of ${count(state.nodes)} nodes; ${count(state.mine)} by you, ${count(state.unsure)} not sure, ${count(state.skipped)} skipped`),
      last ? tile("Right, held out", `${last.right.toFixed(1)} %`, `of ${count(last.held)} labels; 95 % interval ${last.low.toFixed(0)} to ${last.high.toFixed(0)}`) : null,
      last ? tile("Sure enough", count(last.met), `of ${count(last.unlabeled)} predictions meet ${state.target.toFixed(0)} % accuracy`) : null,
      last ? tile("Changed", count(last.changed), "predictions since the round before") : null),
    judged.length ? charts.curve(judged) : h("p", { class: "lede" }, state.rounds.length && state.rounds[state.rounds.length - 1].needs ? `There is no model yet: ${state.rounds[state.rounds.length - 1].needs}.` : "No round has been judged yet."),
    last ? h("p", { class: "key" }, "Held-out labels are those that you and the table gave. They were chosen to inform, not drawn at random, so this is not the accuracy on all nodes.") : null,
    h("div", { class: "acts" },
      h("button", { type: "button", id: "retrain", disabled: Boolean(state.step), on: { click: retrain } }, "Train now"),
      h("button", { type: "button", id: "write", on: { click: write } }, `Write ${state.table}`),
      h("a", { href: "table", download: state.table }, "Download the labeled table")),
    h("p", { class: "key" }, `A round begins after every ${state.every} answers. Every answer is stored when it is given; the table is written a moment later.`),
    h("h2", {}, "Labels of each class"),
    h("ul", { class: "counts" }, state.classes.map(name => h("li", {}, `${name}: ${count(state.counts[name] || 0)}`))),
    judged.length ? [h("h2", {}, "Rounds"), rounds(judged)] : null));
}

function rounds(judged) {
  const head = ["Labels", "Right (95 % interval)", "Sure enough", "Changed", "Seconds", "The model averages"];
  return h("div", { class: "scroll" }, h("table", { class: "round-table" }, h("thead", {}, h("tr", {}, head.map(name => h("th", { scope: "col" }, name)))),
    h("tbody", {}, [...judged].reverse().map(each => h("tr", {},
      h("td", {}, count(each.labels)), h("td", {}, `${each.right.toFixed(1)} % (${each.low.toFixed(0)} to ${each.high.toFixed(0)})`),
      h("td", {}, count(each.met)), h("td", {}, `${count(each.changed)}${each.moves.length ? `: ${each.moves.map(([from, to, much]) => `${from} → ${to} ${count(much)}`).join(", ")}` : ""}`),
      h("td", {}, each.seconds.toFixed(1)), h("td", {}, each.members.map(([name, share]) => `${name} ${share.toFixed(0)}\u00a0%`).join(", ")))))));
}
