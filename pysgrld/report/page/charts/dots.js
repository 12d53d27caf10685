// Every document as a dot, on a canvas that can be moved and made larger.

const DOTS = { margin: 20, reach: 14, most: 24 };

/** The documents of the map: their places, topics and names; null where there is no map. */
function dotsOfCorpus() {
  return once("dots", async () => {
    const [parts, groups] = await Promise.all([block("dots"), block("best")]);
    if (!parts || !report.dots?.map) return null;
    const names = parts.get("name").split("\n");
    const place = new Map(report.docs?.row.map((row, i) => [row, i]) ?? []);
    const of = (name) => parts.get(name);
    return { n: names.length, x: of("x"), y: of("y"), topic: of("topic"), mean: of("mean"), low: of("low"), high: of("high"), row: of("row"), names, place, level: groups?.get("level") ?? null };
  });
}

/** A map of documents; `tell` hears of the dot that is pointed at, or of none (-1). */
function dotMap(dots, { tell, open }) {
  const canvas = h("canvas", { role: "img", "aria-label": `Map of ${NOUNS}: each dot is one, among those with similar ${TOPICS}. The list of ${TOPICS} has the same in words.` });
  const names = h("div.dot-names", UNREAD);
  const stage = h("div.dot-stage", canvas, names);
  const view = { scale: 1, x: 0, y: 0 }, lit = { topic: null, level: null, text: "" };
  let width = 0, height = 0, spot = -1, waiting = false;
  const lower = once("dot names", () => dots.names.map((name) => name.toLowerCase()));
  const inner = (size) => size - 2 * DOTS.margin;
  const px = (i) => DOTS.margin + (dots.x[i] / 65535) * inner(width) * view.scale + view.x;
  const py = (i) => DOTS.margin + (dots.y[i] / 65535) * inner(height) * view.scale + view.y;
  const isLit = (i) => (lit.topic === null || dots.topic[i] === lit.topic) && (lit.level === null || dots.level?.[i] === lit.level) && (lit.text === "" || lower[i].includes(lit.text));
  const isFiltered = () => lit.topic !== null || lit.level !== null || lit.text !== "";

  function draw() {
    waiting = false;
    const ratio = Math.min(3, devicePixelRatio || 1), brush = canvas.getContext("2d");
    if (canvas.width !== width * ratio || canvas.height !== height * ratio) [canvas.width, canvas.height] = [width * ratio, height * ratio];
    brush.setTransform(ratio, 0, 0, ratio, 0, 0);
    brush.clearRect(0, 0, width, height);
    const size = Math.max(1.3, Math.min(3, 160 / Math.sqrt(dots.n))) * Math.min(2, Math.sqrt(view.scale));
    const filtered = isFiltered();
    // dots of one look are one path: dim ones first, then pale ones, opaque ones last
    const looks = new Map();
    for (let i = 0; i < dots.n; i++) {
      const topic = byId.get(dots.topic[i]), on = isLit(i);
      const key = on ? (dots.low[i] > 127 ? 2 : 1) * 100000 + (topic ? topic.place : 99999) : 0;
      if (!looks.has(key)) looks.set(key, []);
      looks.get(key).push(i);
    }
    for (const key of [...looks.keys()].sort((a, b) => a - b)) {
      const topic = key ? report.topics[key % 100000] : null;
      brush.fillStyle = !key ? (isDark() ? "#ffffff14" : "#00000012") : topic ? dotColour(topic) : "#888888";
      brush.globalAlpha = key >= 200000 ? 0.95 : key ? 0.4 : 1;
      const r = key && filtered ? size * 1.25 : size;
      brush.beginPath();
      for (const i of looks.get(key)) {
        const [x, y] = [px(i), py(i)];
        if (x < -9 || y < -9 || x > width + 9 || y > height + 9) continue;
        brush.moveTo(x + r, y);
        brush.arc(x, y, r, 0, 7);
      }
      brush.fill();
    }
    brush.globalAlpha = 1;
    if (spot >= 0) {
      brush.strokeStyle = isDark() ? "#fff" : "#000";
      brush.lineWidth = 2;
      brush.beginPath();
      brush.arc(px(spot), py(spot), size + 4, 0, 7);
      brush.stroke();
    }
    placeNames();
  }

  /** Names of topics where most of each lies, the heaviest first; each moves up or down to a free place. */
  function placeNames() {
    const taken = [], most = width < 520 ? 9 : DOTS.most;
    const wanted = report.topics.filter((t) => t.spot && !t.hardly && (lit.topic === null || t.id === lit.topic));
    const heavy = sorted(wanted, (t) => t.mostly || 0, false).slice(0, most);
    names.replaceChildren(...heavy.map((t) => {
      const text = short(briefName(t), 30), half = (text.length * (width < 520 ? 6.6 : 7.4) + 10) / 2;
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
  const nearest = (event) => {
    const frame = canvas.getBoundingClientRect(), [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    let least = DOTS.reach ** 2, found = -1;
    for (let i = 0; i < dots.n; i++) {
      const square = (px(i) - x) ** 2 + (py(i) - y) ** 2;
      if (square < least && isLit(i)) [least, found] = [square, i];
    }
    return found;
  };
  const point = (i) => { if (i !== spot) { spot = i; tell(i); again(); } };
  const zoom = (factor, x = width / 2, y = height / 2) => {
    const scale = Math.min(24, Math.max(1, view.scale * factor)), by = scale / view.scale;
    Object.assign(view, scale === 1 ? { x: 0, y: 0 } : { x: x - DOTS.margin - (x - DOTS.margin - view.x) * by, y: y - DOTS.margin - (y - DOTS.margin - view.y) * by }, { scale });
    canvas.classList.toggle("near", scale > 1);
    again();
  };
  let grip = null;
  give(canvas, {
    pointerdown: (event) => { grip = { x: event.clientX, y: event.clientY, moved: false, touched: event.pointerType === "touch" && nearest(event) !== spot }; point(nearest(event)); },
    pointermove: (event) => {
      if (!grip || !event.buttons) return point(nearest(event));
      const [dx, dy] = [event.clientX - grip.x, event.clientY - grip.y];
      if (!grip.moved && Math.hypot(dx, dy) < 4) return;
      if (view.scale > 1) { view.x += dx; view.y += dy; again(); }
      Object.assign(grip, { x: event.clientX, y: event.clientY, moved: true });
    },
    pointerleave: () => point(-1),
    // the first touch of a dot tells of it, the second opens it
    click: () => { if (grip && !grip.moved && !grip.touched && spot >= 0) open(spot); grip = null; },
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
  const light = (change) => { Object.assign(lit, change); again(); };
  const shownNow = () => Array.from({ length: dots.n }, (_, i) => i).filter(isLit).length;
  return { stage, light, zoom, shownNow, isFiltered };
}

const dotColour = (topic) => once(`dot ${topic.hue} ${isDark()}`, () => plainColour(`oklch(${isDark() ? 0.77 : 0.6} 0.14 ${topic.hue})`));

/** The first two words of a name: enough on a map. */
function briefName(topic) {
  return nameOf(topic).split(" · ").slice(0, 2).join(" · ");
}
