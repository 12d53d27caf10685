// Shares of topics by the values of a column.

view("Groups", { groups: groupsPage }, report.columns.length);

async function groupsPage(rest) {
  const at = rest === "" ? chosen.column : report.columns.findIndex((column, i) => String(i) === rest);
  if (at < 0) return nothing(`There is no column ${shown(rest)} on this page.`);
  chosen.column = at;
  const column = report.columns[at];
  const parts = await block(`group-${at}`);
  const control = report.columns.length > 1 && choice("column", report.columns.map((c, i) => [i, shown(c.name)]), at, (i) => visit(`#groups/${i}`));
  const left = [column.missing && `${plural(column.missing, report.noun)} without a value`, column.more && `${count(column.more)} more values left out`].filter(Boolean).join("; ");
  const one = report.noun[0];
  const alike = column.within ? ` Each ${shown(column.within)} has one ${shown(column.name)}, so intervals are too narrow: make the page with --cluster ${shown(column.within)}.` : "";
  const remark = `How much of ${chosen.of === "words" ? "all words" : `an average ${one}`} of each group is about each ${TOPIC}${shareInterval() ? `; intervals are for other ${NOUNS} like these` : ""}. Select a group to sort.${ofFirstChain()}${left ? ` Not here: ${left}.` : ""}${alike}`;
  const counted = choice("counted", [["documents", `each ${one} once`], ["words", "by words"]], chosen.of, (of) => { chosen.of = of; visit(`#groups/${at}`); });
  return { title: `By ${column.name}`, node: h("div", h("section.card", h("div.card-head", h("h1", "By ", bdi(column.name)), control, counted), h("p.remark", remark), groupsField(column, parts, at))) };
}

/** The share of a topic in a group, its interval, and whether it is surely greater or smaller than in the other documents. */
function groupCell(parts, n, id, level) {
  const [mean, low, high] = ["mean", "low", "high"].map((name) => ofShare16(counted(parts, name)[id * n + level]));
  return { mean, low, high, usual: usualShare(id) ?? 0, sure: counted(parts, "sign")[id * n + level] };
}

const UNSURE = () => (isDark() ? "#383c41" : "#d5d7d8");
const LESS = () => (isDark() ? "#202326" : "#f4f4f2");

function groupsLegend(sorting) {
  const cells = [0, 0.33, 0.66, 1].map((s, i) => h("i", { "--c": shade(0.25 + 0.75 * s, [20, 110, 200, 300][i]) }));
  const one = (colour, text) => h("span", h("i.swatch", { "--c": colour }), text);
  const surely = shareInterval() ? "surely " : "";
  return h("div.legend", h("span", h("span.ramp", cells), `${surely}more than elsewhere`), surely && one(UNSURE(), "not sure"), one(LESS(), `${surely}less`),
    !surely && h("span", "no intervals: how surely is not known"), sorting);
}

// Minimum number of pixels of an element that is easy to touch.
const TARGET = 24;

function groupsField(column, parts, at) {
  const n = column.levels.length;
  let order = report.order.length ? report.order : report.topics.map((t) => t.id);
  if (chosen.byLevel?.column === at) order = sorted(order, (id) => groupCell(parts, n, id, chosen.byLevel.level).mean, false);
  const peak = ofShare16(counted(parts, "mean").reduce((most, u) => Math.max(most, u), 1));
  const colour = (row, level) => {
    const cell = groupCell(parts, n, order[row], level);
    return cell.sure > 0 ? shade(0.22 + 0.78 * Math.sqrt(cell.mean / peak), byId.get(order[row]).hue) : cell.sure < 0 ? LESS() : UNSURE();
  };
  const say = readout("Point at a cell, or move with the arrow keys.");
  const tell = (row, level) => {
    const cell = groupCell(parts, n, order[row], level);
    say.replaceChildren(topicLink(byId.get(order[row])), " in ", bold(bdi(column.levels[level])), `: ${percent(cell.mean, 1)}${within(cell.low, cell.high)}, in the corpus ${percent(cell.usual, 1)}; ${plural(column.documents[level], report.noun)}`);
  };
  const place = h("div.groups");
  const sort = (level) => { chosen.byLevel = level === "" ? null : { column: at, level: Number(level) }; place.replaceWith(groupsField(column, parts, at)); };
  const sortedBy = chosen.byLevel?.column === at ? chosen.byLevel.level : "";
  const sorting = choice("rows sorted", [["", "rows in the order of the tree"], ...column.levels.map((text, level) => [level, `rows by ${short(text, 40)}`])], sortedBy, sort);
  whenWide(place, (width) => {
    const names = width < 560 ? 118 : 230;
    const wide = Math.max(onPaper() ? 3 : n > 40 ? 12 : 15, Math.min(104, (width - names - 70) / n));
    const high = order.length > 120 ? 15 : TARGET;
    const write = wide >= 44 && order.length * n <= 900 ? (row, level) => percent(groupCell(parts, n, order[row], level).mean, 1) : null;
    const cells = field({ name: `groups-${at}`, title: `${capital(TOPICS)} by ${shown(column.name)}`, rows: order.length, columns: n, high, wide, colour, write, tell, open: (row) => visit(topicAddress(order[row])) });
    const longest = Math.max(...column.levels.map((text) => short(text, 32).length));
    const every = Math.ceil(18 / wide);
    // if columns are too narrow for a finger, they are sorted by the list of all values instead
    const levelName = wide < TARGET ? "span.level" : "button.level";
    const head = h("div.level-names", { "--wide": `${wide}px`, "--names": `${names}px`, "--tall": `${28 + 4.6 * longest}px` }, column.levels.map((text, level) =>
      h(levelName, { "aria-pressed": wide < TARGET ? null : String(level === sortedBy), class: level === sortedBy ? "level on" : "level", title: `${shown(text)}, ${plural(column.documents[level], report.noun)}`, click: () => sort(level) }, h("bdi", level % every ? "" : short(text, 32)))));
    const rows = h("div.row-names", { "--high": `${high}px`, "--names": `${names}px` }, order.map((id) => (high < TARGET ? h("span.topic-link", dot(byId.get(id)), cutBdi(nameOf(byId.get(id)))) : topicLink(byId.get(id)))));
    place.replaceChildren(groupsLegend(sorting), h("div.groups-scroll", reachable("table"), head, h("div.groups-body", rows, cells.box)), h("div.foot", say, cells.button));
  });
  return place;
}
