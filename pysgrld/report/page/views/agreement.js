// The topics on which chains agree.

view("How sure?", { chains: chainsPage }, report.chains);

const CHAIN_HUES = [250, 25, 150, 300, 80, 200, 340, 120];

function chainsPage() {
  const { chains } = report;
  const { traces } = chains;
  const series = traces && traces.values.map((values, i) => ({ name: shown(chains.names[i]), hue: CHAIN_HUES[i % 8], kind: "chain hue", points: values.map((v, j) => [traces.iterations[j], v]).filter(([, v]) => v !== null) }));
  const title = traces && `${traces.name} in each chain`;
  const drawn = traces && card(plural(chains.count, ["chain", "chains"]), `On held-out ${NOUNS}. If the lines overlap, the chains have reached the same level.`,
    figure("chains", title, (width) => lines(width, { title, series: series.filter((one) => one.points.length), across: { name: "iteration" }, unit: traces.name })));
  const means = chains.sentences.length > 0 && card("What this means", null, h("ul.verdicts", chains.sentences.map(({ good, text }) => h("li", sign(good), h("p", text)))));
  return stacked("Chains", h(drawn && means ? "div.cols" : "div", drawn, means), chainTable());
}

function chainTable() {
  const rows = sorted(report.topics.filter((t) => t.overlap !== null || t.found && !report.replicates), (t) => t.overlap, false);
  if (!rows.length) return null;
  const has = (key) => rows.some((t) => isThere(t[key]));
  const number = (value, digits) => numeral(isThere(value) ? fixed(value, digits) : "–");
  const row = (t) => h("tr", hued(t), rowHead(topicLink(t)), has("found") && h("td.found", t.found ? foundMarks(t.found) : "–"),
    wideCell(t.overlap !== null && bar({ mean: t.overlap }, 1)), numeral(t.overlap === null ? "–" : backPill(t, overlapText(t.overlap))),
    has("rhat") && number(t.rhat, 2), has("ess") && number(t.ess, 0), faint(t.weight ? percent(t.weight[0], shareDigits) : "–"));
  const head = [colHead(TOPIC), has("found") && colHead("found in"), colHead("overlap of the two least similar chains", null, 2), has("rhat") && colHead("R-hat", "figure"),
    has("ess") && colHead("effective draws", "figure"), colHead("share", "figure")];
  return card(`Which ${TOPICS} the chains share`, "Each topic with its partners in the other chains; the most similar first.", h("div.groups-scroll", { tabindex: "0", role: "region", "aria-label": `table of ${TOPICS}` }, table("shared", head, rows.map(row))));
}

function foundMarks([n, of]) {
  return [h("span.found-marks", UNREAD, Array.from({ length: of }, (_, i) => h("i", { class: i < n ? "on" : null }))), `${n} of ${of}`];
}
