// Memory by role over the step: plan B above, plan A below, on the same scales;
// or the only plan.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

const memoryMargin = {left: 62, right: 18, top: 52, gap: 50, bottom: 44};
const memoryHeight = 170;
const legendHeight = 18;
let memoryScale = null;
/// Where the first plan begins: below the legend.
let memoryTop = memoryMargin.top;

function getPanelWidth(id) {
  return Math.max(220, byId(id).clientWidth);
}

/// What a plan has in memory at so many places as there are pixels: of each
/// pixel the entry with the most, so that no peak is lost.
function sampleLive(plan, scale) {
  const edges = plan.edges[state.axis];
  const [begin, end] = scale.domain();
  const first = plan.entryAt(state.axis, begin);
  const samples = [];
  let pixel = null;
  for (let entry = first; entry < plan.count && edges[entry] <= end; ++entry) {
    const at = Math.round(scale(Math.max(edges[entry], begin)));
    const isEmpty = edges[entry + 1] === edges[entry];
    if (at === pixel) {
      const last = samples[samples.length - 1];
      if (plan.total[entry] > plan.total[last.entry] || last.isEmpty) last.entry = entry;
      last.isEmpty = last.isEmpty && isEmpty;
      last.end = edges[entry + 1];
      continue;
    }
    pixel = at;
    samples.push({entry, begin: Math.max(edges[entry], begin), end: edges[entry + 1], isEmpty});
  }
  if (samples.length > 0)
    samples.push({...samples[samples.length - 1], begin: Math.min(samples[samples.length - 1].end, end)});
  return samples;
}

function drawPlan(group, plan, scale, y, title) {
  const samples = sampleLive(plan, scale);
  const below = new Float64Array(samples.length);
  group.append("g").attr("class", "grid").call(d3.axisLeft(y.inUnits).ticks(4).tickSize(-(scale.range()[1] - scale.range()[0])))
    .call((axis) => axis.selectAll("text").remove()).attr("transform", `translate(${scale.range()[0]},0)`);
  for (const [index, role] of arenaRoles.entries()) {
    const live = plan.live[index];
    if (!live.some((bytes) => bytes > 0)) continue;
    const rows = samples.map((sample, at) => {
      const from = below[at];
      below[at] += live[sample.entry];
      return {x: scale(sample.begin), from: y(from), to: y(below[at])};
    });
    const path = d3.area().curve(d3.curveStepAfter).x((row) => row.x).y0((row) => row.from).y1((row) => row.to)(rows);
    group.append("path").attr("class", `area-${role}`).attr("d", path);
    if (role === "recomputed") group.append("path").attr("fill", "url(#hatch)").attr("d", path);
  }
  group.append("g").attr("class", "axis").attr("transform", `translate(${scale.range()[0]},0)`)
    .call(d3.axisLeft(y.inUnits).ticks(4).tickSizeOuter(0));
  drawBudget(group, plan, scale, y);
  drawPhases(group, plan, scale, y);
  drawPeak(group, plan, scale, y);
  group.append("text").attr("class", "heading").attr("x", scale.range()[0]).attr("y", y.range()[1] - 14).text(title);
}

function drawBudget(group, plan, scale, y) {
  const budget = state.a.budgetBytes ?? state.b.budgetBytes;
  if (budget === undefined || y(budget) < y.range()[1]) return;
  const [left, right] = scale.range();
  group.append("line").attr("class", "budget").attr("x1", left).attr("x2", right).attr("y1", y(budget)).attr("y2", y(budget));
  group.append("text").attr("class", "budget-text halo").attr("x", right - 4).attr("y", y(budget) - 5)
    .attr("text-anchor", "end").text(`budget ${formatBytes(budget)}`);
}

/// Where the backward computation begins.
function drawPhases(group, plan, scale, y) {
  const edges = plan.edges[state.axis];
  const backward = plan.data.phases.indexOf("backward");
  const first = plan.entries.phase.indexOf(backward);
  const [left, right] = scale.range();
  if (first < 0 || scale(edges[first]) < left || scale(edges[first]) > right) return;
  const x = scale(edges[first]);
  group.append("line").attr("class", "phase").attr("x1", x).attr("x2", x).attr("y1", y.range()[1]).attr("y2", y.range()[0]);
  const mark = (shift, anchor, text) =>
    group.append("text").attr("class", "halo").attr("x", x + shift).attr("y", y.range()[1] + 11)
      .attr("text-anchor", anchor).text(text);
  const isMadeAgain = plan.data.phases[plan.entries.phase[0]] === "recompute";
  if (x - left > 60) mark(-6, "end", isMadeAgain ? "made again" : "forward");
  if (right - x > 70) mark(6, "start", "backward");
}

function drawPeak(group, plan, scale, y) {
  const edges = plan.edges[state.axis];
  const x = scale((edges[plan.peakEntry] + edges[plan.peakEntry + 1]) / 2);
  const [left, right] = scale.range();
  if (x < left || x > right) return;
  const top = y(plan.total[plan.peakEntry]);
  group.append("circle").attr("class", "peak").attr("cx", x).attr("cy", top).attr("r", 4);
  const atEnd = x > (left + right) / 2;
  const budget = state.a.budgetBytes ?? state.b.budgetBytes;
  const below = budget !== undefined && Math.abs(y(budget) - top) < 12 ? 14 : 0;
  group.append("text").attr("class", "peak-text halo").attr("x", x + (atEnd ? -8 : 8)).attr("y", top + 4 + below)
    .attr("text-anchor", atEnd ? "end" : "start").text(`peak ${formatBytes(plan.peakBytes)}`);
}

/// What colours mean, and how many lines that takes.
function placeLegend(width) {
  const used = arenaRoles.filter((role, index) =>
    [state.a, state.b].some((plan) => plan.live[index].some((bytes) => bytes > 0)));
  let x = memoryMargin.left, line = 0;
  const items = used.map((role) => {
    const room = 32 + 7 * role.length;
    if (x + room > width && x > memoryMargin.left) [x, line] = [memoryMargin.left, line + 1];
    x += room;
    return {role, x: x - room, line};
  });
  return {items, lines: line + 1};
}

function drawLegend(svg, items) {
  const legend = svg.append("g").attr("transform", "translate(0,6)");
  for (const {role, x, line} of items) {
    const item = legend.append("g").attr("transform", `translate(${x},${line * legendHeight})`);
    item.append("rect").attr("class", `area-${role}`).attr("width", 12).attr("height", 12).attr("rx", 2);
    if (role === "recomputed") item.append("rect").attr("width", 12).attr("height", 12).attr("fill", "url(#hatch)");
    item.append("text").attr("x", 17).attr("y", 10.5).text(role);
  }
}

/// The hatch of what is recomputed.
function addHatch(svg, id) {
  svg.append("defs").append("pattern").attr("id", id).attr("width", 6).attr("height", 6)
    .attr("patternUnits", "userSpaceOnUse").attr("patternTransform", "rotate(45)")
    .append("line").attr("class", "hatch").attr("x1", 1).attr("x2", 1).attr("y2", 6);
}

/// How wide a text of the picture is: systems have other fonts.
function measureText(text, size, weight) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return context.measureText(text).width;
}
const measureHeading = (text) => measureText(text, 14, 600);

/// What is above a plan. The budget and the peak are in the plot as well, if
/// there is no room.
function makeHeading(part, plan, width) {
  const isStretched = state.axis === "measured" && !plan.measured;
  const whole = plan.title + (isStretched ? "; did not run: planned times" : "");
  const headings = [whole, plan.title.split(",")[0], plan.title.split(":")[0]].map((text) => part + text);
  return headings.find((text) => measureHeading(text) <= width) ?? headings[2];
}

/// What is beside a heading, if there is room.
function describePrice(plan, room) {
  const price = plan.overhead > 0 ? `${formatPercent(plan.overhead)} time` : "";
  const whole = describeRuns(plan);
  return [whole, price].find((text) => measureText(text, 12, 400) <= room) ?? "";
}

function describeRuns(plan) {
  const again = plan.countRecomputed();
  const runs = `${formatCount(again)} of ${formatCount(plan.count)} entries run again` +
    (plan.repeatsInLoops ? ", and parts of loops" : "");
  return again > 0 || plan.overhead > 0 ? `${runs}, ${formatPercent(plan.overhead)} time` : "";
}

function drawAxis(svg, scale, height, axis) {
  const total = scale.domain()[1];
  const [size, unit] = axis === "order" ? [1, "entries of the schedule"] : chooseTimeUnit(total);
  const inUnits = scale.copy().domain(scale.domain().map((place) => place / size));
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height})`)
    .call(d3.axisBottom(inUnits).ticks(8).tickSizeOuter(0));
  const whole = state.a.around ? "iteration" : "step";
  const text = axis === "order" ? unit : `${axis === "measured" ? "measured" : "planned"} time since the ${whole} began, ${unit}`;
  svg.append("text").attr("x", d3.mean(scale.range())).attr("y", height + 34).attr("text-anchor", "middle").text(text);
}

function drawMemory() {
  const width = getPanelWidth("memory");
  const {left, right, gap, bottom} = memoryMargin;
  const plans = shownPlans();
  const legend = placeLegend(width);
  const top = memoryTop = memoryMargin.top + (legend.lines - 1) * legendHeight;
  const height = top + plans.length * (memoryHeight + gap) - gap + bottom;
  const svg = d3.create("svg").attr("class", "chart").attr("width", width).attr("height", height)
    .attr("viewBox", `0 0 ${width} ${height}`).attr("xmlns", "http://www.w3.org/2000/svg");
  svg.append("title").text(`Memory over one step: ${plans.map((plan) => plan.title).join("; ")}`);
  addHatch(svg, "hatch");
  memoryScale = d3.scaleLinear(getDomain(), [left, width - right]);
  const budget = state.a.budgetBytes ?? state.b.budgetBytes ?? 0;
  const peaks = [state.a, state.b].map((plan) => plan.peakBytes);
  const most = Math.max(...peaks, budget <= 2 * Math.max(...peaks) ? budget : 0, 1) * 1.22;
  const [size, unit] = chooseByteUnit(most);
  const clip = svg.select("defs").append("clipPath").attr("id", "inside");
  clip.append("rect").attr("x", left).attr("width", width - left - right).attr("height", height);
  for (const [index, plan] of plans.entries()) {
    const base = top + memoryHeight + index * (memoryHeight + gap);
    const y = d3.scaleLinear([0, most], [base, base - memoryHeight]);
    y.inUnits = d3.scaleLinear([0, most / size], y.range());
    const part = plans.length === 1 ? "" : index === 0 ? "Before: " : "After: ";
    const heading = makeHeading(part, plan, width - left);
    drawPlan(svg.append("g"), plan, memoryScale, y, heading);
    const room = width - left - right - 20 - measureHeading(heading);
    svg.append("text").attr("class", "price").attr("x", width - right).attr("y", base - memoryHeight - 14)
      .attr("text-anchor", "end").text(describePrice(plan, room));
  }
  drawLegend(svg, legend.items);
  drawAxis(svg, memoryScale, height - bottom, state.axis);
  svg.append("text").attr("class", "price").attr("x", left - 46).attr("y", 17).text(unit);
  svg.append("g").attr("class", "cursors");
  byId("memory").querySelector("svg")?.remove();
  byId("memory").append(svg.node());
  drawMemoryCursor();
}

function drawMemoryCursor() {
  const {gap} = memoryMargin, top = memoryTop;
  const group = d3.select("#memory svg .cursors");
  group.selectAll("*").remove();
  const [left, right] = memoryScale.range();
  for (const [index, plan] of shownPlans().entries()) {
    const entry = plan.findEntryOf(state.a, state.cursor);
    const edges = plan.edges[state.axis];
    const x = memoryScale((edges[entry] + edges[entry + 1]) / 2);
    if (x < left || x > right) continue;
    const base = top + memoryHeight + index * (memoryHeight + gap);
    group.append("line").attr("class", "cursor").attr("x1", x).attr("x2", x).attr("y1", base - memoryHeight).attr("y2", base);
  }
}

/// The plan and its entry under the pointer.
function findInMemory(event) {
  const [x, y] = d3.pointer(event, byId("memory").querySelector("svg"));
  const {gap} = memoryMargin, top = memoryTop;
  const plan = y < top + memoryHeight + gap / 2 ? shownPlans()[0] : state.a;
  return {plan, entry: plan.entryAt(state.axis, memoryScale.invert(x))};
}

function describeLive(plan, entry) {
  const roles = arenaRoles.map((role, index) => [role, plan.live[index][entry]]).filter(([, bytes]) => bytes > 0);
  return [`${formatBytes(plan.total[entry])} live`, ...roles.map(([role, bytes]) => `${role}: ${formatBytes(bytes)}`)];
}

function setUpMemory() {
  const element = byId("memory");
  element.tabIndex = 0;
  element.classList.add("focusable");
  element.setAttribute("role", "application");
  element.setAttribute("aria-label", "Memory by role over the step. Arrow keys move the cursor.");
  element.addEventListener("pointermove", (event) => {
    const {plan, entry} = findInMemory(event);
    showTip(event, plan.entryName(entry),
            [...describeLive(plan, entry), plan.text("entries", "location", entry), "click to move the cursor here",
             plan.bodiesOf(entry).length > 0 ? "i looks inside of the loop" : ""]);
  });
  element.addEventListener("pointerleave", hideTip);
  addZoom(element, () => memoryScale);
  element.addEventListener("click", (event) => {
    const {plan, entry} = findInMemory(event);
    setCursor(state.a.findEntryOf(plan, entry));
  });
  on("plan zoom look", drawMemory);
  on("cursor", drawMemoryCursor);
}
