// Topics in time slices: the slices in which each topic is present, and the changes of its words.

view("Time", { time: timePage }, report.slices);

async function timePage(rest) {
  const parts = await block("slices");
  if (rest === "") return stacked("Time", timeTable(parts));
  const topic = byId.get(Number(rest));
  if (!topic?.over_time) return nothing(`There is no ${TOPIC} ${shown(rest)} on this page; it has ${plural(report.topics.length, report.topic)}.`);
  const control = choice(TOPIC, report.topics.map((t) => [t.id, nameOf(t)]), topic.id, (id) => visit(`#time/${id}`));
  const head = h("div.card-head", h("h1", h("bdi", shown(nameOf(topic)))), control), life = lifeOf(topic);
  const node = h("div", hued(topic, "stack"), h("section.card", head, life && h("p.remark", life), shareOverTime(parts, topic)), wordsOverTime(parts, topic), changesCard(parts, topic));
  return { title: `${nameOf(topic)} over time`, node };
}

/** Returns one row of a block: the share of a topic in each slice, or the probability of a word in each slice. */
function inSlices(parts, name, place, read) {
  const n = report.slices.names.length, all = parts.get(name);
  return all ? Array.from(all.subarray(place * n, (place + 1) * n), read) : null;
}

const ofWordAt = (parts, part, topic, i) => inSlices(parts, `words-${part}`, topic.place * topic.over_time.words.length + i, ofWord);

/** Describes when a topic begins and ends; the text is empty if the topic is surely absent in no slice. */
function lifeOf({ over_time: { span } }) {
  const [first, last, begins, ends] = span ?? [], { names } = report.slices;
  return [begins && `begins in ${names[first]}`, ends && `ends in ${names[last]}`].filter(Boolean).join(", ");
}

const times = (x) => `${x >= 10 || x < 0.1 ? (x >= 1 ? fixed(x, 0) : `1/${fixed(1 / x, 0)}`) : fixed(x, 1)}×`;
const rising = ([, low]) => isThere(low) && low > 1;
const falling = ([, , high]) => isThere(high) && high < 1;

function timeTable(parts) {
  // all topics have one scale
  const highest = parts.has("mean") ? Math.max(...report.topics.flatMap((t) => inSlices(parts, "mean", t.place, ofShare16)), 1e-9) : 1;
  const changed = (t, is, up) => sorted(t.over_time.words.map((word, i) => [word, t.over_time.change[i]]).filter(([, change]) => is(change)), ([, [mean]]) => mean, up)
    .slice(0, 4).map(([word]) => word);
  const row = (t) => h("tr", hued(t), h("td.c-name", h("div.cell", dot(t), h("div.named", h("a.cover", { href: `#time/${t.id}` }, h("bdi", shown(nameOf(t)))), h("p.top-words", lifeOf(t))))),
    parts.has("mean") && h("td.c-along", h("div.cell", spark(inSlices(parts, "mean", t.place, ofShare16), 130, 28, highest))),
    interval() && [h("td", h("p.top-words", spaced(changed(t, rising, false)))), h("td", h("p.top-words", spaced(changed(t, falling, true))))]);
  const { names, column } = report.slices, ends = `${short(names[0], 14)} – ${short(names.at(-1), 14)}`;
  const head = [colHead(capital(TOPIC)), parts.has("mean") && colHead(`share, ${ends}`), ...(interval() ? ["words that rise", "words that fall"] : []).map((text) => colHead(text))];
  const remark = `${plural(names.length, ["slice", "slices"])} by ${shown(column)}, ${names[0]} to ${names.at(-1)}. Shares are on one scale. Select a ${TOPIC} to open it.${interval() ? " Only words with a significant change are listed." : " Too few samples are kept to say which words rise or fall."}`;
  return h("section.card", h("h1", capital(TOPICS), " over time"), h("p.remark", remark), h("div", { class: "groups-scroll", tabindex: "0", role: "region", "aria-label": `${TOPICS} over time` }, table("topics over-time", head, report.topics.map(row))));
}

function shareOverTime(parts, topic) {
  const { names, documents } = report.slices;
  if (!parts.has("mean")) return h("p.remark", "The run's corpus is missing, so shares in slices are not known.");
  const [mean, low, high] = ["mean", "low", "high"].map((part) => inSlices(parts, part, topic.place, ofShare16));
  const say = readout(`Share of the average ${NOUN} of each slice${shareInterval() ? `; band: ${shareInterval()}` : ""}.`);
  const told = (i) => say.replaceChildren(bold(bdi(names[i])), `: ${percent(mean[i], 1)}${within(low[i], high[i])}, ${plural(documents[i], report.noun)}`);
  return profile({ title: `${nameOf(topic)} over time`, name: `time-${topic.id}`, labels: names, mean, low, high, usual: null, hue: topic.hue, area: names.length > 2, told, say });
}

// ---- words over time, as lines with bands

const STREAMS = 8;
const streamHue = (i) => (i * 137.5 + 20) % 360;

function wordsOverTime(parts, topic) {
  const { words } = topic.over_time, { names } = report.slices;
  const streams = words.slice(0, STREAMS).map((name, i) => ({ name, hue: streamHue(i), ...Object.fromEntries(["mean", "low", "high"].map((part) => [part, ofWordAt(parts, part, topic, i)])) }));
  const title = `Words of ${nameOf(topic)} over time`;
  const say = readout(interval() ? `Bands: ${interval()}.` : "Too few samples are kept for bands.");
  const most = Math.max(...streams.flatMap((one) => one.high));
  const told = (i) => say.replaceChildren(bold(bdi(names[i])), ": ", sorted(streams, (one) => one.mean[i], false).slice(0, 4).map((one, j) => [j ? ", " : "", bdi(one.name), ` ${percent(one.mean[i], digitsFor(most))}`]));
  return ruledCard("Words", null, `Probability of each word in the ${TOPIC}.`, figure(`words-${topic.id}`, title, (width) => streamsOf(width, { title, streams, names, most, told }), say));
}

function streamsOf(width, { title, streams, names, most, told }) {
  const right = Math.min(0.34 * width, 16 + 7.6 * Math.max(...streams.map((one) => short(one.name, 16).length)));
  const [left, top, bottom] = [46, 10, 24];
  const height = Math.round(Math.min(420, Math.max(260, width * 0.5)));
  const step = (width - left - right) / names.length;
  const middle = (i) => left + (i + 0.5) * step;
  const y = scale([0, most * 1.04], [height - bottom, top]);
  const values = ticks(0, most, 5);
  const grid = values.map((v) => [rule(left, y(v), width - right, y(v), "grid"), label(left - 7, y(v) + 4, "tick", percent(v, v ? digitsFor(most) : 0), "end")]);
  const at = (list) => list.map((v, i) => [middle(i), y(v)]);
  const body = streams.map((one) => s("g.hue.stream", { "--h": one.hue },
    s("path.band", { d: `${line(at(one.high))}${line(at(one.low).reverse()).replace("M", "L")}Z` }), s("path.line", { d: line(at(one.mean)) })));
  const places = movedApart(streams.map((one) => y(one.mean.at(-1))), 16, height - bottom);
  const ends = streams.map((one, i) => s("g.hue", { "--h": one.hue }, label(width - right + 4, places[i] + 4, "series-name chain", short(one.name, 16))));
  const marker = s("rect.marker", { x: 0, y: top, width: Math.max(2, step), height: height - bottom - top });
  const drawing = svg(width, height, title, grid, body, ends, marker, namesBelow(names, middle, step, height - bottom, false));
  pointed(drawing, names.length, (clientX) => Math.floor((clientX - drawing.getBoundingClientRect().left - left) / step), (i) => {
    marker.setAttribute("x", left + i * step);
    marker.classList.add("on");
    told(i);
  });
  return drawing;
}

function changesCard(parts, topic) {
  const { words, change } = topic.over_time, { names } = report.slices;
  const order = sorted(words.map((_, i) => i), (i) => change[i][0], false);
  const most = Math.max(...words.flatMap((_, i) => ofWordAt(parts, "mean", topic, i)));
  const row = (i) => {
    const mean = ofWordAt(parts, "mean", topic, i), [by, low, high] = change[i];
    const said = rising(change[i]) ? "rises" : falling(change[i]) ? "falls" : "";
    return h("tr", rowHead(wordLink(words[i])), h("td", spark(mean)), numeral(percent(mean[0], digitsFor(most))), numeral(percent(mean.at(-1), digitsFor(most))),
      numeral(said ? bold(times(by)) : times(by)), faint(isThere(low) && `${times(low)} to ${times(high)}`), faint(said));
  };
  const head = [colHead("word"), colHead("over time, on its own scale"), colHead(short(names[0], 14), "figure"), colHead(short(names.at(-1), 14), "figure"), colHead("times as probable", null, 3)];
  return card("What changes", null, h("div", { class: "groups-scroll", tabindex: "0", role: "region", "aria-label": "words that change" }, table("effects", head, order.map(row))));
}
