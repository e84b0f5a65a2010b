// Charts of the methods of a fit: who is in the mixture, each alone, how far behind, how networks learned, mistakes.
"use strict";

const dashed = (theme) => ({ color: theme.soft, dash: "dash", width: 1.5 });
// They are drawn from the model's own numbers, not from cells.
const own = (draw, told, extra) => ({ draw, told, extra, has: () => false, by: [], together: true });
const LEARNED = { loss: ["Log loss", ""], accuracy: ["Accuracy", " %"] };

// Each member's share in the average.
function memberShares(cells, theme) {
  const rows = DATA.fitted.members, told = (row) => `${safe(row.name)}: ${fixed(row.share, 1)} % of the average`;
  return [{
    data: [{
      type: "bar",
      orientation: "h",
      x: rows.map((row) => row.share),
      y: rows.map((row, at) => -at),
      width: 0.3,
      marker: { color: colour(theme, 0) },
      ...hover(rows.map(told)),
      texttemplate: rows.map((row) => `${fixed(row.share, 0)} %`),
      textposition: "outside",
      cliponaxis: false,
    }],
    layout: layout(theme, {
      height: 60 + 50 * rows.length,
      showlegend: false,
      annotations: rows.map((row, at) => rowName(theme, row.name, at, 9)),
      xaxis: axis(theme, { title: { text: "share of the average (%)" }, range: [0, 108], tickvals: [0, 25, 50, 75, 100] }),
      yaxis: axis(theme, { visible: false, range: [0.6 - rows.length, 0.75] }),
    }),
  }];
}

// What each method reaches alone, with its interval; the band and the dashed line are the model's.
function alone(cells, theme) {
  const [model, ...rows] = DATA.fitted.candidates;
  const kinds = [
    ["in the mixture", (row) => row.share > 0, { symbol: "circle", size: 11, color: colour(theme, 0) }],
    ["not in it", (row) => !row.share, { symbol: "circle-open", size: 11, color: colour(theme, 0), line: { width: 2.5 } }],
  ];
  const all = [model, ...rows], marked = (name, here, marker) => accuracies(all, here, name, marker, theme);
  const data = [marked("the model", [0], { symbol: "diamond", size: 13, color: theme.text })];
  for (const [name, belongs, marker] of kinds) {
    const here = range(all.length).filter((at) => at > 0 && belongs(all[at]));
    if (here.length) data.push(marked(name, here, marker));
  }
  const tall = { y0: 0, y1: 1, yref: "paper", layer: "below" };
  return [{
    data,
    layout: layout(theme, {
      height: 110 + 56 * all.length,
      annotations: all.map((row, at) => rowName(theme, row.name, at, 11)),
      shapes: [
        { ...tall, type: "rect", x0: model.interval[0], x1: model.interval[1], fillcolor: faint(theme.mark, 0.1), line: { width: 0 } },
        { ...tall, type: "line", x0: model.accuracy, x1: model.accuracy, line: dashed(theme) },
      ],
      xaxis: axis(theme, { title: { text: `right among ${counted(DATA.fitted.held)} held-out labels (%)` } }),
      yaxis: axis(theme, { visible: false, range: [0.55 - all.length, 0.65] }),
    }),
  }];
}

function accuracies(rows, here, name, marker, theme) {
  const told = ({ name: method, accuracy, interval }) =>
    `${safe(method)}<br>${fixed(accuracy, 1)} % right<br>95 % interval ${fixed(interval[0], 1)} to ${fixed(interval[1], 1)}`;
  return {
    type: "scatter",
    mode: "markers",
    name,
    x: here.map((at) => rows[at].accuracy),
    y: here.map((at) => -at),
    error_x: {
      type: "data",
      symmetric: false,
      array: here.map((at) => rows[at].interval[1] - rows[at].accuracy),
      arrayminus: here.map((at) => rows[at].accuracy - rows[at].interval[0]),
      color: marker.color,
      thickness: 2,
      width: 5,
    },
    marker,
    ...hover(here.map((at) => told(rows[at]))),
  };
}

// How far behind the first each method is, with its interval: one that reaches the line may be noise.
function comparison(cells, theme) {
  const { candidates: rows, first } = DATA.fitted, blue = colour(theme, 0);
  const kinds = [
    [first, null, { symbol: "diamond", size: 13, color: theme.text }],
    ["more than noise", true, { symbol: "circle", size: 11, color: blue }],
    ["may be noise", false, { symbol: "circle-open", size: 11, color: blue, line: { width: 2.5 } }],
  ];
  const data = kinds.flatMap(([name, certain, marker]) => {
    const here = range(rows.length).filter((at) => rows[at].certain === certain);
    return here.length ? [distances(rows, here, name, marker, theme)] : [];
  });
  return [{
    data,
    layout: layout(theme, {
      height: 110 + 62 * rows.length,
      annotations: rows.map((row, at) => rowName(theme, row.name, at, 12)),
      shapes: [{ type: "line", x0: 0, x1: 0, y0: 0, y1: 1, yref: "paper", line: dashed(theme) }],
      xaxis: axis(theme, { title: { text: `points of ${DATA.fitted.metric}, compared with ${first}` } }),
      yaxis: axis(theme, { visible: false, range: [0.55 - rows.length, 0.65] }),
    }),
  }];
}

// `−1.2 points behind` would be a riddle.
const apart = (mean) => `${fixed(Math.abs(mean), 1)} points ${mean < 0 ? "ahead" : "behind"}`;

function distances(rows, here, name, marker, theme) {
  const behind = here.map((at) => rows[at].behind || [0, 0, 0]);
  const told = (at, place) => {
    const [mean, low, high] = behind[place];
    if (rows[at].certain === null) return `${safe(rows[at].name)}: ${DATA.fitted.first}`;
    const ends = mean < 0 ? [-high, -low] : [low, high];
    return `${safe(rows[at].name)}<br>${apart(mean)}<br>95 % interval ${fixed(ends[0], 1)} to ${fixed(ends[1], 1)}`;
  };
  return {
    type: "scatter",
    mode: "markers",
    name,
    x: behind.map(([mean]) => -mean),
    y: here.map((at) => -at),
    error_x: {
      type: "data",
      symmetric: false,
      array: behind.map(([mean, low]) => mean - low),
      arrayminus: behind.map(([mean, , high]) => high - mean),
      color: colour(theme, 0),
      thickness: 2,
      width: 5,
    },
    marker,
    ...hover(here.map(told)),
  };
}

// Loss or accuracy on held-out labels over the epochs, with the epochs that were chosen.
function learning(cells, theme, choice) {
  const rows = DATA.fitted.learning, [title, unit] = LEARNED[choice.quantity];
  // More than a few at once are a tangle: members first, the rest wait in the legend.
  const first = [...rows].sort((a, b) => (b.share || 0) - (a.share || 0)).slice(0, MOST_CURVES);
  return [{
    data: rows.flatMap((row, place) => learned(row, place, choice.quantity, theme, first.includes(row))),
    layout: layout(theme, {
      height: 400 + 10 * rows.length,
      xaxis: axis(theme, { title: { text: "epochs" }, rangemode: "tozero" }),
      yaxis: axis(theme, { title: { text: `${title} of held-out labels${unit && ` (${unit.trim()})`}` }, ...framed(first, choice.quantity) }),
    }),
  }];
}

function learned(row, place, quantity, theme, shown) {
  const values = row[quantity], at = row.epochs.indexOf(row.chosen), paint = colour(theme, place);
  const digits = quantity === "loss" ? 3 : 1, unit = LEARNED[quantity][1];
  const told = (value, point) => `${safe(row.name)}<br>${counted(row.epochs[point])} epochs: ${fixed(value, digits)}${unit}`;
  const both = { type: "scatter", legendgroup: `${place}`, visible: shown || "legendonly" };
  const line = {
    ...both,
    mode: row.epochs.length > 1 ? "lines" : "markers",
    name: short(row.name, 40),
    x: row.epochs,
    y: values,
    line: { color: paint, width: 2.25, dash: DASHES[Math.floor(place / theme.colours.length) % DASHES.length] },
    ...hover(values.map(told)),
  };
  if (at < 0) return [line];
  return [line, {
    ...both,
    mode: "markers",
    showlegend: false,
    x: [row.chosen],
    y: [values[at]],
    marker: { symbol: "diamond", size: 12, color: paint, line: { color: theme.page, width: 1.5 } },
    ...hover([`${told(values[at], at)}<br>chosen`]),
  }];
}

// The frame that holds the curves once they have settled, and every mark; a double click shows everything.
function framed(rows, quantity) {
  const values = rows.flatMap((row) => {
    const at = row.epochs.indexOf(row.chosen), late = row[quantity].slice(Math.floor(row.epochs.length / 10));
    return at < 0 ? late : [...late, row[quantity][at]];
  });
  if (!values.length) return {};
  const least = values.reduce((one, two) => Math.min(one, two)), most = values.reduce((one, two) => Math.max(one, two));
  const room = 0.08 * (most - least || 1);
  return { range: [least - room, most + room] };
}

// Who is taken for whom.
function mistakes(cells, theme, choice, width) {
  const { confusion: counts, classNames } = DATA.fitted;
  return [{ ...matrix(counts, classNames, "labels", theme, choice.numbers === "counts", width), heading: "" }];
}

Object.assign(CHARTS, {
  members: own(memberShares, () =>
    DATA.fitted.members.map(({ name, share }) => `${name} ${fixed(share, 0)} %`).join(", ")),
  alone: own(alone, () =>
    DATA.fitted.candidates.map(({ name, accuracy }) => `${name} ${fixed(accuracy, 1)} %`).join(", ")),
  comparison: own(comparison, () => DATA.fitted.candidates.map((row) =>
    row.behind ? `${row.name} ${apart(row.behind[0])}` : `${row.name} is ${DATA.fitted.first}`).join(", ")),
  learning: own(learning, () => DATA.fitted.learning.map(({ name, chosen }) =>
    chosen ? `${name}, ${counted(chosen)} epochs chosen` : name).join("; "),
  { quantity: ["Quantity", Object.entries(LEARNED).map(([key, [name]]) => [key, name])] }),
  mistakes: own(mistakes, () => `${DATA.fitted.classNames.length} classes`, CHARTS.confusion.extra),
});
