// The page's script beside a document with just what it uses, and a server that answers when it is told to. Prints JSON.
const soon = globalThis.setTimeout;
globalThis.setTimeout = (call, wait) => soon(call, wait / 10);
const tick = () => new Promise(done => soon(done, 30));
async function until(fits) {
  for (let times = 0; times < 300 && !fits(); times += 1) await tick();
}

class Text {
  constructor(text) { this.textContent = text; }
}
class Element {
  constructor(tag, attributes = {}) {
    Object.assign(this, { tag, attributes: {}, listeners: {}, dataset: {}, style: {}, nodes: [], value: "", hidden: false, classList: { toggle() {} } });
    for (const [name, value] of Object.entries(attributes)) this.setAttribute(name, value);
  }
  setAttribute(name, value) {
    this.attributes[name] = String(value);
    if (name.startsWith("data-")) this.dataset[name.slice(5)] = String(value);
    if (name === "value") this.value = String(value);
  }
  removeAttribute(name) { delete this.attributes[name]; }
  append(...nodes) { this.nodes.push(...nodes); }
  replaceChildren(...nodes) { this.nodes = nodes.filter(Boolean); }
  get textContent() { return this.nodes.map(node => node.textContent).join(""); }
  set textContent(text) { this.nodes = [new Text(text)]; }
  get all() { return this.nodes.flatMap(node => (node instanceof Element ? [node, ...node.all] : [])); }
  addEventListener(event, does) { (this.listeners[event] ??= []).push(does); }
  fire(event, more = {}) { for (const does of this.listeners[event] || []) does({ target: this, preventDefault() {}, ...more }); }
  matches() { return false; }
  focus() {}
  setSelectionRange() {}
}

globalThis.Node = class { static [Symbol.hasInstance](value) { return value instanceof Element || value instanceof Text; } };
const root = new Element("html"), main = new Element("main", { id: "main" }), trouble = new Element("p", { id: "trouble" });
root.append(main, trouble, ...["status", "help-button", "theme", "suspects", "said", "help"].map(id => new Element("p", { id })));
globalThis.document = Object.assign(new Element("document"), {
  documentElement: root, activeElement: null,
  createElement: tag => new Element(tag), createTextNode: text => new Text(text),
  getElementById: id => root.all.find(each => each.attributes.id === id) || null,
  querySelector: tag => root.all.find(each => each.tag === tag) || null,
  querySelectorAll: () => [],
});
globalThis.scrollTo = () => {};
const press = key => document.fire("keydown", { key });
const type = text => { const field = document.getElementById("search"); field.value = text; field.fire("input"); };

const state = { title: "t", label: "kind", id: "id", classes: ["A", "B"], nodes: 9, labeled: 0, counts: {}, last: null, suspects: 0, rounds: [{ stage: "look", labels: 0, needs: "x", right: null }] };
const card = node => ({ node, id: `n${node}`, title: "", label: null, columns: [], has_table: true, neighbours: [], neighbour_count: 0, guesses: [], reason: null });
let next = 1;
const usual = {
  state: () => state,
  next: () => card(next),
  answer: () => ({ state, next: card(++next), stands: true }),
  find: path => ({ total: 1, lines: [{ node: 5, id: new URLSearchParams(path.split("?")[1]).get("text"), title: "", label: null, predicted: null, confidence: null }] }),
  list: () => ({ total: 0, page: 0, pages: 0, lines: [] }),
};
let server = usual, held = null;
const answered = [], waiting = [];
globalThis.fetch = (url, options = {}) => new Promise((done, refuse) => {
  const path = url.replace("api/", ""), name = path.split("?")[0];
  if (name === "answer") answered.push(JSON.parse(options.body).node);
  const reply = () => {
    const value = server[name] && server[name](path);
    if (!value) return refuse(new Error("nobody answers"));
    done({ ok: !value.error, status: value.error ? 500 : 200, text: async () => JSON.stringify(value) });
  };
  if (name === held) waiting.push(reply); else soon(reply, 0);
});
const release = () => { held = null; for (const reply of waiting.splice(0)) reply(); };
const shown = () => (root.all.map(each => each.attributes["aria-label"] || "").find(label => label.startsWith("node ")) || "").slice(5);
const found = {};

await import("./label.js");
await until(shown);

// A view's key while an answer is on its way.
held = "answer";
press("1");
press("f");
await tick();
release();
await until(() => shown() === "n2");
found.after_a_key_in_between = [shown(), answered.splice(0)];
root.all.find(each => each.dataset.label === "B").fire("click");
await until(() => shown() === "n3");
found.of_a_button = answered.splice(0);

// An answer that is refused, and what the page polls afterwards.
server = { ...usual, answer: () => ({ error: "not stored" }) };
press("1");
await until(() => trouble.textContent);
for (let times = 0; times < 20; times += 1) await tick();
found.trouble = [trouble.hidden, trouble.textContent];
server = usual;
press("1");
await until(() => trouble.hidden);
found.trouble_is_over = [trouble.hidden, shown()];

// What is typed during a search.
press("f");
await until(() => document.getElementById("search"));
held = "find";
type("ab");
await until(() => waiting.length);
type("abc");
for (let times = 0; times < 3; times += 1) await tick();
release();
await until(() => main.textContent.includes("abc"));
found.searched = main.all.find(each => each.dataset.node).textContent;

// A search that ends in another view.
type("xyz");
press("l");
for (let times = 0; times < 5; times += 1) await tick();
found.after_a_late_search = [shown(), Boolean(document.getElementById("search"))];

// A node and a view that cannot be fetched: what is shown then is no node.
press("f");
await until(() => main.all.some(each => each.dataset.node));
server = { ...usual, next: () => null };
answered.splice(0);
main.all.find(each => each.dataset.node).fire("click");
await tick();
press("1");
await tick();
press("l");
await tick();
press("1");
await tick();
found.without_a_node = [shown(), answered];

console.log(JSON.stringify(found));
process.exit(0);
