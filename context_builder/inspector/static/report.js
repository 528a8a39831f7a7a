// The page that stands alone: everything that it shows is in it.

import { element, said } from "./elements.js";
import { WindowView } from "./view.js";
import { Theme, Words, addChoices } from "./words.js";

const data = JSON.parse(document.getElementById("data").textContent);

function known(table, key, words) {
  if (!(key in table)) {
    throw new Error(words.say("none_here"));
  }
  const found = table[key];
  if (found !== null && typeof found === "object" && "problem" in found) {
    throw new Error(found.problem);
  }
  return found;
}

const words = new Words();
const source = {
  targets: Object.keys(data.bodies),
  budgets: data.budgets,
  withModel: false,
  note: data.timeline.requests.length ? "replayed" : null,
  window: async () => data.window,
  plan: async (budget) => ({
    plan: known(data.plans, String(budget), words),
    actions: data.window.actions,
    reasons: data.window.reasons,
  }),
  timeline: async () => data.timeline,
  difference: async (number) => known(data.differences, String(number), words),
  body: async (target) => known(data.bodies, target, words),
  item: async (id) => known(data.texts, id, words),
};

addChoices(document.getElementById("choices"), words, new Theme(), element);
words.onChange(() => {
  const title = words.say("report_title", { name: data.name });
  said(document.getElementById("title"), title);
  document.title = title;
});
const view = new WindowView(document.getElementById("window"), source, words);
words.apply();
view.refresh();
