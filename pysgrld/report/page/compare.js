"use strict";
// The page that compares two runs: the changes of topics, in rows that can be searched.

const [left, right] = report.sides;
/** Maximum number of rows that are shown at first, and number of rows that each "more" adds. */
const ROWS = 20;
/** Maximum height in pixels of the page at first; rows below it are left out until they are asked for. */
const TALLEST = 3800;
/** Minimum share of words outside the other vocabulary that is mentioned. */
const TOLD = 0.01;
/** Kinds of rows, each with its sign and its name. */
const KINDS = new Map(Object.entries({
  "one to one": ["=", "one to one"], split: ["<", "split"], merged: [">", "merged"], partial: ["~", "partial"], gone: ["−", "gone"], new: ["+", "new"],
}));

const named = (side, id) => side.names[id];
const nouns = (side) => [side.noun, `${side.noun}s`];

// ---- the head of the page

function about(side, where) {
  const deep = side.layer > 1 ? `, layer ${side.layer}` : "";
  return h("section.card.run",
    h("p.remark", where), h("h2", bdi(side.run)),
    h("p.remark", `${side.model}, ${side.algo}${deep}`),
    h("dl.figures", [
      [nouns(side)[1], count(side.topics)], ["documents", count(side.documents)], ["words", count(side.words)],
      ["words that the other run lacks", side.words > report.words && side.outside !== null && `${percent(side.outside, 1)} of tokens`],
    ].map(([name, value]) => value && h("div", h("dt", name), h("dd", bold(value))))));
}

const intro = h("section.intro",
  h("h1", bdi(left.run), h("span.to", " → "), bdi(right.run)),
  h("p.lead", report.summary),
  report.score && h("p.lead", report.score),
  report.notes.map((note) => h("p.remark", h("span.doubt", "! "), visible(note))));

// ---- rows

function topicLine(side, id, row, alone) {
  return h("li", h("span.dot"), h("span", h("small.number", String(id)), bold(bdi(named(side, id))), alone !== undefined && h("small", `${fixed(alone, 2)} alone`)));
}

function half(row, side, which) {
  const ids = row[which], share = row[`share_${which}`], outside = row[`outside_${which}`], own = row[`only_${which}`];
  const many = row.kind === (which === "left" ? "merged" : "split");
  if (!ids.length) return h(`div.part.${which}`, nearestOf(row, side));
  return h(`div.part.${which}`,
    h("ul.topics-of", ids.map((id, n) => topicLine(side, id, row, many ? row.overlaps[n] : undefined))),
    h("p.remark", share !== null && `${percent(share, 1)} of the corpus`, outside !== null && outside >= TOLD && h("span.doubt", ` ${percent(outside)} of it on words that the other run lacks`)),
    own.length > 0 && h("p.own", own.map((each) => [" ", each.known ? bdi(each.word) : h("i", { title: "not in the other vocabulary" }, "(", bdi(each.word), ")")])));
}

function nearestOf(row, side) {
  return h("p.remark", row.kind === "new" || row.kind === "gone" ? "Not in this run. " : "No topic of its own in this run. ", "Nearest: ", String(row.nearest), " ", bdi(named(side, row.nearest)), `, overlap ${fixed(row.overlap, 2)}`);
}

function middle(row) {
  const [sign, kind] = KINDS.get(row.kind);
  const good = row.same;
  return h("div.part.mid",
    h("p.kind", h(`span.pill.${good ? "good" : row.nearest === null ? "plain" : "doubt"}`, h("span", UNREAD, `${sign} `), kind), bold(fixed(row.overlap, 2))),
    h("span.bar", { role: "img", "aria-label": `overlap ${fixed(row.overlap, 2)}` }, h(row.nearest === null ? "span.fill" : "span.fill.hollow", { "--to": `${Math.max(0, Math.min(1, row.overlap)) * 100}%` })),
    row.correlation !== null && h("p.remark", `correlation ${fixed(row.correlation, 2)}`),
    row.both.length > 0 && h("p.shared-words", row.both.map((word) => [" ", bdi(word)])));
}

function article(row) {
  return h("article", { class: "card pairing hue", "--h": row.hue, "aria-label": row.numbers }, half(row, left, "left"), middle(row), half(row, right, "right"));
}

/** Returns all texts by which a search finds a row. */
function haystack(row) {
  const names = [...row.left.map((id) => named(left, id)), ...row.right.map((id) => named(right, id))];
  const words = [...row.both, ...row.only_left.map((w) => w.word), ...row.only_right.map((w) => w.word)];
  return [...names, ...words, ...row.left, ...row.right].join("\n").toLowerCase();
}

const rows = report.topics.map((row) => ({ row, text: haystack(row) }));

// ---- choice of rows

const asked = h("input", { type: "search", placeholder: `Find a word or ${left.noun}`, "aria-label": `find a word or a ${left.noun}`, autocomplete: "off", spellcheck: "false", input: () => show() });
const kinds = h("select", { "aria-label": "what to show", change: () => show() }, h("option", { value: "" }, `all (${count(rows.length)})`),
  [...KINDS].map(([kind, [, name]]) => [kind, name, rows.filter((each) => each.row.kind === kind).length]).filter(([, , n]) => n)
    .map(([kind, name, n]) => h("option", { value: kind }, `${name} (${count(n)})`)));
const list = h("div.pairings", { "aria-live": "polite" });

/** Shows the rows that are searched for: `most` rows, or as many as leave the page less tall than `TALLEST`. */
function show(most = null) {
  const text = asked.value.trim().toLowerCase();
  const found = rows.filter((each) => (!kinds.value || each.row.kind === kinds.value) && each.text.includes(text));
  const nodes = found.slice(0, most ?? ROWS).map((each) => article(each.row));
  list.replaceChildren(...nodes);
  if (most === null) {
    const end = TALLEST - document.documentElement.scrollHeight + list.getBoundingClientRect().bottom;
    while (nodes.length > 1 && nodes.at(-1).getBoundingClientRect().bottom > end) nodes.pop().remove();
  }
  if (!found.length) list.append(h("p.remark", `No ${left.noun} has this word or number.`));
  if (found.length > nodes.length) list.append(h("p", h("button", { class: "small", click: () => show(nodes.length + ROWS) }, `show more of ${count(found.length)}`)));
}

// ---- definitions of the numbers

const legend = h("section.card.prose",
  h("h2", "How to read this page"),
  h("dl",
    h("dt", "Overlap"), h("dd", report.signed ? "The cosine of the two directions, over the words that both runs have; 1: the same." : "The smaller of the two probabilities of each word, added up over the words that both runs have. 1: the same; 0: no word in common."),
    report.correlated && [h("dt", "Correlation"), h("dd", `Correlation of the two topics' proportions over the same documents. From ${report.correlated} on, the topics are the same. A topic without a partner is partial if its correlation with a topic of the other run is ${report.absent} or more, else gone or new.`)],
    h("dt", "One to one, split, merged"), h("dd", `Each ${left.noun} has a best partner in the other run. If several have the same partner, it is compared with their mean, weighted by share. Each of them must add at least 0.05 to the overlap.`),
    h("dt", "Gone, new"), h("dd", `No ${left.noun} of the other run has it as its partner; the nearest one is named.`),
    h("dt", "Words"), h("dd", "In the middle: top words of both. Below a name: top words of this side alone, in brackets if the other run's vocabulary lacks them.")));

const main = h("main", { id: "main", tabindex: "-1" }, intro, h("div.cols.even.runs", about(left, "left"), about(right, "right")),
  h("div.choosing", { role: "search" }, asked, kinds), list, legend);
document.body.append(
  h("a", { class: "skip", href: "#main", click: (event) => { event.preventDefault(); main.focus(); } }, "to the page"),
  h("header.top", h("b.brand", bdi(report.title)), h("span.spring"), themeButton),
  main, h("footer", `made by sgmc ${report.sgmc}; nothing is loaded from elsewhere`));
show();
document.body.dataset.ready = "#";
addEventListener("beforeprint", () => show(rows.length));
