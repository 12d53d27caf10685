// Two topics side by side.

async function pairPage(rest) {
  const [a, b] = rest.split("-").map((id) => byId.get(id === "" ? NaN : Number(id)));
  if (!a || !b) return nothing(`There is no such pair of ${TOPICS}; #pair/3-5 would be of 3 and 5.`);
  const [left, right, near, pairs] = await Promise.all([termsOf(a.id), termsOf(b.id), nearOf(a.id), block("pairs")]);
  const half = (t, kind) => h("div", hued(t, `half ${kind}`), h("h1", h("a", { href: topicAddress(t.id) }, dot(t), cutBdi(nameOf(t)))),
    h("p", `${TOPIC} ${t.id}`, t.weight && [", ", bold(percent(t.weight[0], shareDigits))]));
  const among = (list) => list?.find(([id]) => id === b.id)?.[1];
  const said = pairs ? ofPair(...pairNumbers(pairs, a.id, b.id)) : ofPair(among(near?.nearest), among(near?.friends));
  const node = h("article.pair", h("header.versus", half(a, "left"), half(b, "right")), h("p.remark.middle", said), pairCard(a, b, left, right));
  return { title: `${nameOf(a)} and ${nameOf(b)}`, node };
}

function pairCard(a, b, left, right) {
  const both = joined(left, right);
  const top = Math.max(...left.map((t) => Math.abs(t.high)), ...right.map((t) => Math.abs(t.high))) || 1;
  const lean = (row) => Math.sqrt(row.p) - Math.sqrt(row.q);
  const shared = both.filter((row) => row.left && row.right && row.p < 3 * row.q && row.q < 3 * row.p).sort((x, y) => Math.min(y.p, y.q) - Math.min(x.p, x.q)).slice(0, 12);
  const other = both.filter((row) => !shared.includes(row)).sort((x, y) => lean(y) - lean(x));
  const parts = [[`more in ${shown(nameOf(a))}`, other.filter((row) => row.left && lean(row) > 0).slice(0, 12)], ["in both", shared], [`more in ${shown(nameOf(b))}`, other.filter((row) => row.right && lean(row) < 0).slice(-12).reverse()]];
  const value = (term, edge, kind) => h(`td.figure.${kind}`, (term ? "" : "< ") + (report.scale === "linear" ? fixed(term?.mean ?? edge, 3) : percent(term?.mean ?? edge, digitsFor(top))));
  const cell = (term, kind, hue) => h("td", { class: `wide ${kind} hue`, "--h": hue }, term ? bar(term, top) : bar({ mean: 0 }, 1));
  const row = (r) => h("tr", value(r.left, r.p, "left"), cell(r.left, "mirrored", a.hue), rowHead(wordLink(r.word)), cell(r.right, "", b.hue), value(r.right, r.q, "right"));
  const group = ([title, rows]) => rows.length > 0 && h("tbody", h("tr", h("th.group", { colspan: 5, scope: "rowgroup" }, title)), rows.map(row));
  return card(null, null, h("table.versus-words", h("caption.unseen", "words of the two, side by side"), parts.map(group)));
}

/** Words of either, once each. One that a side does not list is at most as probable there as that side's 30th. */
function joined(left, right) {
  const edge = (terms) => Math.max(0, terms[Math.min(29, terms.length - 1)]?.mean ?? 0);
  const other = new Map(right.map((term) => [term.place, term]));
  const rows = left.map((term) => ({ word: term.word, left: term, right: other.get(term.place) }));
  const seen = new Set(left.map((term) => term.place));
  rows.push(...right.filter((term) => !seen.has(term.place)).map((term) => ({ word: term.word, right: term })));
  return rows.map((row) => ({ ...row, p: Math.max(0, row.left?.mean ?? edge(left)), q: Math.max(0, row.right?.mean ?? edge(right)) }));
}
