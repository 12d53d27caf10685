"use strict";
// The pages. Each is a function of what stands behind its name in the address, and gives { node, title, side }.

const chosen = { sort: "weight", up: false, rows: 100, lambda: 0.6, where: 0, column: 0, pairs: "distance", terms: 20, byLevel: null };

// ---- pieces of pages

function card(title, remark, ...children) {
  return h("section.card", title && h("h2", title), remark && h("p.remark", remark), ...children);
}

/** A card whose head has a control at its right. */
function ruledCard(title, control, remark, ...children) {
  return h("section.card", h("div.card-head", h("h2", title), control), remark && h("p.remark", remark), ...children);
}

function topicLink(topic, kind = "") {
  return h("a", { href: topicAddress(topic.id), class: `topic-link ${kind}` }, dot(topic), cutBdi(nameOf(topic)));
}

function wordLink(word) {
  return h("a.word-link", { href: wordAddress(word) }, bdi(word));
}

/** Words one after the other, each with its page. */
function wordLinks(words) {
  return words.map((word, i) => [i ? " " : "", wordLink(word)]);
}

/** A table of rows under the names of its columns. */
function table(kind, head, rows) {
  return h(kind ? `table.${kind}` : "table", head && h("thead", h("tr", head)), h("tbody", rows));
}

const rowHead = (...content) => h("th", { scope: "row" }, ...content);
const colHead = (text, kind = null, columns = null) => h("th", { scope: "col", class: kind, colspan: columns }, text);
const numeral = (...content) => h("td.figure", ...content);
const faint = (...content) => h("td.figure.aside", ...content);
const wideCell = (...content) => h("td.wide", ...content);
const cutBdi = (text) => h("bdi.cut", shown(text));

function choice(name, options, value, changed) {
  const select = h("select", { "aria-label": name, change: () => changed(select.value) },
    options.map(([key, text]) => h("option", { value: key, selected: String(key) === String(value) }, text)));
  return select;
}

function more(text, click) {
  return h("button.small", { click }, text);
}

function readout(text) {
  return h("p.readout", { "aria-live": "polite" }, text);
}

function sign(good) {
  const [mark, kind, said] = { true: ["✓", "good", "good: "], false: ["!", "doubt", "doubtful: "] }[good] ?? ["·", "plain", ""];
  return [h("span", { class: `sign ${kind}`, "aria-hidden": "true" }, mark), said && h("span.unseen", said)];
}

/** How far topics are shared: green where nearly all of it is, else amber; the figure always stands there. */
function pill(overlap, text = fixed(overlap, 2)) {
  return h("span", { class: overlap >= 0.7 ? "pill good" : "pill doubt" }, text);
}

function missingLines() {
  if (!report.missing.length) return null;
  return h("div.missing", h("h2", "Not on this page"), h("ul", report.missing.map((text) => h("li", text))));
}

function nothing(text) {
  return { title: "Not here", node: h("div.empty", h("h1", "Not here"), h("p", text), h("p", h("a", { href: "#overview" }, "Overview"))) };
}

const interval = () => (report.interval.draws ? report.interval.title : null);
const weightName = mixture ? "Weight" : "Share of words";
const shareDigits = digitsFor((report.topics[0]?.weight?.[0] ?? 0) * 2);

// ---- overview

function overview() {
  const intro = h("div.intro",
    h("h1", h("bdi", shown(report.title))), h("p.lead", report.sentence),
    report.layer && h("p.lead", `These are the ${TOPICS} of layer ${report.layer.at} of ${report.layer.of}.`),
    h("dl.facts", report.facts.map(fact)), h("ul.verdicts", report.verdicts.map(verdict)), missingLines());
  const shownCurve = report.curve && card("How well it predicts", report.curve.sentence, curve(report.curve));
  return { title: report.title, node: h("div", h(report.curve ? "div.cols.opening" : "div.opening", intro, shownCurve), topicTable()) };
}

function fact({ label, value, beside }) {
  return h("div", h("dt", label), h("dd", bold(value), h("span", beside)));
}

function verdict({ good, head, text, code }) {
  return h("li", sign(good), h("p", bold(head), " ", text, code && [" ", h("code", code)]));
}

/** Columns of the table of topics: those of which something is known. */
function topicColumns(along) {
  const top = Math.max(...report.topics.map((t) => t.weight?.[2] ?? t.weight?.[0] ?? 0));
  const most = Math.max(...report.topics.map((t) => t.documents ?? 0)) || 1;
  const npmi = report.topics.map((t) => t.npmi).filter((x) => x !== null);
  const range = [Math.min(-0.1, ...npmi), Math.max(0.1, ...npmi)];
  const has = (key) => report.topics.some((t) => t[key] !== null && t[key] !== undefined);
  return [
    { key: "name", head: capital(TOPIC), value: nameOf, cell: nameCell },
    has("weight") && { key: "weight", head: weightName, value: (t) => t.weight?.[0], cell: (t) => weightCell(t, top) },
    has("documents") && { key: "documents", head: capital(NOUNS), value: (t) => t.documents, cell: (t) => [bar({ mean: t.documents }, most, "short"), h("b.figure", count(t.documents))] },
    along && { key: "along", head: capital(report.along.title), cell: (t) => spark(shares(along, "mean", t.id, report.along.bins.length)) },
    has("npmi") && { key: "npmi", head: "Coherence", value: (t) => t.npmi, cell: (t) => t.npmi !== null && [onScale(t.npmi, range), h("span.figure", fixed(t.npmi, 2))] },
    has("steady") && { key: "steady", head: "Steady words", value: (t) => t.steady, cell: (t) => t.steady !== null && [marks(t.ten), h("span.figure", fixed(t.steady, 1))] },
    has("found") ? { key: "found", head: "In the chains", value: (t) => t.found?.[0] + (t.overlap ?? 0), cell: foundCell }
      : has("overlap") && { key: "overlap", head: "First and second half", value: (t) => t.overlap, cell: (t) => t.overlap !== null && pill(t.overlap) },
  ].filter(Boolean);
}

function nameCell(t) {
  return [dot(t), h("div.named", h("a.cover", { href: topicAddress(t.id) }, h("bdi", shown(nameOf(t)))),
    h("p.top-words", t.top.map((word) => [bdi(word), " "])))];
}

function weightCell(t, top) {
  if (!t.weight) return null;
  const [mean, low, high] = t.weight;
  return [bar({ mean, low, high }, top, "short"), h("b.figure", percent(mean, shareDigits))];
}

function foundCell(t) {
  return t.found && pill(t.found[0] === t.found[1] ? 1 : 0, `${t.found[0]} of ${t.found[1]}`);
}

function topicTable() {
  const body = h("div.table-place");
  const remark = `Sorted by what is chosen in its head; a row opens the ${TOPIC}.` + (interval() ? ` Brackets: ${interval()}.` : "");
  const make = async () => {
    const along = report.along && (await block("along"));
    const columns = topicColumns(along);
    body.replaceChildren(sortedTable(columns, make));
  };
  make();
  return h("section.card.on-screen", h("h2", capital(TOPICS)), h("p.remark", remark), body);
}

function sortedTable(columns, again) {
  const by = columns.find((column) => column.key === chosen.sort && column.value) ?? columns[0];
  const rows = sorted(report.topics, by.value, chosen.up);
  const head = columns.map((column) => h("th", { scope: "col", class: `c-${column.key}`, "aria-sort": column === by ? (chosen.up ? "ascending" : "descending") : null },
    column.value ? h("button", { class: "head", click: () => { chosen.up = column === by ? !chosen.up : column.key === "name"; chosen.sort = column.key; again(); } },
      column.head, h("span", { "aria-hidden": "true" }, column === by ? (chosen.up ? " ↑" : " ↓") : "")) : column.head));
  const row = (t) => h("tr", hued(t), columns.map((column) => h(`td.c-${column.key}`, h("div.cell", column.cell(t)))));
  const rest = rows.length - chosen.rows;
  return h("div", table("topics", head, rows.slice(0, chosen.rows).map(row)), rest > 0 && more(`${plural(rest, report.topic)} more`, () => { chosen.rows = Infinity; again(); }));
}

/** By a value, unknown ones last whatever the direction; equal ones as they were. */
function sorted(items, value, up) {
  const unknown = (x) => x === null || x === undefined || Number.isNaN(x);
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b) * (up ? 1 : -1);
  return items.map((item) => [value(item), item])
    .sort(([a], [b]) => unknown(a) - unknown(b) || (unknown(a) ? 0 : compare(a, b))).map(([, item]) => item);
}

// ---- lists at the left

const WINDOW = 300;

/** A list that stays while its pages change: made once; of long ones a window is shown. */
function sideList({ name, orders, keep, key, row }) {
  const state = { order: orders[0][0], text: "", items: [], from: 0, current: null };
  const list = h("div.side-list", { role: "list", "aria-label": name, tabindex: "-1" });
  const fill = () => {
    const window = state.items.slice(state.from, state.from + WINDOW);
    const earlier = state.from > 0 && more("earlier ones", () => { state.from = Math.max(0, state.from - WINDOW); fill(); });
    const later = state.from + WINDOW < state.items.length && more("later ones", () => { state.from += WINDOW; fill(); list.scrollTop = 0; });
    list.replaceChildren(...[earlier, ...window.map((item) => h("div", { role: "listitem" }, row(item))), later].filter(Boolean));
    paint();
  };
  const choose = () => {
    const text = state.text.toLowerCase();
    state.items = orders.find(([order]) => order === state.order)[2]().filter((item) => !text || keep(item, text));
    state.from = 0;
    fill();
  };
  const paint = () => {
    list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const node = list.querySelector(`[data-key="${state.current}"]`);
    node?.setAttribute("aria-current", "true");
    if (node) list.scrollTop = Math.min(Math.max(list.scrollTop, node.offsetTop + node.offsetHeight - list.clientHeight + 8), node.offsetTop - 8);
  };
  const filter = h("input", { type: "search", placeholder: `filter ${name}`, "aria-label": `filter ${name}`, input: () => { state.text = filter.value.trim(); choose(); } });
  const order = orders.length > 1 && choice("order", orders, state.order, (value) => { state.order = value; choose(); });
  const node = h("details.side", h("summary", capital(name)), h("div.side-head", filter, order), list);
  node.open = wide.matches;
  choose();
  const mark = (current) => {
    const at = state.items.findIndex((item) => key(item) === current);
    const seen = at >= state.from && at < state.from + WINDOW;
    state.current = current;
    if (!wide.matches) node.open = false;
    if (at >= 0 && !seen) { state.from = Math.max(0, at - WINDOW / 2); fill(); } else paint();
  };
  const beside = (by) => {
    const at = state.items.findIndex((item) => key(item) === state.current);
    const next = state.items[at + by];
    return next === undefined ? null : key(next);
  };
  return { node, mark, beside, inView: paint };
}

const wide = matchMedia("(min-width: 1080px)");
wide.addEventListener("change", () => document.querySelectorAll("details.side").forEach((side) => (side.open = wide.matches)));

function topicSide() {
  const place = new Map(report.order.map((id, i) => [id, i]));
  const by = (value, up = false) => () => sorted(report.topics, value, up);
  const orders = [
    ["share", mixture ? "by weight" : "by share", () => report.topics],
    report.order.length && ["likeness", "by likeness", by((t) => place.get(t.id), true)],
    report.topics.some((t) => t.npmi !== null) && ["npmi", "by coherence", by((t) => t.npmi)],
    ["id", "by number", by((t) => t.id, true)], ["name", "by name", by(nameOf, true)],
  ].filter(Boolean);
  const top = report.topics[0]?.weight?.[0] || 1;
  const keep = (t, text) => `${t.id} ${nameOf(t)} ${t.top.map(visible).join(" ")}`.toLowerCase().includes(text);
  const row = (t) => h("a.side-row.hue", { "--h": t.hue, href: topicAddress(t.id), "data-key": t.id }, h("span.dot"),
    h("span.cut", bdi(nameOf(t))), t.weight && h("i.share-line", { "--of": t.weight[0] / top }));
  return sideList({ name: TOPICS, orders, keep, key: (t) => t.id, row });
}

function docSide() {
  const { docs } = report;
  const all = docs.row.map((_, i) => i);
  const keep = (i, text) => visible(docTitle(i)).toLowerCase().includes(text) || visible(docs.id[i]).toLowerCase().includes(text);
  const row = (i) => h("a", { class: docs.held[i] ? "side-row held" : "side-row", href: docAddress(i), "data-key": i, title: docs.held[i] ? "held out: not trained on" : null },
    strip(pairs2(docs.main[i]), "mini"), h("span.cut", bdi(docTitle(i))));
  return sideList({ name: NOUNS, orders: [["all", "", () => all]], keep, key: (i) => i, row });
}

const pairs2 = (flat) => flat.filter((_, i) => i % 2 === 0).map((k, i) => [k, flat[2 * i + 1]]);

/** The list of topics or of documents, made once; names that change make it anew. */
function side(name) {
  return once(`side ${name}`, name === "topics" ? topicSide : docSide);
}

function beside(list, addressOf) {
  const step = (by, text, key) => {
    const to = list.beside(by);
    return to !== null && h("a.step", { href: addressOf(to), title: `key ${key}`, "data-step": by > 0 ? "next" : "previous" }, text);
  };
  return h("nav.steps", { "aria-label": "next and previous" }, step(-1, "← previous", "k"), step(1, "next →", "j"));
}

// ---- a topic

async function topicPage(rest) {
  const topic = rest === "" ? report.topics[0] : byId.get(Number(rest));
  if (!topic) return nothing(`There is no ${TOPIC} ${shown(rest)} on this page; it has ${plural(report.topics.length, report.topic)}.`);
  const list = side("topics");
  list.mark(topic.id);
  const [words, where, near, docs] = await Promise.all([wordsCard(topic), whereCard(topic), nearCard(topic), surelyCard(topic)]);
  const node = h("article", hued(topic, "detail"),
    h("header.detail-head", titleOf(topic), beside(list, topicAddress)), figuresOf(topic),
    h("div.cols.topic", h("div.stack", words, seedsCard(topic)), h("div.stack", where, chainsCard(topic), near)), docs);
  return { title: nameOf(topic), node, side: list };
}

/** The name, which a person may change. */
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
  const digits = digitsFor((t.weight?.[0] ?? 0) * 2);
  const sure = t.weight && t.weight[1] !== null;
  return h("dl.figures",
    t.weight && one(percent(t.weight[0], digits), sure && between(t.weight[1], t.weight[2], digits), mixture ? "weight" : "of all words"),
    t.documents !== null && t.documents !== undefined && one(count(t.documents), null, NOUNS),
    t.docs !== null && one(count(t.docs), `of ${count(report.docs_of)}`, `${NOUNS} have a tenth of it`),
    t.npmi !== null && one(fixed(t.npmi, 2), null, "coherence"),
    t.steady !== null && one(fixed(t.steady, 1), "of 10", "steady words"),
    t.found && one(String(t.found[0]), `of ${t.found[1]}`, "chains found it"),
    t.overlap !== null && one(h("span", { class: t.overlap >= 0.7 ? "good" : "doubt" }, fixed(t.overlap, 2)), null, t.found ? "in common in the least alike two chains" : "first and second half"),
    one(String(t.id), null, "its number"));
}

async function wordsCard(topic) {
  const terms = await termsOf(topic.id);
  const linear = report.scale === "linear";
  const top = Math.max(...terms.map((term) => Math.max(Math.abs(term.high), Math.abs(term.mean), Math.abs(term.low)))) || 1;
  const place = h("div");
  const say = h("output", fixed(chosen.lambda, 1));
  const order = () => (linear ? terms.filter((term) => term.mean > 0) : byRelevance(terms, report.words_tokens ? chosen.lambda : 1));
  const draw = () => place.replaceChildren(wordTable(order().slice(0, chosen.terms), top, linear),
    chosen.terms < terms.length && !linear ? more("more words", () => { chosen.terms += 30; draw(); }) : "");
  const slider = h("input", { type: "range", min: 0, max: 1, step: 0.1, "aria-label": "order: from words that are its own to frequent ones",
    input: () => { chosen.lambda = Number(slider.value); say.replaceChildren(fixed(chosen.lambda, 1)); draw(); } });
  slider.value = chosen.lambda;
  const control = !linear && report.words_tokens && h("div.slider", h("span", "its own"), slider, h("span", "frequent"), say);
  draw();
  const against = linear && (topic.against?.length || terms.some((term) => term.mean < 0)) && [h("h3", "Points away from"),
    wordTable(terms.filter((term) => term.mean < 0).reverse().slice(0, 10), top, true), topic.against && h("p.top-words", wordLinks(topic.against))];
  return ruledCard("Words", control, null, place, against);
}

function wordTable(terms, top, linear) {
  const figure = (x) => (linear ? fixed(x, 3) : percent(x, digitsFor(top / 10)));
  const longest = Math.min(20, Math.max(7, ...terms.map((term) => shown(term.word).length)));
  const band = interval() ? ` · ${interval()}` : "";
  const head = [colHead("word"), colHead([linear ? "entry of the direction" : `probability in the ${TOPIC}`, h("small", band)], null, 2), colHead("share of its uses", "of-uses", 2)];
  const row = (term) => h("tr", { title: tellTerm(term, figure) }, rowHead(h("span.cut", wordLink(term.word))),
    wideCell(bar(term, top)), numeral(figure(term.mean)),
    h("td.of-uses", bar({ mean: term.share }, 1, "thin grey")), h("td.figure.of-uses.aside", percent(term.share)));
  const widths = ["c-word", "c-bar", "c-figure", "of-uses c-uses", "of-uses c-share"].map((kind) => h("col", { class: kind, "--word": longest }));
  const made = table("words", head, terms.map(row));
  made.prepend(h("colgroup", widths));
  return made;
}

function tellTerm(term, figure) {
  const sure = term.low === term.high ? "" : ` (${term.open ? "below " : ""}${figure(term.low)} to ${figure(term.high)})`;
  const ten = interval() ? `; among the ten top words in ${percent(term.ten)} of the draws` : "";
  return `${shown(term.word)}: ${figure(term.mean)}${sure}${term.uses ? `; used ${count(term.uses)} times` : ""}${ten}`;
}

// ---- where a topic is

/** Ways of laying out a topic: along the corpus, and by each kept column. */
function layouts() {
  const along = report.along && { title: report.along.title, labels: report.along.bins, starts: report.along.starts, documents: report.along.documents, block: "along", ordered: true, along: true };
  const columns = report.columns.map((c, i) => ({ title: `by ${shown(c.name)}`, labels: c.levels, documents: c.documents, block: `group-${i}`, ordered: c.ordered }));
  return [along, ...columns].filter(Boolean);
}

function shares(parts, name, id, n) {
  return Array.from(parts.get(name).subarray(id * n, (id + 1) * n), ofShare16);
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
  const usual = report.corpus_share?.[topic.id] ?? null;
  const { labels } = layout;
  const line = usual === null ? "" : ` The ${layout.ordered || labels.length > 14 ? "dashed line" : "tick on each bar"} is its share of the corpus, ${percent(usual, digitsFor(usual * 2))}.`;
  const say = readout(`${capital(interval() ?? "means only")}.${line}`);
  const told = (i) => say.replaceChildren(bold(bdi(labels[i])), `: ${percent(values.mean[i], 1)} (${between(values.low[i], values.high[i], 1)}), ${plural(layout.documents[i], report.noun)}`);
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

// ---- the same topic in the other chains, and the seeds that it was given

function chainsCard(topic) {
  if (!topic.others?.length) return null;
  const row = ({ chain, id, overlap, words }) => h("tr", rowHead(`chain ${chain}`, h("small", `${TOPIC} ${id}`)), h("td", pill(overlap)),
    wideCell(words.map(([word, common], i) => [i ? " " : "", h(common ? "b" : "span", bdi(word))])));
  return card("In the other chains", "Their most probable words; those in common are bold.", table("others", null, topic.others.map(row)));
}

function seedsCard(topic) {
  if (!topic.seeds?.length) return null;
  const row = ([word, rank, ten]) => h("tr", rowHead(wordLink(word)), numeral(rank === null ? "–" : `no. ${count(rank)}`), wideCell(bar({ mean: ten ?? 0 }, 1, "thin")), numeral(ten === null ? "–" : percent(ten)));
  return card("Its seeds", "How far the data followed: the place of each seed, and how surely it is among the ten.", table("levels", null, topic.seeds.map(row)));
}

// ---- who is near

/** The nearest of a topic, and those that are met in the same documents: [[topic, number]...]. */
async function nearOf(id) {
  const parts = await block("near");
  if (!parts) return null;
  const list = (name, figure, number) => Array.from({ length: 12 }, (_, i) => [parts.get(name)[id * 12 + i], number(parts.get(figure)[id * 12 + i])]).filter(([k]) => byId.has(k));
  return { nearest: list("topic", "distance", ofShare8), friends: list("friend", "correlation", (i) => i / 127) };
}

async function nearCard(topic) {
  const near = await nearOf(topic.id);
  if (!near || !near.nearest.length) return null;
  const rows = (list, signed) => h("ul.near", list.slice(0, 6).map(([id, number]) => h("li", topicLink(byId.get(id)),
    h("a.figure", { href: `#pair/${topic.id}-${id}`, "aria-label": `side by side with ${nameOf(byId.get(id))}`, title: "side by side" }, (signed && number > 0 ? "+" : "") + fixed(number, 2)))));
  const drawn = report.map && topic.xy && [map({ title: `${nameOf(topic)} and its nearest`, height: 250, chosen: topic.id, near: near.nearest.slice(0, 4).map(([id]) => id) }),
    h("p.remark", `The map keeps ${percent(report.map.kept)} of who is next to whom; lines lead to the four that are really nearest.`)];
  return card("Near it", null, drawn, h("div.cols.even",
    h("div", h("h3", "shares words with ", h("small", "distance")), rows(near.nearest, false)),
    near.friends.length > 0 && h("div", h("h3", `in the same ${NOUNS} `, h("small", "correlation")), rows(near.friends, true))),
    h("p.remark", "A number opens the two side by side."));
}

// ---- documents that surely have it

async function surelyCard(topic) {
  if (!report.docs || !topic.rep.length) return null;
  const all = await contents();
  const some = topic.rep.map((i) => surely(topic, i, all[i])).filter(Boolean);
  const remark = mixture ? `The ${NOUNS} that are most surely in it.` : `The greatest low ends of their intervals${report.texts === "kept" ? `, and the stretch of each that has most of the ${TOPIC}; its words are tinted` : ""}.`;
  return some.length > 0 && card(`${capital(NOUNS)} that surely have it`, remark, h("div.surely", some));
}

function surely(topic, i, content) {
  const share = content?.theta.find(([k]) => k === topic.id);
  const mean = share ?? [topic.id, pairs2(report.docs.main[i]).find(([k]) => k === topic.id)?.[1] ?? null, null, null];
  return h("div.excerpt", h("div.excerpt-head",
    h("a", { href: docAddress(i) }, bdi(docTitle(i))),
    mean[1] !== null && h("span.figure", bold(percent(mean[1])), mean[2] !== null && ` (${between(mean[2], mean[3], 0)})`)),
    mean[1] !== null && bar({ mean: mean[1], low: mean[2], high: mean[3] }, 1, "thin"), excerpt(topic, content));
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

/** A stretch of a text, words tinted by their likeliest topic (or those of one alone), stronger the surer. */
function tinted(content, from = 0, to = content.text.length, only = null) {
  const nodes = [];
  let at = from;
  eachSpan(content.spans, (start, end, id, sure) => {
    if (end <= from || start >= to || start < at || (only !== null && id !== only) || !byId.has(id)) return;
    nodes.push(running(content.text.slice(at, start)), tint(running(content.text.slice(start, end)), id, sure));
    at = end;
  });
  nodes.push(running(content.text.slice(at, to)));
  return nodes;
}

function eachSpan(spans, tell) {
  let at = 0;
  for (let i = 0; i + 3 < spans.length; i += 4) {
    const start = at + spans[i];
    at = start + spans[i + 1];
    tell(start, at, spans[i + 2], spans[i + 3] / 100);
  }
}

function tint(text, id, sure) {
  return h("mark.hue", { "--h": byId.get(id).hue, "--sure": sure.toFixed(2), "data-topic": id }, text);
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

// ---- map, matrix, tree

async function mapPage() {
  const pairs = await block("pairs");
  const first = report.map && card("Map", [`Near circles share words; a circle's area is its share; wide gaps mean little. Of each ${TOPIC}'s ${report.map.neighbours} nearest, `,
    bold(percent(report.map.kept)), ` are among its ${report.map.neighbours} nearest here (${report.map.how}): for the rest see the pairs and the lists of a ${TOPIC}.`],
    map({ title: `map of ${TOPICS}`, height: 560 }));
  const top = h(report.map && pairs ? "div.cols.map" : "div", first, pairs && pairsCard(pairs));
  return { title: "Map", node: h("div.stack", h("h1.unseen", "Map"), top, report.merges.length > 0 && treeCard()) };
}

function pairsCard(pairs) {
  const ids = report.order, n = ids.length;
  const value = (i, j) => pairs.get(chosen.pairs)[ids[i] * report.size + ids[j]];
  const nearest = pairs.get("distance").reduce((least, d, at) => (at % (report.size + 1) ? Math.min(least, d) : least), 255);
  const strongest = pairs.get("correlation").reduce((most, r, at) => (at % (report.size + 1) ? Math.max(most, Math.abs(r)) : most), 1);
  const colour = (i, j) => {
    if (i === j) return shade(0, 90, 0);
    if (chosen.pairs === "distance") return shade((255 - value(i, j)) / (255 - nearest || 1), 250, 0.1);
    return shade(Math.abs(value(i, j)) / strongest, value(i, j) < 0 ? 40 : 250, 0.1);
  };
  const say = readout(`Rows and columns in the order of the tree, with the ${TOPICS}' colours at the edge. A choice opens the two side by side.`);
  const tell = (i, j) => say.replaceChildren(topicLink(byId.get(ids[i])), ...(i === j ? [] : [" and ", topicLink(byId.get(ids[j])), `: ${ofPair(...pairNumbers(pairs, ids[i], ids[j]))}`]));
  const place = h("div.matrix");
  const legend = h("div.legend");
  const draw = (width) => {
    const size = width / n;
    const cells = field({ name: "pairs", title: `pairs of ${TOPICS}`, rows: n, columns: n, high: size, wide: size, colour, tell, open: (i, j) => visit(i === j ? topicAddress(ids[i]) : `#pair/${ids[i]}-${ids[j]}`) });
    const edge = (kind) => h("div", { class: `edge at-${kind}`, "aria-hidden": "true" }, ids.map((id) => h("i.hue", { "--h": byId.get(id).hue })));
    place.replaceChildren(edge("top"), edge("left"), cells.box);
    legend.replaceChildren(...pairsLegend(), cells.button);
  };
  const redraw = whenWide(place, draw);
  const control = report.docs_of && choice("pairs by", [["distance", "shared words"], ["correlation", `the same ${NOUNS}`]], chosen.pairs, (kind) => { chosen.pairs = kind; redraw(); });
  return ruledCard("All pairs", control, null, place, legend, say);
}

function pairsLegend() {
  const ramp = (hue, back) => { const cells = Array.from({ length: 12 }, (_, i) => h("i", { "--c": shade(i / 11, hue, 0.1) })); return h("span.ramp", { "aria-hidden": "true" }, back ? cells.reverse() : cells); };
  if (chosen.pairs === "distance") return [h("span", "nothing in common"), ramp(250), h("span", "alike")];
  return [h("span", "avoid each other"), ramp(40, true), h("span", "not sure"), ramp(250), h("span", "meet")];
}

function pairNumbers(pairs, a, b) {
  const at = a * report.size + b;
  return [ofShare8(pairs.get("distance")[at]), pairs.get("correlation")[at] / 127];
}

/** Distance and correlation in words, as far as they are known; a correlation of 0 is one whose sign is not sure. */
function ofPair(distance, correlation) {
  const r = correlation === 0 ? "no sure correlation" : correlation && `correlation ${fixed(correlation, 2)}`;
  return [distance !== undefined && `distance ${fixed(distance, 2)}`, r].filter(Boolean).join(", ");
}

function treeCard() {
  const many = report.order.length > 200;
  const drawing = tree({ title: `tree of ${TOPICS}`, row: many ? 14 : 20 });
  return card("Tree of likeness", `Which ${TOPICS} join first, and at what distance.`, many ? h("div.scrolled", { tabindex: "0", role: "group", "aria-label": "tree" }, drawing) : drawing);
}

// ---- words

async function wordPage(rest) {
  const words = await vocabulary();
  const place = words.place.get(rest);
  const ask = wordAsk(words, rest);
  if (rest === "") return { title: "Words", node: h("div.stack", ask, frequentCards(words)) };
  if (place === undefined) return { title: "Words", node: h("div.stack", ask, card("Not among the words of this page", `It has the ${count(words.list.length)} most frequent of ${count(report.words_total)} words, spelt as the corpus was read.`), frequentCards(words)) };
  const [topics, found] = await Promise.all([itsTopics(words, place), itsLines(words, place)]);
  return { title: shown(rest), node: h("div.stack", ask, h("div.cols.word", topics, found)) };
}

function wordAsk(words, value) {
  const seen = value === "" ? "" : visible(value);
  const input = h("input.ask", { value: seen, placeholder: "a word", "aria-label": "word", spellcheck: "false", autocomplete: "off" });
  const submit = async (event) => {
    event.preventDefault();
    const text = input.value.trim().toLowerCase();
    const place = (await searchable()).indexOf(text);
    location.hash = wordAddress(place >= 0 ? words.list[place] : input.value.trim());
  };
  return h("form.asking", { submit }, h("h1", h("label", `In which ${TOPICS} is …`, input)));
}

async function itsTopics(words, place) {
  const word = words.list[place];
  const all = topicsOfWord(words, place);
  const terms = await Promise.all(all.map(([id]) => termsOf(id)));
  const others = Math.max(0, 1 - all.reduce((sum, [, share]) => sum + share, 0));
  const row = ([id, share], i) => {
    const t = byId.get(id), term = terms[i].find((one) => one.place === place);
    return h("tr", hued(t), rowHead(topicLink(t)), wideCell(bar({ mean: share }, 1)), numeral(bold(percent(share))),
      faint(term ? (report.scale === "linear" ? fixed(term.mean, 3) : percent(term.mean, 2)) : "–"), faint(term && term.rank <= 30 ? `no. ${term.rank}` : "after 30"));
  };
  const head = [colHead(TOPIC), colHead("share of its uses", null, 2), colHead(`in the ${TOPIC}`, "figure"), colHead("place there", "figure")];
  const rest = all.length > 0 && others > 0.005 && h("tr.others-row", rowHead("all others"), wideCell(bar({ mean: others }, 1, "grey")), numeral(percent(others)), h("td"), h("td"));
  const body = all.length ? table("its-topics", head, [all.map(row), rest]) : h("p", `No ${TOPIC} has as much as 4 % of its uses.`);
  return card(`Its ${TOPICS}`, report.words_tokens && [bold(count(words.count[place])), " uses of “", bdi(word), "” in the corpus"], body);
}

/** The word in its lines, by the topic that it has there, the surest first. */
async function itsLines(words, place) {
  if (!report.docs || report.texts === "none") return null;
  const word = words.list[place];
  const all = await contents();
  if (report.texts !== "kept") return itsDocuments(word, all);
  const found = linesOf(word, all);
  const topics = [...new Set(found.map((line) => line.topic))].map((id) => [id, found.filter((line) => line.topic === id)]).sort((a, b) => b[1].length - a[1].length);
  const body = topics.slice(0, 8).map(([id, lines]) => h("div.lines", h("h3", topicLink(byId.get(id)), h("small", plural(lines.length, ["line", "lines"]))),
    lines.sort((a, b) => b.sure - a.sure).filter(firstOf).slice(0, 4).map((line) => lineOf(line, all))));
  return card("In its lines", found.length ? `From the texts on this page, by the ${TOPIC} that the word has there; the surest first.` : "It is in none of the texts on this page.", body);
}

const firstOf = (line, i, lines) => lines.findIndex((other) => other.doc === line.doc) === i;

function linesOf(word, all) {
  const found = [];
  all.forEach((content, doc) => {
    if (!content.text) return;
    eachSpan(content.spans, (start, end, topic, sure) => {
      if (byId.has(topic) && folded(content.text.slice(start, end)) === word) found.push({ doc, start, end, topic, sure });
    });
  });
  return found;
}

function lineOf({ doc, start, end, topic, sure }, all) {
  const { text } = all[doc];
  const flat = (from, to) => running(text.slice(Math.max(0, from), to)).replace(/\s+/g, " ");
  return h("div.line", h("span.before", h("bdi", flat(start - 60, start))), tint(running(text.slice(start, end)), topic, sure),
    h("span.after", h("bdi", flat(end, end + 60))), h("a.cut", { href: docAddress(doc) }, bdi(docTitle(doc))));
}

function itsDocuments(word, all) {
  const found = all.map((content, doc) => [doc, content.words?.find(([w]) => w === word)]).filter(([, entry]) => entry).sort((a, b) => b[1][1] - a[1][1]).slice(0, 20);
  const row = ([doc, [, n, topic]]) => h("tr", rowHead(h("a.cut", { href: docAddress(doc) }, bdi(docTitle(doc)))), numeral(`${count(n)} ×`), h("td", byId.has(topic) && topicLink(byId.get(topic))));
  return card(`${capital(NOUNS)} that have it`, found.length ? `Of those on this page, the most uses first, and the ${TOPIC} that it most likely has there.` : `None of the ${NOUNS} on this page has it.`, found.length > 0 && table("its-topics", null, found.map(row)));
}

function frequentCards(words) {
  const some = Array.from({ length: Math.min(4000, words.list.length) }, (_, place) => [place, topicsOfWord(words, place)]);
  const shared = some.filter(([, topics]) => topics.length > 1 && topics[1][1] >= 0.3).slice(0, 30);
  const row = ([place, topics]) => h("tr", rowHead(h("span.cut", wordLink(words.list[place]))), faint(count(words.count[place])), wideCell(strip(topics)),
    h("td.lead-topic", topics.slice(0, 1).map(([id]) => topicLink(byId.get(id)))));
  const listed = (list) => table("frequent", [colHead("word"), colHead("uses", "figure"), colHead(TOPICS), colHead("most in", "lead-topic")], list.map(row));
  return h("div.cols.even", card("Frequent words", `How their uses are divided among ${TOPICS}.`, listed(some.slice(0, 30))), shared.length > 0 && card(`Frequent words of two ${TOPICS}`, "The second has at least 30 % of the uses.", listed(shared)));
}

// ---- documents

async function docPage(rest) {
  const { docs } = report;
  const i = rest === "" ? 0 : Number(rest);
  if (!Number.isInteger(i) || i < 0 || i >= docs.row.length) return nothing(`There is no ${NOUN} ${shown(rest)} on this page; it has ${plural(docs.row.length, report.noun)} of ${count(docs.of)}.`);
  const list = side("docs");
  list.mark(i);
  const content = (await contents())[i];
  const theta = content?.theta ?? pairs2(docs.main[i]).map(([k, share]) => [k, share, null, null]);
  const about = [plural(docs.tokens[i], ["word", "words"]), docs.held[i] ? "held out: not trained on" : null, docs.id[i] !== docs.title[i] ? ["id ", bdi(docs.id[i])] : null, `row ${count(docs.row[i])}`].filter(Boolean);
  const reader = readerOf(content);
  const node = h("article.detail",
    h("header.detail-head", h("div.title", h("h1", h("bdi", shown(docTitle(i))))), beside(list, docAddress)),
    h("p.about", about.map((one, at) => [at ? " · " : "", one])),
    strip(theta.map(([k, mean]) => [k, mean]), "tall"), h(reader ? "div.cols.doc" : "div", reader, thetaCard(theta, reader)));
  return { title: docTitle(i), node, side: list };
}

function readerOf(content) {
  if (!content) return null;
  if (content.words) return card("Its words", `By count${content.words.length < 60 ? "" : ", the 60 most frequent"}; the tint is the ${TOPIC} that a word most likely has here, stronger the surer.`, h("p.reader.counted", content.words.map(([word, n, k, sure]) =>
    [byId.has(k) ? tint(shown(word), k, sure / 100) : h("span", bdi(word)), n > 1 && h("small", ` ${n}`), "  "])));
  if (content.text === undefined) return null;
  const [before, after] = content.cut ?? [0, 0];
  const left = (n, where) => n > 0 && h("p.remark", `${count(n)} characters ${where} are left out.`);
  return card(null, null, left(before, "before"), h("div.reader", { dir: "auto", click: openWord }, tinted(content)), left(after, "after"),
    h("p.remark", `A word's tint is the ${TOPIC} that it most likely has here, stronger the surer; a click opens the word.`));
}

async function openWord(event) {
  const mark = event.target.closest("mark");
  if (!mark || !getSelection().isCollapsed) return;
  const word = folded(mark.textContent);
  if ((await vocabulary()).place.has(word)) location.hash = wordAddress(word);
}

/** Topics of a document; one that is chosen leaves its words alone in colour. */
function thetaCard(theta, reader) {
  const show = (button, id) => {
    const on = button.getAttribute("aria-pressed") !== "true";
    for (const other of button.closest("ul").querySelectorAll("button")) other.setAttribute("aria-pressed", String(on && other === button));
    for (const mark of reader.querySelectorAll("mark")) mark.classList.toggle("off", on && Number(mark.dataset.topic) !== id);
  };
  const name = (t) => reader ? h("button.pick", { "aria-pressed": "false", click: (event) => show(event.currentTarget, t.id) }, dot(t), cutBdi(nameOf(t))) : topicLink(t);
  const row = ([id, mean, low, high]) => byId.has(id) && h("li", hued(byId.get(id)), h("div.row", name(byId.get(id)),
    h("a.go", { href: topicAddress(id), "aria-label": `to ${nameOf(byId.get(id))}` }, "→")),
    h("div.row", bar({ mean, low, high }, 1), h("span.figure", bold(percent(mean)), low !== null && ` (${between(low, high, 0)})`)));
  return card(`Its ${TOPICS}`, reader && "Choose one to see its words alone.", h("ul.theta", theta.map(row)));
}

// ---- groups

async function groupsPage(rest) {
  const at = rest === "" ? chosen.column : report.columns.findIndex((column, i) => String(i) === rest);
  if (at < 0) return nothing(`There is no column ${shown(rest)} on this page.`);
  chosen.column = at;
  const column = report.columns[at];
  const parts = await block(`group-${at}`);
  const control = report.columns.length > 1 && choice("column", report.columns.map((c, i) => [i, shown(c.name)]), at, (i) => visit(`#groups/${i}`));
  const left = [column.missing && `${plural(column.missing, report.noun)} without a value`, column.more && `${count(column.more)} more values left out`].filter(Boolean).join("; ");
  const remark = `Share of the words of each group that a ${TOPIC} has. A name at the top sorts by it.${left ? ` Not here: ${left}.` : ""}`;
  return { title: `By ${column.name}`, node: h("div", h("section.card", h("div.card-head", h("h1", "By ", bdi(column.name)), control), h("p.remark", remark), groupsField(column, parts, at))) };
}

/** Surely more than in the corpus, surely less, or neither. */
function groupCell(parts, n, id, level) {
  const [mean, low, high] = ["mean", "low", "high"].map((name) => ofShare16(parts.get(name)[id * n + level]));
  const usual = report.corpus_share?.[id] ?? 0;
  return { mean, low, high, usual, sure: low > usual ? 1 : high < usual ? -1 : 0 };
}

const UNSURE = () => (isDark() ? "#383c41" : "#d5d7d8");
const LESS = () => (isDark() ? "#202326" : "#f4f4f2");

function groupsLegend() {
  const cells = [0, 0.33, 0.66, 1].map((s, i) => h("i", { "--c": shade(0.25 + 0.75 * s, [20, 110, 200, 300][i]) }));
  const one = (colour, text) => h("span", h("i.swatch", { "--c": colour }), text);
  return h("div.legend", h("span", h("span.ramp", cells), "surely more than in the whole corpus"), one(UNSURE(), "not sure"), one(LESS(), "surely less"));
}

function groupsField(column, parts, at) {
  const n = column.levels.length;
  let order = report.order.length ? report.order : report.topics.map((t) => t.id);
  if (chosen.byLevel?.column === at) order = sorted(order, (id) => groupCell(parts, n, id, chosen.byLevel.level).mean, false);
  const peak = ofShare16(parts.get("mean").reduce((most, u) => Math.max(most, u), 1));
  const colour = (row, level) => {
    const cell = groupCell(parts, n, order[row], level);
    return cell.sure > 0 ? shade(0.22 + 0.78 * Math.sqrt(cell.mean / peak), byId.get(order[row]).hue) : cell.sure < 0 ? LESS() : UNSURE();
  };
  const say = readout("Point at a cell, or move with the arrow keys.");
  const tell = (row, level) => {
    const cell = groupCell(parts, n, order[row], level);
    say.replaceChildren(topicLink(byId.get(order[row])), " in ", bold(bdi(column.levels[level])), `: ${percent(cell.mean, 1)} (${between(cell.low, cell.high, 1)}), in the corpus ${percent(cell.usual, 1)}; ${plural(column.documents[level], report.noun)}`);
  };
  const place = h("div.groups");
  whenWide(place, (width) => {
    const names = width < 560 ? 118 : 230;
    const wide = Math.max(onPaper() ? 3 : n > 40 ? 12 : 15, Math.min(104, (width - names - 70) / n));
    const high = order.length > 60 ? 15 : 24;
    const write = wide >= 44 && order.length * n <= 900 ? (row, level) => percent(groupCell(parts, n, order[row], level).mean, 1) : null;
    const cells = field({ name: `groups-${at}`, title: `${capital(TOPICS)} by ${shown(column.name)}`, rows: order.length, columns: n, high, wide, colour, write, tell, open: (row) => visit(topicAddress(order[row])) });
    const longest = Math.max(...column.levels.map((text) => short(text, 22).length));
    const every = Math.ceil(18 / wide);
    const head = h("div.level-names", { "--wide": `${wide}px`, "--names": `${names}px`, "--tall": `${28 + 4.6 * longest}px` }, column.levels.map((text, level) =>
      h("button.level", { "aria-pressed": String(chosen.byLevel?.column === at && chosen.byLevel.level === level), title: `${shown(text)}, ${plural(column.documents[level], report.noun)}`, click: () => { chosen.byLevel = { column: at, level }; place.replaceWith(groupsField(column, parts, at)); } }, h("bdi", level % every ? "" : short(text, 22)))));
    const rows = h("div.row-names", { "--high": `${high}px`, "--names": `${names}px` }, order.map((id) => topicLink(byId.get(id))));
    place.replaceChildren(groupsLegend(), h("div.groups-scroll", { tabindex: "0", role: "group", "aria-label": "table" }, head, h("div.groups-body", rows, cells.box)), h("div.foot", say, cells.button));
  });
  return place;
}

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

function methodPage() {
  const read = h("section.card.prose", h("h1", "How to read this page"),
    h("dl", report.method.map(({ name, text, source }) => [h("dt", name), h("dd", text, source && h("cite", ` ${source}`))])),
    report.interval.remark && h("p.remark", `Intervals here: ${report.interval.remark}.`));
  const pairs = (list, kind = "dt") => h("dl.options", list.map(([name, value]) => [h("dt", kind === "dt" ? name : h(kind, name)), h("dd", bdi(String(value)))]));
  const given = report.options.filter(([, , own]) => own);
  const run = card("This run", null, pairs([["run", report.run], ["made by", `sgmc ${report.sgmc}`], ["intervals", report.interval.draws ? `${report.interval.title}, ${report.interval.draws} draws` : "none"]]),
    given.length > 0 && [h("h3", "Options given"), pairs(given)],
    h("details", h("summary", `all ${report.options.length} options`), pairs(report.options)), missingLines());
  const away = card("Take away", `Names that you give to ${TOPICS} stay in this browser; labels.json takes them to sgmc report --labels.`,
    h("div.buttons", more("topics.csv", () => save("topics.csv", topicsFile(), "text/csv")), more("labels.json", () => save("labels.json", labelsFile(), "application/json")), more("print", () => print())));
  const keys = card("Keys", null, pairs([["/", "search"], ["j, k", `next and previous ${TOPIC} or ${NOUN}`], ["arrows", "move in charts and lists"], ["Escape", "leave the search"]], "kbd"));
  return { title: "Method", node: h("div.cols.method", read, h("div.stack", run, away, keys)) };
}
