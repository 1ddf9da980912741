// The table of what is live at the cursor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

const mostRows = 300;
const sorting = {column: "bytes", down: true};

const liveColumns = [
  {name: "value", get: (plan, buffer) => plan.bufferName(buffer), show: linkBuffer},
  {name: "bytes", isNumber: true, get: (plan, buffer) => plan.buffers.bytes[buffer],
   show: (plan, buffer) => formatBytes(plan.buffers.bytes[buffer])},
  {name: "decision", get: (plan, buffer) => {
    const decision = plan.decision(buffer);
    return plan.role(buffer) === "recomputed" ? "run again" : decision === "none" ? "" : decision;
  }},
  {name: "until #", isNumber: true, get: (plan, buffer) => plan.buffers.death[buffer]},
];

function sortLive(plan, buffers) {
  const {get} = liveColumns.find(({name}) => name === sorting.column);
  const order = sorting.down ? d3.descending : d3.ascending;
  return d3.sort(buffers, (a, b) => order(get(plan, a), get(plan, b)) || d3.ascending(a, b));
}

function makeHead() {
  const cells = liveColumns.map(({name, isNumber}) => {
    const isSorted = sorting.column === name;
    const choose = () => {
      Object.assign(sorting, {column: name, down: isSorted ? !sorting.down : Boolean(isNumber)});
      drawLive();
      byId("live").querySelector(`[data-column="${name}"]`).focus();
    };
    const arrow = isSorted ? (sorting.down ? " ▾" : " ▴") : "";
    const sort = isSorted ? (sorting.down ? "descending" : "ascending") : "none";
    return make("th", {scope: "col", class: isNumber ? "number" : "", "aria-sort": sort},
                make("button", {type: "button", "data-column": name, onclick: choose}, name + arrow));
  });
  return make("thead", {}, make("tr", {}, ...cells));
}

function drawLive() {
  const plan = state.a;
  const entry = state.cursor;
  const buffers = sortLive(plan, plan.liveAt(entry));
  const rows = buffers.slice(0, mostRows).map((buffer) => {
    const cells = liveColumns.map(({get, show, isNumber}, index) =>
      make("td", {class: isNumber ? "number" : ""},
           index === 0 ? make("div", {class: "named"}, makeSwatch(plan.role(buffer)), show(plan, buffer))
                       : show ? show(plan, buffer) : String(get(plan, buffer))));
    return make("tr", {class: plan.keyOf(buffer) === state.selected ? "selected" : ""}, ...cells);
  });
  const more = buffers.length > mostRows ? `, the ${mostRows} first are listed` : "";
  const location = plan.text("entries", "location", entry);
  byId("live").replaceChildren(
    make("h2", {}, "Live at the cursor"),
    make("p", {class: "hint"}, `#${entry} ${plan.entryName(entry)}, ${formatTime(plan.entries.cost[entry])}`,
         location ? `, ${location}` : "", make("br"),
         `${formatBytes(plan.total[entry])} in ${formatCount(buffers.length)} buffers${more}`),
    ...plan.bodiesOf(entry).length > 0 ? [make("p", {class: "hint"}, "look inside of the loop:", ...linkBodies(plan, entry))] : [],
    make("div", {class: "scroll", tabindex: "-1"}, make("table", {}, makeHead(), make("tbody", {}, ...rows))));
}

function setUpLive() {
  on("cursor selection plan", drawLive);
}
