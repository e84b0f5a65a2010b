// Copy buttons, and tables that can be sorted and filtered. Without scripts the pages lack only these.
"use strict";

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// A block of commands is copied without its prompts and without what the commands print.
function copied(block) {
  const text = block.querySelector("pre").textContent.replace(/\n$/, "");
  if (!block.matches(".highlight-console")) return text;
  const lines = text.split("\n"), kept = [];
  let going = false;
  for (const line of lines) {
    const starts = line.startsWith("$ ");
    if (starts || going) {
      kept.push(starts ? line.slice(2) : line);
      going = line.endsWith("\\");
    }
  }
  return kept.length ? kept.join("\n") : text;
}

// A page opened from a file may have no clipboard; selecting and copying works there.
async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make("textarea", { value: text, className: "away" });
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function addCopyButton(block) {
  const button = make("button", { type: "button", className: "copy", textContent: "Copy" });
  button.setAttribute("aria-label", "Copy this block");
  button.addEventListener("click", async () => {
    button.textContent = (await toClipboard(copied(block))) ? "Copied" : "Not allowed";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  block.append(button);
}

// What a cell is sorted by: its first number, or else its text.
function sortKey(cell) {
  const text = cell.textContent.trim(), plain = text.replace(/[−–]/g, "-").replace(/,|^≈\s*/g, "");
  const number = plain.match(/^[-+]?\d+(\.\d+)?/);
  return number ? Number(number[0]) : text.toLowerCase();
}

// A cell without a number comes after those with one, whichever way a column is sorted.
function compare(one, two, falling) {
  if (typeof one !== typeof two) return typeof one === "number" ? -1 : 1;
  return (falling ? -1 : 1) * (one < two ? -1 : one > two ? 1 : 0);
}

function sortBy(table, heads, place) {
  const head = heads[place], falling = head.getAttribute("aria-sort") === "ascending";
  heads.forEach((each) => each.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", falling ? "descending" : "ascending");
  const body = table.tBodies[0], rows = [...body.rows];
  const keyed = rows.map((row) => [sortKey(row.cells[place]), row]);
  keyed.sort(([one], [two]) => compare(one, two, falling));
  body.append(...keyed.map(([, row]) => row));
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    const button = make("button", { type: "button", className: "sort" }, ...head.childNodes);
    if (!button.textContent.trim()) button.setAttribute("aria-label", `Sort by column ${place + 1}`);
    button.addEventListener("click", () => sortBy(table, heads, place));
    head.replaceChildren(button);
  });
}

// A menu for each column of words: all, or one of its values.
function makeFilterable(table) {
  const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim());
  const rows = [...table.tBodies[0].rows], chosen = new Map(), bar = make("div", { className: "filters" });
  const count = make("output", { className: "count" });
  const show = () => {
    for (const row of rows) {
      row.hidden = ![...chosen].every(([place, value]) => !value || row.cells[place].textContent.trim() === value);
    }
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} cells`;
  };
  heads.forEach((head, place) => {
    if (!["dataset", "split", "method", "reading", "device", "verdict"].includes(head)) return;
    const values = [...new Set(rows.map((row) => row.cells[place].textContent.trim()))].sort();
    if (values.length < 2) return;
    const select = make("select", {}, new Option(`every ${head}`, ""), ...values.map((value) => new Option(value, value)));
    select.setAttribute("aria-label", head);
    select.addEventListener("change", () => { chosen.set(place, select.value); show(); });
    bar.append(select);
  });
  bar.append(count);
  show();
  (table.closest(".table-wrapper") || table).before(bar);
}

const FEWEST_ROWS = 5;
// What a block prints is not for copying.
const PRINTED = ":is(.highlight-python, .highlight-console) + .highlight-text";
document.querySelectorAll(`article div[class*=highlight-]:not(${PRINTED})`).forEach(addCopyButton);
for (const table of document.querySelectorAll("article table.grid, article table.verdicts")) {
  if (table.tHead && table.tBodies[0] && table.tBodies[0].rows.length >= FEWEST_ROWS) {
    if (table.matches(".verdicts")) makeFilterable(table);
    makeSortable(table);
  }
}
// What scrolls inside its box can be scrolled with the keyboard, too.
for (const box of document.querySelectorAll("article .table-wrapper, article pre, article div.math")) {
  if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
}
document.documentElement.dataset.ready = "true";
