// The page of graphmix label: state, keys, and what is sent. views.js draws. Text from the tables is always textContent.
import { charts } from "./charts.js";
import { drawFind, drawNode, drawProgress, drawWaiting } from "./views.js";

const $ = id => document.getElementById(id);
const page = { state: null, view: "label", card: null, busy: false, failed: null, list: { order: "unsure", which: "unlabeled", class: "", page: 0, text: "" } };
const POLL = 1500;

// What is asked of the server.
async function ask(path, body) {
  const options = body ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : {};
  let response;
  try {
    response = await fetch(`api/${path}`, options);
  } catch {
    throw new Error("graphmix label does not answer: start it again, and use the address that it prints. What it had acknowledged is stored.");
  }
  const text = await response.text();
  let value;
  try { value = JSON.parse(text); } catch { throw new Error(text || `the server answers ${response.status}`); }
  if (!response.ok) throw new Error(value.error || `the server answers ${response.status}`);
  return value;
}

function trouble(message) {
  $("trouble").textContent = message || "";
  $("trouble").hidden = !message;
}

let fading;
function say(message) {
  $("said").textContent = message;
  clearTimeout(fading);
  fading = setTimeout(() => { $("said").textContent = ""; }, 5000);
}

// One answer at a time: a key that comes before the next node is shown is not meant for it.
async function once(work) {
  if (page.busy) return;
  page.busy = true;
  try {
    await work();
    page.failed = null;
    trouble(page.state && page.state.trouble);
  } catch (error) {
    // It stays until something else has been done: an answer may not be stored.
    page.failed = error.message;
    trouble(error.message);
  } finally {
    page.busy = false;
  }
}

const mode = () => (page.view === "check" ? "check" : "label");

// What was sent and not acknowledged. Sent again it has the same key, and the server stores it once.
let sent = null;
async function tell(path, said) {
  const what = JSON.stringify([path, said]);
  if (!sent || sent.what !== what) sent = { what, key: crypto.getRandomValues(new Uint32Array(4)).join("-") };
  const got = await ask(path, { ...said, mode: mode(), key: sent.key });
  sent = null;
  return got;
}

export function answer(act, label) {
  const card = page.card;
  if (!card) return;
  once(async () => {
    const got = await tell("answer", { node: card.node, act, label });
    take(got.state);
    show(got.next);
    const what = { label: `${card.id}: ${label}`, skip: `${card.id}: skipped`, unsure: `${card.id}: not sure` }[act];
    say(got.stands ? `${what}. Stored.` : `${card.id}: the answer was taken back in another window. Not stored.`);
  });
}

export function undo() {
  // One that was sent and not acknowledged may have been done: it is asked for again.
  if (!page.state || !(page.state.last || (sent && sent.what === JSON.stringify(["undo", {}])))) return;
  once(async () => {
    const got = await tell("undo", {}), { taken } = got;
    take(got.state);
    if (page.view !== "check") page.view = "label";
    show(got.next);
    say(taken ? `Taken back: ${taken.id}${taken.label ? `, ${taken.label}` : ""}.` : "There is nothing to take back.");
  });
}

export function open(node) {
  once(async () => {
    const card = await ask(`node?node=${node}`);
    page.view = "label";
    show(card, { chosen: true });
    scrollTo(0, 0);
  });
}

export const queue = () => go("label");
export const retrain = () => once(async () => { take((await ask("retrain", {})).state); draw(); });
export const write = () => once(async () => say(`Written to ${(await ask("write", {})).path}.`));

export function list(change) {
  Object.assign(page.list, "page" in change ? change : { ...change, page: 0 });
  once(fetchList);
}

async function fetchList() {
  // What is typed meanwhile is searched for too.
  let asked;
  do {
    asked = JSON.stringify(page.list);
    const { text, ...rest } = page.list;
    page.found = await ask(text ? `find?${new URLSearchParams({ text })}` : `list?${new URLSearchParams(rest)}`);
  } while (asked !== JSON.stringify(page.list));
  if (page.view === "find") drawFind(page, $("main"));
}

async function fetchMap() {
  const got = await ask("map");
  if (page.view === "map") charts.map($("main"), got, page.state);
}

// What the server says of a prediction: sentences, and a table of strings.
export const explain = node => ask(`explain?node=${node}`);
export const redraw = () => once(async () => { await ask("redraw", {}); await fetchMap(); });

// What is shown.
function take(state) {
  page.state = state;
  const last = state.rounds[state.rounds.length - 1];
  const right = last && last.right !== null ? ` · ${last.right.toFixed(0)} % of held-out labels right` : "";
  $("status").textContent = state.step ? `Training: ${state.step}` : `${state.labeled.toLocaleString("en-GB")} of ${state.nodes.toLocaleString("en-GB")} labeled${right}`;
  $("status").classList.toggle("busy", Boolean(state.step));
  $("suspects").textContent = state.suspects || "";
  document.title = `${state.title} – graphmix label`;
}

function show(card, how = {}) {
  page.card = card;
  page.chosen = Boolean(how.chosen);
  draw();
}

function draw() {
  for (const tab of document.querySelectorAll(".tabs button")) {
    if (tab.dataset.view === page.view) tab.setAttribute("aria-current", "page"); else tab.removeAttribute("aria-current");
  }
  const main = $("main");
  if (page.view === "progress") drawProgress(page, main);
  else if (page.view === "find" && page.found) drawFind(page, main);
  else if (page.view === "label" || page.view === "check") (page.card ? drawNode : drawWaiting)(page, main);
  else main.replaceChildren();
}

// The view changes with what is shown: keys and buttons are meant for the node that somebody sees.
function go(view) {
  once(async () => {
    if (view === "label" || view === "check") {
      const card = await ask(`next?mode=${view}`);
      page.view = view;
      show(card);
    } else {
      page.view = view;
      draw();
      if (view === "find") await fetchList();
      if (view === "map") await fetchMap();
    }
    if (view === "find") $("search").focus(); else $("main").focus({ preventScroll: true });
  });
}

async function poll() {
  try {
    const before = page.state, state = await ask("state");
    const rounds = before ? before.rounds.length : 0;
    if (!page.busy) {
      take(state);
      trouble(page.failed || state.trouble);
      if (state.rounds.length !== rounds) await learned(state.rounds[state.rounds.length - 1]);
      else if (page.view === "map" && !document.querySelector("canvas")) await fetchMap();
      else if (page.view === "progress" && before && before.answers !== state.answers) draw();
    }
  } catch (error) {
    trouble(error.message);
  }
  setTimeout(poll, POLL);
}

// A round has ended: new guesses for the node that is shown, which stays; a node, if none was.
async function learned(round) {
  if (round.stage !== "look" && round.right !== null) say(`Trained on ${round.labels} labels: ${round.right.toFixed(1)} % right of ${round.held} held out; ${round.changed} predictions changed.`);
  if (page.view === "progress") draw();
  if (page.view !== "label" && page.view !== "check") return;
  const node = page.card && page.card.node, got = page.card ? await ask(`node?node=${node}`) : await ask(`next?mode=${mode()}`);
  if (page.busy || (page.card && page.card.node !== node)) return;
  if (document.activeElement && ["new-class", "filter"].includes(document.activeElement.id)) return;
  show(page.card ? { ...got, reason: page.card.reason, suggested: page.card.suggested } : got, { chosen: page.chosen });
}

// Keys.
const VIEWS = { l: "label", c: "check", f: "find", m: "map", p: "progress" };

function pressed(event) {
  const target = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (target.matches && target.matches("input, select, textarea")) {
    if (event.key === "Escape") target.blur();
    return;
  }
  if ($("help").open) return;
  const act = action(event.key);
  if (!act) return;
  event.preventDefault();
  if (!event.repeat) act();
}

function action(name) {
  const low = name.toLowerCase(), asks = (page.view === "label" || page.view === "check") && page.card;
  if (name === "?") return () => $("help").showModal();
  if (name === "/") return () => go("find");
  if (VIEWS[low]) return () => go(VIEWS[low]);
  if (low === "u") return undo;
  if (!asks) return null;
  if (/^[1-9]$/.test(name)) {
    const label = page.state.classes[Number(name) - 1];
    return label === undefined ? null : () => answer("label", label);
  }
  if (name === "0") return () => $("filter") && $("filter").focus();
  if (low === "s") return () => answer("skip");
  if (low === "d") return () => answer("unsure");
  if (low === "k" && page.card.label !== null) return () => answer("label", page.card.label);
  if (low === "g" && page.card.guesses.length) return () => answer("label", page.card.guesses[0][0]);
  if (low === "n") return () => $("new-class").focus();
  return null;
}

document.addEventListener("keydown", pressed);
for (const tab of document.querySelectorAll(".tabs button")) tab.addEventListener("click", () => go(tab.dataset.view));
$("help-button").addEventListener("click", () => $("help").showModal());
const theme = $("theme"), root = document.documentElement;
theme.setAttribute("aria-pressed", String(root.dataset.theme === "dark"));
theme.addEventListener("click", () => {
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  theme.setAttribute("aria-pressed", String(root.dataset.theme === "dark"));
  if (page.view === "map") once(fetchMap);
});

once(async () => {
  take(await ask("state"));
  show(await ask("next?mode=label"));
  root.dataset.ready = "true";
}).then(() => setTimeout(poll, POLL));
