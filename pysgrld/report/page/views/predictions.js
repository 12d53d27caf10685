// How well held-out documents are predicted, by the length of the documents.

view("How sure?", { predictions: predictionsPage }, report.predictions);

function predictionsPage() {
  const { name, groups } = report.predictions;
  const top = Math.max(...groups.map((g) => g.high), 0.01);
  const row = (g) => h("tr", rowHead(`${count(g.from)} – ${count(g.to)}`), numeral(count(g.documents)), numeral(g.score), faint(g.unigram),
    wideCell(bar(g, top, "grey")), numeral(shareOf(g.mean, g.low, g.high)));
  const head = [colHead("words"), colHead(NOUNS, "figure"), colHead(name, "figure"), colHead("of word frequencies", "figure"), colHead("better by", null, 2)];
  return stacked("Predictions", card(`How well ${NOUNS} of each length are predicted`, `Held-out ${NOUNS} by their number of words. Brackets: 90 % intervals over ${NOUNS}.`, h("div.groups-scroll", { tabindex: "0", role: "region", "aria-label": "table of predictions" }, table("shared", head, groups.map(row)))));
}
