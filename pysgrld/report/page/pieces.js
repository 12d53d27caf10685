// Parts that several pages use, and the choices that a person has made on them.

// Choices that the address stores, with their default values; the address omits a default value.
const VIEW = { sort: "weight", up: false, lambda: null, where: 0, pairs: "distance", of: "documents", order: "likeness", level: null, pick: null };
const choices = { ...VIEW, rows: innerWidth > 620 ? 100 : 10, column: 0, terms: innerWidth > 620 ? 20 : 10, byLevel: null };
const chosen = new Proxy(choices, {
  set(target, key, value) {
    target[key] = value;
    if (Object.hasOwn(VIEW, key)) keepView();
    return true;
  },
});

/** Writes the choices into the address, without a new entry in the browser's history. */
function keepView() {
  const changed = Object.keys(VIEW).filter((key) => chosen[key] !== VIEW[key]).map((key) => [key, String(chosen[key])]);
  const [place] = location.hash.split("?");
  history.replaceState(history.state, "", `${place || "#overview"}${changed.length ? `?${new URLSearchParams(changed)}` : ""}`);
}

/** Reads the choices from an address, if it has any; the address stays whole meanwhile, in case of a reload. */
function readView(text) {
  for (const [key, value] of new URLSearchParams(text)) {
    if (!Object.hasOwn(VIEW, key)) continue;
    choices[key] = value === "null" ? null : typeof VIEW[key] === "string" ? value : typeof VIEW[key] === "boolean" ? value === "true" : Number.isFinite(Number(value)) ? Number(value) : VIEW[key];
  }
}

function card(title, remark, ...children) {
  return h("section.card", title && h("h2", title), remark && h("p.remark", remark), ...children);
}

/** A card with a control at the right of its heading. */
function ruledCard(title, control, remark, ...children) {
  return h("section.card", h("div.card-head", h("h2", title), control), remark && h("p.remark", remark), ...children);
}

/** A view of several cards; its title is only read aloud. */
function stacked(title, ...cards) {
  return { title, node: h("div.stack", h("h1.unseen", title), cards) };
}

function topicLink(topic, kind = "", name = nameOf) {
  return h("a", { href: topicAddress(topic.id), class: `topic-link ${kind}` }, dot(topic), cutBdi(name(topic)));
}

function wordLink(word) {
  return h("a.word-link", { href: wordAddress(word) }, bdi(word));
}

/** Words one after another, each as a link to its page. */
function wordLinks(words) {
  return words.map((word, i) => [i ? " " : "", wordLink(word)]);
}

/** A table of rows with the names of the columns above them. */
function table(kind, head, rows) {
  return h(kind ? `table.${kind}` : "table", head && h("thead", h("tr", head)), h("tbody", rows));
}

const rowHead = (...content) => h("th", { scope: "row" }, ...content);
const colHead = (text, kind = null, columns = null) => h("th", { scope: "col", class: kind, colspan: columns }, text);
const numeral = (...content) => h("td.figure", ...content);
const faint = (...content) => h("td.figure.aside", ...content);
const wideCell = (...content) => h("td.wide", ...content);
const cutBdi = (text) => h("bdi.cut", shown(text));

/** A share in per cent, with its interval if the interval is known. */
function shareOf(mean, low, high) {
  return [bold(percent(mean)), isThere(low) && ` (${between(low, high, 0)})`];
}

const spaced = (words) => words.map((word) => [bdi(word), " "]);

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
  return [h(`span.sign.${kind}`, UNREAD, mark), said && h("span.unseen", said)];
}

/** The overlap of topics as a number, rounded down. */
const overlapText = (overlap) => fixed(Math.floor(overlap * 100 + 1e-9) / 100, 2);

/** The kind of the marks of a topic: green only if a further chain would find the topic in 9 of 10 cases. */
const trustKind = (t) => ({ again: "good", partly: "plain" })[t.trust?.state] ?? "doubt";

/** A mark for whether other chains found a topic. */
function backPill(t, text = `${t.found[0]} of ${t.found[1]}`) {
  return h("span", { class: `pill ${trustKind(t)}` }, `${{ again: "●", partly: "◐" }[t.trust?.state] ?? "○"} ${text}`);
}

function missingLines() {
  if (!report.missing.length) return null;
  return h("div.missing", h("h2", "Not on this page"), h("ul", report.missing.map((text) => h("li", text))));
}

function nothing(text) {
  return { title: "Not here", node: h("div.empty", h("h1", "Not here"), h("p", text), h("p", h("a", { href: "#overview" }, "Overview"))) };
}

/** A remark for pages with several chains that are not combined. */
const ofFirstChain = () => (report.chains?.count > 1 && !report.chains.pooled ? " Figures of the first chain." : "");
const interval = () => (report.interval.draws ? report.interval.title : null);
/** Kind of the intervals of shares, or null: documents are drawn with full samples only, and these may be too few. */
const shareInterval = () => (report.topics.some((t) => typeof t.weight?.[1] === "number") ? interval() : null);
const within = (low, high) => (shareInterval() ? ` (${between(low, high, 1)})` : "");
const weightName = mixture ? "Weight" : "Share of words";
// the share of a topic has the same number of digits everywhere
const shareDigits = 1;

/** Sorts items by a value; items without a value are always last, and items with equal values keep their order. */
function sorted(items, value, up) {
  const unknown = (x) => !isThere(x) || Number.isNaN(x);
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b) * (up ? 1 : -1);
  return items.map((item) => [value(item), item])
    .sort(([a], [b]) => unknown(a) - unknown(b) || (unknown(a) ? 0 : compare(a, b))).map(([, item]) => item);
}
