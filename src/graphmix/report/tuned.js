// Charts of a search: every point in order, which hyperparameters mattered, and scores by their values.
"use strict";

const LETTERS = { alpha: "α", gamma: "γ", temperature: "T" };
const named = (name) => LETTERS[name] || name;
const STATES = [
  ["done", "trained to the end", "circle"],
  ["stopped", "stopped early", "circle-open"],
];

// A number in as few digits as say it.
const plain = (value) => (typeof value === "number" ? String(Number(value.toPrecision(3))) : String(value));

function toldPoint({ number, score, std, state, start, settings }) {
  const what = Object.entries(settings).map(([name, value]) => `${safe(named(name))} = ${safe(plain(value))}`);
  const how = state === "stopped" ? `stopped at ${fixed(score)} %` : `${spread(score, std)} %`;
  return [`point ${number}${start ? ", the defaults" : ""}: ${how}`, ...what].join("<br>");
}

// The points of one kind, placed by `x`.
function pointMarks(points, x, name, marker) {
  return {
    type: "scatter",
    mode: "markers",
    name,
    x: points.map(x),
    y: points.map(({ score }) => score),
    marker,
    cliponaxis: false,
    ...hover(points.map(toldPoint)),
  };
}

// All points: those trained to the end, those stopped, the defaults and the best.
function allMarks(points, x, theme, size = 9) {
  const { best } = DATA.tuned, own = (point) => point.start || point.number === best;
  const data = STATES.flatMap(([state, name, symbol]) => {
    const here = points.filter((point) => point.state === state && !own(point));
    const marker = { symbol, size, color: colour(theme, 0), opacity: 0.75, line: { width: 1.5, color: colour(theme, 0) } };
    return here.length ? [pointMarks(here, x, name, marker)] : [];
  });
  const start = points.filter((point) => point.start && point.number !== best);
  const line = { color: theme.page, width: 1 };
  if (start.length) {
    data.push(pointMarks(start, x, "the defaults", { symbol: "diamond", size: size + 4, color: colour(theme, 2), line }));
  }
  const first = points.filter(({ number }) => number === best);
  const name = first.length && first[0].start ? "the best: the defaults" : "the best";
  if (first.length) data.push(pointMarks(first, x, name, { symbol: "star", size: size + 8, color: theme.mark, line }));
  return data;
}

// The frame that holds the better half of the points, and the defaults: a few bad ones would flatten all others.
function scoreFrame(points) {
  const scores = sorted(points.map(({ score }) => score)), own = points.filter(({ start }) => start);
  const middle = scores[Math.floor(scores.length / 4)], most = scores[scores.length - 1];
  const least = Math.min(middle, ...own.map(({ score }) => score)), room = 0.15 * (most - least || 1);
  return [least - room, most + room];
}

// Scores in the order of the points, and the best so far.
function pointHistory(cells, theme) {
  const { points, metric } = DATA.tuned, ended = points.filter(({ state }) => state === "done");
  const best = ended.map((point, at) => Math.max(...ended.slice(0, at + 1).map(({ score }) => score)));
  const steps = {
    type: "scatter",
    mode: "lines",
    name: "best so far",
    x: ended.map(({ number }) => number),
    y: best,
    line: { shape: "hv", color: theme.soft, width: 2 },
    hoverinfo: "skip",
  };
  const frame = scoreFrame(points), below = points.filter(({ score }) => score < frame[0]).length;
  return [{
    data: [steps, ...allMarks(points, ({ number }) => number, theme)],
    caption: below ? `${below} ${below === 1 ? "point is" : "points are"} below the frame; the table has all.` : "",
    layout: layout(theme, {
      height: 420,
      xaxis: axis(theme, { title: { text: "point" }, rangemode: "tozero" }),
      yaxis: axis(theme, { title: { text: `${metric} (%)` }, range: frame }),
    }),
  }];
}

// The share of each hyperparameter.
function importances(cells, theme) {
  const rows = DATA.tuned.importances;
  return [{
    data: [{
      type: "bar",
      orientation: "h",
      x: rows.map(([, share]) => share),
      y: rows.map((row, at) => -at),
      width: 0.3,
      marker: { color: colour(theme, 0) },
      ...hover(rows.map(([name, share]) => `${safe(named(name))}: ${fixed(share, 1)} %`)),
      texttemplate: rows.map(([, share]) => `${fixed(share, 0)} %`),
      textposition: "outside",
      cliponaxis: false,
    }],
    layout: layout(theme, {
      height: 60 + 46 * rows.length,
      showlegend: false,
      annotations: rows.map(([name], at) => rowName(theme, named(name), at, 9)),
      xaxis: axis(theme, { title: { text: "share of the explained differences (%)" }, range: [0, 108] }),
      yaxis: axis(theme, { visible: false, range: [0.6 - rows.length, 0.75] }),
    }),
  }];
}

// Scores by the value of one hyperparameter.
function slices(cells, theme, choice) {
  const { points, log, metric, names } = DATA.tuned, name = choice.name || names[0];
  const here = points.filter(({ settings }) => settings[name] !== undefined);
  const values = here.map(({ settings }) => settings[name]);
  const numeric = values.every((value) => typeof value === "number");
  const kinds = [...new Set(values.map(String))].sort();
  // Equal values side by side, so that marks do not hide each other.
  const place = ({ settings, number }) =>
    numeric ? settings[name] : kinds.indexOf(String(settings[name])) + (((number * 7) % 11) - 5) / 30;
  const title = { title: { text: named(name) } };
  const missing = points.length - here.length;
  return [{
    data: allMarks(here, place, theme),
    caption: missing ? `${missing} of ${points.length} points have a network that does not read it.` : "",
    layout: layout(theme, {
      height: 400,
      xaxis: numeric
        ? axis(theme, { ...title, type: log.includes(name) ? "log" : "linear", ...(log.includes(name) ? { dtick: 1 } : {}) })
        : nameAxis(theme, kinds.map((kind) => short(kind)), { ...title, range: [-0.6, kinds.length - 0.4] }),
      yaxis: axis(theme, { title: { text: `${metric} (%)` }, range: scoreFrame(points) }),
    }),
  }];
}

if (DATA.tuned) {
  const { points, names, best, importances: shares } = DATA.tuned;
  Object.assign(CHARTS, {
    history: own(pointHistory, () => `${points.length} points, the best is point ${best}`),
    importances: own(importances, () => shares.map(([name, share]) => `${named(name)} ${fixed(share, 0)} %`).join(", ")),
    slices: own(slices, () => `${points.length} points by the value of a hyperparameter`,
      { name: ["Hyperparameter", names.map((name) => [name, named(name)])] }),
  });
}
