// Functions that all figures use. Figures are drawn for the width of their place, so that letters are never scaled on a screen.

const s = (name, ...rest) => h(`svg:${name}`, ...rest);
const line = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

function label(x, y, kind, text, anchor = "start") {
  return s("text", { x, y, class: kind, "text-anchor": anchor }, text);
}

function rule(x1, y1, x2, y2, kind) {
  return s("path", { d: line([[x1, y1], [x2, y2]]), class: kind });
}

/** Returns about n round numbers from low to high. */
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

/** Moves the heights of labels apart, so that none covers another; the order of the labels stays. */
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
const onPaper = () => "paper" in dataset;

/** Calls `draw` with the width of a place, now and when the width changes; returns a function that draws again. */
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

/** A figure that fits its width, with a button that saves it, and an element with a text about the place at the pointer. */
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

/** Returns a drawing that needs no style sheet: the styles are written into it, and colours are in a plain form. */
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

/** Returns a colour as #rrggbb, for programs that know no other form. */
function plainColour(colour) {
  if (!/^(oklch|oklab|color|light-dark)/.test(colour)) return colour;
  return once(`colour ${colour}`, () => {
    const brush = h("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1, 1);
    return "#" + [...brush.getImageData(0, 0, 1, 1).data.slice(0, 3)].map((x) => x.toString(16).padStart(2, "0")).join("");
  });
}
