// The lists of topics and of documents at the left.

const WINDOW = 300;

/** A list that is made once and stays while pages change; of a long list, only a window is shown. */
function sideList({ name, orders, keep, key, row, legend = null, part = "" }) {
  const state = { order: orders[0][0], text: "", items: [], from: 0, current: null };
  const list = h("div.side-list", { role: "list", "aria-label": name, tabindex: "-1" });
  const fill = () => {
    const window = state.items.slice(state.from, state.from + WINDOW);
    const earlier = state.from > 0 && more("earlier ones", () => { state.from = Math.max(0, state.from - WINDOW); fill(); });
    const later = state.from + WINDOW < state.items.length && more("later ones", () => { state.from += WINDOW; fill(); list.scrollTop = 0; });
    const none = !window.length && h("p.remark", `None fits the filter.${part}`);
    list.replaceChildren(...[earlier, ...window.map(row), later, none].filter(Boolean).map((item) => h("div", { role: "listitem" }, item)));
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
  const node = h("details.side", h("summary", capital(name)), h("div.side-head", filter, order), list, legend);
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
  const most = (i) => byId.get(docs.main[i][0]);
  const keep = (i, text) => [docTitle(i), docs.id[i], most(i) ? nameOf(most(i)) : ""].some((one) => visible(one).toLowerCase().includes(text));
  const row = (i) => h("a", { class: docs.held[i] ? "side-row held" : "side-row", href: docAddress(i), "data-key": i, title: docs.held[i] ? "held out: not trained on" : null },
    strip(pairs2(docs.main[i]), "mini"), h("span.cut", bdi(docTitle(i))));
  const sample = docs.row.length < docs.of ? ` ${count(docs.row.length)} of ${plural(docs.of, report.noun)} are on this page.` : "";
  return sideList({ name: NOUNS, part: sample, orders: [["all", "", () => all]], keep, key: (i) => i, row,
    legend: h("p.remark", sample && h("span", sample, report.folder ? " " : " sgmc report --folder has all. "), docs.held.some(Boolean) && [h("i", "In italics"), ": held out, not trained on. "],
      report.folder && h("a", { href: rowAddress(0) }, `all ${plural(docs.of, report.noun)}`)) });
}

const pairs2 = (flat) => flat.filter((_, i) => i % 2 === 0).map((k, i) => [k, flat[2 * i + 1]]);

/** The list of topics or of documents, which is made once, and again when names change. */
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
