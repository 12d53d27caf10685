// The number of components that a mixture uses.

view("How many", { components: componentsPage }, report.components);

function componentsPage() {
  const { components } = report;
  const series = [{ name: `${components.numbers.at(-1)} at the end`, points: components.iterations.map((t, i) => [t, components.numbers[i]]), kind: "main" }];
  const title = `number of ${TOPICS} in use`;
  return stacked("How many", card(`How many ${TOPICS} there are`, `The model chooses the number. The line is the number in use in each posterior sample.`, figure("components", title, (width) =>
    lines(width, { title, series, across: { name: "iteration" }, unit: `${TOPICS} in use` }))), topicTable());
}
