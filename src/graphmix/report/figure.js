// A figure: a chart, the switches of what it shows, and the places it is drawn in.
"use strict";

// `by`: what the reader switches besides the experiment; `extra`: a switch of the chart's own, its label and words;
// `beside`: what is drawn next to the chosen cell.
const CHARTS = {
  distribution: { draw: distribution, has: (cell) => cell.scores, by: ["column"] },
  curves: {
    draw: curves,
    has: (cell) => cell.curves,
    by: ["column"],
    extra: { quantity: ["Quantity", Object.entries(QUANTITIES).map(([key, [name]]) => [key, name])] },
  },
  embedding: {
    draw: embedding,
    has: (cell) => cell.embedding,
    by: ["column", "name"],
    beside: plainNetwork,
    extra: { mistakes: ["Mistakes", [["shown", "Shown"], ["highlighted", "Highlighted"]]] },
  },
  "soft-rank": { draw: softRank, has: (cell) => cell.softRank, by: ["column"] },
  confusion: {
    draw: confusion,
    has: (cell) => cell.confusion || cell.reliability,
    by: ["column", "name"],
    extra: { numbers: ["Numbers", [["shares", "% of the true class"], ["counts", "Counts"]]] },
  },
  differences: { draw: differences, has: (cell) => cell.difference !== undefined, by: [], together: true },
  selection: { draw: selection, has: (cell) => cell.grid, by: ["column", "name"] },
  bound: { draw: bound, has: (cell) => cell.bound && cell.bound.points.length, by: ["column", "name"] },
};
const ROOT = document.documentElement;
const SWITCHES = { record: "Experiment", column: "Dataset", name: "Method" };
const MOST_BUTTONS = 4;
const MOST_LETTERS = 60;
const PRINT_WIDTH = 680;
let printing = false;

function theme() {
  const style = getComputedStyle(ROOT), read = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    font: style.getPropertyValue("font-family"),
    text: read("ink"),
    soft: read("ink-soft"),
    page: read("page"),
    raised: read("raised"),
    grid: read("grid"),
    line: read("line"),
    bad: read("lower"),
    mark: read("mark"),
    heatLow: read("heat-low"),
    heatHigh: read("heat-high"),
    heatInk: read("heat-ink"),
    verdicts: {
      reproduced: read("reproduced"),
      higher: read("higher"),
      lower: read("lower"),
      undecided: read("ink-soft"),
    },
    colours: [1, 2, 3, 4, 5, 6, 7, 8].map((place) => read(`series-${place}`)),
  };
}

// An element with its properties and what is in it.
function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// A figure with its switches. It is drawn when it first comes into view, and again when something changes.
class Figure {
  constructor(element) {
    this.element = element;
    this.chart = CHARTS[element.dataset.chart];
    const scope = element.dataset.record;
    const inScope = (cell) => scope === undefined || cell.record === Number(scope);
    this.cells = DATA.cells.filter((cell) => this.chart.has(cell) && inScope(cell));
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
    // Of a fitted model's candidates the best stands first.
    const own = level === "name" && !DATA.fitted;
    return (own && options.find((name) => name.startsWith("GraphMix"))) || options[0];
  }

  options(place) {
    return [...new Set(this.left(this.levels.slice(0, place)).map((cell) => String(cell[this.levels[place]])))];
  }

  switches() {
    const bar = this.element.querySelector(".controls"), focused = document.activeElement.id;
    bar.replaceChildren();
    this.levels.forEach((level, place) => {
      const options = this.options(place);
      const words = options.map((option) => [option, level === "record" ? DATA.records[option].title : option]);
      if (options.length > 1) bar.append(this.control(level, SWITCHES[level], words));
    });
    const extra = Object.entries(this.chart.extra || {});
    bar.append(...extra.map(([key, [label, words]]) => this.control(key, label, words)));
    // The switches are made anew, but the keyboard stays where it was.
    if (focused && bar.querySelector(`#${CSS.escape(focused)}`)) document.getElementById(focused).focus();
  }

  control(key, label, words) {
    const id = `${this.element.id}-${key}`, letters = words.reduce((sum, [, word]) => sum + word.length, 0);
    const roomy = words.length <= MOST_BUTTONS && letters <= MOST_LETTERS;
    const held = roomy ? this.buttons(id, key, label, words) : this.menu(id, key, label, words);
    const group = make("div", { className: "control" }, held);
    group.dataset.switch = key;
    return group;
  }

  menu(id, key, label, words) {
    const option = ([value, word]) => new Option(word, value, false, value === this.choice[key]);
    const select = make("select", { id }, ...words.map(option));
    select.addEventListener("change", () => this.choose(key, select.value));
    return make("label", { htmlFor: id }, make("span", { textContent: label }), select);
  }

  buttons(id, key, label, words) {
    const holder = make("div", { className: "buttons" }, make("span", { textContent: label }));
    holder.setAttribute("role", "group");
    holder.setAttribute("aria-label", label);
    words.forEach(([value, word], place) => {
      const button = make("button", { type: "button", textContent: word, id: `${id}-${place}` });
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
    const holder = this.element.querySelector(".plots"), cells = this.shown();
    const width = printing ? PRINT_WIDTH : holder.clientWidth;
    const plots = this.chart.draw(cells, theme(), this.choice, width);
    this.drawn = true;
    holder.classList.toggle("pair", plots.length > 1 && !plots.some((plot) => plot.wide));
    while (holder.children.length > plots.length) this.drop(holder.lastElementChild);
    while (holder.children.length < plots.length) holder.append(this.panel());
    this.element.querySelector("figcaption .now").textContent = plots.map((plot) => plot.caption || "").join(" ");
    return Promise.all(plots.map((plot, place) => this.fill(holder.children[place], plot, cells)));
  }

  shown() {
    const cells = this.left(this.levels);
    return this.chart.beside ? [...this.chart.beside(cells[0], this.cells), ...cells] : cells;
  }

  panel() {
    const plot = make("div", { className: "plot" });
    plot.setAttribute("role", "img");
    return make(
      "div",
      { className: "panel" },
      make("p", { className: "panel-title" }),
      make("div", { className: "scroll" }, plot),
    );
  }

  drop(panel) {
    Plotly.purge(panel.querySelector(".plot"));
    panel.remove();
  }

  fill(panel, plot, cells) {
    const element = panel.querySelector(".plot"), title = panel.querySelector(".panel-title");
    title.textContent = plot.heading || "";
    title.hidden = !plot.heading;
    const shown = plot.cell ? [plot.cell] : cells, heading = plot.cell ? "" : plot.heading;
    element.setAttribute("aria-label", `${heading || this.element.dataset.label}: ${this.describe(shown)}`);
    // A chart too dense for a phone keeps its size and scrolls in its box.
    const least = printing ? 0 : plot.least || 0;
    element.style.minWidth = `${least}px`;
    element.parentElement.tabIndex = least > panel.clientWidth ? 0 : -1; // so that the keyboard can scroll it, too
    const columns = panel.parentElement.classList.contains("pair") ? 2 : 1;
    const width = printing ? PRINT_WIDTH / columns - 10 : Math.max(panel.clientWidth, least);
    const tools = this.element.dataset.chart === "embedding" && [["zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]];
    const config = {
      displaylogo: false,
      displayModeBar: tools ? "hover" : false,
      modeBarButtons: tools,
      doubleClick: "reset",
    };
    return Plotly.react(element, plot.data, { ...plot.layout, width }, config);
  }

  // What is drawn, for those who do not see it.
  describe(cells) {
    if (this.chart.told) return this.chart.told();
    const names = [...new Set(cells.map((cell) => cell.name))];
    if (this.chart.together || names.length > 4) return `${cells.length} cells`;
    return `${names.join(", ")} on ${cells[0].column}`;
  }
}
