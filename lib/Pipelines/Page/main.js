// The page as a whole.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

function makeTile(figure, text) {
  return make("div", {class: "tile"}, make("b", {}, figure), make("span", {}, text));
}

/// What is to be known of one iteration of a loop.
function drawTilesInside() {
  const {a} = state;
  const around = ["param", "optimizer", "input", "activation", "recomputed", "gradient", "result"]
    .map((role) => [role, a.sumCallers(role)]).filter(([, bytes]) => bytes > 0);
  byId("tiles").replaceChildren(
    makeTile(formatBytes(a.peakBytes), `peak of ${a.name}`),
    makeTile(a.runs > 0 ? formatCount(a.runs) : "no limit", "runs in one step, at most"),
    makeTile(formatTime(a.time), "planned time of one run"),
    makeTile(formatCount(a.countMadeAgain()), `of ${formatCount(a.count)} entries run again in each`),
    makeTile(formatBytes(d3.sum(around, ([, bytes]) => bytes)),
             `read and written around the loop: ${around.map(([name, bytes]) => `${name} ${formatBytes(bytes)}`).join(", ")}`));
}

function drawTiles() {
  const {a, b} = state;
  if (a.around) {
    drawTilesInside();
    return;
  }
  const isCompared = state.plans.length > 1;
  const isSame = a === b || a.hash === b.hash && a.arenaBytes === b.arenaBytes;
  const change = isSame ? "the same plan" : b.peakBytes > 0 ? formatPercent(a.peakBytes / b.peakBytes - 1) : "";
  const callers = [["param", "parameters"], ["optimizer", "optimizer state"], ["input", "inputs"],
                   ["gradient", "gradients"], ["result", "other results"]]
    .map(([role, name]) => [name, a.sumCallers(role)]).filter(([, bytes]) => bytes > 0);
  const tiles = [
    ...isCompared ? [makeTile(formatBytes(b.peakBytes), `peak before: ${b.title.split(":")[0]}`)] : [],
    makeTile(formatBytes(a.peakBytes), isCompared ? `peak after, ${change}` : "peak"),
    makeTile(a.budgetBytes === undefined ? "none" : formatBytes(a.budgetBytes), "budget of the arena"),
    makeTile(formatPercent(a.overhead), a.optimal ? "extra time, optimal" : "extra time"),
    makeTile(formatCount(a.countRecomputed()), `of ${formatCount(a.count)} entries run again${a.repeatsInLoops ? ", and parts of loops" : ""}`),
    makeTile(formatBytes(d3.sum(callers, ([, bytes]) => bytes)),
             `of the caller, beside the arena: ${callers.map(([name, bytes]) => `${name} ${formatBytes(bytes)}`).join(", ")}`),
  ];
  if (a.reused.length > 0)
    tiles.push(makeTile(formatBytes(a.findMost(a.reused)), "more at most, in buffers of results until these are written"));
  if (a.hosted.length > 0) tiles.push(makeTile(formatBytes(a.findMost(a.hosted)), "at most in host memory"));
  byId("tiles").replaceChildren(...tiles);
}

function fillSelects() {
  const plans = d3.sort(state.plans, (plan) => plan.arenaBytes, (plan) => plan.number);
  for (const [id, set] of [["plan-a", setPlan], ["plan-b", setOther]]) {
    const element = byId(id);
    element.replaceChildren(...plans.map((plan) => make("option", {value: plan.number}, plan.name)));
    element.addEventListener("change", () => set(state.plans[Number(element.value)]));
  }
  on("plan", () => {
    byId("plan-a").value = state.a.number;
    byId("plan-b").value = state.b.number;
    const axes = [["time", "planned time"], ["order", "schedule"]];
    if (state.a.edges.measured) axes.push(["measured", "measured time"]);
    byId("axis").replaceChildren(...axes.map(([value, text]) => make("option", {value}, text)));
    byId("axis").value = state.axis;
  });
  byId("axis").addEventListener("change", () => setAxis(byId("axis").value));
}

/// The bodies of the loops of a plan, those within others behind these.
function listBodies(plan, depth = 1) {
  return [...new Set(plan.bodies.map((raw) => raw.entry))].flatMap((entry) =>
    plan.bodiesOf(entry).flatMap((body) => [{body, depth}, ...listBodies(body, depth + 1)]));
}

/// What is shown: the whole step, or the inside of one of its loops.
function setUpLoops() {
  const element = byId("inside");
  let listed = [];
  on("plan", () => {
    const whole = state.outer[0]?.a ?? state.a;
    listed = listBodies(whole);
    byId("loops").hidden = listed.length === 0;
    const texts = ["the whole step", ...listed.map(({body, depth}) => `${" ".repeat(2 * depth)}${body.name}`)];
    element.replaceChildren(...texts.map((text, value) => make("option", {value}, text)));
    element.value = listed.findIndex(({body}) => body === state.a) + 1;
    byId("leave").hidden = !state.a.around;
    for (const id of ["plans", "comparison"]) byId(id).hidden = state.plans.length < 2 || state.a.around !== null;
  });
  byId("leave").addEventListener("click", leave);
  element.addEventListener("change", () => {
    const chosen = listed[Number(element.value) - 1]?.body;
    while (state.outer.length > 0) leave();
    const path = [];
    for (let body = chosen; body?.around; body = body.around) path.unshift(body);
    path.forEach(enter);
  });
}

/// Light and dark follow the system until a button says otherwise.
function setUpTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const choices = ["system", "light", "dark"];
  let chosen = "system";
  const apply = () => {
    const look = chosen === "system" ? (system.matches ? "dark" : "light") : chosen;
    document.documentElement.dataset.theme = look;
    byId("theme").textContent = `Look: ${chosen}`;
    if (state.a) change("look");
  };
  system.addEventListener("change", apply);
  byId("theme").addEventListener("click", () => {
    chosen = choices[(choices.indexOf(chosen) + 1) % choices.length];
    apply();
  });
  apply();
}

/// The largest value at the peak, to begin with.
function findLargest(plan) {
  const values = plan.liveAt(plan.peakEntry).filter((buffer) => plan.role(buffer) !== "workspace");
  const largest = d3.greatest(values, (buffer) => plan.buffers.bytes[buffer]);
  return largest === undefined ? null : plan.keyOf(largest);
}

function setUpPage() {
  const {data, plans} = readPlans();
  state.plans = plans;
  state.b = plans.find((plan) => plan.origin === "save-all") ?? plans[0];
  state.a = plans.find((plan) => plan.origin === "chosen") ?? plans[plans.length - 1];
  state.cursor = state.a.peakEntry;
  state.selected = findLargest(state.a);
  document.title = `${data.title}: remat report`;
  byId("title").textContent = data.title;
  const isCompared = plans.length > 1;
  byId("subtitle").textContent = `One step${isCompared ? " under several plans" : ""}: what is in memory, since when, and ` +
    "why. The arena has all values that the step makes; arguments and results are the caller's.";
  byId("footer").textContent = `remat report, data ${data.schema}, ${isCompared ? `${plans.length} plans` : "one plan"}; ` +
    `plan ${state.a.hash}. ` +
    "This file loads nothing else. D3 7.9.0 is inside, copyright Mike Bostock, ISC licence.";
  on("plan", drawTiles);
  fillSelects();
  setUpLoops();
  setUpMemory();
  setUpAddresses();
  setUpDetails();
  setUpLive();
  setUpFrontier();
  setUpCompare();
  setUpSearch();
  setUpKeyboard();
  byId("reset-zoom").addEventListener("click", () => setDomain(...getExtent()));
  byId("save-picture").addEventListener("click", savePicture);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) change("look");
    width = innerWidth;
  });
  change("plan", "zoom", "cursor", "selection", "look");
  // For tests, and for pictures of pages.
  window.rematReport = {state, plans, makePicture, goTo, setPlan, setCursor, search, setDomain, redraw, enter, leave};
}

setUpTheme();
try {
  setUpPage();
} catch (error) {
  byId("error").textContent = `This report cannot be shown: ${error.message}`;
  byId("error").hidden = false;
}
