// Charts of what goes on in a run: curves, embeddings, soft ranks, mistakes and confidence.
"use strict";

const QUANTITIES = {
  val_accuracy: ["Validation accuracy", "%"],
  train_loss: ["Training loss", ""],
  val_loss: ["Validation loss", ""],
};
const ROLES = ["training", "validation", "test", "none"];
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "pentagon", "hexagon", "star", "triangle-down", "cross"];
const DASHES = ["solid", "dash", "dot", "dashdot"];
const MOST_CURVES = 6;
const PAIR_WIDTH = 700; // wider, two pictures stand side by side
const MANY_CLASSES = 12; // fewer have room for their names and numbers

// A quantity over the epochs, every method of one dataset.
function curves(cells, theme, choice, width) {
  const [name, unit] = QUANTITIES[choice.quantity];
  const ours = (cell) => cell.name.startsWith("GraphMix");
  // More than a few at once are a tangle: the paper's own method first, the rest wait in the legend.
  const shown = [...cells.filter(ours), ...cells.filter((cell) => !ours(cell))].slice(0, MOST_CURVES);
  const held = cells.filter((cell) => cell.curves[choice.quantity]);
  return [{
    data: held.flatMap((cell, place) => curve(cell, place, choice.quantity, theme, shown.includes(cell))),
    layout: layout(theme, {
      // The legend has half of it at most, and on a phone a line for each name.
      height: width < 600 ? 320 + 24 * held.length : 400 + 8 * held.length,
      xaxis: axis(theme, { title: { text: "epoch" } }),
      yaxis: axis(theme, { title: { text: unit ? `${name} (${unit})` : name }, ...settled(shown, choice.quantity) }),
    }),
  }];
}

// The frame that holds the curves once they have settled: the climb of the first epochs would flatten all that follows.
// A double click shows everything.
function settled(cells, quantity) {
  const values = cells.filter((cell) => cell.curves[quantity]).flatMap((cell) => {
    const [, low, high] = cell.curves[quantity], from = Math.floor(low.length / 10);
    return [...low.slice(from), ...high.slice(from)].filter((value) => value !== null);
  });
  if (!values.length) return {};
  const least = values.reduce((one, two) => Math.min(one, two)), most = values.reduce((one, two) => Math.max(one, two));
  const room = 0.08 * (most - least || 1);
  return { range: [least - room, most + room] };
}

function curve(cell, place, quantity, theme, shown) {
  const [mean, low, high] = cell.curves[quantity], epochs = cell.curves.epochs, unit = QUANTITIES[quantity][1];
  const told = (value, at) =>
    `${safe(cell.name)}<br>epoch ${epochs[at]}: ${fixed(value)} ${unit}<br>` +
    `${fixed(low[at])} to ${fixed(high[at])} in most trials`;
  const line = { type: "scatter", mode: "lines", x: epochs, legendgroup: `${place}`, visible: shown || "legendonly" };
  const edge = { ...line, line: { width: 0 }, showlegend: false, hoverinfo: "skip" };
  const paint = methodColour(theme, cell);
  // Where there are more methods than colours, those of the second round have dashes of their own.
  const dash = DASHES[(cell.reading + 2 * Math.floor(methodPlace(cell) / theme.colours.length)) % DASHES.length];
  return [
    { ...edge, y: low },
    { ...edge, y: high, fill: "tonexty", fillcolor: faint(paint, 0.16) },
    {
      ...line,
      y: mean,
      name: short(cell.name, 40),
      line: { color: paint, width: 2.25, dash },
      ...hover(mean.map(told)),
    },
  ];
}

// The network that GraphMix was added to, so that both are seen side by side.
function plainNetwork(cell, cells) {
  const plain = /^GraphMix\((.+)\)$/.exec(cell.row)?.[1];
  const same = (one) => ["record", "column", "reading"].every((key) => one[key] === cell[key]);
  return cells.filter((one) => one.row === plain && same(one)).slice(0, 1);
}

// The t-SNE pictures of a run, and of the plain network beside it.
function embedding(cells, theme, choice, width) {
  const several = cells.length > 1, room = several && width > PAIR_WIDTH ? width / 2 : width;
  return cells.map((cell) => ({ ...hiddenStates(cell, theme, choice, room), heading: several ? cell.name : "", cell }));
}

// One picture: colour is the true class, an open mark a wrong prediction.
function hiddenStates(cell, theme, choice, width) {
  const cloud = cell.embedding, names = DATA.classes[cell.classes], nodes = range(cloud.x.length);
  const wrong = nodes.map((at) => cloud.label[at] >= 0 && cloud.label[at] !== cloud.predicted[at]);
  const dimmed = choice.mistakes === "highlighted";
  const data = sorted(cloud.label).flatMap((label) => [false, true].flatMap((open) => {
    const here = nodes.filter((at) => cloud.label[at] === label && wrong[at] === open);
    // The right ones stand in the legend for their class, even where there are none.
    return open && !here.length ? [] : [nodeMarks(cloud, names, label, here, open, theme, dimmed)];
  }));
  data.push({
    type: "scatter",
    mode: "markers",
    name: "open: wrong prediction",
    x: [null],
    y: [null],
    hoverinfo: "skip",
    marker: { symbol: "circle-open", size: 8, color: theme.text, line: { width: 1.75 } },
  });
  const narrow = width < 700, none = { visible: false, showgrid: false };
  const below = { orientation: "h", x: 0, y: 0, yanchor: "top", font: { size: 12 } };
  const legendRows = Math.ceil((Math.min(names.length, MANY_CLASSES) + 1) / 2);
  return {
    data,
    caption: cloudCaption(cell.name, cloud, wrong.filter(Boolean).length),
    layout: layout(theme, {
      height: Math.min(width, 680) + (narrow ? 26 * legendRows : 0),
      // A finger scrolls the page; a mouse moves the picture.
      dragmode: matchMedia("(hover: hover)").matches ? "pan" : false,
      showlegend: !(narrow && names.length > MANY_CLASSES),
      legend: narrow ? below : { x: 1.01, y: 0.94, font: { size: 12.5 } },
      xaxis: none,
      yaxis: { ...none, scaleanchor: "x" },
    }),
  };
}

function nodeMarks(cloud, names, label, here, open, theme, dimmed) {
  const many = names.length > theme.colours.length && label >= 0;
  const symbol = many ? SYMBOLS[Math.floor(label / theme.colours.length) % SYMBOLS.length] : "circle";
  const told = (at) =>
    `<b>node ${cloud.node[at]}</b> (${ROLES[cloud.role[at]]})<br>` +
    `class ${label < 0 ? "unknown" : safe(names[label])}<br>` +
    `predicted ${safe(names[cloud.predicted[at]])}${open ? " (wrong)" : ""}<br>confidence ${cloud.confidence[at]} %`;
  return {
    type: "scatter",
    mode: "markers",
    name: label < 0 ? "unknown class" : short(names[label], 28),
    legendgroup: String(label),
    showlegend: !open,
    x: here.length ? here.map((at) => cloud.x[at]) : [null],
    y: here.length ? here.map((at) => cloud.y[at]) : [null],
    marker: {
      symbol: open ? `${symbol}-open` : symbol,
      size: open ? 8 : 6.5,
      color: label < 0 ? theme.soft : colour(theme, label),
      opacity: open ? 1 : dimmed ? 0.12 : 0.8,
      line: { width: open ? 1.75 : 0 },
    },
    ...hover(here.map(told)),
  };
}

function cloudCaption(name, cloud, mistakes) {
  const shown = cloud.x.length, known = cloud.label.filter((label) => label >= 0).length;
  const drawn = `${counted(shown)} of ${counted(cloud.nodes)} nodes, drawn at random`;
  return (
    `${name}, trial 0: ${shown < cloud.nodes ? drawn : `all ${counted(shown)} nodes`}. The prediction is wrong for ` +
    `${counted(mistakes)} of the ${counted(known)} shown whose class is known, training nodes included.`
  );
}

// The soft rank of each class, every method of one dataset.
function softRank(cells, theme, choice, width) {
  const names = DATA.classes[cells[0].classes], shown = names.map((name) => short(name, width < 600 ? 14 : 22));
  // Lying names that touch would be left out.
  const longest = Math.max(...names.map((name) => Math.min(name.length, 22)));
  const tickangle = longest * 7.5 > (width - 60) / names.length ? -40 : 0;
  const data = cells.map((cell) => {
    const [mean, low, high] = cell.softRank;
    const told = (value, at) =>
      `${safe(names[at])}<br>${safe(cell.name)}: ${fixed(value)}<br>` +
      `${fixed(low[at])} to ${fixed(high[at])} in most trials`;
    return {
      type: "bar",
      name: short(cell.name, 40),
      x: range(mean.length),
      y: mean,
      marker: { color: methodColour(theme, cell), opacity: cell.reading ? 0.6 : 1 },
      error_y: {
        type: "data",
        symmetric: false,
        array: mean.map((value, at) => (value === null ? 0 : high[at] - value)),
        arrayminus: mean.map((value, at) => (value === null ? 0 : value - low[at])),
        color: theme.text,
        thickness: 1.25,
        width: 3,
      },
      textposition: "none",
      ...hover(mean.map(told)),
    };
  });
  return [{
    data,
    least: 60 + names.length * (12 + 10 * cells.length),
    layout: layout(theme, {
      height: 400,
      barmode: "group",
      bargap: 0.3,
      showlegend: true,
      xaxis: nameAxis(theme, shown, { tickangle }),
      yaxis: axis(theme, { title: { text: "soft rank" }, rangemode: "tozero" }),
    }),
  }];
}

// Who is taken for whom, and whether confidence keeps its word.
function confusion([cell], theme, choice, width) {
  const panels = [];
  if (cell.confusion) panels.push(matrix(cell.confusion, DATA.classes[cell.classes], "nodes", theme, choice.numbers === "counts", width));
  if (cell.reliability) panels.push(reliability(cell.reliability, theme));
  return panels;
}

function matrix(confusion, names, things, theme, counts, width) {
  const size = names.length, few = size <= MANY_CLASSES;
  const shares = confusion.map((row) => {
    const total = row.reduce((sum, value) => sum + value, 0);
    return row.map((value) => (total ? (100 * value) / total : null));
  });
  const told = (value, from, to) =>
    `true ${safe(names[from])}<br>predicted ${safe(names[to])}<br>` +
    `${counted(value)} ${things}, ${fixed(shares[from][to], 1)} % of the class`;
  const most = !few ? 14 : width < 600 ? 11 : 18;
  const longest = Math.max(...names.map((name) => Math.min(name.length, most)));
  const crowded = longest * 7.5 > (Math.min(width, 480) - 120) / size;
  const shown = names.map((name) => short(name, most)), tickfont = { size: few ? 12 : 8.5 };
  const tickangle = !few ? -90 : crowded ? -40 : 0;
  const side = few ? 440 : 130 + size * 11;
  return {
    heading: "Confusion",
    caption: few ? "" : "No room for so many numbers: point at a square. Small shares are coloured strongly.",
    least: few ? Math.max(320, 130 + 38 * size) : side,
    wide: !few,
    data: [{
      type: "heatmap",
      z: shares,
      x: range(size),
      y: range(size),
      zmin: 0,
      zmax: 100,
      xgap: 1,
      ygap: 1,
      colorscale: few ? heat(theme) : steepHeat(theme),
      showscale: false,
      ...hover(confusion.map((row, from) => row.map((value, to) => told(value, from, to)))),
    }],
    layout: layout(theme, {
      height: side,
      annotations: few ? matrixNumbers(confusion, shares, theme, counts) : [],
      xaxis: nameAxis(theme, shown, { tickfont, tickangle, title: { text: "predicted class", standoff: 10 } }),
      yaxis: nameAxis(theme, shown, { tickfont, autorange: "reversed", title: { text: "true class", standoff: 10 } }),
    }),
  };
}

function matrixNumbers(confusion, shares, theme, counts) {
  const size = shares.length > 8 ? 10 : 12;
  const text = (from, to) => {
    if (counts) return counted(confusion[from][to]);
    return shares[from][to] < 0.5 ? "&lt;1" : shares[from][to].toFixed(0);
  };
  return range(shares.length).flatMap((from) => range(shares.length)
    .filter((to) => confusion[from][to] > 0)
    .map((to) => cellNumber(theme, to, from, text(from, to), shares[from][to] > 55, size)));
}

function reliability(bins, theme) {
  const held = (bin) => bins.count[bin] > 0 && bins.confidence[bin] !== null && bins.accuracy[bin] !== null;
  const full = range(bins.count.length).filter(held), most = Math.max(1, ...full.map((bin) => bins.count[bin]));
  const x = full.map((bin) => bins.confidence[bin]), y = full.map((bin) => bins.accuracy[bin]);
  const told = (bin) =>
    `${fixed(bins.confidence[bin], 1)} % sure, ${fixed(bins.accuracy[bin], 1)} % right<br>` +
    `${counted(bins.count[bin])} nodes`;
  const line = { type: "scatter", mode: "lines", hoverinfo: "skip" };
  return {
    heading: `Calibration: ECE ${fixed(bins.ece, 1)} %`,
    least: 280,
    data: [
      {
        ...line,
        name: "as sure as right",
        x: [0, 100],
        y: [0, 100],
        line: { color: theme.soft, dash: "dash", width: 1.5 },
      },
      {
        ...line,
        name: "gap",
        x: x.flatMap((value) => [value, value, null]),
        y: y.flatMap((value, at) => [x[at], value, null]),
        line: { color: colour(theme, 1), width: 3 },
        opacity: 0.5,
      },
      {
        type: "scatter",
        mode: "lines+markers",
        name: "test nodes by confidence",
        x,
        y,
        line: { color: colour(theme, 0), width: 1.5 },
        marker: {
          color: colour(theme, 0),
          size: full.map((bin) => 6 + 16 * Math.sqrt(bins.count[bin] / most)),
          line: { color: theme.page, width: 1 },
        },
        ...hover(full.map(told)),
      },
    ],
    layout: layout(theme, {
      height: 440,
      showlegend: false,
      xaxis: axis(theme, { title: { text: "confidence (%)" }, range: [-4, 104] }),
      yaxis: axis(theme, { title: { text: "accuracy (%)" }, range: [-4, 104] }),
    }),
  };
}
