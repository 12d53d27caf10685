// Topics as circles on a map, and as leaves of a tree.

// ---- the map

/** Draws topics as circles; `chosen` is a highlighted topic with lines to the topics `near`. Labels avoid each other. */
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
    return stepped(svg(width, height, `${title}. Arrow keys move, Enter opens.`, threads, circles, names), (from, to, [right, down]) => {
      const [x, y] = [0, 1].map((i) => at(byId.get(to))[i] - at(byId.get(from))[i]);
      const along = x * right + y * down, aside = Math.abs(x * down) + Math.abs(y * right);
      return along > 0 ? along + 2 * aside : Infinity;
    });
  });
}

function thread(from, to, rank) {
  return s("path.thread", { d: line([from, to]), "stroke-width": 2.6 - rank / 2 });
}

function circle(topic, [x, y], r, strong) {
  return s("a.hue.place", { href: topicAddress(topic.id), "--h": topic.hue, "aria-label": tellTopic(topic), "data-topic": topic.id },
    s("title", tellTopic(topic)), s("circle", { cx: x, cy: y, r: r, class: strong ? "blob" : "blob faint" }));
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Makes one stop of the Tab key for all links of a drawing; an arrow key moves to the link with the least `cost` from the current one. */
function stepped(drawing, cost) {
  const links = [...drawing.querySelectorAll("a")];
  const only = (link) => links.forEach((other) => other.setAttribute("tabindex", other === link ? "0" : "-1"));
  only(links.find((link) => link.dataset.topic === String(report.topics[0].id)) ?? links[0]);
  drawing.addEventListener("keydown", (event) => {
    const from = event.target.closest("a");
    if (!from || !ARROWS[event.key]) return;
    event.preventDefault();
    const costs = links.map((to) => (to === from ? Infinity : cost(Number(from.dataset.topic), Number(to.dataset.topic), ARROWS[event.key])));
    const least = Math.min(...costs);
    if (least < Infinity) links[costs.indexOf(least)].focus();
  });
  drawing.addEventListener("focusin", (event) => only(event.target.closest("a")));
  return drawing;
}

function tellTopic(topic) {
  const share = topic.weight ? `, ${percent(topic.weight[0], 1)}` : "";
  return `${shown(nameOf(topic))} (${TOPIC} ${topic.id}${share}): ${topic.top.map(shown).join(" ")}`;
}

/** Returns the first word of a topic's name, which is enough on a map. */
function brief(topic) {
  return short(nameOf(topic).split(" · ")[0], 18);
}

/** Places names around their circles, the heaviest topic first; a name that would cover a circle or another name is left out. */
function namesOnMap(wanted, placed, at, radius, width, height, chosen) {
  const circles = placed.map((topic) => [...at(topic), radius(topic)]);
  const taken = [];
  const free = ([left, top, right, bottom]) => left > 0 && right < width && top > 0 && bottom < height &&
    circles.every(([x, y, r]) => Math.hypot(x - Math.max(left, Math.min(x, right)), y - Math.max(top, Math.min(y, bottom))) >= r) &&
    taken.every((other) => right < other[0] || left > other[2] || bottom < other[1] || top > other[3]);
  return wanted.map((topic) => {
    const [[x, y], r, text] = [at(topic), radius(topic), brief(topic)];
    const wide = text.length * 6.6 + 4, near = 0.72 * r + 3;
    const sides = [[x, y + r + 8, "middle"], [x, y - r - 8, "middle"], [x + r + 3, y, "start"], [x - r - 3, y, "end"],
      [x + near, y + near + 5, "start"], [x - near, y + near + 5, "end"], [x + near, y - near - 5, "start"], [x - near, y - near - 5, "end"]];
    for (const [from, middle, anchor] of sides) {
      const left = from - wide * { start: 0, middle: 0.5, end: 1 }[anchor];
      const box = [left, middle - 7, left + wide, middle + 7];
      if (!free(box)) continue;
      taken.push(box);
      return label(from, middle + 4, topic.id === chosen ? "map-name strong" : "map-name", text, anchor);
    }
    return null;
  });
}

// ---- the tree

/** Draws the order in which topics are joined, and their distances; the leaves have the order of the page. */
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
    const drawing = svg(width, height, `${title}. Arrow keys move, Enter opens.`, s("path.branches", { d: d.join("") }), leaves, axis);
    return stepped(drawing, (from, to, [, down]) => { const along = down * (place.get(to) - place.get(from)); return along > 0 ? along : Infinity; });
  });
}

function leaf(topic, x, y, narrow) {
  return s("a.hue.place", { href: topicAddress(topic.id), "--h": topic.hue, "data-topic": topic.id },
    s("circle.blob", { cx: x + 8, cy: y, r: 4 }), label(x + 18, y + 4, "leaf", short(nameOf(topic), narrow ? 17 : 42)));
}
