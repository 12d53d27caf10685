// Pages of the run as a whole: layers, components, chains, method.

// ---- layers, components, chains

function layersPage() {
  const place = h("div.layers", report.layers.map((node) => layerNode(node, true)));
  const toggle = more("open or close all", () => {
    const all = [...place.querySelectorAll("details")];
    const open = all.some((one) => !one.open);
    all.forEach((one) => (one.open = open));
  });
  const remark = `Below each are those that it mostly uses; a share is of the ${TOPIC} above. A number is the layer and the place in it; those of layer 1 are nearest to words.`;
  return { title: "Layers", node: h("section.card", h("div.card-head", h("h1", `${capital(TOPICS)} of ${TOPICS}`), toggle), h("p.remark", remark), place) };
}

function layerNode(node, top = false) {
  const here = node.layer === report.layer.at && byId.get(node.id);
  const face = [bar({ mean: node.share }, 1, "thin grey"), h("span.figure", percent(node.share)), h("b.key", `${node.layer}.${node.id}`),
    here && topicLink(here), h("span.top-words", node.words.map((word) => [bdi(word), " "]))];
  if (!node.children.length) return h("div.layer.leaf", face);
  return h("details.layer", { open: top }, h("summary", face), h("div.below", node.children.map((child) => layerNode(child))));
}

function componentsPage() {
  const { components } = report;
  const series = [{ name: `${components.numbers.at(-1)} at the end`, points: components.iterations.map((t, i) => [t, components.numbers[i]]), kind: "main" }];
  const title = `number of ${TOPICS} in use`;
  return { title: "How many", node: h("div.stack", h("h1.unseen", "How many"), card(`How many ${TOPICS} there are`, `The number in use in each kept draw: the model chooses it.`, figure("components", title, (width) =>
    lines(width, { title, series, across: { name: "iteration" }, unit: `${TOPICS} in use` }))), topicTable()) };
}

const CHAIN_HUES = [250, 25, 150, 300, 80, 200, 340, 120];

function chainsPage() {
  const { chains } = report;
  const { traces } = chains;
  const series = traces && traces.values.map((values, i) => ({ name: shown(chains.names[i]), hue: CHAIN_HUES[i % 8], kind: "chain hue", points: values.map((v, j) => [traces.iterations[j], v]).filter(([, v]) => v !== null) }));
  const title = traces && `${traces.name} in each chain`;
  const drawn = traces && card(plural(chains.count, ["chain", "chains"]), `On the held-out ${NOUNS}: lines that lie among each other have come to the same place.`,
    figure("chains", title, (width) => lines(width, { title, series: series.filter((one) => one.points.length), across: { name: "iteration" }, unit: traces.name })));
  const means = chains.sentences.length > 0 && card("What that means", null, h("ul.verdicts", chains.sentences.map(({ good, text }) => h("li", sign(good), h("p", text)))));
  return { title: "Chains", node: h("div.stack", h("h1.unseen", "Chains"), h(drawn && means ? "div.cols" : "div", drawn, means), chainTable()) };
}

function chainTable() {
  const rows = sorted(report.topics.filter((t) => t.overlap !== null || t.found), (t) => t.overlap, false);
  if (!rows.length) return null;
  const has = (key) => rows.some((t) => t[key] !== null && t[key] !== undefined);
  const number = (value, digits) => numeral(value === null || value === undefined ? "–" : fixed(value, digits));
  const row = (t) => h("tr", hued(t), rowHead(topicLink(t)), has("found") && h("td.found", t.found ? foundMarks(t.found) : "–"),
    wideCell(t.overlap !== null && bar({ mean: t.overlap }, 1)), numeral(t.overlap === null ? "–" : pill(t.overlap)),
    has("rhat") && number(t.rhat, 2), has("ess") && number(t.ess, 0), faint(t.weight ? percent(t.weight[0], shareDigits) : "–"));
  const head = [colHead(TOPIC), has("found") && colHead("found in"), colHead("in common in the least alike two", null, 2), has("rhat") && colHead("R-hat", "figure"),
    has("ess") && colHead("effective draws", "figure"), colHead("share", "figure")];
  return card(`Which ${TOPICS} the chains share`, `Each with its partners in the ${report.chains.count > 1 ? "other chains" : "other half of the draws"}; the most alike first.`, table("shared", head, rows.map(row)));
}

function foundMarks([n, of]) {
  return [h("span.found-marks", { "aria-hidden": "true" }, Array.from({ length: of }, (_, i) => h("i", { class: i < n ? "on" : null }))), `${n} of ${of}`];
}

// ---- method

/** Definitions; one that the address names is the first that is seen. */
function methodPage(rest) {
  const read = h("section.card.prose", h("h1", "How to read this page"),
    h("dl", report.method.map(({ name, text, source }) => [h("dt", name === rest ? { class: "sought" } : {}, name), h("dd", text, source && h("cite", ` ${source}`))])),
    report.interval.remark && h("p.remark", `Intervals here: ${report.interval.remark}.`));
  const pairs = (list, kind = "dt") => h("dl.options", list.map(([name, value]) => [h("dt", kind === "dt" ? name : h(kind, name)), h("dd", bdi(String(value)))]));
  const given = report.options.filter(([, , own]) => own);
  const { draws: first, pooled } = report.interval;
  const draws = pooled === first ? `${count(first)} kept` : `${count(first)} draws of the first chain, ${count(pooled)} of all where they agree`;
  const run = card("This run", null, pairs([["run", report.run], ["made by", `sgmc ${report.sgmc}`], ["intervals", report.interval.draws ? `${report.interval.title}; ${draws}` : "none"]]),
    given.length > 0 && [h("h3", "Options given"), pairs(given)],
    h("details", h("summary", `all ${report.options.length} options`), pairs(report.options)), missingLines());
  const away = card("Take away", `Names that you give to ${TOPICS} stay in this browser; labels.json takes them to sgmc report --labels.`,
    h("div.buttons", more("topics.csv", () => save("topics.csv", topicsFile(), "text/csv")), more("labels.json", () => save("labels.json", labelsFile(), "application/json")), more("print", () => print())));
  const keys = card("Keys", null, pairs([["/", "search"], ["j, k", `next and previous ${TOPIC} or ${NOUN}`], ["arrows", "move in charts and lists"], ["Escape", "leave the search"]], "kbd"));
  return { title: "Method", node: h("div.cols.method", read, h("div.stack", run, away, keys)) };
}
