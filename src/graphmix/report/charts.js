// The charts. Each says which cells it can draw, by what it lets the reader switch, and turns cells into Plotly figures.
"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);
const QUANTITIES = {
  val_accuracy: ["Validation accuracy", "%"],
  train_loss: ["Training loss", ""],
  val_loss: ["Validation loss", ""],
};
const ROLES = ["training", "validation", "test", "none"];
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "pentagon", "hexagon", "star", "triangle-down", "cross"];
const DASHES = ["solid", "dash", "dot", "dashdot"];
const VERDICTS = { reproduced: "circle", higher: "triangle-up", lower: "triangle-down", untested: "diamond-open" };
const MOST_CURVES = 6;
const MANY = 12; // classes that still have room for their names and numbers

// Plotly reads some HTML in texts, and names are the user's.
const safe = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const short = (text, most = 22) => safe(text.length > most ? text.slice(0, most - 1) + "…" : text);
const fixed = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));
const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);
const range = (size) => Array.from({ length: size }, (_, place) => place);
const sorted = (values) => [...new Set(values)].sort((a, b) => a - b);
const colour = (theme, place) => theme.colours[place % theme.colours.length];
// A method has one colour in all charts of its experiment; its readings differ by dashes.
const rowColour = (theme, cell) => colour(theme, [...new Set(DATA.cells.filter((one) => one.record === cell.record && one.scores).map((one) => one.row))].indexOf(cell.row));

// A colour with less of itself: bands behind lines.
function faint(hex, share) {
  const part = (from) => parseInt(hex.slice(from, from + 2), 16);
  return `rgba(${part(1)},${part(3)},${part(5)},${share})`;
}

function axis(theme, more) {
  return {
    gridcolor: theme.grid, linecolor: theme.line, zerolinecolor: theme.line, tickcolor: theme.line,
    zeroline: false, automargin: true, fixedrange: true, ...more,
    title: { font: { size: 13, color: theme.soft }, ...(more.title || {}) },
  };
}

function layout(theme, more) {
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: theme.font, size: 13, color: theme.text },
    hoverlabel: { bgcolor: theme.raised, bordercolor: theme.line, font: { family: theme.font, size: 13, color: theme.text }, align: "left" },
    margin: { l: 8, r: 12, t: 12, b: 8 }, hovermode: "closest", dragmode: false,
    legend: { orientation: "h", x: 0, y: 1.02, xanchor: "left", yanchor: "bottom", font: { size: 12.5, color: theme.text } },
    ...more,
  };
}

// A row's name stands above its marks: no name is too long for that, on a phone either.
function rowName(theme, text, y, shift) {
  return { text: short(text, 60), x: 0, xref: "paper", xanchor: "left", y, yref: "y", yanchor: "bottom", yshift: shift,
    showarrow: false, font: { size: 13, color: theme.text }, align: "left" };
}

// Every trial of every method on one dataset, and the paper's number.
function distribution(cells, theme) {
  const data = cells.map((cell, row) => ({
    type: "box", orientation: "h", name: safe(cell.name), y0: -row, x: cell.scores, boxpoints: "all", pointpos: 0, jitter: 0.7,
    width: 0.42, fillcolor: faint(rowColour(theme, cell), 0.14), line: { color: rowColour(theme, cell), width: 1.5 },
    marker: { color: rowColour(theme, cell), size: cell.scores.length > 40 ? 4 : 6, opacity: 0.65 }, hoveron: "points",
    text: cell.scores.map((score, trial) => `trial ${trial}: ${fixed(score)} %`), hovertemplate: "%{text}<extra></extra>", showlegend: false,
  }));
  const broken = cells.flatMap((cell, row) => cell.failed.map((trial) => [cell.scores[trial], -row, trial]));
  if (broken.length) {
    data.push({ type: "scatter", mode: "markers", name: "failed trial", x: broken.map((b) => b[0]), y: broken.map((b) => b[1]),
      marker: { symbol: "x", size: 10, color: theme.bad, line: { color: theme.page, width: 1 } },
      text: broken.map((b) => `trial ${b[2]} failed: ${fixed(b[0])} %`), hovertemplate: "%{text}<extra></extra>" });
  }
  const quoted = cells.map((cell, row) => [cell.paper, -row]).filter((pair) => pair[0]);
  if (quoted.length) {
    data.push({ type: "scatter", mode: "markers", name: "the paper, ± one standard deviation", x: quoted.map((q) => q[0][0]), y: quoted.map((q) => q[1] - 0.33),
      error_x: { type: "data", array: quoted.map((q) => q[0][1] || 0), color: theme.text, thickness: 1.5, width: 4 },
      marker: { symbol: "diamond", size: 9, color: theme.text },
      text: quoted.map((q) => `the paper: ${fixed(q[0][0])}${q[0][1] === null ? "" : " ± " + fixed(q[0][1])} %`), hovertemplate: "%{text}<extra></extra>" });
  }
  return [{ data, layout: layout(theme, {
    height: 90 + 74 * cells.length, annotations: cells.map((cell, row) => rowName(theme, cell.name, -row, 19)),
    xaxis: axis(theme, { ticksuffix: " %" }), yaxis: axis(theme, { visible: false, range: [0.55 - cells.length, 0.65] }),
  }) }];
}

// A quantity over the epochs, every method of one dataset.
function curves(cells, theme, choice) {
  const [name, unit] = QUANTITIES[choice.quantity];
  const ours = (cell) => cell.name.startsWith("GraphMix");
  // More than a few at once are a tangle: the paper's own method first, the rest wait in the legend.
  const shown = [...cells.filter(ours), ...cells.filter((cell) => !ours(cell))].slice(0, MOST_CURVES);
  const data = cells.filter((cell) => cell.curves[choice.quantity]).flatMap((cell, place) => {
    const [mean, low, high] = cell.curves[choice.quantity];
    const shared = { type: "scatter", x: cell.curves.epochs, legendgroup: String(place), visible: shown.includes(cell) || "legendonly", mode: "lines" };
    const edge = { ...shared, line: { width: 0 }, showlegend: false, hoverinfo: "skip" };
    return [
      { ...edge, y: low },
      { ...edge, y: high, fill: "tonexty", fillcolor: faint(rowColour(theme, cell), 0.16) },
      { ...shared, y: mean, name: short(cell.name, 40), line: { color: rowColour(theme, cell), width: 2.25, dash: DASHES[cell.reading % 4] },
        text: mean.map((value, at) => `${safe(cell.name)}<br>epoch ${cell.curves.epochs[at]}: ${fixed(value)} ${unit}<br>${fixed(low[at])} to ${fixed(high[at])} in most trials`),
        hovertemplate: "%{text}<extra></extra>" },
    ];
  });
  return [{ data, layout: layout(theme, {
    height: 400 + 8 * cells.length,
    xaxis: axis(theme, { title: { text: "epoch" } }), yaxis: axis(theme, { title: { text: unit ? `${name} (${unit})` : name } }),
  }) }];
}

// The t-SNE picture of one run: colour is the true class, an open mark a wrong prediction.
function embedding([cell], theme, choice, width) {
  const cloud = cell.embedding, names = DATA.classes[cell.classes];
  const wrong = (at) => cloud.label[at] >= 0 && cloud.label[at] !== cloud.predicted[at];
  const dimmed = choice.mistakes === "highlighted";
  const data = [];
  for (const label of sorted(cloud.label)) {
    const symbol = names.length > theme.colours.length && label >= 0 ? SYMBOLS[Math.floor(label / theme.colours.length) % SYMBOLS.length] : "circle";
    const paint = label < 0 ? theme.soft : colour(theme, label);
    for (const open of [false, true]) {
      const nodes = range(cloud.x.length).filter((at) => cloud.label[at] === label && wrong(at) === open);
      if (open && !nodes.length) continue;
      data.push({ type: "scatter", mode: "markers", name: label < 0 ? "unknown class" : short(names[label], 28), legendgroup: String(label), showlegend: !open,
        x: nodes.length ? nodes.map((at) => cloud.x[at]) : [null], y: nodes.length ? nodes.map((at) => cloud.y[at]) : [null],
        marker: { symbol: open ? symbol + "-open" : symbol, size: open ? 8 : 6.5, color: paint, opacity: open ? 1 : dimmed ? 0.12 : 0.8, line: { width: open ? 1.75 : 0 } },
        text: nodes.map((at) => `<b>node ${cloud.node[at]}</b> (${ROLES[cloud.role[at]]})<br>class ${label < 0 ? "unknown" : safe(names[label])}` +
          `<br>predicted ${safe(names[cloud.predicted[at]])}${open ? " (wrong)" : ""}<br>confidence ${cloud.confidence[at]} %`),
        hovertemplate: "%{text}<extra></extra>" });
    }
  }
  data.push({ type: "scatter", mode: "markers", name: "open: wrong prediction", x: [null], y: [null], hoverinfo: "skip",
    marker: { symbol: "circle-open", size: 8, color: theme.text, line: { width: 1.75 } } });
  const hidden = { visible: false, showgrid: false };
  const side = Math.min(width, 680);
  const narrow = width < 700;
  return [{ data, caption: cloudCaption(cloud, range(cloud.x.length).filter(wrong).length), layout: layout(theme, {
    // A finger scrolls the page; a mouse moves the picture.
    height: side + (narrow ? 26 * Math.ceil((Math.min(names.length, MANY) + 1) / 2) : 0), dragmode: matchMedia("(hover: hover)").matches ? "pan" : false,
    showlegend: !(narrow && names.length > MANY),
    legend: narrow ? { orientation: "h", x: 0, y: 0, yanchor: "top", font: { size: 12, color: theme.text } } : { x: 1.01, y: 1, font: { size: 12.5, color: theme.text } },
    xaxis: hidden, yaxis: { ...hidden, scaleanchor: "x" },
  }) }];
}

function cloudCaption(cloud, mistakes) {
  const shown = cloud.x.length, known = cloud.label.filter((label) => label >= 0).length;
  const which = shown < cloud.nodes ? `${shown.toLocaleString("en")} of ${cloud.nodes.toLocaleString("en")} nodes, drawn at random` : `all ${shown.toLocaleString("en")} nodes`;
  return `Trial 0: ${which}. The prediction is wrong for ${mistakes.toLocaleString("en")} of the ${known.toLocaleString("en")} shown whose class is known, training nodes included.`;
}

// The soft rank of each class, every method of one dataset.
function softRank(cells, theme) {
  const names = DATA.classes[cells[0].classes];
  const data = cells.map((cell) => {
    const [mean, low, high] = cell.softRank;
    return { type: "bar", name: short(cell.name, 40), x: range(mean.length), y: mean, marker: { color: rowColour(theme, cell), opacity: cell.reading ? 0.6 : 1 },
      error_y: { type: "data", symmetric: false, array: mean.map((value, at) => (value === null ? 0 : high[at] - value)), arrayminus: mean.map((value, at) => (value === null ? 0 : value - low[at])), color: theme.text, thickness: 1.25, width: 3 },
      text: mean.map((value, at) => `${safe(names[at])}<br>${safe(cell.name)}: ${fixed(value)}<br>${fixed(low[at])} to ${fixed(high[at])} in most trials`),
      textposition: "none", hovertemplate: "%{text}<extra></extra>" };
  });
  return [{ data, least: 60 + Math.max(names.length * (12 + 10 * cells.length)), layout: layout(theme, {
    height: 400, barmode: "group", bargap: 0.3,
    xaxis: axis(theme, { tickvals: range(names.length), ticktext: names.map((name) => short(name)), showgrid: false }),
    yaxis: axis(theme, { title: { text: "soft rank" }, rangemode: "tozero" }),
  }) }];
}

// Who is taken for whom, and how well confidence keeps its word.
function confusion([cell], theme, choice, width) {
  return [cell.confusion && matrix(cell, theme, choice.numbers === "counts", width), cell.reliability && reliability(cell.reliability, theme)].filter(Boolean);
}

function matrix(cell, theme, counts, width) {
  const names = DATA.classes[cell.classes], size = names.length, few = size <= MANY;
  const shares = cell.confusion.map((row) => {
    const total = row.reduce((sum, value) => sum + value, 0);
    return row.map((value) => (total ? (100 * value) / total : null));
  });
  const most = !few ? 14 : width < 600 ? 11 : 18, longest = Math.max(...names.map((name) => Math.min(name.length, most)));
  const ticks = { tickvals: range(size), ticktext: names.map((name) => short(name, most)), showgrid: false, tickfont: { size: few ? 12 : 8.5 }, ticks: "" };
  const square = few ? 440 : 130 + size * 11;
  const crowded = longest * 7.5 > (Math.min(width, 480) - 120) / size;
  return { heading: "Confusion", least: few ? Math.max(320, 130 + 38 * size) : square, wide: !few,
    data: [{ type: "heatmap", z: shares, x: range(size), y: range(size), zmin: 0, zmax: 100, xgap: 1, ygap: 1,
      colorscale: [[0, theme.heatLow], [1, theme.heatHigh]], showscale: false,
      text: cell.confusion.map((row, from) => row.map((value, to) => `true ${safe(names[from])}<br>predicted ${safe(names[to])}<br>${value.toLocaleString("en")} nodes, ${fixed(shares[from][to], 1)} % of its class`)),
      hovertemplate: "%{text}<extra></extra>" }],
    layout: layout(theme, { height: square,
      annotations: few ? numbers(cell.confusion, shares, theme, counts) : [],
      xaxis: axis(theme, { ...ticks, title: { text: "predicted class", standoff: 10 }, tickangle: few ? (crowded ? -40 : 0) : -90 }),
      yaxis: axis(theme, { ...ticks, title: { text: "true class", standoff: 10 }, autorange: "reversed" }) }) };
}

function numbers(confusion, shares, theme, counts) {
  return shares.flatMap((row, from) => row.flatMap((share, to) => (share === null || confusion[from][to] === 0 ? [] : [{
    x: to, y: from, showarrow: false, text: counts ? confusion[from][to].toLocaleString("en") : share < 0.5 ? "&lt;1" : share.toFixed(0),
    font: { size: shares.length > 8 ? 10 : 12, color: share > 55 ? theme.heatInk : theme.text } }])));
}

function reliability(bins, theme) {
  const full = range(bins.count.length).filter((bin) => bins.count[bin] > 0 && bins.confidence[bin] !== null && bins.accuracy[bin] !== null);
  const most = Math.max(...full.map((bin) => bins.count[bin]), 1);
  const x = full.map((bin) => bins.confidence[bin]), y = full.map((bin) => bins.accuracy[bin]);
  const reach = full.flatMap((bin, place) => [x[place], x[place], null]);
  const gaps = full.flatMap((bin, place) => [x[place], y[place], null]);
  return { heading: `Calibration: ECE ${fixed(bins.ece, 1)} %`, least: 280,
    data: [
      { type: "scatter", mode: "lines", name: "as sure as right", x: [0, 100], y: [0, 100], line: { color: theme.soft, dash: "dash", width: 1.5 }, hoverinfo: "skip" },
      { type: "scatter", mode: "lines", name: "gap", x: reach, y: gaps, line: { color: colour(theme, 1), width: 3 }, opacity: 0.5, hoverinfo: "skip" },
      { type: "scatter", mode: "lines+markers", name: "test nodes by confidence", x, y, line: { color: colour(theme, 0), width: 1.5 },
        marker: { color: colour(theme, 0), size: full.map((bin) => 6 + 16 * Math.sqrt(bins.count[bin] / most)), opacity: 0.9, line: { color: theme.page, width: 1 } },
        text: full.map((bin) => `${fixed(bins.confidence[bin], 1)} % sure, ${fixed(bins.accuracy[bin], 1)} % right<br>${bins.count[bin].toLocaleString("en")} nodes`), hovertemplate: "%{text}<extra></extra>" },
    ],
    layout: layout(theme, { height: 440, showlegend: false, xaxis: axis(theme, { title: { text: "confidence (%)" }, range: [-4, 104] }), yaxis: axis(theme, { title: { text: "accuracy (%)" }, range: [-4, 104] }) }) };
}

// How far every cell is from the paper: a row per experiment, or per dataset where there is one experiment.
function differences(cells, theme) {
  const many = DATA.records.length > 1;
  const group = (cell) => (many ? DATA.records[cell.record].title : cell.column);
  const groups = [...new Set(cells.map(group))];
  const data = Object.keys(VERDICTS).map((word) => {
    const here = cells.filter((cell) => cell.word === word);
    return { type: "scatter", mode: "markers", name: word, x: here.map((cell) => cell.difference),
      // A little up and down, so that equal numbers do not hide each other.
      y: here.map((cell) => -groups.indexOf(group(cell)) + (((cells.indexOf(cell) * 7) % 11) - 5) / 26),
      marker: { symbol: VERDICTS[word], size: word === "reproduced" ? 10 : 12, color: theme.verdicts[word], opacity: 0.85, line: { color: word === "untested" ? theme.verdicts[word] : theme.page, width: word === "untested" ? 1.5 : 0.75 } },
      text: here.map((cell) => `<b>${safe(cell.name)}</b>, ${safe(cell.column)}<br>${safe(cell.tip).replace(/; /g, "<br>")}`), hovertemplate: "%{text}<extra></extra>" };
  }).filter((trace) => trace.x.length);
  const far = Math.max(1, ...cells.map((cell) => Math.abs(cell.difference))) * 1.12;
  return [{ data, layout: layout(theme, {
    height: 100 + 62 * groups.length, annotations: groups.map((name, row) => rowName(theme, name, -row, 14)),
    shapes: [{ type: "line", x0: 0, x1: 0, y0: 0, y1: 1, yref: "paper", line: { color: theme.soft, width: 1.5 }, layer: "below" }],
    xaxis: axis(theme, { title: { text: "ours minus the paper’s (points)" }, range: [-far, far] }), yaxis: axis(theme, { visible: false, range: [0.55 - groups.length, 0.75] }),
  }) }];
}

// Validation accuracy over the grid of α and γ; ours and the paper's choice.
function selection([cell], theme) {
  const alphas = sorted(cell.grid.map((point) => point[0])), gammas = sorted(cell.grid.map((point) => point[1]));
  const at = (alpha, gamma) => cell.grid.find((point) => point[0] === alpha && point[1] === gamma);
  const z = gammas.map((gamma) => alphas.map((alpha) => { const point = at(alpha, gamma); return point ? point[2] : null; }));
  const known = z.flat().filter((value) => value !== null), low = Math.min(...known), high = Math.max(...known);
  const data = [{ type: "heatmap", z, x: range(alphas.length), y: range(gammas.length), zmin: low, zmax: high === low ? low + 1 : high, xgap: 2, ygap: 2,
    colorscale: [[0, theme.heatLow], [1, theme.heatHigh]], colorbar: { thickness: 10, outlinewidth: 0, ticksuffix: " %", tickfont: { color: theme.text } },
    text: gammas.map((gamma) => alphas.map((alpha) => { const p = at(alpha, gamma); return p ? `α = ${alpha}, γ = ${gamma}<br>${fixed(p[2])} ± ${fixed(p[3])} %<br>${p[4] ?? "–"} trials` : "not run"; })), hovertemplate: "%{text}<extra></extra>" }];
  const mark = (point, name, symbol, shift) => {
    if (!point) return;
    const x = alphas.indexOf(point[0]), y = gammas.indexOf(point[1]);
    data.push({ type: "scatter", mode: "markers", name, x: [x < 0 ? null : x + shift], y: [y < 0 ? null : y + 0.28], hoverinfo: "name",
      marker: { symbol, size: 15, color: theme.mark, line: { color: symbol.endsWith("open") ? theme.mark : theme.page, width: symbol.endsWith("open") ? 2.5 : 1 } } });
  };
  mark(cell.chosen, "chosen here", "star", -0.3);
  mark(cell.paperChosen, "chosen in the paper", "diamond-open", 0.3);
  const middle = low + 0.55 * (high - low);
  return [{ data, least: 90 + 74 * alphas.length, layout: layout(theme, { height: 140 + 66 * gammas.length, showlegend: true,
    annotations: cell.grid.filter((point) => point[2] !== null).map((point) => ({ x: alphas.indexOf(point[0]), y: gammas.indexOf(point[1]), text: fixed(point[2], 1), showarrow: false, font: { size: 12.5, color: point[2] > middle ? theme.heatInk : theme.text } })),
    xaxis: axis(theme, { title: { text: "α" }, tickvals: range(alphas.length), ticktext: alphas.map(String), showgrid: false, ticks: "" }),
    yaxis: axis(theme, { title: { text: "γ" }, tickvals: range(gammas.length), ticktext: gammas.map(String), showgrid: false, ticks: "" }) }) }];
}

// The FCN's loss at every point of the grid against the theorem's threshold; V is the distance between them.
function bound([cell], theme) {
  const { points, threshold } = cell.bound, places = range(points.length);
  const stems = { x: places.flatMap((at) => [at, at, null]), y: points.flatMap((point) => [threshold, point[2], null]) };
  return [{ least: 80 + 26 * points.length, data: [
    { type: "scatter", mode: "lines", name: "V, loss minus threshold", ...stems, line: { color: colour(theme, 1), width: 3 }, opacity: 0.5, hoverinfo: "skip" },
    { type: "scatter", mode: "markers", name: "the FCN’s loss", x: places, y: points.map((point) => point[2]), error_y: { type: "data", array: points.map((point) => point[3] || 0), color: theme.text, thickness: 1.25, width: 3 },
      marker: { size: 10, color: colour(theme, 0), symbol: points.map((point) => (point[4] > 0 ? "circle" : "circle-open")), line: { width: 2, color: colour(theme, 0) } },
      text: points.map((point) => `α = ${point[0]}, γ = ${point[1]}<br>loss ${fixed(point[2], 4)}<br>V ${signed(point[4])}`), hovertemplate: "%{text}<extra></extra>" },
    { type: "scatter", mode: "lines", name: "threshold", x: [-0.5, points.length - 0.5], y: [threshold, threshold], line: { color: theme.text, dash: "dash", width: 1.5 }, hovertemplate: `threshold ${fixed(threshold, 4)}<extra></extra>` },
  ], layout: layout(theme, { height: 420,
    xaxis: axis(theme, { tickvals: places, ticktext: points.map((point) => `α ${point[0]}, γ ${point[1]}`), range: [-0.5, points.length - 0.5], showgrid: false, tickangle: points.length > 6 ? -60 : 0 }),
    yaxis: axis(theme, { title: { text: "loss" }, rangemode: "tozero" }) }) }];
}

// `by`: what the reader switches besides the experiment; `extra`: a switch of the chart's own, its label and words.
const CHARTS = {
  distribution: { draw: distribution, has: (cell) => cell.scores, by: ["column"] },
  curves: { draw: curves, has: (cell) => cell.curves, by: ["column"], extra: { quantity: ["Quantity", Object.keys(QUANTITIES).map((key) => [key, QUANTITIES[key][0]])] } },
  embedding: { draw: embedding, has: (cell) => cell.embedding, by: ["column", "name"], extra: { mistakes: ["Mistakes", [["shown", "Shown"], ["highlighted", "Highlighted"]]] } },
  "soft-rank": { draw: softRank, has: (cell) => cell.softRank, by: ["column"] },
  confusion: { draw: confusion, has: (cell) => cell.confusion || cell.reliability, by: ["column", "name"], extra: { numbers: ["Numbers", [["shares", "% of the true class"], ["counts", "Counts"]]] } },
  differences: { draw: differences, has: (cell) => cell.difference !== undefined, by: [], together: true },
  selection: { draw: selection, has: (cell) => cell.grid, by: ["column", "name"] },
  bound: { draw: bound, has: (cell) => cell.bound && cell.bound.points.length, by: ["column", "name"] },
};
