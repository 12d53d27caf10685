// The page of a topic, and the page of two topics side by side.

view(capital(TOPICS), { topics: topicPage, topic: topicPage, pair: pairPage }, true);

async function topicPage(rest) {
  const topic = rest === "" ? report.topics[0] : byId.get(Number(rest));
  if (!topic) return nothing(`There is no ${TOPIC} ${shown(rest)} on this page; it has ${plural(report.topics.length, report.topic)}.`);
  const list = side("topics");
  list.mark(topic.id);
  const [words, where, near, docs] = await Promise.all([wordsCard(topic), whereCard(topic), nearCard(topic), surelyCard(topic)]);
  const node = h("article", hued(topic, "detail"),
    h("header.detail-head", titleOf(topic), beside(list, topicAddress)), figuresOf(topic), trust(topic),
    h("div.cols.topic", h("div.stack", words, seedsCard(topic)), h("div.stack", where, chainsCard(topic), near)), docs);
  return { title: nameOf(topic), node, side: list };
}

/** The name of a topic, which a person may change. */
function titleOf(topic) {
  const place = h("div.title");
  const show = () => place.replaceChildren(dot(topic), h("h1", h("bdi", shown(nameOf(topic)))),
    h("button.small.quiet.edit", { click: edit, "aria-label": `change the name of this ${TOPIC}`, title: "change the name" }, "rename"));
  const edit = () => {
    const input = h("input.rename", { value: nameOf(topic), "aria-label": "name", maxlength: 200, spellcheck: "false" });
    const end = (keep) => { if (keep) renamed(topic, input.value); else show(); };
    const form = h("form", { submit: (event) => { event.preventDefault(); end(true); }, keydown: (event) => { if (event.key === "Escape") { event.stopPropagation(); end(false); } } },
      input, h("button.small", { type: "submit" }, "save"), h("button.small.quiet", { type: "button", click: () => end(false) }, "cancel"),
      h("p.remark", "Kept in this browser; empty brings the automatic name back."));
    place.replaceChildren(dot(topic), form);
    input.select();
  };
  show();
  return place;
}

function renamed(topic, name) {
  rename(topic, name);
  known.delete("side topics");
  dispatchEvent(new Event("named"));
}

function figuresOf(t) {
  const one = (value, aside, label) => h("div", h("dt", label), h("dd", bold(value), aside && h("span", " ", aside)));
  const sure = t.weight && t.weight[1] !== null;
  return h("dl.figures",
    t.weight && one(percent(t.weight[0], shareDigits), sure && between(t.weight[1], t.weight[2], shareDigits), mixture ? "weight" : "of all words"),
    isThere(t.documents) && one(count(t.documents), null, NOUNS),
    t.docs !== null && one(count(t.docs), `of ${count(report.docs_of)}`, `${NOUNS} are at least 10 % about it`),
    t.npmi !== null && one(fixed(t.npmi, 2), null, "coherence"),
    t.steady !== null && one(String(Math.round(t.steady)), "of 10", "top words are stable"),
    t.found && one(String(t.found[0]), `of ${t.found[1]}`, `${report.replicates ? "new runs" : "chains"} found it`),
    t.found && t.overlap !== null && one(h("span", { class: trustKind(t) }, overlapText(t.overlap)), null, t.found[1] > 2 ? "least overlap of two chains" : "overlap of the chains"),
    one(String(t.id), null, "its number"));
}

/** A sentence on whether to rely on a topic: whether it was found again, and whether its numbers have converged. */
function trust({ trust: t }) {
  if (!t) return null;
  const drift = t.drift && [" Its shares and intervals are rough and may still change (", h("a.word-link", { href: `#method/${encodeURIComponent("R-hat, effective draws")}` }, `R-hat ${t.drift}`), ")."];
  return h("p.trust", sign(t.good), h("span", bold(t.head), " ", t.text, drift));
}

async function wordsCard(topic) {
  const terms = await termsOf(topic.id);
  const linear = directions;
  const top = Math.max(...terms.map((term) => Math.max(Math.abs(term.high), Math.abs(term.mean), Math.abs(term.low)))) || 1;
  const place = h("div");
  const lambda = () => chosen.lambda ?? 0.6, say = h("output", fixed(lambda(), 1));
  // until the slider is moved, the words by which the topic is shown come first, in their order
  const first = new Map(topic.top.map((word, i) => [word, i]));
  const listed = (some) => (chosen.lambda !== null ? some : sorted(some, (term) => first.get(term.word) ?? first.size, true));
  const order = () => (linear ? terms.filter((term) => term.mean > 0) : listed(byRelevance(terms, report.words_tokens ? lambda() : 1)));
  const draw = () => place.replaceChildren(wordTable(order().slice(0, chosen.terms), top, linear),
    chosen.terms < terms.length && !linear ? more("more words", () => { chosen.terms += 30; draw(); }) : "");
  const slider = h("input", { type: "range", min: 0, max: 1, step: 0.1, "aria-label": "order: from distinctive words to probable ones",
    input: () => { chosen.lambda = Number(slider.value); say.replaceChildren(fixed(lambda(), 1)); draw(); } });
  slider.value = lambda();
  const control = !linear && report.words_tokens && h("div.slider", h("span", "distinctive"), slider, h("span", "probable"), say);
  draw();
  const against = linear && (topic.against?.length || terms.some((term) => term.mean < 0)) && [h("h3", "Points away from"),
    wordTable(terms.filter((term) => term.mean < 0).reverse().slice(0, 10), top, true), topic.against && h("p.top-words", wordLinks(topic.against))];
  return ruledCard("Words", control, null, place, against);
}

function wordTable(terms, top, linear) {
  const figure = (x) => (linear ? fixed(x, 3) : percent(x, digitsFor(top / 10)));
  const longest = Math.min(20, Math.max(7, ...terms.map((term) => shown(term.word).length)));
  const band = interval() ? ` (${interval()})` : "";
  const head = [colHead("word"), colHead([linear ? "entry of the direction" : `probability in the ${TOPIC}`, h("small", band)], null, 2), !linear && colHead("share of its uses", "of-uses", 2)];
  const row = (term) => h("tr", { title: tellTerm(term, figure, linear) }, rowHead(h("span.cut", wordLink(term.word))),
    wideCell(bar(term, top)), numeral(figure(term.mean)),
    !linear && [h("td.of-uses", bar({ mean: term.share }, 1, "thin grey")), h("td.figure.of-uses.aside", percent(term.share))]);
  const widths = ["c-word", "c-bar", "c-figure", "of-uses c-uses", "of-uses c-share"].slice(0, linear ? 3 : 5).map((kind) => h("col", { class: kind, "--word": longest }));
  const made = table("words", head, terms.map(row));
  made.prepend(h("colgroup", widths));
  return made;
}

function tellTerm(term, figure, linear) {
  const sure = term.low === term.high ? "" : ` (${term.open ? "below " : ""}${figure(term.low)} to ${figure(term.high)})`;
  const ten = interval() ? `; among the ten top words in ${percent(term.ten)} of the draws` : "";
  const gone = !linear && term.low < term.mean / 20 ? "; some draws do not have it in the topic" : "";
  return `${shown(term.word)}: ${figure(term.mean)}${sure}${gone}${term.uses ? `; used ${count(term.uses)} times` : ""}${ten}`;
}

// ---- where a topic occurs

/** The orders in which a topic's shares are shown: along the corpus, and by each column. */
function layouts() {
  const along = report.along && { title: report.along.title, labels: report.along.bins, starts: report.along.starts, documents: report.along.documents, block: "along", ordered: true, along: true };
  const columns = report.columns.map((c, i) => ({ title: `by ${shown(c.name)}`, labels: c.levels, documents: c.documents, block: `group-${i}`, ordered: c.ordered }));
  return [along, ...columns].filter(Boolean);
}

/** The shares that are chosen: with each document counted once, or weighted by words. */
const counted = (parts, name) => parts.get((chosen.of === "words" ? "words-" : "") + name);
const usualShare = (id) => report.corpus_share?.[chosen.of][id] ?? null;

function shares(parts, name, id, n) {
  return Array.from(counted(parts, name).subarray(id * n, (id + 1) * n), ofShare16);
}

async function whereCard(topic) {
  const all = layouts();
  if (!all.length) return null;
  const place = h("div");
  const show = async () => {
    const layout = all[Math.min(chosen.where, all.length - 1)];
    const parts = await block(layout.block);
    const n = layout.labels.length;
    const values = Object.fromEntries(["mean", "low", "high"].map((name) => [name, shares(parts, name, topic.id, n)]));
    place.replaceChildren(n === 0 ? h("p.remark", "no values") : whereFigure(topic, layout, values));
  };
  const control = choice("where", all.map((layout, i) => [i, layout.title]), Math.min(chosen.where, all.length - 1), (value) => { chosen.where = Number(value); show(); });
  await show();
  return ruledCard("Where it is", control, null, place);
}

function whereFigure(topic, layout, values) {
  const usual = usualShare(topic.id);
  const { labels } = layout;
  const line = usual === null ? "" : ` The ${layout.ordered || labels.length > 14 ? "dashed line" : "tick on each bar"} is ${chosen.of === "words" ? "its share of the corpus" : `its share of the average ${report.noun[0]}`}, ${percent(usual, digitsFor(usual * 2))}.`;
  const say = readout(`${capital(shareInterval() ?? (interval() ? "means only: too few full samples are kept for intervals of shares" : "means only"))}.${line}`);
  const told = (i) => say.replaceChildren(bold(bdi(labels[i])), `: ${percent(values.mean[i], 1)}${within(values.low[i], values.high[i])}, ${plural(layout.documents[i], report.noun)}`);
  if (!layout.ordered && labels.length <= 14) return h("div", levelBars(layout, values, usual), say);
  const title = `${nameOf(topic)} ${layout.title}`;
  return profile({ title, name: `topic-${topic.id}-${layout.block}`, labels, ticksBelow: layout.starts ?? labels, ...values, usual, hue: topic.hue, area: layout.along || labels.length > 80, told, say });
}

function levelBars({ labels, documents }, { mean, low, high }, usual) {
  const top = Math.max(...high, usual ?? 0) || 1;
  return table("levels", null, labels.map((text, i) => h("tr", { title: plural(documents[i], report.noun) }, rowHead(h("span.cut", bdi(text))),
    wideCell(h("div.under", { "--at": usual === null ? null : part(usual / top) }, bar({ mean: mean[i], low: low[i], high: high[i] }, top))),
    numeral(percent(mean[i], 1)))));
}

// ---- counterparts of the topic in other chains, and its seed words

function chainsCard(topic) {
  if (!topic.others?.length) return null;
  const row = ({ chain, id, overlap, words }) => h("tr", rowHead(`chain ${chain}`, h("small", `${TOPIC} ${id}`)), numeral(overlapText(overlap)),
    wideCell(words.map(([word, common], i) => [i ? " " : "", h(common ? "b" : "span", bdi(word))])));
  return card("In the other chains", `The ${TOPICS} that match this one, with their overlap (the probability in common) and first words; words in common are bold.`, table("others", null, topic.others.map(row)));
}

function seedsCard(topic) {
  if (!topic.seeds?.length) return null;
  const row = ([word, rank, ten]) => h("tr", rowHead(wordLink(word)), numeral(rank === null ? "–" : `no. ${count(rank)}`), wideCell(bar({ mean: ten ?? 0 }, 1, "thin")), numeral(ten === null ? "–" : percent(ten)));
  return card("Its seeds", `The rank of each seed word in the ${TOPIC}, and how surely it is one of the ten most probable words.`, table("levels", null, topic.seeds.map(row)));
}

// ---- similar topics

/** The nearest topics of a topic, and the topics in the same documents: [[topic, number]...]. */
async function nearOf(id) {
  const parts = await block("near");
  if (!parts) return null;
  const list = (name, figure, number) => Array.from({ length: 12 }, (_, i) => [parts.get(name)[id * 12 + i], number(parts.get(figure)[id * 12 + i])]).filter(([k]) => byId.has(k));
  return { nearest: list("topic", "distance", ofShare8), friends: list("friend", "correlation", (i) => i / 127) };
}

async function nearCard(topic) {
  const near = await nearOf(topic.id);
  if (!near || !near.nearest.length) return null;
  const rows = (list, signed) => h("ul.near", list.slice(0, 4).map(([id, number]) => h("li", topicLink(byId.get(id)),
    h("a.figure", { href: `#pair/${topic.id}-${id}`, "aria-label": `side by side with ${nameOf(byId.get(id))}`, title: "side by side" }, (signed && number > 0 ? "+" : "") + fixed(number, 2)))));
  const drawn = report.map && topic.xy && [map({ title: `${nameOf(topic)} and its nearest`, height: 250, chosen: topic.id, near: near.nearest.slice(0, 4).map(([id]) => id) }),
    h("p.remark", `${Math.round(10 * report.map.kept)} of 10 neighbours here are true neighbours; lines lead to the four nearest ${TOPICS}.`)];
  return card(`Similar ${TOPICS}`, null, drawn, h("h3", "with similar words ", h("small", "distance")), rows(near.nearest, false),
    near.friends.length > 0 && [h("h3", `in the same ${NOUNS} `, h("small", "correlation")), rows(near.friends, true)],
    h("p.remark", `Select a number to see the two ${TOPICS} side by side.`));
}

// ---- documents in which the topic surely occurs

async function surelyCard(topic) {
  if (!report.docs || !topic.rep.length) return null;
  const all = await contents();
  const some = topic.rep.slice(0, innerWidth > 820 ? 5 : 3).map((i) => surely(topic, i, all[i])).filter(Boolean);
  const remark = mixture ? `The ${NOUNS} that are most surely in it.` : `Sorted by the low ends of their intervals.${report.texts === "kept" ? ` The passage with most of the ${TOPIC} is shown; its words are tinted.` : ""}`;
  return some.length > 0 && card(`${capital(NOUNS)} with most of it`, remark, h("div.surely", some));
}

function surely(topic, i, content) {
  const own = ([k]) => k === topic.id;
  const [, mean, low, high] = content?.theta.find(own) ?? pairs2(report.docs.main[i]).find(own) ?? [];
  return h("div.excerpt", h("div.excerpt-head",
    h("a", { href: docAddress(i) }, bdi(docTitle(i))),
    isThere(mean) && h("span.figure", shareOf(mean, low, high))),
    isThere(mean) && bar({ mean, low, high }, 1, "thin"), excerpt(topic, content));
}

function excerpt(topic, content) {
  if (content?.words) {
    const own = content.words.filter(([, , k]) => k === topic.id).slice(0, 14);
    return h("p.quote", own.map(([word, n]) => [wordLink(word), n > 1 && h("small", ` × ${n}`), "  "]));
  }
  if (!content?.text) return null;
  const [from, to] = content.best ?? [0, 300];
  const end = Math.min(to, from + 420);
  return h("p.quote", { dir: "auto", click: openWord }, from > 0 && "… ", tinted(content, from, end, topic.id), end < content.text.length && " …");
}

// ---- two topics side by side

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
  const value = (term, edge, kind) => h(`td.figure.${kind}`, (term ? "" : "< ") + (directions ? fixed(term?.mean ?? edge, 3) : percent(term?.mean ?? edge, digitsFor(top))));
  const cell = (term, kind, hue) => h("td", { class: `wide ${kind} hue`, "--h": hue }, term ? bar(term, top) : bar({ mean: 0 }, 1));
  const row = (r) => h("tr", value(r.left, r.p, "left"), cell(r.left, "mirrored", a.hue), rowHead(wordLink(r.word)), cell(r.right, "", b.hue), value(r.right, r.q, "right"));
  const group = ([title, rows]) => rows.length > 0 && h("tbody", h("tr", h("th.group", { colspan: 5, scope: "rowgroup" }, title)), rows.map(row));
  return card(null, null, h("table.versus-words", h("caption.unseen", "words of the two, side by side"), parts.map(group)));
}

/** The words of both topics. A word that one topic does not list is at most as probable there as the topic's 30th word. */
function joined(left, right) {
  const edge = (terms) => Math.max(0, terms[Math.min(29, terms.length - 1)]?.mean ?? 0);
  const other = new Map(right.map((term) => [term.place, term]));
  const rows = left.map((term) => ({ word: term.word, left: term, right: other.get(term.place) }));
  const seen = new Set(left.map((term) => term.place));
  rows.push(...right.filter((term) => !seen.has(term.place)).map((term) => ({ word: term.word, right: term })));
  return rows.map((row) => ({ ...row, p: Math.max(0, row.left?.mean ?? edge(left)), q: Math.max(0, row.right?.mean ?? edge(right)) }));
}
