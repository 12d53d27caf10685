// How topic shares depend on columns: the difference of each topic in a comparison, and one topic along a column.

view("Effects", { effects: effectsPage }, report.effects);

function effectsPage(rest) {
  const { compared, formula, documents } = report.effects;
  const at = rest === "" ? 0 : Number(rest);
  const of = compared[at];
  if (!of) return nothing(`There is no comparison ${shown(rest)} on this page; it has ${count(compared.length)}.`);
  const name = ({ column, first, second }) => `${shown(column)}: ${short(second, 24)} compared with ${short(first, 24)}`;
  const control = compared.length > 1 && choice("comparison", compared.map((each, i) => [i, name(each)]), at, (i) => visit(`#effects/${i}`));
  const remark = `Predicted shares by ${shown(formula)}, over ${plural(documents, report.noun)}${interval() ? `. Coloured lines: ${interval()}; dashes: no difference` : ""}. Bold: surely more or less. The greatest differences come first.`;
  return stacked("Effects", h("section.card", h("div.card-head", h("h1", bdi(name(of))), control), h("p.remark", remark), effectTable(of)), alongCard(of));
}

function effectTable({ first, second, topics }) {
  const rows = sorted(topics.filter(([id]) => byId.has(id)), (row) => (row[8] ? 1 : 0) + Math.abs(row[5]), false);
  // all topics have one axis, which is as long as the longest interval on either side
  const ends = [Math.min(0, ...rows.map((row) => row[6] ?? row[5])), Math.max(1e-9, ...rows.map((row) => row[7] ?? row[5]))];
  const points = (x) => (x > 0 ? "+" : "") + fixed(100 * x, 1);
  // the regression may predict a share below 0, which is stored as 0
  const predicted = (share, byDifference) => (share === 0 && byDifference < -0.0005 ? "below 0" : percent(share, 1));
  const row = ([id, a, b, , , mean, low, high, surely]) => h("tr", hued(byId.get(id)), rowHead(topicLink(byId.get(id))),
    numeral(predicted(a, b - mean)), numeral(predicted(b, a + mean)), wideCell(whisker({ mean, low, high }, ends)),
    numeral(surely ? bold(points(mean)) : points(mean)), faint(isThere(low) && `${points(low)} to ${points(high)}`), faint(["surely less", "", "surely more"][surely + 1]));
  const head = [colHead(TOPIC), colHead(short(first, 16), "figure"), colHead(short(second, 16), "figure"), colHead("difference, percentage points", null, 4)];
  return h("div", { class: "groups-scroll", tabindex: "0", role: "region", "aria-label": "effects" }, table("effects", head, rows.map(row)));
}

/** Predicted shares of one topic along a numeric column, or at each value of a column. */
function alongCard({ column, topics }) {
  const curve = report.effects.curves[column];
  const most = sorted(topics.filter(([id]) => byId.has(id)), (row) => Math.abs(row[5]), false).map(([id]) => id);
  if (!curve || !most.length) return null;
  const place = h("div");
  const show = (id) => {
    const topic = byId.get(id), k = report.effects.topics.indexOf(id);
    const of = (part) => curve[part].map((row) => row[k]);
    const say = readout(interval() ? `${curve.ordered ? "Band" : "Line"}: ${interval()}.` : "");
    const told = (i) => say.replaceChildren(bold(bdi(curve.labels[i])), `: ${percent(of("mean")[i], 1)}${within(of("low")[i], of("high")[i])}`);
    place.replaceChildren(profile({ title: `${nameOf(topic)} along ${shown(column)}`, name: `effect-${id}`, labels: curve.labels, mean: of("mean"), low: of("low"), high: of("high"), usual: null, hue: topic.hue, area: curve.ordered, told, say }));
  };
  show(most[0]);
  return ruledCard(["Along ", bdi(column)], choice(TOPIC, most.map((id) => [id, nameOf(byId.get(id))]), most[0], (id) => show(Number(id))), null, place);
}
