// The parts of the window: budget, items, requests, body. Each shows what it is given.

import { element, fill, freshId, said, width, withArrowKeys } from "./elements.js";

export class BudgetPanel {
  constructor(words) {
    this.words = words;
    this.total = element("p", { class: "total" });
    this.facts = element("p", { class: "quiet" });
    this.bar = element("div", { class: "bar", "aria-hidden": "true" });
    this.rows = element("tbody");
    this.caption = element("caption", { class: "hidden" });
    this.heads = ["class", "use", "tokens"].map((name) =>
      element("th", { scope: "col", "data-head": name }),
    );
    this.node = element(
      "div",
      { class: "budget" },
      this.total,
      this.bar,
      element(
        "table",
        { class: "classes" },
        this.caption,
        element("thead", { class: "hidden" }, element("tr", {}, ...this.heads)),
        this.rows,
      ),
      this.facts,
    );
  }

  show(window, plan) {
    const { words } = this;
    said(this.caption, words.say("classes"));
    for (const head of this.heads) {
      said(head, words.say(head.dataset.head));
    }
    const total = words.say("of_budget", {
      tokens: words.number(plan.tokens),
      budget: words.number(plan.budget_tokens),
      share: words.percent(plan.tokens / plan.budget_tokens),
    });
    said(this.total, window.is_exact ? total : words.say("about", { text: total }));
    const facts = [
      words.say("for_model", {
        target: window.target,
        model: window.model ?? words.say("any_model"),
      }),
      words.say("compactions", { count: words.number(plan.compactions) }),
    ];
    said(this.facts, facts.join(" · "));
    fill(this.bar, ...plan.classes.map((use) => this.segment(use, plan)));
    fill(this.rows, ...plan.classes.map((use) => this.row(use, plan)));
  }

  segment(use, plan) {
    const node = element("span", { class: `segment class-${use.name}` });
    return width(node, use.tokens / Math.max(plan.budget_tokens, plan.tokens));
  }

  row(use, plan) {
    const { words } = this;
    const meter = element("div", { class: "meter", "aria-hidden": "true" });
    const used = element("span", { class: `used class-${use.name}` });
    const mark = element("span", { class: "mark" });
    const most = Math.max(plan.budget_tokens, 1);
    meter.append(width(used, use.tokens / most), width(mark, use.share_tokens / most));
    return element(
      "tr",
      { class: use.tokens > use.share_tokens ? "over" : null },
      element(
        "th",
        { scope: "row" },
        element("span", { class: `dot class-${use.name}`, "aria-hidden": "true" }),
        words.name("class", use.name),
      ),
      element("td", {}, meter),
      element(
        "td",
        { class: "number" },
        words.say("of_share", {
          tokens: words.number(use.tokens),
          share: words.number(use.share_tokens),
        }),
      ),
    );
  }
}

const ITEM_COLUMNS = ["item", "role", "fate", "before", "after", "why", "text"];

export class ItemsPanel {
  // `readItem` returns all that an item says.
  constructor(words, readItem) {
    this.words = words;
    this.readItem = readItem;
    this.rows = [];
    this.window = null;
    const selectId = freshId("show");
    this.label = element("label", { for: selectId });
    this.filter = element("select", {
      id: selectId,
      onchange: () => this.applyFilter(),
    });
    for (const name of ["all", "changed", "whole"]) {
      this.filter.append(element("option", { value: name }));
    }
    this.count = element("span", { class: "quiet", role: "status" });
    this.body = element("tbody");
    this.heads = ITEM_COLUMNS.map((name) =>
      element("th", { scope: "col", class: `column-${name}` }),
    );
    this.dialog = element("dialog", { class: "item-text" });
    this.node = element(
      "div",
      {},
      element("p", { class: "filter" }, this.label, this.filter, this.count),
      element(
        "div",
        { class: "scroll", tabindex: "0", role: "region" },
        element(
          "table",
          { class: "items" },
          element("thead", {}, element("tr", {}, ...this.heads)),
          this.body,
        ),
      ),
      this.dialog,
    );
    this.region = this.node.querySelector(".scroll");
  }

  show(window, plan, lists) {
    const { words } = this;
    said(this.label, words.say("show"));
    this.region.setAttribute("aria-label", words.say("tab_items"));
    [...this.filter.options].forEach((option) =>
      said(option, words.say(`show_${option.value}`)),
    );
    this.heads.forEach((head, column) => said(head, words.say(ITEM_COLUMNS[column])));
    if (this.window !== window || this.language !== words.language) {
      this.window = window;
      this.language = words.language;
      this.rows = window.items.map((item) => this.row(item));
      fill(this.body, ...this.rows.map((row) => row.node));
    }
    this.showPlan(plan, lists);
  }

  // Only what changes is touched: there may be a thousand items.
  showPlan(plan, lists) {
    plan.fates.forEach(([action, tokens, reason], number) => {
      const row = this.rows[number];
      const fate = lists.actions[action];
      if (row.fate !== fate) {
        row.fate = fate;
        row.node.dataset.fate = fate;
        said(row.action, this.words.name("fate", fate));
      }
      said(row.after, this.words.number(tokens));
      said(row.why, this.words.because(lists.reasons[reason]));
    });
    this.applyFilter();
  }

  row(item) {
    const { words } = this;
    const action = element("span", { class: "fate" });
    const after = element("td", { class: "number" });
    const why = element("td", { class: "why" });
    const open = element(
      "button",
      {
        type: "button",
        class: "plain",
        "aria-label": words.say("read_item", { id: item.id }),
        onclick: () => this.read(item),
      },
      item.id,
    );
    const node = element(
      "tr",
      { "data-id": item.id },
      element("th", { scope: "row" }, open),
      element(
        "td",
        {
          class: "role",
          title: words.say("priority", { priority: item.priority }),
        },
        element("span", { class: `dot class-${item.class}`, "aria-hidden": "true" }),
        words.name("role", item.role),
        item.tool ? element("span", { class: "quiet" }, ` ${item.tool}`) : null,
      ),
      element("td", {}, action),
      element("td", { class: "number" }, words.number(item.tokens)),
      after,
      why,
      element("td", { class: "text" }, element("span", {}, item.text)),
    );
    return { node, action, after, why, fate: null };
  }

  applyFilter() {
    const wanted = this.filter.value;
    let shown = 0;
    for (const row of this.rows) {
      const isWhole = row.fate === "kept";
      const fits = wanted === "all" || (wanted === "whole") === isWhole;
      row.node.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    said(
      this.count,
      this.words.say("shown_count", {
        shown: this.words.number(shown),
        all: this.words.number(this.rows.length),
      }),
    );
  }

  async read(item) {
    const text = element("pre", { tabindex: "0" }, this.words.say("loading"));
    fill(
      this.dialog,
      element("h3", {}, item.id),
      text,
      element(
        "form",
        { method: "dialog" },
        element("button", {}, this.words.say("close")),
      ),
    );
    this.dialog.showModal();
    try {
      said(text, await this.readItem(item.id));
    } catch (error) {
      said(text, this.words.say("failed", { why: error.message }));
    }
  }
}

const MOST_BARS = 400;

export class RequestsPanel {
  // `readDifference` returns how a request differs from the one before.
  constructor(words, readDifference) {
    this.words = words;
    this.readDifference = readDifference;
    this.requests = [];
    this.chosen = null;
    this.note = element("p", { class: "quiet" });
    this.bars = element("div", { class: "bars", role: "listbox" });
    this.title = element("h3");
    this.difference = element("div", { class: "difference", "aria-live": "polite" });
    this.node = element("div", {}, this.note, this.bars, this.title, this.difference);
    withArrowKeys(
      this.bars,
      () => [...this.bars.children],
      (place) => this.choose(Number(this.bars.children[place].dataset.number)),
    );
  }

  show(requests, note) {
    const { words } = this;
    this.requests = requests;
    said(this.note, note ?? words.say(requests.length ? "timeline_note" : "no_requests"));
    this.bars.setAttribute("aria-label", words.say("timeline"));
    said(this.title, requests.length ? words.say("difference") : "");
    const largest = Math.max(1, ...requests.map((one) => one.tokens));
    const shown = requests.slice(-MOST_BARS);
    fill(this.bars, ...shown.map((one) => this.bar(one, largest)));
    if (!requests.length) {
      fill(this.difference);
      return;
    }
    const last = requests.length - 1;
    this.choose(this.chosen !== null && this.chosen <= last ? this.chosen : last);
  }

  bar(request, largest) {
    const node = element("button", {
      type: "button",
      role: "option",
      class: request.compactions ? "request compacted" : "request",
      "data-number": request.number,
      "aria-label": this.label(request),
      title: this.label(request),
      tabindex: "-1",
      onclick: () => {
        this.choose(request.number);
        node.focus();
      },
    });
    const kept = element("span", { class: "kept" });
    width(kept, request.tokens ? request.kept_tokens / request.tokens : 0);
    const whole = element("span", { class: "whole" }, kept);
    node.append(width(whole, request.tokens / largest));
    return node;
  }

  label(request) {
    const { words } = this;
    const number = words.number(request.number + 1);
    if (request.problem) {
      return words.say("request_failed", { number, why: request.problem });
    }
    const share = request.tokens ? request.kept_tokens / request.tokens : 0;
    const text = words.say("request_label", {
      number,
      tokens: words.number(request.tokens),
      share: words.percent(share),
      compaction: request.compactions ? words.say("with_compaction") : "",
    });
    const billed = request.billed_tokens;
    return billed === null || billed === undefined
      ? text
      : `${text}; ${words.say("billed", { tokens: words.number(billed) })}`;
  }

  async choose(number) {
    this.chosen = number;
    for (const bar of this.bars.children) {
      const isChosen = Number(bar.dataset.number) === number;
      bar.setAttribute("aria-selected", String(isChosen));
      bar.tabIndex = isChosen ? 0 : -1;
    }
    const head = element("p", {}, this.label(this.requests[number]));
    if (number === 0) {
      fill(this.difference, head, element("p", {}, this.words.say("first_request")));
      return;
    }
    fill(this.difference, head, element("p", {}, this.words.say("loading")));
    let shown;
    try {
      shown = this.describe(await this.readDifference(number), this.requests[number]);
    } catch (error) {
      shown = [element("p", {}, this.words.say("failed", { why: error.message }))];
    }
    if (this.chosen === number) {
      fill(this.difference, head, ...shown);
    }
  }

  describe(found, request) {
    const { words } = this;
    const figures = {
      path: found.path,
      kept: words.number(found.kept_tokens),
      lost: words.number(found.lost_tokens),
      resent: words.number(found.resent_tokens),
      cost: words.number(found.cost_tokens),
    };
    const verdict = words.say(found.path === null ? "extends" : "breaks", figures);
    return [
      element("p", { class: found.path === null ? "extends" : "breaks" }, verdict),
      request.why
        ? element("p", { class: "quiet" }, this.words.because(request.why))
        : null,
      element(
        "p",
        { class: "same" },
        words.say("same_messages", { count: words.number(found.same_messages) }),
      ),
      element(
        "div",
        { class: "sides" },
        this.side("former", found.former, found.former_more),
        this.side("latter", found.latter, found.latter_more),
      ),
    ].filter((node) => node !== null);
  }

  side(name, messages, more) {
    const { words } = this;
    const list = element("ol", { class: name });
    for (const message of messages) {
      list.append(element("li", {}, element("pre", {}, message)));
    }
    const rest = more
      ? words.say("more", { count: words.number(more) })
      : messages.length
        ? null
        : words.say("none_here");
    return element(
      "section",
      {},
      element("h4", {}, words.say(name)),
      list,
      rest ? element("p", { class: "quiet" }, rest) : null,
    );
  }
}

export class BodyPanel {
  // `readBody` returns a request to a vendor; `withModel` lets another model be named.
  constructor(words, targets, readBody, { withModel }) {
    this.words = words;
    this.readBody = readBody;
    this.isShown = false;
    const vendorId = freshId("vendor");
    this.vendorLabel = element("label", { for: vendorId });
    this.vendor = element("select", { id: vendorId, onchange: () => this.load() });
    for (const target of targets) {
      this.vendor.append(element("option", { value: target }, target));
    }
    const modelId = freshId("model");
    this.modelLabel = element("label", { for: modelId });
    this.model = element("input", {
      id: modelId,
      maxlength: "200",
      autocomplete: "off",
      onchange: () => this.load(),
    });
    this.copy = element("button", { type: "button", onclick: () => this.copyText() });
    this.status = element("span", { class: "quiet", role: "status" });
    this.text = element("pre", { class: "body", tabindex: "0" });
    this.note = element("p", { class: "quiet" });
    const choices = [this.vendorLabel, this.vendor];
    if (withModel) {
      choices.push(this.modelLabel, this.model);
    }
    this.node = element(
      "div",
      {},
      element("p", { class: "filter" }, ...choices, this.copy, this.status),
      this.note,
      this.text,
    );
  }

  show(target) {
    const { words } = this;
    said(this.vendorLabel, words.say("vendor"));
    said(this.modelLabel, words.say("model"));
    this.model.placeholder = words.say("own_model");
    said(this.copy, words.say("copy"));
    said(this.note, words.say("body_note"));
    this.text.setAttribute("aria-label", words.say("tab_body"));
    if (!this.isShown) {
      this.isShown = true;
      this.vendor.value = target;
    }
    return this.load();
  }

  async load() {
    const asked = [this.vendor.value, this.model.value.trim()];
    let text;
    try {
      text = JSON.stringify(await this.readBody(...asked), null, 2);
    } catch (error) {
      text = this.words.say("not_possible", { why: error.message });
    }
    if (asked[0] === this.vendor.value) {
      said(this.status, "");
      said(this.text, text);
    }
  }

  async copyText() {
    await navigator.clipboard.writeText(this.text.textContent);
    said(this.status, this.words.say("copied"));
  }
}
