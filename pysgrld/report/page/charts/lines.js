// Lines over time, and shares of a topic along the corpus or by the values of a column.

// ---- lines over time

/** Draws series [{name, value, points, kind, hue}] with names at the ends; `levels` are horizontal lines. A single point is a ring. */
function lines(width, { title, series, levels = [], across, unit, digits = 0 }) {
  const narrow = width < 460;
  const height = Math.round(Math.min(330, Math.max(230, width * 0.52)));
  const all = series.flatMap((one) => one.points);
  const ys = [...all.map(([, y]) => y), ...levels.map((level) => level.value)];
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const pad = (high - low || Math.abs(high) || 1) * 0.06;
  const yTicks = ticks(low - pad, high + pad, 5);
  const longest = Math.max(5, ...yTicks.map((v) => numbered(v, yTicks).length));
  const names = [...levels, ...series].map((one) => one.name.length);
  const [left, right, top, bottom] = [(narrow ? 42 : 64) + 7 * (longest - 5), Math.max(118, 14 + 7.4 * Math.max(...names)), 14, 44];
  const x = scale([across.zero ? 0 : Math.min(...all.map(([t]) => t)), Math.max(...all.map(([t]) => t))], [left, width - right]);
  const y = scale([low - pad, high + pad], [height - bottom, top]);
  const grid = yTicks.map((v) => [rule(left, y(v), width - right, y(v), "grid"),
    label(left - 8, y(v) + 4, "tick", numbered(v, yTicks), "end")]);
  const xTicks = ticks(across.zero ? 0 : all[0][0], Math.max(...all.map(([t]) => t)), narrow ? 3 : 6);
  const times = xTicks.map((v) => label(x(v), height - bottom + 20, "tick", numbered(v, xTicks), "middle"));
  const drawn = series.map((one) => {
    const at = one.points.map(([a, b]) => [x(a), y(b)]), look = { class: `series ${one.kind}`, "--h": one.hue };
    return at.length > 1 ? s("path", { d: line(at), ...look }) : s("circle", { cx: at[0][0], cy: at[0][1], r: 3, ...look });
  });
  const ruled = levels.map((level) => rule(left, y(level.value), width - right, y(level.value), "series level"));
  const ends = [...levels.map((level) => ({ ...level, y: y(level.value), kind: "level" })),
    ...series.map((one) => ({ ...one, y: y(one.points.at(-1)[1]) }))];
  const places = movedApart(ends.map((end) => end.y), ends[0].value === undefined ? 16 : 32, height - bottom);
  const named = ends.map((end, i) => [
    s("g", { class: end.hue === undefined ? "" : "hue", "--h": end.hue }, label(width - right + 9, places[i] + 4, `series-name ${end.kind}`, end.name)),
    end.value !== undefined && label(width - right + 9, places[i] + 19, `series-value ${end.kind}`, fixedCount(end.value, digits)),
  ]);
  const foot = label((left + width - right) / 2, height - 5, "axis", across.name, "middle");
  const side = !narrow && s("g", { transform: `translate(9 ${(height - bottom) / 2}) rotate(-90)` }, label(0, 0, "axis", unit, "middle"));
  return svg(width, height, title, grid, times, ruled, drawn, named, foot, side);
}

/** Formats a number of an axis with as many digits as are needed to distinguish the numbers. */
function numbered(value, all) {
  const step = all.length > 1 ? all[1] - all[0] : 1;
  return fixedCount(value, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}

function fixedCount(value, digits) {
  const [whole, rest] = Math.abs(value).toFixed(digits).split(".");
  return (value < 0 ? "−" : "") + count(whole) + (rest ? `.${rest}` : "");
}

const TIMES = [[3600 * 2, 3600, "hours"], [120, 60, "minutes"], [0, 1, "seconds"]];

/** Draws the perplexity, or another score, against time. */
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

// ---- a topic along the corpus, or by the values of a column

/** Draws shares at places in an order, with intervals; `told` is called with the place at the pointer. */
function profile({ title, name, labels, ticksBelow = labels, mean, low, high, usual, hue, area, told, say }) {
  return figure(name, title, (width) => {
    const [right, top] = [6, 10];
    const turned = !area && labels.length > 1;
    const letters = ticksBelow.map((l) => Math.min(26, l.length));
    const bottom = turned ? 14 + Math.max(...letters) * 4.3 : 24;
    // turned names of the first columns reach to the left
    const left = Math.max(46, ...(turned ? letters.map((n, i) => n * 4.8 - ((i + 0.5) * (width - 52)) / labels.length) : []));
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
  const end = middle(labels.length - 1) + step / 2, last = labels.length - 1;
  return labels.map((text, i) => {
    if (!turned && every === 1) return label(middle(i), base + 18, "tick", short(text, 18), "middle");
    if (!turned && i && i === last) return label(end, base + 18, "tick", short(text, 18), "end");
    if (i % every || (!turned && i && middle(i) + 2 * room + 10 > end)) return null;
    if (turned) return s("g", { transform: `translate(${(middle(i) + 4).toFixed(1)} ${base + 12}) rotate(-40)` }, label(0, 0, "tick", short(text, 26), "end"));
    return label(middle(i), base + 18, "tick", short(text, 18), "start");
  });
}

/** Lets a person point at places of a drawing, with the mouse or with the arrow keys. */
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
