// The page: drawing what comes into view, themes, printing, copying, hints.
"use strict";

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
setTheme(ROOT.dataset.theme);

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
  const area = make("textarea", { value: text, className: "away" });
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
  const shown = document.getElementById("settings-json");
  const show = () => { shown.textContent = JSON.stringify(DATA.settings[runs.value], null, 2); };
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
