// What all charts share: numbers and names as text, colours, axes.
"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);

// Plotly reads some HTML in texts, and names are the user's.
const safe = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const clip = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const short = (text, most = 22) => safe(clip(text, most));
const fixed = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));
const spread = (mean, std) => (std === null ? fixed(mean) : `${fixed(mean)} ± ${fixed(std)}`);
const counted = (value) => value.toLocaleString("en");
const range = (size) => Array.from({ length: size }, (_, place) => place);
const sorted = (values) => [...new Set(values)].sort((a, b) => a - b);

// What a mark says to whoever points at it. A template would read "%{x}" in a name, so names go in as text.
const hover = (texts) => ({ text: texts, hovertemplate: "%{text}<extra></extra>" });

const colour = (theme, place) => theme.colours[place % theme.colours.length];

// A method has one colour in all charts of its experiment; its readings differ otherwise.
function methodPlace(cell) {
  const rows = DATA.cells.filter((one) => one.record === cell.record && one.scores).map((one) => one.row);
  return [...new Set(rows)].indexOf(cell.row);
}
const methodColour = (theme, cell) => colour(theme, methodPlace(cell));

// A colour with less of itself: bands behind lines.
function faint(hex, share) {
  const part = (from) => parseInt(hex.slice(from, from + 2), 16);
  return `rgba(${part(1)},${part(3)},${part(5)},${share})`;
}

function axis(theme, more = {}) {
  return {
    gridcolor: theme.grid,
    linecolor: theme.line,
    tickcolor: theme.line,
    zeroline: false,
    automargin: true,
    fixedrange: true,
    ...more,
    title: { font: { size: 13, color: theme.soft }, ...more.title },
  };
}

// An axis of names, which may be equal or look like numbers: so it is one of places.
function nameAxis(theme, names, more = {}) {
  return axis(theme, { tickvals: range(names.length), ticktext: names, showgrid: false, ticks: "", ...more });
}

function layout(theme, more) {
  const font = { family: theme.font, size: 13, color: theme.text };
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font,
    hoverlabel: { bgcolor: theme.raised, bordercolor: theme.line, font, align: "left" },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: theme.soft, activecolor: theme.text },
    margin: { l: 8, r: 12, t: 12, b: 8 },
    hovermode: "closest",
    dragmode: false,
    legend: { orientation: "h", x: 0, y: 1.02, xanchor: "left", yanchor: "bottom", font: { size: 12.5 } },
    ...more,
  };
}

// A row's name stands above its marks: no name is too long for that, not even on a phone.
function rowName(theme, name, row, shift) {
  return {
    text: short(name, 60),
    x: 0,
    xref: "paper",
    xanchor: "left",
    y: -row,
    yanchor: "bottom",
    yshift: shift,
    showarrow: false,
    font: { size: 13, color: theme.text },
  };
}

// A number in a cell of a heat map, in the ink that can be read there.
function cellNumber(theme, x, y, text, dark, size = 12.5) {
  return { x, y, text, showarrow: false, font: { size, color: dark ? theme.heatInk : theme.text } };
}

const heat = (theme) => [[0, theme.heatLow], [1, theme.heatHigh]];

// Colours that deepen sooner, for many small shares: by the square root.
function steepHeat(theme) {
  const part = (hex, from) => parseInt(hex.slice(from, from + 2), 16);
  const mix = (share) => [1, 3, 5].map((from) =>
    Math.round(part(theme.heatLow, from) * (1 - share) + part(theme.heatHigh, from) * share));
  return range(6).map((step) => [(step / 5) ** 2, `rgb(${mix(step / 5)})`]);
}
