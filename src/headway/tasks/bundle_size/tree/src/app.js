import { groupBy, orderBy, sumBy } from "./collections.js";
import { isDay, shownDay, weekday } from "./dates.js";
import { isCents, shownCents } from "./money.js";

const expenses = [];
const field = (id) => document.getElementById(id);

function add() {
  const [what, kind, cents, day] = ["what", "kind", "cents", "day"].map((id) => field(id).value.trim());
  const trouble = !what ? "What was it?" : !isCents(cents) ? "Cents are whole." : !isDay(day) ? "No such day." : "";
  field("trouble").textContent = trouble;
  if (trouble) return;
  expenses.push({ what, kind: kind || "other", cents: Number(cents), day });
  show();
}

function row(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

function show() {
  const wanted = field("filter").value.trim().toLowerCase();
  const shown = expenses.filter((one) => !wanted || one.what.toLowerCase().includes(wanted));
  const lines = orderBy(shown, ["day", "cents"], ["desc", "asc"]);
  field("list").replaceChildren(
    ...lines.map((one) => row("li", `${weekday(one.day)}, ${shownDay(one.day)}: ${one.what}, ${shownCents(one.cents)}`)),
  );
  const groups = groupBy(shown, "kind");
  const totals = orderBy(Object.keys(groups).map((kind) => ({ kind })), ["kind"], ["asc"]);
  field("totals").replaceChildren(
    ...totals.flatMap(({ kind }) => [row("dt", kind), row("dd", shownCents(sumBy(groups[kind], "cents")))]),
  );
  field("sum").textContent = `${shown.length} of ${expenses.length}: ${shownCents(sumBy(shown, "cents"))}`;
}

field("add").addEventListener("click", add);
field("filter").addEventListener("input", show);
show();
