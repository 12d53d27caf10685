// Fields of cells, which are rows and columns of colours.

// Maximum number of cells of a field in vectors on the screen; larger fields are pictures. On paper, all fields are in vectors.
const PICTURED = 6000;

/** Rows and columns of coloured cells, for arrow keys and the pointer; `tell` is called with the current cell, `open` with a chosen one. */
function field({ name, title, rows, columns, high, wide, colour, write = null, tell, open }) {
  const box = h("div.field", reachable(`${title}. Arrow keys move.`));
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
  for (const [node, n, m] of [[box, columns, rows], [marker, 1, 1]]) {
    node.style.setProperty("width", `${n * wide}px`);
    node.style.setProperty("height", `${m * high}px`);
  }
  box.addEventListener("pointermove", (event) => go(...place(event)));
  box.addEventListener("click", (event) => open(...place(event)));
  box.addEventListener("keydown", (event) => fieldKey(event, state, go, open));
  return { box, button: svgButton(title, () => save(`${name}.svg`, alone(vectors(title, cells)), "image/svg+xml")) };
}

function fieldKey(event, state, go, open) {
  const by = ARROWS[event.key];
  if (event.key === "Enter" && state.row >= 0) open(state.row, state.column);
  if (!by) return;
  event.preventDefault();
  go(Math.max(0, state.row + by[1]), Math.max(0, state.column + by[0]));
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

/** Draws a field in vectors, with one path for each colour, so that there are few elements. */
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

/** Returns black or white, whichever is easier to read on a colour; its contrast is at least 4.58. */
function inkOn(colour) {
  const [r, g, b] = plainColour(colour).match(/\w\w/g).map((x) => parseInt(x, 16) / 255).map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

/** Returns a hue with a strength from 0 to 1 on the current background, in 24 steps. */
function shade(strength, hue, depth = 0.13) {
  const s = Math.round(Math.min(1, Math.max(0, strength)) * 24) / 24;
  const light = isDark() ? 0.27 + 0.5 * s : 0.965 - 0.53 * s;
  return `oklch(${light.toFixed(3)} ${(0.004 + depth * s ** 0.8).toFixed(3)} ${hue})`;
}
