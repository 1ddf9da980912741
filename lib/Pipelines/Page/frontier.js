// Time over memory of all plans. Each point loads its plan.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

const frontierMargin = {left: 62, right: 24, top: 28, bottom: 44};
const frontierHeight = 270;
/// Above so much more time, small differences need a scale of their own.
const largeOverhead = 0.5;

function drawFrontier() {
  if (state.outer.length > 0) return;
  const width = getPanelWidth("frontier");
  const {left, right, top, bottom} = frontierMargin;
  const base = frontierHeight - bottom;
  const svg = d3.create("svg").attr("class", "chart").attr("width", width).attr("height", frontierHeight)
    .attr("viewBox", `0 0 ${width} ${frontierHeight}`).attr("role", "group").attr("aria-label", "Plans");
  const plans = d3.sort(state.plans, (plan) => plan.arenaBytes, (plan) => plan.overhead);
  const most = d3.max(plans, (plan) => plan.arenaBytes) || 1;
  const slowest = Math.max(d3.max(plans, (plan) => plan.overhead), 0.01);
  const [size, unit] = chooseByteUnit(most);
  const x = d3.scaleLinear([0, (most / size) * 1.05], [left, width - right]);
  const y = (slowest > largeOverhead ? d3.scaleSymlog().constant(5) : d3.scaleLinear())
    .domain([0, slowest * 108]).range([base, top]);
  const isLog = slowest > largeOverhead;
  const ticks = [0, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000].filter((tick) => tick <= slowest * 108);
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${base})`)
    .call(d3.axisBottom(x).ticks(7).tickSizeOuter(0));
  svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`)
    .call((isLog ? d3.axisLeft(y).tickValues(ticks).tickFormat(String) : d3.axisLeft(y).ticks(5)).tickSizeOuter(0));
  svg.append("text").attr("x", (left + width - right) / 2).attr("y", base + 34).attr("text-anchor", "middle")
    .text(`arena, ${unit}`);
  svg.append("text").attr("transform", `translate(14,${(base + top) / 2}) rotate(-90)`).attr("text-anchor", "middle")
    .text("extra time, %");
  const at = (plan) => [x(plan.arenaBytes / size), y(Math.max(0, plan.overhead * 100))];
  svg.append("path").attr("class", "curve").attr("d", d3.line().curve(d3.curveStepAfter)(findFront(plans).map(at)));
  for (const plan of plans) addPoint(svg, plan, at(plan));
  byId("frontier").replaceChildren(svg.node());
}

/// The plans of which no other has both less time and less memory.
function findFront(plans) {
  let fastest = Infinity;
  return plans.filter((plan) => {
    const isBetter = plan.time < fastest;
    fastest = Math.min(fastest, plan.time);
    return isBetter;
  });
}

function addPoint(svg, plan, [x, y]) {
  const isA = plan === state.a;
  const load = () => { setPlan(plan); };
  const text = `${plan.title}, ${formatPercent(plan.overhead)} time`;
  const point = svg.append("circle").attr("class", `point${isA ? " is-a" : plan === state.b ? " is-b" : ""}`)
    .attr("cx", x).attr("cy", y).attr("r", isA ? 8 : 6).attr("tabindex", 0).attr("role", "button")
    .attr("aria-pressed", isA).attr("aria-label", text).attr("data-plan", plan.number);
  const bound = plan.optimal ? "no plan for this budget is faster"
    : plan.lowerBound > 0 ? `proven: at least ${formatPercent(plan.lowerBound / plan.baseTime - 1)}` : "";
  point.on("click", load)
    .on("pointermove", (event) => showTip(event, text, [`planner: ${plan.planner}`, bound, "click to load"]))
    .on("pointerleave", hideTip)
    .on("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      load();
      requestAnimationFrame(() => requestAnimationFrame(
        () => byId("frontier").querySelector(`[data-plan="${plan.number}"]`)?.focus()));
    });
  if (isA || plan === state.b)
    svg.append("text").attr("class", "halo").attr("x", x).attr("y", y - 12).attr("text-anchor", "middle")
      .text(isA ? "after" : "before");
}

function setUpFrontier() {
  on("plan look", drawFrontier);
}
