// A curve of accuracy by labels as SVG, and the map of the nodes on a canvas.
import { open, redraw } from "./label.js";
import { h } from "./views.js";

const SVG = "http://www.w3.org/2000/svg";
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const hue = number => (number < 0 ? "--quiet" : `--series-${(number % 8) + 1}`);

function s(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function curve(rounds) {
  // No wider than the page, so that its text is not scaled down.
  const width = Math.min(640, document.documentElement.clientWidth - 32), height = 260, left = 44, bottom = 34, top = 12, right = 14;
  // The last round of each number of labels: the thorough one, where there were two.
  const kept = [...new Map(rounds.map(each => [each.labels, each])).values()].sort((a, b) => a.labels - b.labels);
  const most = kept[kept.length - 1].labels, least = kept[0].labels;
  const low = Math.max(0, Math.floor(Math.min(...kept.map(each => each.low), 80) / 20) * 20);
  const x = labels => left + (most === least ? .5 : (labels - least) / (most - least)) * (width - left - right);
  const y = value => top + (1 - (value - low) / (100 - low)) * (height - top - bottom);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Held-out accuracy by the number of labels, with its 95 % interval; the table of rounds has the numbers" });
  for (let value = low; value <= 100; value += (100 - low) / 4) {
    svg.append(s("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }), s("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, `${Math.round(value)} %`));
  }
  const there = kept.map(each => `${x(each.labels)},${y(each.high)}`), back = [...kept].reverse().map(each => `${x(each.labels)},${y(each.low)}`);
  svg.append(s("polygon", { class: "band", points: [...there, ...back].join(" ") }), s("polyline", { class: "curve", points: kept.map(each => `${x(each.labels)},${y(each.right)}`).join(" ") }));
  for (const each of kept) svg.append(s("circle", { class: "dot", cx: x(each.labels), cy: y(each.right), r: 3.5 }));
  for (const labels of new Set([least, most])) svg.append(s("text", { x: x(labels), y: height - 12, "text-anchor": labels === most && most !== least ? "end" : "start" }, `${labels} labels`));
  if (kept.length === 1) svg.append(s("line", { class: "curve", x1: x(least), x2: x(least), y1: y(kept[0].low), y2: y(kept[0].high) }));
  return svg;
}

function map(main, got) {
  if (!got.points) {
    main.replaceChildren(h("section", { class: "empty" }, h("h1", {}, "Drawing the map…"), h("p", { class: "lede" }, "Nodes that look alike to the model come to lie near each other. This takes some seconds.")));
    return;
  }
  const canvas = h("canvas", { tabindex: "0", role: "application", "aria-label": "Map of the nodes: arrow keys move to the next node, Enter opens it" });
  const name = h("p", { class: "map-name", role: "status" }, "Nodes near each other look alike to the model. Click one to open it, or use the arrow keys and Enter.");
  const some = got.points.length < got.of ? ` ${got.points.length.toLocaleString("en-GB")} of ${got.of.toLocaleString("en-GB")} nodes are drawn, all labeled ones among them.` : "";
  const keys = got.classes.slice(0, 24).map((text, number) => { const dot = h("i"); dot.style.setProperty("--hue", `var(${hue(number)})`); return h("li", {}, dot, text); });
  main.replaceChildren(h("section", {},
    h("div", { class: "map-frame" }, canvas), name, h("ul", { class: "key-list" }, keys),
    h("p", { class: "key" }, `Rings have a label; the others are drawn in the colour of their prediction, grey before there is one.${some}`),
    h("div", { class: "acts" }, h("button", { type: "button", on: { click: redraw } }, "Draw it again with the newest model"))));
  watch(canvas, got.points, name);
}

function watch(canvas, points, name) {
  let at = -1, places = [];
  const paint = () => {
    const box = canvas.getBoundingClientRect(), scale = devicePixelRatio || 1, pen = canvas.getContext("2d");
    canvas.width = box.width * scale;
    canvas.height = box.height * scale;
    pen.scale(scale, scale);
    // As large as the frame lets it be; distances upwards and sideways may differ by a factor of two.
    const most = axis => Math.max(...points.map(point => Math.abs(point[axis])), 1e-6);
    const wide = (box.width / 2 - 14) / most(1), tall = (box.height / 2 - 14) / most(2);
    const across = Math.min(wide, 2 * tall), up = Math.min(tall, 2 * wide);
    places = points.map(point => [box.width / 2 + point[1] * across, box.height / 2 - point[2] * up]);
    const order = points.map((point, number) => number).sort((a, b) => points[a][4] - points[b][4]);
    for (const number of order) dot(pen, places[number], points[number], number === at);
  };
  const dot = (pen, [x, y], point, chosen) => {
    pen.beginPath();
    pen.arc(x, y, point[4] ? 5 : 3, 0, 2 * Math.PI);
    pen.fillStyle = pen.strokeStyle = colour(hue(point[3]));
    pen.globalAlpha = point[4] ? 1 : .55;
    pen.fill();
    pen.globalAlpha = 1;
    if (point[4] || chosen) { pen.lineWidth = chosen ? 3 : 1.5; pen.strokeStyle = colour("--ink"); pen.stroke(); }
    if (chosen) { pen.beginPath(); pen.arc(x, y, 9, 0, 2 * Math.PI); pen.stroke(); }
  };
  const nearest = (x, y, fits) => {
    let best = -1, least = Infinity;
    places.forEach(([px, py], number) => {
      const far = (px - x) ** 2 + (py - y) ** 2;
      if (far < least && fits(px - x, py - y, number)) { best = number; least = far; }
    });
    return best;
  };
  const choose = number => { if (number >= 0) { at = number; name.textContent = points[number][5]; paint(); } };
  const under = event => { const box = canvas.getBoundingClientRect(); return nearest(event.clientX - box.left, event.clientY - box.top, (dx, dy) => dx * dx + dy * dy < 900); };
  const ways = { ArrowLeft: (dx, dy) => dx < -Math.abs(dy), ArrowRight: (dx, dy) => dx > Math.abs(dy), ArrowUp: (dx, dy) => dy < -Math.abs(dx), ArrowDown: (dx, dy) => dy > Math.abs(dx) };
  canvas.addEventListener("mousemove", event => choose(under(event)));
  canvas.addEventListener("click", event => { const number = under(event); if (number >= 0) open(points[number][0]); });
  canvas.addEventListener("keydown", event => {
    if (event.key === "Enter" && at >= 0) open(points[at][0]);
    if (!ways[event.key]) return;
    event.preventDefault();
    const from = at >= 0 ? places[at] : [canvas.clientWidth / 2, canvas.clientHeight / 2];
    choose(nearest(from[0], from[1], (dx, dy, number) => number !== at && ways[event.key](dx, dy)));
  });
  new ResizeObserver(paint).observe(canvas);
  paint();
}

export const charts = { curve, map };
