// A map with every document as a dot, on a canvas that can be moved and enlarged.

const DOTS = { margin: 20, reach: 14, most: 24, rest: 120, tools: 62 };

/** The documents of the map: places, topics and names. Documents in files next to the page come after the first `named` documents. */
function dotsOfCorpus() {
  return once("dots", async () => {
    const [parts, groups] = await Promise.all([block("dots"), block("best")]);
    const names = parts.get("name").split("\n");
    const place = new Map(report.docs?.row.map((row, i) => [row, i]) ?? []);
    const all = { n: names.length, named: names.length, names, place };
    const known = new Map([...parts, ["row", summed(parts.get("row"))], ["level", groups?.get("level")]]);
    for (const name of Object.keys(DOT_PARTS)) all[name] = known.get(name) ?? null;
    return all;
  });
}

const DOT_PARTS = { x: Uint16Array, y: Uint16Array, topic: Uint16Array, mean: Uint8Array, low: Uint8Array, high: Uint8Array, own: Uint8Array, row: Uint32Array, level: Uint8Array };

// Function that the open map sets, and that is called when more dots have arrived.
let hearer = null;

/** Returns the cumulative sums of differences. */
function summed(gaps) {
  const sums = new Uint32Array(gaps.length);
  for (let i = 0, at = 0; i < gaps.length; i++) sums[i] = at += gaps[i];
  return sums;
}

// Data of the map before its documents are unpacked.
const NO_DOTS = { n: 0, named: 0, topic: [], low: [], names: [] };

/** A map of documents, drawn when they are unpacked; `tell` is called with the index of the dot at the pointer, or with -1. */
function dotMap({ tell, open, say }) {
  let dots = NO_DOTS;
  const canvas = h("canvas", { role: "img", "aria-label": `Map of ${NOUNS}: each dot is one, among those with similar ${TOPICS}. The list of ${TOPICS} has the same in words.` });
  const names = h("div.dot-names", UNREAD);
  const stage = h("div.dot-stage", canvas, names);
  const view = { scale: 1, x: 0, y: 0 }, lit = { topic: null, level: null, text: "" };
  let width = 0, height = 0, spot = -1, waiting = false, image = null, moving = 0;
  const lower = () => once("dot names", () => dots.names.map((name) => name.toLowerCase()));
  const inner = (size) => size - 2 * DOTS.margin;
  // for each axis, the pixel of a coordinate of 0, and the pixels per unit
  const scales = (ratio) => ({ x: [(DOTS.margin + view.x) * ratio, (inner(width) * view.scale * ratio) / 65535], y: [(DOTS.margin + view.y) * ratio, (inner(height) * view.scale * ratio) / 65535] });
  const isLit = (i) => (lit.topic === null || dots.topic[i] === lit.topic) && (lit.level === null || dots.level?.[i] === lit.level) && (lit.text === "" || (lower()[i] ?? "").includes(lit.text));
  const isFiltered = () => lit.topic !== null || lit.level !== null || lit.text !== "";
  // looks of dots are 0 (dim), 1 (pale) and 2 (opaque), and dots are drawn in this order
  let looks = new Uint8Array(0);
  const look = () => { for (let i = 0; i < dots.n; i++) looks[i] = !isLit(i) ? 0 : dots.low[i] > 127 ? 2 : 1; };

  function draw() {
    waiting = false;
    // another view may have replaced the map since the frame was asked for
    if (!stage.isConnected) return;
    const ratio = Math.min(3, devicePixelRatio || 1), brush = canvas.getContext("2d", { alpha: false });
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    if (image?.width !== wide || image.height !== high) image = brush.createImageData(wide, high);
    const size = Math.max(1.1, Math.min(3, 160 / Math.sqrt(dots.n))) * Math.min(2, Math.sqrt(view.scale)), filtered = isFiltered();
    const paper = partsOf(getComputedStyle(stage).backgroundColor), grey = isDark() ? [255, 255, 255] : [0, 0, 0];
    const colours = report.topics.map((topic) => partsOf(dotColour(topic))), none = [136, 136, 136];
    const pale = 0.4 * Math.min(1, Math.sqrt(30000 / dots.n)) ** 0.5;
    new Uint32Array(image.data.buffer).fill((255 << 24) | (paper[2] << 16) | (paper[1] << 8) | paper[0]);
    const { x: [left, wider], y: [top, higher] } = scales(ratio);
    const places = report.topics.reduce((all, topic) => ((all[topic.id] = topic.place), all), []);
    // while the map moves, only the first `named` dots are drawn; the other dots follow when it stops
    const n = moving ? Math.min(dots.n, dots.named) : dots.n;
    for (const kind of [0, 1, 2]) {
      const alpha = [isDark() ? 0.08 : 0.07, pale, 0.95][kind], discs = discsOf((kind && filtered ? 1.25 : 1) * size * ratio, wide);
      for (let i = 0; i < n; i++) {
        if (looks[i] !== kind) continue;
        stamp(image.data, wide, high, left + dots.x[i] * wider, top + dots.y[i] * higher, discs, kind === 0 ? grey : colours[places[dots.topic[i]]] ?? none, alpha);
      }
    }
    brush.setTransform(1, 0, 0, 1, 0, 0);
    brush.putImageData(image, 0, 0);
    if (spot >= 0) {
      brush.setTransform(ratio, 0, 0, ratio, 0, 0);
      brush.strokeStyle = isDark() ? "#fff" : "#000";
      brush.lineWidth = 2;
      brush.beginPath();
      const { x, y } = scales(1);
      brush.arc(x[0] + dots.x[spot] * x[1], y[0] + dots.y[spot] * y[1], size + 4, 0, 7);
      brush.stroke();
    }
    placeNames();
  }

  /** Places the names of topics at their densest points, the heaviest topic first; each name moves up or down to a free place. */
  function placeNames() {
    // the buttons at the upper right cover two rows of names
    const taken = [16, 32].map((y) => [width - DOTS.tools, y, DOTS.tools]), most = width < 520 ? 9 : DOTS.most, pen = canvas.getContext("2d");
    pen.font = `650 13px ${getComputedStyle(names).fontFamily}`;
    const wanted = report.topics.filter((t) => t.spot && !t.hardly && (lit.topic === null || t.id === lit.topic));
    const heavy = sorted(wanted, (t) => t.mostly || 0, false).slice(0, most);
    names.replaceChildren(...heavy.map((t) => {
      const text = short(briefName(t), 30), half = (pen.measureText(text).width + 12) / 2;
      const middle = DOTS.margin + t.spot[0] * inner(width) * view.scale + view.x;
      let y = DOTS.margin + t.spot[1] * inner(height) * view.scale + view.y;
      if (middle < 0 || middle > width || y < 0 || y > height) return "";
      const x = Math.max(half + 4, Math.min(width - half - 4, middle)), first = y;
      const isTaken = () => y < 12 || y > height - 12 || taken.some(([a, b, w]) => Math.abs(a - x) < w + half && Math.abs(b - y) < 19);
      for (let step = 1; isTaken() && step < 9; step++) y = first + (step % 2 ? 1 : -1) * Math.ceil(step / 2) * 13;
      if (isTaken()) return "";
      taken.push([x, y, half]);
      return h("span.hue", { "--h": t.hue, "--x": `${x.toFixed(1)}px`, "--y": `${y.toFixed(1)}px` }, bdi(text));
    }));
  }

  const again = () => { if (!waiting && width) { waiting = true; requestAnimationFrame(draw); } };
  const move = () => {
    clearTimeout(moving);
    moving = setTimeout(() => { moving = 0; again(); }, DOTS.rest);
    again();
  };
  const nearest = (event) => {
    const frame = canvas.getBoundingClientRect(), [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    const { x: [left, wider], y: [top, higher] } = scales(1);
    let least = DOTS.reach ** 2, found = -1;
    for (let i = 0; i < dots.n; i++) {
      const square = (left + dots.x[i] * wider - x) ** 2 + (top + dots.y[i] * higher - y) ** 2;
      if (square < least && looks[i]) { least = square; found = i; }
    }
    return found;
  };
  const point = (i) => { if (i !== spot) { spot = i; tell(dots, i, say); again(); } };
  const zoom = (factor, x = width / 2, y = height / 2) => {
    const scale = Math.min(24, Math.max(1, view.scale * factor)), by = scale / view.scale;
    Object.assign(view, scale === 1 ? { x: 0, y: 0 } : { x: x - DOTS.margin - (x - DOTS.margin - view.x) * by, y: y - DOTS.margin - (y - DOTS.margin - view.y) * by }, { scale });
    canvas.classList.toggle("near", scale > 1);
    move();
  };
  let grip = null;
  give(canvas, {
    pointerdown: (event) => { grip = { x: event.clientX, y: event.clientY, moved: false, touched: event.pointerType === "touch" && nearest(event) !== spot }; point(nearest(event)); },
    pointermove: (event) => {
      if (!grip || !event.buttons) return point(nearest(event));
      const [dx, dy] = [event.clientX - grip.x, event.clientY - grip.y];
      if (!grip.moved && Math.hypot(dx, dy) < 4) return;
      if (view.scale > 1) { view.x += dx; view.y += dy; move(); }
      Object.assign(grip, { x: event.clientX, y: event.clientY, moved: true });
    },
    pointerleave: () => point(-1),
    // the first touch of a dot shows its text, and the second opens its document
    click: () => { if (grip && !grip.moved && !grip.touched && spot >= 0) open(dots, spot); grip = null; },
    dblclick: (event) => event.preventDefault(),
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const frame = canvas.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 300), event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });
  whenWide(stage, (now) => {
    const high = Math.round(now < 520 ? now * 0.95 : Math.max(400, Math.min(620, now * 0.72, innerHeight - 430)));
    stage.style.setProperty("height", `${high}px`);
    [width, height] = [now, high];
    draw();
  });
  const take = () => {
    looks = new Uint8Array(dots.n);
    look();
    again();
    stage.dataset.dots = dots.n;
  };
  hearer = take;
  dotsOfCorpus().then((all) => {
    dots = all;
    take();
    if (report.dots.beside) dotsBeside(all);
  });
  const light = (change) => { Object.assign(lit, change); look(); again(); };
  return { stage, light, zoom };
}

const partsOf = (colour) => (/^#/.test(colour) ? colour.match(/\w\w/g).map((x) => parseInt(x, 16)) : colour.match(/[\d.]+/g).map(Number)).slice(0, 3);

/** Discs with a radius in pixels, for sixteen positions within a pixel: the bytes of the image that they cover, and how much. */
function discsOf(radius, wide) {
  return once(`discs ${radius.toFixed(2)} ${wide}`, () => {
    const reach = Math.ceil(radius + 0.875) - 1, side = 2 * reach + 1;
    const parts = Array.from({ length: 16 }, (_, at) => {
      const cells = Array.from({ length: side * side }, (_, i) => [(i % side) - reach, Math.floor(i / side) - reach]);
      const cover = cells.map(([x, y]) => Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(x - ((at % 4) - 1.5) / 4, y - (Math.floor(at / 4) - 1.5) / 4))));
      const some = cells.flatMap((cell, i) => (cover[i] > 0 ? [[4 * (cell[1] * wide + cell[0]), cover[i]]] : []));
      return { bytes: Int32Array.from(some, (one) => one[0]), cover: Float32Array.from(some, (one) => one[1]) };
    });
    return { reach, parts };
  });
}

/** Draws a disc with a colour over the opaque pixels of an image. */
function stamp(data, wide, high, x, y, { reach, parts }, colour, alpha) {
  const left = Math.floor(x), top = Math.floor(y);
  if (left < reach || top < reach || left >= wide - reach || top >= high - reach) return;
  const { bytes, cover } = parts[4 * Math.floor(4 * (y - top)) + Math.floor(4 * (x - left))];
  const middle = 4 * (top * wide + left), red = colour[0], green = colour[1], blue = colour[2];
  for (let i = 0; i < bytes.length; i++) {
    const pixel = middle + bytes[i], part = cover[i] * alpha;
    data[pixel] += (red - data[pixel]) * part;
    data[pixel + 1] += (green - data[pixel + 1]) * part;
    data[pixel + 2] += (blue - data[pixel + 2]) * part;
  }
}

const dotColour = (topic) => once(`dot ${topic.hue} ${isDark()}`, () => plainColour(`oklch(${isDark() ? 0.77 : 0.6} 0.14 ${topic.hue})`));

/** Returns the first two words of a topic's name, which are enough on a map. */
function briefName(topic) {
  return nameOf(topic).split(" · ").slice(0, 2).join(" · ");
}
