// The definitions of all numbers, the options of the run, and files that can be saved.

view("Method", { method: methodPage }, true);

/** The definitions; if the address names one, this definition is shown first. */
function methodPage(rest) {
  const read = h("section.card.prose", h("h1", "How to read this page"),
    h("div.definitions", reachable("Definitions"), h("dl", report.method.map(({ name, text, source }) => [h("dt", name === rest ? { class: "sought" } : {}, name), h("dd", text, source && h("cite", ` ${source}`))]))),
    report.interval.remark && h("p.remark", `Intervals here: ${report.interval.remark}.`));
  const pairs = (list, kind = "dt") => h("dl.options", list.map(([name, value]) => [h("dt", kind === "dt" ? name : h(kind, name)), h("dd", bdi(String(value)))]));
  const given = report.options.filter(([, , own]) => own);
  const { draws: first, pooled } = report.interval;
  const draws = pooled === first ? plural(first, ["posterior sample", "posterior samples"]) : `${count(pooled)} posterior samples of all chains, ${count(first)} of the first`;
  const run = card("This run", null, pairs([["run", report.run], ["made by", `sgmc ${report.sgmc}`], ["intervals", report.interval.draws ? `${report.interval.title}; ${draws}` : "none"]]),
    given.length > 0 && [h("h3", "Options given"), pairs(given)],
    h("details", h("summary", `all ${report.options.length} options`), pairs(report.options)), missingLines());
  const away = card("Save", `Names that you give to ${TOPICS} stay in this browser. Save them as labels.json for sgmc report --labels.`,
    h("div.buttons", more("topics.csv", () => save("topics.csv", topicsFile(), "text/csv")), more("labels.json", () => save("labels.json", labelsFile(), "application/json")), more("print", () => print())));
  const keys = card("Keys", null, pairs([["/", "search"], ["j, k", `next and previous ${TOPIC} or ${NOUN}`], ["arrows", "move in charts and lists"], ["Escape", "leave the search"]], "kbd"));
  return { title: "Method", node: h("div.cols.method", read, h("div.stack", run, away, keys)) };
}
