"use strict";
// The page of a search for the number of topics: answers, four charts over the number of topics, and a table.

const FORM = { left: 58, right: 20, top: 12, bottom: 40 };
const MARKS = ["predicts best", "for reading"];

// ---- the charts

/** Draws values over the number of topics, on a logarithmic axis; lines are intervals, crosses are settings that were dropped. */
function overTopics(width, chart) {
  const height = Math.round(Math.min(260, Math.max(190, width * 0.5)));
  const points = chart.lines.flatMap((one) => one.points);
  const ys = points.flatMap(({ value, low, high }) => [value, low ?? value, high ?? value]);
  const pad = (Math.max(...ys) - Math.min(...ys) || 1) * 0.07;
  const [low, high] = [chart.low ?? Math.min(...ys) - pad, chart.high ?? Math.max(...ys) + pad];
  const ks = report.ticks.map(Math.log);
  const across = scale([ks[0], ks.at(-1)], [FORM.left + 14, width - FORM.right - 14]);
  const x = (k) => (ks.length > 1 ? across(Math.log(k)) : (FORM.left + width - FORM.right) / 2);
  const y = scale([low, high], [height - FORM.bottom, FORM.top]);
  const yTicks = ticks(low, high, 5);
  const grid = yTicks.map((v) => [rule(FORM.left, y(v), width - FORM.right, y(v), "grid"),
    label(FORM.left - 8, y(v) + 4, "tick", numbered(v, yTicks), "end")]);
  const below = namesApart(report.ticks, x).map((k) => label(x(k), height - FORM.bottom + 18, "tick", count(k), "middle"));
  const marks = report.marks.map(([k]) => rule(x(k), FORM.top, x(k), height - FORM.bottom, "series level"));
  const drawn = chart.lines.map((one, i) => drawnLine(one, i, x, y));
  const foot = label((FORM.left + width - FORM.right) / 2, height - 4, "axis", "topics", "middle");
  return svg(width, height, chart.title, grid, below, marks, drawn, foot);
}

function drawnLine({ name, points }, i, x, y) {
  const alive = points.filter((point) => !point.dropped).map(({ topics, value }) => [x(topics), y(value)]);
  const kind = i === 0 ? "main" : "chain";
  return s("g", { class: "hue", "--h": (250 + 97 * i) % 360 },
    s("path", { d: line(alive), class: `series ${kind}` }),
    points.map((point) => [
      point.low !== null && point.high !== null &&
        s("path", { d: line([[x(point.topics), y(point.low)], [x(point.topics), y(point.high)]]), class: `series ${kind}`, "stroke-opacity": "0.45" }),
      point.dropped ? cross(x(point.topics), y(point.value)) : s("circle", { cx: x(point.topics), cy: y(point.value), r: 3.5, class: kind }),
    ]),
    name && alive.length > 0 && label(alive.at(-1)[0], alive.at(-1)[1] - 9, `series-name ${kind}`, shown(name), "end"));
}

function cross(x, y) {
  return [rule(x - 4, y - 4, x + 4, y + 4, "series"), rule(x - 4, y + 4, x + 4, y - 4, "series")];
}

/** Returns the numbers of topics that have room for their labels on the axis. */
function namesApart(all, x) {
  let end = -Infinity;
  return all.filter((k) => {
    const half = 4 * count(k).length;
    if (x(k) - half < end + 6) return false;
    end = x(k) + half;
    return true;
  });
}

function chartCard(chart, i) {
  return h("section.card", h("h2", chart.title), h("p.remark", chart.remark),
    figure(`search-${i + 1}`, chart.title, (width) => overTopics(width, chart)));
}

/** Returns every second chart, beginning with the first or with the second. */
function column(first) {
  return h("div.stack", report.charts.map((chart, i) => i % 2 === first && chartCard(chart, i)));
}

// ---- words and the table

function answer(sentence) {
  const [head, ...rest] = sentence.split(": ");
  return rest.length && head.startsWith("For ") ? h("li", sign("✓", "good"), h("p", bold(`${head}: `), bdiText(rest.join(": "))))
    : h("li", sign("·", "plain"), h("p", bdiText(sentence)));
}

const bdiText = (text) => h("bdi", running(text));
const sign = (mark, kind) => h(`span.sign.${kind}`, UNREAD, mark);

function fact([name, value, beside]) {
  return h("div", h("dt", name), h("dd", bold(count(value)), h("span", beside)));
}

function tableCard() {
  const head = report.heads.map((text, i) => h("th", { scope: "col", class: i ? "figure" : null }, text));
  const rows = report.rows.map(({ cells, tag, dropped }) => h("tr",
    cells.map((cell, i) => (i === 0
      ? h("th", { scope: "row", class: dropped ? "aside" : null }, bdiText(cell), tag && [" ", h("span.pill.good", tag)])
      : h("td", { class: dropped ? "figure aside" : "figure" }, cell)))));
  return h("section.card", h("h2", "All numbers of topics"),
    h("p.remark", "Perplexity and its interval are means over the chains. Gain compares with the next smaller number of topics. Coherence is the mean over the topics."),
    h("div", { class: "groups-scroll", tabindex: "0", role: "region", "aria-label": "table of all numbers of topics" }, h("table.topics", h("thead", h("tr", head)), h("tbody", rows))));
}

// ---- the page

/** Explains the lines across all charts. */
function legend() {
  const [best, small] = report.marks.map(([k]) => count(k));
  const said = best === small ? `K = ${best} ${MARKS[0]}` : `K = ${best} ${MARKS[0]}, K = ${small} is ${MARKS[1]}`;
  return h("p.remark", `Dashed lines: ${said}.`, report.rows.some((row) => row.dropped) && " Crosses: dropped early, after less training.");
}

document.body.append(
  h("header.top", h("span.brand", h("b.cut", h("bdi", shown(report.corpus))), h("span", "how many topics?")),
    h("div.search"), themeButton),
  h("main", { id: "main" },
    h("div.opening", h("div.intro", h("h1", h("bdi", shown(report.title))), h("dl.facts", report.facts.map(fact)),
      h("ul.verdicts", report.sentences.map(answer)), legend())),
    h("div.stack", h("div.cols", column(0), column(1)), tableCard()),
  ),
  h("footer", `made by sgmc ${report.sgmc}; nothing is loaded from elsewhere`),
);
document.body.dataset.ready = "#";
