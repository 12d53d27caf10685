// The view "Map": all topics, all pairs of topics, and the tree.

view("Map", { map: mapPage }, report.map || report.merges.length);

async function mapPage() {
  const pairs = await block("pairs");
  const first = report.map && card("Map", [`Near circles are ${TOPICS} with many words in common. The area of a circle is the ${TOPIC}'s share; wide gaps mean little. `, bold(`${Math.round(10 * report.map.kept)} of 10`), ` neighbours here are true neighbours.${pairs ? ` All pairs has every distance.` : ""}`],
    map({ title: `map of ${TOPICS}`, height: 560 }));
  const top = h(report.map && pairs ? "div.cols.map" : "div", first, pairs && pairsCard(pairs));
  return stacked("Map", top, report.merges.length > 0 && treeCard());
}

function pairsCard(pairs) {
  const ids = report.order, n = ids.length;
  const value = (i, j) => pairs.get(chosen.pairs)[ids[i] * report.size + ids[j]];
  const among = ids.flatMap((a, i) => ids.slice(0, i).map((b) => pairs.get("distance")[a * report.size + b]));
  const [nearest, farthest] = [among.reduce((x, y) => Math.min(x, y)), among.reduce((x, y) => Math.max(x, y))];
  const strongest = pairs.get("correlation").reduce((most, r, at) => (at % (report.size + 1) ? Math.max(most, Math.abs(r)) : most), 1);
  const colour = (i, j) => {
    if (i === j) return shade(0, 90, 0);
    if (chosen.pairs === "distance") return shade((farthest - value(i, j)) / (farthest - nearest || 1), 250, 0.1);
    return shade(Math.abs(value(i, j)) / strongest, value(i, j) < 0 ? 40 : 250, 0.1);
  };
  const say = readout(`Rows and columns in the order of the tree, with the ${TOPICS}' colours at the edge. Select a cell to open its two topics side by side.`);
  const tell = (i, j) => say.replaceChildren(topicLink(byId.get(ids[i])), ...(i === j ? [] : [" and ", topicLink(byId.get(ids[j])), `: ${ofPair(...pairNumbers(pairs, ids[i], ids[j]))}`]));
  const place = h("div.matrix");
  const legend = h("div.legend");
  const draw = (width) => {
    const size = width / n;
    const cells = field({ name: "pairs", title: `pairs of ${TOPICS}`, rows: n, columns: n, high: size, wide: size, colour, tell, open: (i, j) => visit(i === j ? topicAddress(ids[i]) : `#pair/${ids[i]}-${ids[j]}`) });
    const edge = (kind) => h(`div.edge.at-${kind}`, UNREAD, ids.map((id) => h("i.hue", { "--h": byId.get(id).hue })));
    place.replaceChildren(edge("top"), edge("left"), cells.box);
    legend.replaceChildren(...pairsLegend(), cells.button);
  };
  const redraw = whenWide(place, draw);
  const control = report.docs_of && choice("pairs by", [["distance", "shared words"], ["correlation", `the same ${NOUNS}`]], chosen.pairs, (kind) => { chosen.pairs = kind; redraw(); });
  return ruledCard("All pairs", control, null, place, legend, say);
}

function pairsLegend() {
  const ramp = (hue, back) => { const cells = Array.from({ length: 12 }, (_, i) => h("i", { "--c": shade(i / 11, hue, 0.1) })); return h("span.ramp", UNREAD, back ? cells.reverse() : cells); };
  if (chosen.pairs === "distance") return [h("span", "least alike"), ramp(250), h("span", "most alike")];
  return [h("span", `rarely in the same ${NOUNS}`), ramp(40, true), h("span", "not sure"), ramp(250), h("span", "often")];
}

function pairNumbers(pairs, a, b) {
  const at = a * report.size + b;
  return [ofShare8(pairs.get("distance")[at]), pairs.get("correlation")[at] / 127];
}

/** Describes a distance and a correlation in words, if they are known; a correlation of 0 has no sure sign. */
function ofPair(distance, correlation) {
  const r = correlation === 0 ? "no sure correlation" : correlation && `correlation ${fixed(correlation, 2)}`;
  return [distance !== undefined && `distance ${fixed(distance, 2)}`, r].filter(Boolean).join(", ");
}

function treeCard() {
  const many = report.order.length > 200;
  const drawing = tree({ title: `tree of ${TOPICS}`, row: many ? 14 : 20 });
  return card("Tree of likeness", `Similar ${TOPICS} join first. The axis is the distance at which they join.`, many ? h("div.scrolled", reachable("tree"), drawing) : drawing);
}
