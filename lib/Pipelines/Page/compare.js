// Two plans in figures, and the values that they treat differently.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

const mostDifferences = 200;

function sumDecision(plan, decision) {
  let count = 0, bytes = 0;
  for (let buffer = 0; buffer < plan.bufferCount; ++buffer)
    if (plan.decision(buffer) === decision && plan.role(buffer) !== "recomputed") {
      ++count;
      bytes += plan.buffers.bytes[buffer];
    }
  return {count, bytes};
}

function listFigures(plan) {
  const figures = [
    ["peak", formatBytes(plan.peakBytes)],
    ["arena", formatBytes(plan.arenaBytes)],
    ["budget", plan.budgetBytes === undefined ? "none" : formatBytes(plan.budgetBytes)],
    ["planned time", formatTime(plan.edges.time[plan.count])],
    ["measured time", plan.measured ? formatTime(plan.edges.measured[plan.count]) : "-"],
    ["extra time", formatPercent(plan.overhead)],
    ["proven: no plan takes less", plan.optimal ? formatPercent(plan.overhead)
      : plan.lowerBound > 0 ? formatPercent(plan.lowerBound / plan.baseTime - 1) : "-"],
    ["entries", formatCount(plan.count)],
    ["run again", formatCount(plan.countRecomputed())],
  ];
  for (const decision of plan.data.decisions.slice(1)) {
    const {count, bytes} = sumDecision(plan, decision);
    figures.push([`${decision} values`, count > 0 ? `${formatCount(count)}, ${formatBytes(bytes)}` : "0"]);
  }
  const loops = plan.repeatsInLoops ? ", loops in smaller forms" : "";
  return [...figures, ["planner", plan.planner + loops + (plan.optimal ? ", optimal" : "")]];
}

/// What does not wait is no decision of a planner.
function nameDecision(decision) {
  return decision === "none" ? "short-lived" : decision;
}

/// For each value that both have, the decisions where they differ.
function listDifferences(a, b) {
  const differences = [];
  for (const [key, [buffer]] of a.buffersOf) {
    const other = b.buffersOf.get(key)?.[0];
    if (other === undefined || a.decision(buffer) === b.decision(other)) continue;
    differences.push({buffer, bytes: a.buffers.bytes[buffer], inA: a.decision(buffer), inB: b.decision(other)});
  }
  return d3.sort(differences, (x, y) => d3.descending(x.bytes, y.bytes) || x.buffer - y.buffer);
}

function drawCompare() {
  if (state.outer.length > 0) return;
  const {a, b} = state;
  const figuresOfB = listFigures(b);
  const figures = listFigures(a).map(([name, text], index) =>
    make("tr", {}, make("th", {scope: "row"}, name), make("td", {class: "number"}, figuresOfB[index][1]),
         make("td", {class: "number"}, text)));
  const head = make("thead", {}, make("tr", {}, make("th", {}, ""), make("th", {class: "number", scope: "col"}, "before"),
                                      make("th", {class: "number", scope: "col"}, "after")));
  const differences = a.form === b.form ? listDifferences(a, b) : [];
  const rows = differences.slice(0, mostDifferences).map(({buffer, bytes, inA, inB}) =>
    make("tr", {}, make("td", {}, linkBuffer(a, buffer)), make("td", {class: "number"}, formatBytes(bytes)),
         make("td", {}, nameDecision(inB)), make("td", {}, nameDecision(inA))));
  const columns = ["value", "bytes", "before", "after"].map((name) =>
    make("th", {scope: "col", class: name === "bytes" ? "number" : ""}, name));
  const more = differences.length > mostDifferences ? `, the ${mostDifferences} largest are listed` : "";
  const hasOtherLoops = [...a.loopForms].some(([task, form]) => b.loopForms.has(task) && b.loopForms.get(task) !== form);
  const loops = hasOtherLoops ? " Loops have another form, so what they save has no counterparts." : "";
  const note = a.form !== b.form
    ? `The step is done ${a.form} after and ${b.form} before, so values have no counterparts.`
    : `${formatCount(differences.length)} values are treated differently${more}.${loops}`;
  byId("compare").replaceChildren(
    make("p", {class: "hint"}, `before: ${b.title}; after: ${a.title}`),
    make("table", {}, head, make("tbody", {}, ...figures)),
    make("h3", {}, "Decisions"), make("p", {class: "hint", id: "difference-count"}, note),
    make("div", {class: "scroll"},
         rows.length > 0 ? make("table", {}, make("thead", {}, make("tr", {}, ...columns)), make("tbody", {}, ...rows)) : ""));
}

function setUpCompare() {
  on("plan", drawCompare);
}
