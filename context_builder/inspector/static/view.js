// The window: puts the parts together, and asks its source for what they show.
//
// A source is an object with
//   targets               names of vendors
//   window()              items, their fates, and the facts about the next request
//   plan(budget)          the fates at another budget
//   timeline()            {requests}
//   difference(number)    how a request differs from the one before
//   body(target, model)   a vendor's request
//   item(id)              all that an item says
//   budgets               a list of the only budgets it has plans for, or null
//   withModel             whether body() takes another model
//   note                  the name of a word that stands over the timeline, or null

import { element, fill, freshId, said, withArrowKeys } from "./elements.js";
import { BodyPanel, BudgetPanel, ItemsPanel, RequestsPanel } from "./panels.js";

const TABS = ["items", "requests", "body"];
const STEPS = 200;

export class WindowView {
  constructor(root, source, words) {
    this.root = root;
    this.source = source;
    this.words = words;
    this.window = null;
    this.asking = 0;
    this.budget = new BudgetPanel(words);
    this.items = new ItemsPanel(words, (id) => source.item(id));
    this.requests = new RequestsPanel(words, (number) => source.difference(number));
    this.body = new BodyPanel(
      words,
      source.targets,
      (target, model) => source.body(target, model),
      { withModel: source.withModel },
    );
    this.slider = this.makeSlider();
    this.tabs = this.makeTabs();
    this.problem = element("p", { class: "problem", role: "alert" });
    this.content = element(
      "div",
      { class: "window", hidden: true },
      this.budget.node,
      this.slider.node,
      this.tabs.node,
    );
    fill(root, this.problem, this.content);
    words.onChange(() => this.render());
  }

  // Asks for everything anew; what is shown stays until the answer is there.
  async refresh() {
    this.asking += 1;
    const asked = this.asking;
    let window = null;
    let timeline = { requests: [] };
    let problem = "";
    try {
      window = await this.source.window();
      timeline = await this.source.timeline();
    } catch (error) {
      problem = this.words.say("failed", { why: error.message });
    }
    if (asked !== this.asking) {
      return;
    }
    said(this.problem, problem);
    this.window = window;
    this.timeline = timeline.requests;
    this.planned = window && { plan: window.plan, lists: window };
    this.setRange();
    this.render();
  }

  render() {
    const { words } = this;
    said(this.slider.label, words.say("what_if"));
    said(this.slider.reset, words.say("real_budget"));
    this.slider.number.setAttribute("aria-label", words.say("what_if_tokens"));
    this.tabs.list.setAttribute("aria-label", words.say("views"));
    for (const name of TABS) {
      said(this.tabs.buttons[name], words.say(`tab_${name}`));
    }
    this.content.hidden = !this.window;
    if (!this.window) {
      return;
    }
    this.showPlan();
    this.showTab();
  }

  showPlan() {
    const { plan, lists } = this.planned;
    this.budget.show(this.window, plan);
    this.items.show(this.window, plan, lists);
    this.sayPlan();
  }

  sayPlan() {
    const { words, window } = this;
    const { plan, lists, ms, problem } = this.planned;
    const isReal = plan.budget_tokens === window.plan.budget_tokens;
    this.slider.reset.disabled = isReal && !problem;
    if (problem) {
      said(this.slider.result, words.say("what_if_fails", { why: problem }));
      return;
    }
    if (isReal) {
      said(this.slider.result, words.say("what_if_same"));
      return;
    }
    const changed = plan.fates.filter(([action, tokens], number) => {
      const [was, wasTokens] = window.plan.fates[number];
      return lists.actions[action] !== window.actions[was] || tokens !== wasTokens;
    }).length;
    const name = ms === null ? "what_if_result_static" : "what_if_result";
    said(
      this.slider.result,
      words.say(name, {
        budget: words.number(plan.budget_tokens),
        tokens: words.number(plan.tokens),
        changed: words.number(changed),
        ms: words.number(ms),
      }),
    );
  }

  // --- the slider ---------------------------------------------------------------------

  makeSlider() {
    const id = freshId("budget");
    const label = element("label", { for: id });
    const range = element("input", { type: "range", id, min: "0" });
    const number = element("input", { type: "number", min: "1", step: "1" });
    const reset = element("button", { type: "button" });
    const result = element("p", { class: "quiet", role: "status" });
    range.addEventListener("input", () => this.replan(this.budgetAt(range.value)));
    number.addEventListener("change", () => this.replan(this.nearest(number.value)));
    reset.addEventListener("click", () => this.replan(this.window.plan.budget_tokens));
    const node = element(
      "div",
      { class: "slider" },
      element("p", { class: "filter" }, label, range, number, reset),
      result,
    );
    return { node, range, number, reset, label, result };
  }

  setRange() {
    if (!this.window) {
      return;
    }
    const budget = this.window.plan.budget_tokens;
    const whole = this.window.items.reduce((sum, item) => sum + item.tokens, 0);
    this.lowest = Math.max(1, Math.floor(budget / 10));
    this.highest = Math.max(2 * budget, Math.ceil(whole * 1.1));
    this.slider.range.max = String((this.source.budgets?.length ?? STEPS + 1) - 1);
    this.placeSlider(budget);
  }

  // Equal steps of the slider are equal factors of the budget.
  budgetAt(place) {
    if (this.source.budgets) {
      return this.source.budgets[Number(place)];
    }
    const factor = this.highest / this.lowest;
    return Math.round(this.lowest * factor ** (Number(place) / STEPS));
  }

  nearest(text) {
    const wanted = Math.max(1, Math.round(Number(text)) || 1);
    if (!this.source.budgets) {
      return wanted;
    }
    return this.source.budgets.reduce((best, one) =>
      Math.abs(one - wanted) < Math.abs(best - wanted) ? one : best,
    );
  }

  placeSlider(budget) {
    const { range, number } = this.slider;
    const place = this.source.budgets
      ? this.source.budgets.indexOf(budget)
      : STEPS * (Math.log(budget / this.lowest) / Math.log(this.highest / this.lowest));
    range.value = String(Math.round(place));
    number.value = String(budget);
    range.setAttribute(
      "aria-valuetext",
      this.words.say("tokens_short", { tokens: this.words.number(budget) }),
    );
  }

  // The latest wish counts: an answer to an earlier one is not shown any more.
  async replan(budget) {
    this.wanted = budget;
    const { range, number } = this.slider;
    number.value = String(budget);
    if (document.activeElement !== range) {
      this.placeSlider(budget);
    }
    range.setAttribute(
      "aria-valuetext",
      this.words.say("tokens_short", { tokens: this.words.number(budget) }),
    );
    if (this.isReplanning) {
      return;
    }
    this.isReplanning = true;
    try {
      while (this.wanted !== null) {
        const next = this.wanted;
        this.wanted = null;
        await this.replanOnce(next);
      }
    } finally {
      this.isReplanning = false;
    }
  }

  async replanOnce(budget) {
    const window = this.window;
    let planned;
    if (budget === window.plan.budget_tokens) {
      planned = { plan: window.plan, lists: window };
    } else {
      try {
        const found = await this.source.plan(budget);
        planned = { plan: found.plan, lists: found, ms: found.ms ?? null };
      } catch (error) {
        planned = { ...this.planned, problem: error.message };
      }
    }
    if (window === this.window) {
      this.planned = planned;
      this.showPlan();
    }
  }

  // --- the tabs -----------------------------------------------------------------------

  makeTabs() {
    const list = element("div", { role: "tablist", class: "tabs" });
    const buttons = {};
    const panels = {};
    const nodes = {
      items: this.items.node,
      requests: this.requests.node,
      body: this.body.node,
    };
    for (const name of TABS) {
      const tabId = freshId("tab");
      const panelId = freshId("panel");
      buttons[name] = element("button", {
        type: "button",
        role: "tab",
        id: tabId,
        "aria-controls": panelId,
        "data-tab": name,
        onclick: () => this.choose(name),
      });
      panels[name] = element(
        "div",
        { role: "tabpanel", id: panelId, "aria-labelledby": tabId, class: name },
        nodes[name],
      );
      list.append(buttons[name]);
    }
    withArrowKeys(
      list,
      () => TABS.map((name) => buttons[name]),
      (place) => this.choose(TABS[place]),
    );
    this.tab = "items";
    const node = element("div", {}, list, ...TABS.map((name) => panels[name]));
    return { node, list, buttons, panels };
  }

  choose(name) {
    this.tab = name;
    this.showTab();
  }

  showTab() {
    for (const name of TABS) {
      const isChosen = name === this.tab;
      this.tabs.buttons[name].setAttribute("aria-selected", String(isChosen));
      this.tabs.buttons[name].tabIndex = isChosen ? 0 : -1;
      this.tabs.panels[name].hidden = !isChosen;
    }
    if (this.tab === "requests") {
      const note = this.source.note ? this.words.say(this.source.note) : null;
      this.requests.show(this.timeline, note);
    } else if (this.tab === "body") {
      this.body.show(this.window.target);
    }
  }
}
