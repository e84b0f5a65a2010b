// Charts of a fitted model: calibration, abstention, prediction sets, classes.
"use strict";

const FEWEST_KEPT = DATA.fitted?.fewestKept;

// Confidence against accuracy before and after: on the dashed line the model is as sure as it ought to be.
function calibration(cells, theme, choice, width) {
  const { before, after, fitted } = DATA.fitted.calibration;
  const most = Math.max(1, ...before.count, ...after.count), off = (table) => `${fixed(table.ece, 1)} points off`;
  const drawn = fitted
    ? [
      bins(before, `before: ${off(before)}`, "circle-open", colour(theme, 1), "dot", most),
      bins(after, `after: ${off(after)}`, "circle", colour(theme, 0), "solid", most),
    ]
    : [bins(before, `without calibration: ${off(before)}`, "circle", colour(theme, 0), "solid", most)];
  return [{
    data: [
      {
        type: "scatter",
        mode: "lines",
        name: "as sure as right",
        x: [0, 100],
        y: [0, 100],
        hoverinfo: "skip",
        line: dashed(theme),
      },
      ...drawn,
    ],
    layout: layout(theme, {
      height: Math.min(width, 520) + 40,
      xaxis: axis(theme, { title: { text: "how sure the model is (%)" }, range: [-4, 104] }),
      yaxis: axis(theme, { title: { text: "how often it is right (%)" }, range: [-6, 106] }),
    }),
  }];
}

function bins(table, name, symbol, paint, dash, most) {
  const held = (bin) => table.count[bin] > 0 && table.confidence[bin] !== null && table.accuracy[bin] !== null;
  const full = range(table.count.length).filter(held);
  const told = (bin) =>
    `${name.split(":")[0].replace(" calibration", "")} calibration<br>${fixed(table.confidence[bin], 1)} % sure, ` +
    `${fixed(table.accuracy[bin], 1)} % right<br>${counted(table.count[bin])} labels`;
  return {
    type: "scatter",
    mode: "lines+markers",
    name,
    x: full.map((bin) => table.confidence[bin]),
    y: full.map((bin) => table.accuracy[bin]),
    line: { color: paint, width: 1.5, dash },
    marker: {
      symbol,
      color: paint,
      opacity: 0.9,
      size: full.map((bin) => 6 + 16 * Math.sqrt(table.count[bin] / most)),
      line: { width: symbol === "circle" ? 0 : 2, color: paint },
    },
    ...hover(full.map(told)),
  };
}

// What keeping only the surest predictions buys, the target, and the level that was chosen.
function abstention(cells, theme) {
  const held = DATA.fitted.abstention, { kept, right, threshold } = held;
  const told = (at) =>
    `confidence ${fixed(threshold[at] / 100)} or more<br>${fixed(kept[at], 1)} % of held-out labels, ` +
    `${fixed(right[at], 1)} % of them right`;
  // The few surest being right or wrong is luck, and would flatten the rest.
  const many = range(kept.length).filter((at) => kept[at] * DATA.fitted.held >= 100 * FEWEST_KEPT);
  const drawn = many.length ? many : range(kept.length);
  const data = [
    {
      type: "scatter",
      mode: "lines",
      name: "held-out labels",
      x: drawn.map((at) => kept[at]),
      y: drawn.map((at) => right[at]),
      line: { color: colour(theme, 0), width: 2.25 },
      ...hover(drawn.map(told)),
    },
    {
      type: "scatter",
      mode: "lines",
      name: `target: ${held.target} %`,
      x: [0, 100],
      y: [held.target, held.target],
      hoverinfo: "skip",
      line: dashed(theme),
    },
  ];
  if (held.level !== null && held.accuracy !== null && !held.undecided) data.push(chosenLevel(held, theme));
  const least = Math.min(held.target, ...drawn.map((at) => right[at]));
  return [{
    data,
    caption: abstentionCaption(held, many.length > 0 && many.length < kept.length),
    layout: layout(theme, {
      height: 400,
      xaxis: axis(theme, { title: { text: "held-out labels kept, the surest first (%)" }, range: [0, 101] }),
      yaxis: axis(theme, { title: { text: "right among those kept (%)" }, range: [least - 4, 102] }),
    }),
  }];
}

function abstentionCaption(held, cut) {
  if (DATA.fitted.held < FEWEST_KEPT) return `${counted(DATA.fitted.held)} labels: the curve may be due to chance.`;
  const start = cut ? `The curve begins at ${FEWEST_KEPT} labels: fewer say little. ` : "";
  if (held.level === null || held.level === 0) return start;
  const kept = `${fixed(keptAt(held), 1)} % of the held-out labels are kept`;
  return `${start}${kept}, and ${fixed(held.keptOfAll, 1)} % of all predictions.`;
}

function chosenLevel(held, theme) {
  return {
    type: "scatter",
    mode: "markers",
    name: held.level === 0 ? "chosen: keep all" : `chosen: confidence ${fixed(held.level)} or more`,
    x: [keptAt(held)],
    y: [held.accuracy],
    marker: { symbol: "diamond", size: 14, color: theme.mark, line: { color: theme.page, width: 1.5 } },
    cliponaxis: false,
    ...hover([`confidence ${fixed(held.level)} or more<br>${fixed(held.accuracy, 1)} % right`]),
  };
}

// The share of held-out labels at a level: between the points of the curve, which are some of all.
function keptAt({ level, threshold, kept }) {
  const at = threshold.findIndex((value) => value < 100 * level - 0.01);
  if (at < 0) return kept.length ? kept[kept.length - 1] : 100;
  if (at === 0) return kept[0];
  const share = (threshold[at - 1] - 100 * level) / (threshold[at - 1] - threshold[at]);
  return kept[at - 1] + Math.min(1, Math.max(0, share)) * (kept[at] - kept[at - 1]);
}

// How many classes the sets of all predictions have.
function sizes(cells, theme) {
  const { sizes: counts, total } = DATA.fitted, share = (count) => (total ? (100 * count) / total : 0);
  const told = ([size, count]) =>
    `${counted(count)} sets of ${size} ${size === 1 ? "class" : "classes"}, ${fixed(share(count), 1)} %`;
  const few = counts.length <= 10, ticks = few ? { tickvals: counts.map(([size]) => size) } : {};
  return [{
    data: [{
      type: "bar",
      name: "predictions",
      x: counts.map(([size]) => size),
      y: counts.map(([, count]) => share(count)),
      marker: { color: colour(theme, 0) },
      ...hover(counts.map(told)),
      texttemplate: few ? counts.map(([, count]) => counted(count)) : undefined,
      textposition: few ? "outside" : "none",
      constraintext: "none",
      cliponaxis: false,
    }],
    layout: layout(theme, {
      height: 320,
      bargap: 0.35,
      showlegend: false,
      xaxis: axis(theme, { title: { text: "classes in the set" }, showgrid: false, ...ticks }),
      yaxis: axis(theme, { title: { text: "share of predictions (%)" }, rangemode: "tozero" }),
      margin: { l: 8, r: 12, t: 28, b: 8 },
    }),
  }];
}

// Each class's share of the labels and of the predictions: two marks and the way between them.
function classes(cells, theme, choice, width) {
  const { classes: rows, classCount, labeled, total } = DATA.fitted;
  const share = (count, all) => (all ? (100 * count) / all : 0);
  const given = rows.map(([, labels]) => share(labels, labeled));
  const made = rows.map(([, , predicted]) => share(predicted, total));
  const marks = (name, x, symbol, paint, told) => ({
    type: "scatter",
    mode: "markers",
    name,
    x,
    y: range(rows.length).map((at) => -at),
    marker: { symbol, size: 11, color: paint, line: { width: 2, color: paint } },
    cliponaxis: false,
    ...hover(rows.map(told)),
  });
  return [{
    caption: rows.length < classCount ? `The ${rows.length} most frequent of ${counted(classCount)} classes.` : "",
    data: [
      {
        type: "scatter",
        mode: "lines",
        showlegend: false,
        hoverinfo: "skip",
        x: given.flatMap((value, at) => [value, made[at], null]),
        y: given.flatMap((value, at) => [-at, -at, null]),
        line: { color: theme.line, width: 3 },
      },
      marks("labels given", given, "circle-open", colour(theme, 1), ([name, labels], at) =>
        `${safe(name)}<br>${counted(labels)} labels, ${fixed(given[at], 1)} %`),
      marks("predicted", made, "circle", colour(theme, 0), ([name, , predicted], at) =>
        `${safe(name)}<br>${counted(predicted)} predictions, ${fixed(made[at], 1)} %`),
    ],
    layout: layout(theme, {
      height: 100 + 46 * rows.length,
      annotations: rows.map(([name], at) => rowName(theme, clip(name, Math.floor(width / 8)), at, 8)),
      xaxis: axis(theme, { title: { text: "share (%)" }, rangemode: "tozero" }),
      yaxis: axis(theme, { visible: false, range: [0.4 - rows.length, 0.75] }),
    }),
  }];
}

Object.assign(CHARTS, {
  calibration: own(calibration, () => {
    const { before, after, fitted } = DATA.fitted.calibration;
    if (!fitted) return `not calibrated; expected calibration error ${fixed(before.ece, 1)} %`;
    return `expected calibration error ${fixed(before.ece, 1)} % before, ${fixed(after.ece, 1)} % after`;
  }),
  abstention: own(abstention, () => `target ${DATA.fitted.abstention.target} %`),
  sizes: own(sizes, () =>
    DATA.fitted.sizes.slice(0, 10).map(([size, count]) => `${counted(count)} of size ${size}`).join(", ")),
  classes: own(classes, () => `${DATA.fitted.classes.length} classes`),
});
