// The button for dark colours.
"use strict";

const toggle = document.getElementById("theme");
function setTheme(name) {
  document.documentElement.dataset.theme = name;
  toggle.setAttribute("aria-pressed", String(name === "dark"));
}
toggle.addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));
setTheme(document.documentElement.dataset.theme);
