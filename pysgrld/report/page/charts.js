"use strict";
// Figures. They are drawn for the width they have, so that their letters are never scaled on a screen.

// ---- what all figures share

const s = (name, ...rest) => h(`svg:${name}`, ...rest);
const line = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

function label(x, y, kind, text, anchor = "start") {
  return s("text", { x, y, class: kind, "text-anchor": anchor }, text);
}

function rule(x1, y1, x2, y2, kind) {
  return s("path", { d: line([[x1, y1], [x2, y2]]), class: kind });
}

/** Round numbers from low to high, about n of them. */
function ticks(low, high, n) {
  const span = high - low || Math.abs(high) || 1;
  const power = 10 ** Math.floor(Math.log10(span / n));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => span / s <= n);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

function scale([low, high], [from, to]) {
  const slope = (to - from) / (high - low || 1);
  return (x) => from + (x - low) * slope;
}

/** Heights of labels moved apart so that none covers another; their order stays. */
function movedApart(heights, gap, bottom) {
  const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
  const moved = [...heights];
  order.forEach((i, at) => at && (moved[i] = Math.max(moved[i], moved[order[at - 1]] + gap)));
  let limit = bottom;
  for (const i of order.reverse()) {
    moved[i] = Math.min(moved[i], limit);
    limit = moved[i] - gap;
  }
  return moved;
}

const drawers = new WeakMap();
const PAPER = 636;
const onPaper = () => "paper" in document.documentElement.dataset;

/** Calls `draw` with the width of a place, and again when it changes; gives what draws anew. */
function whenWide(place, draw) {
  let width = 0;
  place.classList.add("drawn");
  drawers.set(place, draw);
  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (now === width || now === 0 || onPaper()) return;
    width = now;
    requestAnimationFrame(() => draw(width));
  }).observe(place);
  return () => draw(width);
}

/** A figure that fits its width, with a button that saves it, and what is said of the place pointed at. */
function figure(name, title, draw, say = null) {
  const box = h("div.drawing");
  whenWide(box, (width) => box.replaceChildren(draw(width)));
  return h("figure", box, h("div.foot", say, svgButton(title, () => save(`${name}.svg`, alone(box.querySelector("svg")), "image/svg+xml"))));
}

function svgButton(title, click) {
  return h("button.small.quiet", { "aria-label": `SVG: save “${title}”`, click }, "SVG");
}

function svg(width, height, title, ...children) {
  const role = children.flat(Infinity).some((child) => child?.localName === "a") ? "group" : "img";
  return s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role, "aria-label": title }, ...children);
}

const DRAWN = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity", "font-size",
  "font-family", "font-weight", "text-anchor", "paint-order", "stroke-linejoin", "visibility"];

/** A drawing by itself: what the style sheet says is written into it, colours in the plain way. */
function alone(drawing) {
  const copy = drawing.cloneNode(true);
  const seen = [drawing, ...drawing.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(seen[i]);
    for (const name of DRAWN) {
      const value = style.getPropertyValue(name);
      if (value) node.setAttribute(name, /^(fill|stroke)$/.test(name) ? plainColour(value) : value);
    }
    for (const name of ["style", "class", "tabindex"]) node.removeAttribute(name);
  });
  copy.setAttribute("xmlns", SPACES.svg);
  return new XMLSerializer().serializeToString(copy);
}

/** A colour as #rrggbb, for programs that know no others. */
function plainColour(colour) {
  if (!/^(oklch|oklab|color|light-dark)/.test(colour)) return colour;
  return once(`colour ${colour}`, () => {
    const brush = h("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1, 1);
    return "#" + [...brush.getImageData(0, 0, 1, 1).data.slice(0, 3)].map((x) => x.toString(16).padStart(2, "0")).join("");
  });
}

// ---- small marks

const part = (x) => `${(100 * Math.min(1, Math.max(0, x))).toFixed(2)}%`;

/** The one bar: filled to the mean, a bracket for the interval; open where the low end is only known to be below. */
function bar({ mean, low, high, open }, top, kind = "") {
  const sure = low === null || low === undefined || (low === high && low === mean);
  const filled = h("i", { class: mean < 0 ? "fill hollow" : "fill", "--to": part(Math.abs(mean) / top) });
  const [from, to] = mean < 0 ? [-high, -low] : [low, high];
  const bracket = sure ? null : h("i", { class: open ? "bracket open" : "bracket", "--from": part(from / top), "--to": part(to / top) });
  return h("span", { class: `bar ${kind}`, "aria-hidden": "true" }, filled, bracket);
}

function dot(topic) {
  return h("span.dot.hue", { "--h": topic.hue, "aria-hidden": "true" });
}

/** Shares of topics side by side: [[topic, share]...]. */
function strip(shares, kind = "") {
  const cells = shares.filter(([id]) => byId.has(id)).map(([id, share]) =>
    h("i.hue", { "--h": byId.get(id).hue, "--to": part(share) }));
  return h("span", { class: `strip ${kind}`, "aria-hidden": "true" }, cells);
}

/** A line along the corpus, as small as a word. */
function spark(values, width = 130, height = 28) {
  const top = Math.max(...values) || 1;
  const x = scale([0, Math.max(1, values.length - 1)], [1, width - 1]);
  const points = Array.from(values, (value, i) => [x(i), height - 2 - (value / top) * (height - 5)]);
  return s("svg.spark", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
    s("path.area", { d: `${line(points)}L${width - 1} ${height - 1}L1 ${height - 1}Z` }),
    s("path.line", { d: line(points) }));
}

/** A value on a scale with its zero. */
function onScale(value, [low, high], width = 78) {
  const x = scale([low, high], [5, width - 5]);
  return s("svg.on-scale", { viewBox: `0 0 ${width} 16`, width, height: 16, "aria-hidden": "true" },
    rule(2, 8, width - 2, 8, "rail"), rule(x(0), 2, x(0), 14, "zero"), s("circle", { cx: x(value), cy: 8, r: 4.5 }));
}

/** Ten marks, each as full as its word is sure to stay among the ten. */
function marks(ten) {
  const d = (top) => ten.map((p, i) => `M${i * 7} 14V${(14 - 13 * top(p)).toFixed(1)}h5V14Z`).join("");
  return s("svg.marks", { viewBox: "0 0 69 14", width: 69, height: 14, "aria-hidden": "true" },
    s("path.empty", { d: d(() => 1) }), s("path.full", { d: d((p) => p) }));
}

// ---- lines over time

/** Series [{name, value, points, kind, hue}] with their names at their ends; levels are rules across. */
function lines(width, { title, series, levels = [], across, unit, digits = 0 }) {
  const narrow = width < 460;
  const [left, right, top, bottom] = [narrow ? 42 : 56, 118, 14, 44];
  const height = Math.round(Math.min(330, Math.max(230, width * 0.52)));
  const all = series.flatMap((one) => one.points);
  const ys = [...all.map(([, y]) => y), ...levels.map((level) => level.value)];
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const pad = (high - low || Math.abs(high) || 1) * 0.06;
  const x = scale([across.zero ? 0 : Math.min(...all.map(([t]) => t)), Math.max(...all.map(([t]) => t))], [left, width - right]);
  const y = scale([low - pad, high + pad], [height - bottom, top]);
  const yTicks = ticks(low - pad, high + pad, 5);
  const grid = yTicks.map((v) => [rule(left, y(v), width - right, y(v), "grid"),
    label(left - 8, y(v) + 4, "tick", numbered(v, yTicks), "end")]);
  const xTicks = ticks(across.zero ? 0 : all[0][0], Math.max(...all.map(([t]) => t)), narrow ? 3 : 6);
  const times = xTicks.map((v) => label(x(v), height - bottom + 20, "tick", numbered(v, xTicks), "middle"));
  const drawn = series.map((one) => s("path", { d: line(one.points.map(([a, b]) => [x(a), y(b)])), class: `series ${one.kind}`, "--h": one.hue }));
  const ruled = levels.map((level) => rule(left, y(level.value), width - right, y(level.value), "series level"));
  const ends = [...levels.map((level) => ({ ...level, y: y(level.value), kind: "level" })),
    ...series.map((one) => ({ ...one, y: y(one.points.at(-1)[1]) }))];
  const places = movedApart(ends.map((end) => end.y), ends[0].value === undefined ? 16 : 32, height - bottom);
  const names = ends.map((end, i) => [
    s("g", { class: end.hue === undefined ? "" : "hue", "--h": end.hue }, label(width - right + 9, places[i] + 4, `series-name ${end.kind}`, end.name)),
    end.value !== undefined && label(width - right + 9, places[i] + 19, `series-value ${end.kind}`, fixedCount(end.value, digits)),
  ]);
  const foot = label((left + width - right) / 2, height - 5, "axis", across.name, "middle");
  const side = !narrow && s("g", { transform: `translate(9 ${(height - bottom) / 2}) rotate(-90)` }, label(0, 0, "axis", unit, "middle"));
  return svg(width, height, title, grid, times, ruled, drawn, names, foot, side);
}

/** Numbers of an axis with as many digits as tell them apart. */
function numbered(value, all) {
  const step = all.length > 1 ? all[1] - all[0] : 1;
  return fixedCount(value, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}

function fixedCount(value, digits) {
  const [whole, rest] = Math.abs(value).toFixed(digits).split(".");
  return (value < 0 ? "−" : "") + count(whole) + (rest ? `.${rest}` : "");
}

const TIMES = [[3600 * 2, 3600, "hours"], [120, 60, "minutes"], [0, 1, "seconds"]];

/** Perplexity (or what else is scored) against time. */
function curve({ name, average, point, unigram, last }) {
  const longest = Math.max(...[...average, ...point].map(([t]) => t));
  const [, size, unit] = TIMES.find(([from]) => longest >= from);
  const timed = (points) => points.map(([t, v]) => [t / size, v]);
  const digits = Math.max(...[unigram, last.average, last.point].filter(Number.isFinite).map(Math.abs)) < 50 ? 2 : 0;
  const series = [
    { name: "one draw", value: last.point, points: timed(point), kind: "aside" },
    { name: "average of draws", value: last.average, points: timed(average), kind: "main" },
  ].filter((one) => one.points.length);
  const levels = unigram === null ? [] : [{ name: `no ${TOPICS}`, value: unigram }];
  const title = `${capital(name)} against ${unit} of training`;
  return figure("curve", title, (width) => lines(width, { title, series, levels, digits, unit: `held-out ${name}`, across: { name: `${unit} of training`, zero: true } }));
}

// ---- a topic along the corpus, or by the levels of a column

/** Shares over places in order, with intervals; `told` is called with the place that is pointed at. */
function profile({ title, name, labels, ticksBelow = labels, mean, low, high, usual, hue, area, told, say }) {
  return figure(name, title, (width) => {
    const [left, right, top] = [46, 6, 10];
    const turned = !area && labels.length > 1;
    const longest = Math.max(...ticksBelow.map((l) => Math.min(18, l.length)));
    const bottom = turned ? 14 + longest * 4.3 : 24;
    const height = Math.round(150 + bottom);
    const peak = Math.max(...high, usual ?? 0) * 1.04 || 0.01;
    const step = (width - left - right) / labels.length;
    const middle = (i) => left + (i + 0.5) * step;
    const y = scale([0, peak], [height - bottom, top]);
    const values = ticks(0, peak, 4);
    const digits = digitsFor(peak);
    const grid = values.map((v) => [rule(left, y(v), width - right, y(v), "grid"), label(left - 7, y(v) + 4, "tick", percent(v, v ? digits : 0), "end")]);
    const body = area ? areaOf(middle, y, mean, low, high) : columnsOf(middle, step, y, mean, low, high);
    const line = usual !== null && rule(left, y(usual), width - right, y(usual), "usual");
    const marker = s("rect.marker", { x: 0, y: top, width: Math.max(2, step), height: height - bottom - top });
    const drawing = svg(width, height, title, grid, s("g.hue", { "--h": hue }, body), line, marker, namesBelow(ticksBelow, middle, step, height - bottom, turned));
    pointed(drawing, labels.length, (clientX) => Math.floor((clientX - drawing.getBoundingClientRect().left - left) / step), (i) => {
      marker.setAttribute("x", left + i * step);
      marker.classList.add("on");
      told(i);
    });
    return drawing;
  }, say);
}

function areaOf(middle, y, mean, low, high) {
  const at = (values) => Array.from(values, (v, i) => [middle(i), y(v)]);
  return [s("path.area.faint", { d: `${line(at(mean))}L${middle(mean.length - 1)} ${y(0)}L${middle(0)} ${y(0)}Z` }),
    s("path.band", { d: `${line(at(high))}${line(at(low).reverse()).replace("M", "L")}Z` }),
    s("path.line", { d: line(at(mean)) })];
}

function columnsOf(middle, step, y, mean, low, high) {
  const half = Math.max(0.5, Math.min(12, step * 0.38));
  const column = (v, i) => `M${(middle(i) - half).toFixed(1)} ${y(0)}V${y(v).toFixed(1)}h${(2 * half).toFixed(1)}V${y(0)}Z`;
  const stem = (v, i) => `M${middle(i).toFixed(1)} ${y(low[i]).toFixed(1)}V${y(v).toFixed(1)}`;
  return [s("path.column", { d: Array.from(mean, column).join("") }), s("path.stem", { d: Array.from(high, stem).join("") })];
}

function namesBelow(labels, middle, step, base, turned) {
  const room = Math.max(...labels.map((text) => Math.min(18, text.length))) * 6.2;
  const every = Math.max(1, Math.ceil((turned ? 13 : room + 10) / step));
  const end = middle(labels.length - 1) + step;
  return labels.map((text, i) => {
    if (i % every || (!turned && i && middle(i) + room > end)) return null;
    if (turned) return s("g", { transform: `translate(${(middle(i) + 4).toFixed(1)} ${base + 12}) rotate(-40)` }, label(0, 0, "tick", short(text, 16), "end"));
    return label(middle(i), base + 18, "tick", short(text, 18), "start");
  });
}

/** Pointing at places of a drawing, with the mouse or with the arrow keys. */
function pointed(drawing, n, placeOf, tell) {
  let at = -1;
  const go = (i) => {
    if (i < 0 || i >= n || i === at) return;
    at = i;
    tell(i);
  };
  drawing.setAttribute("tabindex", "0");
  drawing.addEventListener("pointermove", (event) => go(placeOf(event.clientX)));
  drawing.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    go(Math.min(n - 1, Math.max(0, at + by)));
  });
}

// ---- the map

/** Circles of topics; `chosen` is one that stands out with lines to `near`. Labels give way to each other. */
function map({ title, height, chosen = null, near = [], all = true }) {
  return figure(chosen === null ? "map" : `near-${chosen}`, title, (width) => {
    const placed = report.topics.filter((topic) => topic.xy);
    const top = Math.max(...placed.map((topic) => topic.weight?.[0] ?? 0)) || 1;
    const largest = Math.max(9, Math.min(30, Math.sqrt((width * height) / placed.length) * 0.32));
    const radius = (topic) => Math.max(3, largest * Math.sqrt((topic.weight?.[0] ?? top) / top));
    const margin = largest + 16;
    const at = (topic) => [margin + topic.xy[0] * (width - 2 * margin), margin - 6 + topic.xy[1] * (height - 2 * margin)];
    const close = new Set([chosen, ...near]);
    const threads = near.filter((id) => byId.get(id)?.xy && byId.get(chosen)?.xy).map((id, i) => thread(at(byId.get(chosen)), at(byId.get(id)), i));
    const circles = placed.map((topic) => circle(topic, at(topic), radius(topic), chosen === null || close.has(topic.id)));
    const wanted = chosen === null ? (all ? placed : []) : placed.filter((topic) => close.has(topic.id)).sort((a, b) => (b.id === chosen) - (a.id === chosen));
    const names = namesOnMap(wanted, placed, at, radius, width, height, chosen);
    return svg(width, height, title, threads, circles, names);
  });
}

function thread(from, to, rank) {
  return s("path.thread", { d: line([from, to]), "stroke-width": 4 - rank });
}

function circle(topic, [x, y], r, strong) {
  return s("a.hue.place", { href: topicAddress(topic.id), "--h": topic.hue, "aria-label": nameOf(topic), tabindex: "-1" },
    s("title", tellTopic(topic)), s("circle", { cx: x, cy: y, r: r, class: strong ? "blob" : "blob faint" }));
}

function tellTopic(topic) {
  const share = topic.weight ? `, ${percent(topic.weight[0], 1)}` : "";
  return `${shown(nameOf(topic))} (${TOPIC} ${topic.id}${share}): ${topic.top.map(shown).join(" ")}`;
}

/** First word of a name: enough on a map. */
function brief(topic) {
  return short(nameOf(topic).split(" · ")[0], 18);
}

/** Names below, above or beside their circles, the heaviest first; one that would cover another is left out. */
function namesOnMap(wanted, placed, at, radius, width, height, chosen) {
  const wall = chosen === null ? placed : wanted;
  const taken = wall.map((topic) => { const [x, y] = at(topic), r = radius(topic) * 0.7; return [x - r, y - r, x + r, y + r]; });
  const free = (box) => box[0] > 0 && box[2] < width && box[1] > 0 && box[3] < height &&
    taken.every((other) => box[2] < other[0] || box[0] > other[2] || box[3] < other[1] || box[1] > other[3]);
  return wanted.map((topic) => {
    const [[x, y], r, text] = [at(topic), radius(topic), brief(topic)];
    const half = text.length * 3.3 + 2;
    const sides = [[x, y + r + 8, "middle", x - half], [x, y - r - 8, "middle", x - half], [x + r + 4, y, "start", x + r + 2], [x - r - 4, y, "end", x - r - 2 - 2 * half]];
    const place = sides.find(([, cy, , from]) => free([from, cy - 7, from + 2 * half, cy + 7])) ?? (chosen === null ? null : sides[0]);
    if (!place) return null;
    taken.push([place[3], place[1] - 7, place[3] + 2 * half, place[1] + 7]);
    return label(place[0], place[1] + 4, topic.id === chosen ? "map-name strong" : "map-name", text, place[2]);
  });
}

// ---- the tree

/** Which topics join first, and at what distance: leaves in the order of the page. */
function tree({ title, names = true, row = 18 }) {
  return figure("tree", title, (width) => {
    const ids = report.order;
    const narrow = width < 560;
    const right = names ? (narrow ? 150 : 300) : 6;
    const height = ids.length * row + 30;
    const place = new Map(ids.map((id, i) => [id, 8 + (i + 0.5) * row]));
    const tall = Math.max(...report.merges.map((merge) => merge[2])) || 1;
    const x = scale([0, tall], [width - right, 10]);
    const ends = report.leaf_ids.map((id) => [x(0), place.get(id)]);
    const d = [];
    for (const [a, b, at] of report.merges) {
      const [[xa, ya], [xb, yb], to] = [ends[a], ends[b], x(at)];
      d.push(`M${xa.toFixed(1)} ${ya.toFixed(1)}H${to.toFixed(1)}V${yb.toFixed(1)}H${xb.toFixed(1)}`);
      ends.push([to, (ya + yb) / 2]);
    }
    const leaves = ids.map((id) => leaf(byId.get(id), width - right, place.get(id), narrow));
    const axis = ticks(0, tall, 4).map((v) => label(x(v), height - 4, "tick", fixed(v, 2), "middle"));
    return svg(width, height, title, s("path.branches", { d: d.join("") }), leaves, axis);
  });
}

function leaf(topic, x, y, narrow) {
  return s("a.hue.place", { href: topicAddress(topic.id), "--h": topic.hue, tabindex: "-1" },
    s("circle.blob", { cx: x + 8, cy: y, r: 4 }), label(x + 18, y + 4, "leaf", short(nameOf(topic), narrow ? 17 : 42)));
}

// ---- fields of cells

const PICTURED = 6000; // above so many cells a field is a picture on the screen; on paper it is never one

/** Rows x columns of colours, with the arrow keys and the pointer; `tell` hears of a cell, `open` of a choice. */
function field({ name, title, rows, columns, high, wide, colour, write = null, tell, open }) {
  const box = h("div.field", { tabindex: "0", role: "group", "aria-label": `${title}. Arrow keys move.` });
  const marker = h("i.cell-marker");
  const state = { row: -1, column: -1 };
  const go = (row, column) => {
    if (row < 0 || column < 0 || row >= rows || column >= columns || (row === state.row && column === state.column)) return;
    Object.assign(state, { row, column });
    marker.style.setProperty("transform", `translate(${column * wide}px, ${row * high}px)`);
    marker.classList.add("on");
    tell(row, column);
  };
  const place = (event) => {
    const frame = box.getBoundingClientRect();
    return [Math.floor((event.clientY - frame.top) / high), Math.floor((event.clientX - frame.left) / wide)];
  };
  const cells = { rows, columns, high, wide, colour, write };
  box.append(rows * columns > PICTURED && !onPaper() ? picture(cells) : vectors(title, cells), marker);
  for (const [key, value] of [["width", columns * wide], ["height", rows * high]]) box.style.setProperty(key, `${value}px`);
  for (const [key, value] of [["width", wide], ["height", high]]) marker.style.setProperty(key, `${value}px`);
  box.addEventListener("pointermove", (event) => go(...place(event)));
  box.addEventListener("click", (event) => open(...place(event)));
  box.addEventListener("keydown", (event) => fieldKey(event, state, go, open));
  return { box, button: svgButton(title, () => save(`${name}.svg`, alone(vectors(title, cells)), "image/svg+xml")) };
}

function fieldKey(event, state, go, open) {
  const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  if (event.key === "Enter" && state.row >= 0) open(state.row, state.column);
  if (!by) return;
  event.preventDefault();
  go(Math.max(0, state.row + by[0]), Math.max(0, state.column + by[1]));
}

function picture({ rows, columns, high, wide, colour }) {
  const sharp = Math.min(devicePixelRatio, 16000 / (rows * high), 16000 / (columns * wide));
  const canvas = h("canvas", { width: Math.round(columns * wide * sharp), height: Math.round(rows * high * sharp) });
  const brush = canvas.getContext("2d");
  brush.scale(sharp, sharp);
  const gap = wide > 4 && high > 4 ? 1 : 0;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      brush.fillStyle = colour(row, column);
      brush.fillRect(column * wide, row * high, wide - gap, high - gap);
    }
  }
  return canvas;
}

/** The same in vectors: one path for each colour, so that there are few elements. */
function vectors(title, { rows, columns, high, wide, colour, write }) {
  const gap = wide > 4 && high > 4 ? 1 : 0;
  const paths = new Map();
  const texts = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const fill = colour(row, column);
      if (!paths.has(fill)) paths.set(fill, []);
      paths.get(fill).push(`M${+(column * wide).toFixed(2)} ${+(row * high).toFixed(2)}h${+(wide - gap).toFixed(2)}v${+(high - gap).toFixed(2)}H${+(column * wide).toFixed(2)}Z`);
      if (write) texts.push(s("g", { "font-size": 12, "font-family": "sans-serif", fill: inkOn(fill), "--on": inkOn(fill) }, label((column + 0.5) * wide, (row + 0.5) * high + 4, "written", write(row, column), "middle")));
    }
  }
  return svg(columns * wide, rows * high, title, [...paths].map(([fill, d]) => s("path", { d: d.join(""), fill: plainColour(fill) })), texts);
}

/** Black or white, whichever is read better. */
function inkOn(colour) {
  const [r, g, b] = plainColour(colour).match(/\w\w/g).map((x) => (parseInt(x, 16) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#1b1d22" : "#ffffff";
}

/** Strength 0..1 of a hue on this paper, in 24 steps. */
function shade(strength, hue, depth = 0.13) {
  const s = Math.round(Math.min(1, Math.max(0, strength)) * 24) / 24;
  const light = isDark() ? 0.27 + 0.5 * s : 0.965 - 0.53 * s;
  return `oklch(${light.toFixed(3)} ${(0.004 + depth * s ** 0.8).toFixed(3)} ${hue})`;
}
