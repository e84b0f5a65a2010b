// The page: themes, switches, drawing what comes into view, printing, copying, hints.
"use strict";


const ROOT = document.documentElement;
const SWITCHES = { record: "Experiment", column: "Dataset", name: "Method" };
const MOST_BUTTONS = 4;
const PRINT_WIDTH = 680;
let printing = false;

function theme() {
  const style = getComputedStyle(ROOT), read = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    font: style.getPropertyValue("font-family"), text: read("ink"), soft: read("ink-soft"), page: read("page"), raised: read("raised"),
    grid: read("grid"), line: read("line"), bad: read("lower"), heatLow: read("heat-low"), heatHigh: read("heat-high"), heatInk: read("heat-ink"), mark: read("mark"),
    verdicts: { reproduced: read("reproduced"), higher: read("higher"), lower: read("lower"), untested: read("ink-soft") },
    colours: [1, 2, 3, 4, 5, 6, 7, 8].map((place) => read(`series-${place}`)),
  };
}

// A figure with its switches. It is drawn when it first comes into view, and again when something changes.
class Figure {
  constructor(element) {
    this.element = element;
    this.chart = CHARTS[element.dataset.chart];
    const scope = element.dataset.record;
    this.cells = DATA.cells.filter((cell) => this.chart.has(cell) && (scope === undefined || cell.record === Number(scope)));
    this.levels = this.chart.together ? [] : ["record", ...this.chart.by];
    this.choice = {};
    for (const [key, [, words]] of Object.entries(this.chart.extra || {})) this.choice[key] = words[0][0];
    this.drawn = false;
    this.settle();
    this.switches();
  }

  // The cells that the switches up to a level leave.
  left(levels) {
    return this.cells.filter((cell) => levels.every((level) => String(cell[level]) === this.choice[level]));
  }

  // Keep each choice where it is still possible, and take the first where not.
  settle() {
    this.levels.forEach((level, place) => {
      const options = this.options(place);
      if (!options.includes(this.choice[level])) this.choice[level] = this.first(level, options);
    });
  }

  // The paper's own method is what a reader came for, so a picture of one run begins with it.
  first(level, options) {
    return (level === "name" && options.find((name) => name.startsWith("GraphMix"))) || options[0];
  }

  options(place) {
    return [...new Set(this.left(this.levels.slice(0, place)).map((cell) => String(cell[this.levels[place]])))];
  }

  switches() {
    const bar = this.element.querySelector(".controls");
    const focused = document.activeElement && document.activeElement.id;
    bar.replaceChildren();
    this.levels.forEach((level, place) => {
      const options = this.options(place);
      const words = options.map((option) => [option, level === "record" ? DATA.records[option].title : option]);
      // Where another choice above could bring a second option, one that is alone keeps its place.
      if (options.length > 1) bar.append(this.control(level, SWITCHES[level], words));
    });
    for (const [key, [label, words]] of Object.entries(this.chart.extra || {})) bar.append(this.control(key, label, words));
    if (focused && bar.querySelector(`#${CSS.escape(focused)}`)) document.getElementById(focused).focus();
  }

  control(key, label, words) {
    const group = document.createElement("div");
    group.className = "control";
    group.dataset.switch = key;
    const id = `${this.element.id}-${key}`;
    const wide = words.reduce((sum, [, word]) => sum + word.length, 0) > 60;
    group.append(words.length > MOST_BUTTONS || wide ? this.menu(id, key, label, words) : this.buttons(id, key, label, words));
    return group;
  }

  menu(id, key, label, words) {
    const holder = document.createElement("label");
    holder.htmlFor = id;
    holder.append(Object.assign(document.createElement("span"), { textContent: label }));
    const select = Object.assign(document.createElement("select"), { id });
    for (const [value, word] of words) select.append(new Option(word, value, false, value === this.choice[key]));
    select.addEventListener("change", () => this.choose(key, select.value));
    holder.append(select);
    return holder;
  }

  buttons(id, key, label, words) {
    const holder = Object.assign(document.createElement("div"), { className: "buttons" });
    holder.setAttribute("role", "group");
    holder.setAttribute("aria-label", label);
    holder.append(Object.assign(document.createElement("span"), { textContent: label }));
    words.forEach(([value, word], place) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: word, id: `${id}-${place}` });
      button.dataset.value = value;
      button.setAttribute("aria-pressed", String(value === this.choice[key]));
      button.addEventListener("click", () => this.choose(key, value));
      holder.append(button);
    });
    return holder;
  }

  choose(key, value) {
    this.choice[key] = value;
    this.settle();
    this.switches();
    return this.draw();
  }

  draw() {
    const holder = this.element.querySelector(".plots"), cells = this.left(this.levels);
    const width = printing ? PRINT_WIDTH : holder.clientWidth;
    const plots = this.chart.draw(cells, theme(), this.choice, width);
    this.drawn = true;
    holder.classList.toggle("pair", plots.length > 1 && !plots.some((plot) => plot.wide));
    while (holder.children.length > plots.length) this.drop(holder.lastElementChild);
    while (holder.children.length < plots.length) holder.append(this.panel());
    this.element.querySelector("figcaption .now").textContent = plots.map((plot) => plot.caption || "").join(" ");
    return Promise.all(plots.map((plot, place) => this.fill(holder.children[place], plot, cells)));
  }

  panel() {
    const panel = Object.assign(document.createElement("div"), { className: "panel" });
    panel.append(Object.assign(document.createElement("p"), { className: "panel-title" }));
    const scroll = Object.assign(document.createElement("div"), { className: "scroll" });
    const plot = Object.assign(document.createElement("div"), { className: "plot" });
    plot.setAttribute("role", "img");
    scroll.append(plot);
    panel.append(scroll);
    return panel;
  }

  drop(panel) {
    Plotly.purge(panel.querySelector(".plot"));
    panel.remove();
  }

  fill(panel, plot, cells) {
    const element = panel.querySelector(".plot"), title = panel.querySelector(".panel-title");
    title.textContent = plot.heading || "";
    title.hidden = !plot.heading;
    const names = [...new Set(cells.map((cell) => cell.name))], several = this.chart.together || names.length > 4;
    element.setAttribute("aria-label", `${plot.heading || this.element.dataset.label}: ${several ? `${cells.length} cells` : `${names.join(", ")} on ${cells[0].column}`}`);
    // A chart too dense for a phone keeps its size and scrolls in its box.
    element.style.minWidth = printing ? "0" : `${plot.least || 0}px`;
    const width = printing ? PRINT_WIDTH / (panel.parentElement.classList.contains("pair") ? 2 : 1) - 10 : Math.max(panel.clientWidth, plot.least || 0);
    const tools = this.element.dataset.chart === "embedding" && [["zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]];
    const config = { displaylogo: false, displayModeBar: tools ? "hover" : false, modeBarButtons: tools, responsive: false, scrollZoom: false, doubleClick: "reset" };
    return Plotly.react(element, plot.data, { ...plot.layout, width }, config);
  }
}

const FIGURES = [...document.querySelectorAll("figure.chart")].map((element) => new Figure(element));
const redraw = () => Promise.all(FIGURES.filter((figure) => figure.drawn).map((figure) => figure.draw()));
const drawAll = () => Promise.all(FIGURES.map((figure) => figure.draw()));

const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const figure = FIGURES.find((one) => one.element === entry.target);
    if (entry.isIntersecting && !figure.drawn) figure.draw();
  }
}, { rootMargin: "400px 0px" });
FIGURES.forEach((figure) => seen.observe(figure.element));

let width = innerWidth, timer = 0;
addEventListener("resize", () => {
  if (printing || innerWidth === width) return;
  width = innerWidth;
  clearTimeout(timer);
  timer = setTimeout(redraw, 150);
});

// Themes: the system's, until the reader says otherwise; paper is always light.
const dark = matchMedia("(prefers-color-scheme: dark)");
const toggle = document.getElementById("theme");
function setTheme(name) {
  ROOT.dataset.theme = name;
  toggle.setAttribute("aria-pressed", String(name === "dark"));
  return redraw();
}
toggle.addEventListener("click", () => setTheme(ROOT.dataset.theme === "dark" ? "light" : "dark"));
dark.addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));
setTheme(dark.matches ? "dark" : "light");

let before = null;
addEventListener("beforeprint", () => {
  before = ROOT.dataset.theme;
  printing = true;
  ROOT.dataset.theme = "light";
  drawAll();
});
addEventListener("afterprint", () => {
  printing = false;
  setTheme(before);
});

// Copying. A page opened from a file may have no clipboard; then the command is selected instead.
for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    const text = button.dataset.copy ?? document.getElementById(button.dataset.from).textContent;
    const word = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = copyOld(text) ? "Copied" : "Not allowed";
    }
    setTimeout(() => { button.textContent = word; }, 1500);
  });
}
function copyOld(text) {
  const area = Object.assign(document.createElement("textarea"), { value: text, className: "away" });
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

// Hints: what a verdict rests on, for the pointer, the keyboard and the finger alike.
const hint = document.getElementById("hint");
function showHint(chip) {
  hint.textContent = chip.dataset.tip;
  hint.hidden = false;
  const box = chip.getBoundingClientRect(), own = hint.getBoundingClientRect();
  hint.style.left = `${Math.max(8, Math.min(box.left, innerWidth - own.width - 8))}px`;
  hint.style.top = `${box.bottom + own.height + 8 > innerHeight ? box.top - own.height - 6 : box.bottom + 6}px`;
}
const hideHint = () => { hint.hidden = true; };
for (const chip of document.querySelectorAll("[data-tip]")) {
  for (const event of ["mouseenter", "focus", "click"]) chip.addEventListener(event, () => showHint(chip));
  for (const event of ["mouseleave", "blur"]) chip.addEventListener(event, hideHint);
}
addEventListener("keydown", (event) => { if (event.key === "Escape") hideHint(); });
addEventListener("scroll", hideHint, { passive: true, capture: true });

// The whole configuration of one run.
const runs = document.getElementById("settings-run");
if (runs) {
  const show = () => { document.getElementById("settings-json").textContent = JSON.stringify(DATA.settings[runs.value], null, 2); };
  runs.addEventListener("change", show);
  show();
}

// Where the reader is, in the table of contents.
const links = new Map([...document.querySelectorAll("nav.contents a")].map((link) => [link.hash.slice(1), link]));
const place = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    links.forEach((link) => link.removeAttribute("aria-current"));
    links.get(entry.target.id)?.setAttribute("aria-current", "true");
  }
}, { rootMargin: "-10% 0px -75% 0px" });
document.querySelectorAll("main section[id]").forEach((section) => place.observe(section));

window.graphmix = { drawAll, figures: FIGURES };
ROOT.dataset.ready = "true";
