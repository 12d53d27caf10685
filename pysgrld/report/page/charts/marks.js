// Marks that are as small as a word: bars, strips, and lines.

const part = (x) => `${(100 * Math.min(1, Math.max(0, x))).toFixed(2)}%`;

/** A bar filled up to the mean, with a bracket for the interval; the bracket is open if only an upper bound of its low end is known. */
function bar({ mean, low, high, open }, top, kind = "") {
  const sure = !isThere(low) || (low === high && low === mean);
  const filled = h("i", { class: mean < 0 ? "fill hollow" : "fill", "--to": part(Math.abs(mean) / top) });
  const [from, to] = mean < 0 ? [-high, -low] : [low, high];
  const bracket = sure ? null : h("i", { class: open ? "bracket open" : "bracket", "--from": part(from / top), "--to": part(to / top) });
  return h("span", { class: `bar ${kind}`, ...UNREAD }, filled, bracket);
}

function dot(topic) {
  return h("span.dot.hue", { "--h": topic.hue, ...UNREAD });
}

/** Shares of topics side by side: [[topic, share, low end]...]; the colour of a share fades above its low end. */
function strip(shares, kind = "") {
  const cells = shares.filter(([id]) => byId.has(id)).map(([id, share, low]) =>
    h("i.hue", { "--h": byId.get(id).hue, "--to": part(share), "--solid": part(isThere(low) && share > 0 ? low / share : 1) }));
  return h("span", { class: `strip ${kind}`, ...UNREAD }, cells);
}

/** A line along the corpus, as small as a word. */
function spark(values, width = 130, height = 28, top = Math.max(...values) || 1) {
  const x = scale([0, Math.max(1, values.length - 1)], [1, width - 1]);
  const points = Array.from(values, (value, i) => [x(i), height - 2 - (value / top) * (height - 5)]);
  return s("svg.spark", { viewBox: `0 0 ${width} ${height}`, width, height, ...UNREAD },
    s("path.area", { d: `${line(points)}L${width - 1} ${height - 1}L1 ${height - 1}Z` }),
    s("path.line", { d: line(points) }));
}

/** A value on a scale that shows zero. */
function onScale(value, [low, high], width = 78) {
  const x = scale([low, high], [5, width - 5]);
  return s("svg.on-scale", { viewBox: `0 0 ${width} 16`, width, height: 16, ...UNREAD },
    rule(2, 8, width - 2, 8, "rail"), rule(x(0), 2, x(0), 14, "zero"), s("circle", { cx: x(value), cy: 8, r: 4.5 }));
}

/** A difference on an axis that includes zero: a dot, with a line for the interval. */
function whisker({ mean, low, high }, [from, to], width = 190) {
  const x = scale([Math.min(0, from), Math.max(0, to)], [7, width - 7]);
  return s("svg.whisker", { viewBox: `0 0 ${width} 18`, width: "100%", height: 18, preserveAspectRatio: "none", ...UNREAD },
    rule(x(0), 0, x(0), 18, "zero"), isThere(low) && rule(x(low), 9, x(high), 9, "stretch"), rule(x(mean), 4, x(mean), 14, "mean"));
}

/** Ten marks for the ten top words; each is filled by the probability that its word is among the ten. */
function marks(ten) {
  const d = (top) => ten.map((p, i) => `M${i * 7} 14V${(14 - 13 * top(p)).toFixed(1)}h5V14Z`).join("");
  return s("svg.marks", { viewBox: "0 0 69 14", width: 69, height: 14, ...UNREAD },
    s("path.empty", { d: d(() => 1) }), s("path.full", { d: d((p) => p) }));
}
