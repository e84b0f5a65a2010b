// Charts of results: every trial, the distance from the paper, the grid, the bound.
"use strict";

const VERDICTS = { reproduced: "circle", higher: "triangle-up", lower: "triangle-down", undecided: "diamond-open" };

// Every trial of every method on one dataset, and the paper's number below.
function distribution(cells, theme) {
  const data = cells.map((cell, row) => ({
    type: "box",
    orientation: "h",
    name: safe(cell.name),
    x: cell.scores,
    y0: -row,
    width: 0.42,
    boxpoints: "all",
    pointpos: 0,
    jitter: 0.7,
    hoveron: "points",
    showlegend: false,
    fillcolor: faint(methodColour(theme, cell), 0.14),
    line: { color: methodColour(theme, cell), width: 1.5 },
    marker: { color: methodColour(theme, cell), size: cell.scores.length > 40 ? 4 : 6, opacity: 0.65 },
    ...hover(cell.scores.map((score, trial) => `trial ${trial}: ${fixed(score)} %`)),
  }));
  const failed = cells.flatMap((cell, row) => cell.failed.map((trial) => [cell.scores[trial], -row, trial]));
  if (failed.length) data.push(failedTrials(failed, theme));
  const quoted = cells.map((cell, row) => [cell.paper, -row]).filter(([paper]) => paper);
  if (quoted.length) data.push(paperNumbers(quoted, theme));
  return [{
    data,
    layout: layout(theme, {
      height: 90 + 74 * cells.length,
      annotations: cells.map((cell, row) => rowName(theme, cell.name, row, 19)),
      xaxis: axis(theme, { ticksuffix: " %" }),
      yaxis: axis(theme, { visible: false, range: [0.55 - cells.length, 0.65] }),
    }),
  }];
}

function failedTrials(failed, theme) {
  return {
    type: "scatter",
    mode: "markers",
    name: "failed trial, counted with the others",
    x: failed.map(([score]) => score),
    y: failed.map(([, row]) => row),
    marker: { symbol: "x", size: 10, color: theme.bad, line: { color: theme.page, width: 1 } },
    ...hover(failed.map(([score, , trial]) => `trial ${trial} failed: ${fixed(score)} %`)),
  };
}

function paperNumbers(quoted, theme) {
  const stds = quoted.map(([[, std]]) => std || 0);
  return {
    type: "scatter",
    mode: "markers",
    name: "the paper, ± one standard deviation",
    x: quoted.map(([[mean]]) => mean),
    y: quoted.map(([, row]) => row - 0.33),
    error_x: { type: "data", array: stds, color: theme.text, thickness: 1.5, width: 4 },
    marker: { symbol: "diamond", size: 9, color: theme.text },
    ...hover(quoted.map(([[mean, std]]) => `the paper: ${spread(mean, std)} %`)),
  };
}

// How far every cell is from the paper: a row per experiment, or per dataset where there is one experiment.
function differences(cells, theme) {
  const group = (cell) => (DATA.records.length > 1 ? DATA.records[cell.record].title : cell.column);
  const groups = [...new Set(cells.map(group))];
  // A little up and down, so that equal numbers do not hide each other.
  const height = (cell) => -groups.indexOf(group(cell)) + (((cells.indexOf(cell) * 7) % 11) - 5) / 26;
  const told = (cell) => `<b>${safe(cell.name)}</b>, ${safe(cell.column)}<br>${safe(cell.tip).replace(/; /g, "<br>")}`;
  const data = Object.keys(VERDICTS).map((word) => {
    const here = cells.filter((cell) => cell.word === word), open = word === "undecided";
    return {
      type: "scatter",
      mode: "markers",
      name: word,
      x: here.map((cell) => cell.difference),
      y: here.map(height),
      marker: {
        symbol: VERDICTS[word],
        size: word === "reproduced" ? 10 : 12,
        color: theme.verdicts[word],
        opacity: 0.85,
        line: { color: open ? theme.verdicts[word] : theme.page, width: open ? 1.5 : 0.75 },
      },
      ...hover(here.map(told)),
    };
  });
  const far = 1.12 * Math.max(1, ...cells.map((cell) => Math.abs(cell.difference)));
  const zero = { type: "line", x0: 0, x1: 0, y0: 0, y1: 1, yref: "paper", layer: "below" };
  return [{
    data: data.filter((trace) => trace.x.length),
    layout: layout(theme, {
      height: 100 + 62 * groups.length,
      annotations: groups.map((name, row) => rowName(theme, name, row, 14)),
      shapes: [{ ...zero, line: { color: theme.soft, width: 1.5 } }],
      xaxis: axis(theme, { title: { text: "ours minus the paper’s (points)" }, range: [-far, far] }),
      yaxis: axis(theme, { visible: false, range: [0.55 - groups.length, 0.75] }),
    }),
  }];
}

// Validation accuracy over the grid of α and γ; our choice and the paper's.
function selection([cell], theme, choice, width) {
  const alphas = sorted(cell.grid.map(([alpha]) => alpha)), gammas = sorted(cell.grid.map(([, gamma]) => gamma));
  const find = (alpha, gamma) => cell.grid.find((point) => point[0] === alpha && point[1] === gamma);
  const table = (value) => gammas.map((gamma) => alphas.map((alpha) => value(find(alpha, gamma))));
  const told = ([alpha, gamma, mean, std, trials]) =>
    `α = ${alpha}, γ = ${gamma}<br>${spread(mean, std)} %<br>${trials ?? "–"} trials`;
  const known = cell.grid.filter(([, , mean]) => mean !== null), means = known.map(([, , mean]) => mean);
  const low = known.length ? Math.min(...means) : 0, high = known.length ? Math.max(...means) : 1;
  const data = [{
    type: "heatmap",
    z: table((point) => (point ? point[2] : null)),
    x: range(alphas.length),
    y: range(gammas.length),
    zmin: low,
    zmax: high > low ? high : low + 1,
    xgap: 2,
    ygap: 2,
    colorscale: heat(theme),
    showscale: width >= 600, // the numbers stand in the squares
    colorbar: { thickness: 10, outlinewidth: 0, ticksuffix: " %" },
    ...hover(table((point) => (point ? told(point) : "not run"))),
  }];
  const at = ([alpha, gamma]) => [alphas.indexOf(alpha), gammas.indexOf(gamma)];
  if (cell.chosen) data.push(gridMark(theme, "chosen here", "star", at(cell.chosen), -0.3));
  if (cell.paperChosen) data.push(gridMark(theme, "chosen in the paper", "diamond-open", at(cell.paperChosen), 0.3));
  const dark = (mean) => mean > low + 0.55 * (high - low);
  return [{
    data,
    least: 60 + 62 * alphas.length,
    layout: layout(theme, {
      height: 140 + 66 * gammas.length,
      showlegend: true,
      annotations: known.map((point) => cellNumber(theme, ...at(point), fixed(point[2], 1), dark(point[2]))),
      xaxis: nameAxis(theme, alphas.map(String), { title: { text: "α" } }),
      yaxis: nameAxis(theme, gammas.map(String), { title: { text: "γ" } }),
    }),
  }];
}

function gridMark(theme, name, symbol, [x, y], shift) {
  const off = x < 0 || y < 0, open = symbol.endsWith("open");
  return {
    type: "scatter",
    mode: "markers",
    name: off ? `${name}: not in this grid` : name,
    x: [off ? null : x + shift],
    y: [off ? null : y + 0.28],
    hoverinfo: "name",
    marker: {
      symbol,
      size: 15,
      color: theme.mark,
      line: { color: open ? theme.mark : theme.page, width: open ? 2.5 : 1 },
    },
  };
}

// The FCN's loss at every point of the grid against the theorem's threshold; V is the distance between them.
function bound([cell], theme) {
  const { points, threshold } = cell.bound, places = range(points.length), ends = [-0.5, points.length - 0.5];
  const told = ([alpha, gamma, loss, std, excess]) =>
    `α = ${alpha}, γ = ${gamma}<br>loss ${fixed(loss, 4)}<br>V ${fixed(excess, 4)}`;
  const excesses = {
    type: "scatter",
    mode: "lines",
    name: "V, loss minus threshold",
    x: places.flatMap((place) => [place, place, null]),
    y: points.flatMap(([, , loss]) => [threshold, loss, null]),
    line: { color: colour(theme, 1), width: 3 },
    opacity: 0.5,
    hoverinfo: "skip",
  };
  const stds = points.map(([, , , std]) => std || 0);
  const losses = {
    type: "scatter",
    mode: "markers",
    name: "the FCN’s loss",
    x: places,
    y: points.map(([, , loss]) => loss),
    error_y: { type: "data", array: stds, color: theme.text, thickness: 1.25, width: 3 },
    marker: {
      size: 10,
      color: colour(theme, 0),
      symbol: points.map((point) => (point[4] > 0 ? "circle" : "circle-open")),
      line: { width: 2, color: colour(theme, 0) },
    },
    ...hover(points.map(told)),
  };
  const limit = {
    type: "scatter",
    mode: "lines",
    name: "threshold",
    x: ends,
    y: [threshold, threshold],
    line: { color: theme.text, dash: "dash", width: 1.5 },
    ...hover(ends.map(() => `threshold ${fixed(threshold, 4)}`)),
  };
  const names = points.map(([alpha, gamma]) => `α ${alpha}, γ ${gamma}`);
  return [{
    data: [excesses, losses, limit],
    least: 80 + 26 * points.length,
    layout: layout(theme, {
      height: 420,
      xaxis: nameAxis(theme, names, { range: ends, tickangle: points.length > 6 ? -60 : 0 }),
      yaxis: axis(theme, { title: { text: "loss" }, rangemode: "tozero" }),
    }),
  }];
}
