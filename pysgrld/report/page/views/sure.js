// The view "How sure?": state of the training, reliability of the results, predictions, and a table of topics.

view("How sure?", { sure: surePage }, true);

function surePage() {
  const intro = h("div.intro",
    h("h1", "How sure?"), h("p.lead", report.sentence),
    report.layer && h("p.lead", `These are the ${TOPICS} of layer ${report.layer.at} of ${report.layer.of}.`),
    h("dl.facts", report.facts.map(fact)), h("ul.verdicts", report.verdicts.map(verdict)), missingLines());
  const shownCurve = report.curve && card("How well it predicts", report.curve.sentence, curve(report.curve));
  return { title: "How sure?", node: h("div", h(report.curve ? "div.cols.opening" : "div.opening", intro, shownCurve), furtherLinks(), topicTable()) };
}

/** Links to the other pages of this view. */
function furtherLinks() {
  const others = Object.keys(VIEWS.find(({ name }) => name === "sure").pages).filter((page) => page !== "sure");
  return h("p.further", [...others, "method"].map((page, i) => [i ? " · " : "", h("a", { href: `#${page}` }, capital(page))]));
}

function fact({ label, value, beside }) {
  return h("div", h("dt", label), h("dd", bold(value), h("span", beside)));
}

function verdict({ good, head, text, code }) {
  return h("li", sign(good), h("p", bold(head), " ", text, code && [" ", h("code", code)]));
}

/** Columns of the table of topics; a column is left out if its values are not known. */
function topicColumns(along) {
  const top = Math.max(...report.topics.map((t) => t.weight?.[2] ?? t.weight?.[0] ?? 0));
  const most = Math.max(...report.topics.map((t) => t.documents ?? 0)) || 1;
  const npmi = report.topics.map((t) => t.npmi).filter((x) => x !== null);
  const range = [Math.min(-0.1, ...npmi), Math.max(0.1, ...npmi)];
  const has = (key) => report.topics.some((t) => isThere(t[key]));
  const overBins = (t) => shares(along, "mean", t.id, report.along.bins.length);
  const highest = along ? Math.max(...report.topics.flatMap(overBins), 1e-9) : 1;
  return [
    { key: "id", head: "No.", value: (t) => t.id, cell: (t) => h("span.figure.aside", t.id) },
    { key: "name", head: capital(TOPIC), value: nameOf, cell: nameCell },
    has("weight") && { key: "weight", head: weightName, value: (t) => t.weight?.[0], cell: (t) => weightCell(t, top) },
    has("documents") && { key: "documents", head: capital(NOUNS), value: (t) => t.documents, cell: (t) => [bar({ mean: t.documents }, most, "short"), h("b.figure", count(t.documents))] },
    along && { key: "along", head: capital(report.along.title), cell: (t) => spark(overBins(t), 130, 28, highest) },
    has("npmi") && { key: "npmi", head: "Coherence", value: (t) => t.npmi, cell: (t) => t.npmi !== null && [onScale(t.npmi, range), h("span.figure", fixed(t.npmi, 2))] },
    has("steady") && { key: "steady", head: "Stable words", value: (t) => t.steady, cell: (t) => t.steady !== null && [marks(t.ten), h("span.figure", fixed(t.steady, 1))] },
    has("found") && { key: "found", head: "Came back", value: (t) => t.found?.[0] + (t.overlap ?? 0), cell: foundCell },
  ].filter(Boolean);
}

function nameCell(t) {
  return [dot(t), h("div.named", h("a.cover", { href: topicAddress(t.id) }, h("bdi", shown(nameOf(t)))),
    h("p.top-words", spaced(t.top)))];
}

function weightCell(t, top) {
  if (!t.weight) return null;
  const [mean, low, high] = t.weight;
  return [bar({ mean, low, high }, top, "short"), h("b.figure", percent(mean, shareDigits))];
}

function foundCell(t) {
  return t.found && backPill(t);
}

function topicTable() {
  const body = h("div.table-place");
  const remark = `Select a column to sort, a ${TOPIC} to open it.` + (shareInterval() ? ` Brackets: ${shareInterval()}.` : "");
  const make = async () => {
    const along = report.along && (await block("along"));
    const columns = topicColumns(along);
    body.replaceChildren(sortedTable(columns, make));
  };
  make();
  return h("section.card.on-screen", h("h2", capital(TOPICS)), h("p.remark", remark), body);
}

function sortedTable(columns, again) {
  const by = columns.find((column) => column.key === chosen.sort && column.value) ?? columns[1];
  const all = sorted(report.topics, by.value, chosen.up);
  const rows = chosen.hardly ? all : all.filter((t) => !t.hardly);
  const head = columns.map((column) => h("th", { scope: "col", class: `c-${column.key}`, "aria-sort": column === by ? (chosen.up ? "ascending" : "descending") : null },
    column.value ? h("button", { class: "head", click: () => { chosen.up = column === by ? !chosen.up : column === columns[0] || column === columns[1]; chosen.sort = column.key; again(); } },
      column.head, h("span", UNREAD, column === by ? (chosen.up ? " ↑" : " ↓") : "")) : column.head));
  const row = (t) => h("tr", hued(t), columns.map((column) => h(`td.c-${column.key}`, h("div.cell", column.cell(t)))));
  const rest = rows.length - chosen.rows;
  const few = all.length - rows.length;
  return h("div", table("topics", head, rows.slice(0, chosen.rows).map(row)),
    rest > 0 && more(`${plural(rest, report.topic)} more`, () => { chosen.rows = Infinity; again(); }),
    few > 0 && rest <= 0 && [h("p.remark", `${report.hardly_used}.`), more("show them", () => { chosen.hardly = true; again(); })]);
}
