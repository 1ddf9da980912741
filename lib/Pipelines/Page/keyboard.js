// All that the pointer does, by keys.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The keys of charts and maps, with what they do.
const chartKeys = [
  [["ArrowLeft"], "← →", "the entry before, the next one; with Shift ten", (event) => stepCursor(event, -1)],
  [["ArrowRight"], "", "", (event) => stepCursor(event, 1)],
  [["ArrowUp"], "↑ ↓", "the live value above or below, by address", () => selectNeighbour(1)],
  [["ArrowDown"], "", "", () => selectNeighbour(-1)],
  [["Home"], "Home End", "the first and the last entry", () => setCursor(0)],
  [["End"], "", "", () => setCursor(state.a.count - 1)],
];

const pageKeys = [
  [["+", "="], "+ −", "zoom around the cursor", () => zoomBy(2)],
  [["-"], "", "", () => zoomBy(0.5)],
  [["0"], "0", "the whole step", () => setDomain(...getExtent())],
  [["i"], "i o", "inside of the loop at the cursor; out again", enterAtCursor],
  [["o"], "", "", leave],
  [["p"], "p", "the peak", () => setCursor(state.a.peakEntry)],
  [["["], "[ ]", "the plan with less, with more memory", () => loadNeighbour(-1)],
  [["]"], "", "", () => loadNeighbour(1)],
  [["/"], "/", "search; ↓ goes to what was found", () => byId("search").focus()],
  [["t"], "t", "light, dark, or as the system has it", () => byId("theme").click()],
  [["Escape"], "Esc", "nothing selected, nothing searched", clearAll],
  [["?"], "?", "these keys", () => byId("help-button").click()],
];

function stepCursor(event, direction) {
  setCursor(state.cursor + direction * (event.shiftKey ? 10 : 1));
}

function selectNeighbour(step) {
  const plan = state.a;
  const {offset} = plan.buffers;
  const live = d3.sort(plan.liveAt(state.cursor), (buffer) => offset[buffer]);
  if (live.length === 0) return;
  const at = live.findIndex((buffer) => plan.keyOf(buffer) === state.selected);
  const next = at < 0 ? (step > 0 ? 0 : live.length - 1) : (at + step + live.length) % live.length;
  select(live[next]);
}

function loadNeighbour(step) {
  const plans = d3.sort(state.plans, (plan) => plan.arenaBytes, (plan) => plan.number);
  const next = plans[plans.indexOf(state.outer[0]?.a ?? state.a) + step];
  if (next) setPlan(next);
}

function clearAll() {
  byId("search").value = "";
  search("");
  select(null);
  hideTip();
}

function setUpKeyboard() {
  const press = (keys) => (event) => {
    const isTyped = event.target.closest?.("input, select") && event.key !== "Escape";
    if (isTyped || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const known = keys.find(([names]) => names.includes(event.key));
    if (!known) return;
    event.preventDefault();
    known[3](event);
  };
  for (const element of [byId("memory"), ...document.querySelectorAll(".map")])
    element.addEventListener("keydown", press(chartKeys));
  document.addEventListener("keydown", press(pageKeys));
  const items = [...chartKeys, ...pageKeys].filter(([, keys]) => keys).map(([, keys, text]) =>
    make("li", {}, make("kbd", {}, keys), ` ${text}`));
  byId("help").replaceChildren(
    make("h2", {}, "Keys"),
    make("p", {class: "hint"}, "Arrow keys work in the charts: Tab goes there. With the pointer: click to select, Ctrl " +
                               "and the wheel to zoom, drag to move, double click for the inside of a loop, and for the whole step beside it."),
    make("ul", {}, ...items));
  byId("help-button").addEventListener("click", () => {
    const help = byId("help");
    help.hidden = !help.hidden;
    byId("help-button").setAttribute("aria-expanded", String(!help.hidden));
  });
}
