// The conversation: what was said, and what is being said now. Text stays text.

import { element, said } from "./elements.js";

export class Chat {
  constructor(log, words, announce) {
    this.log = log;
    this.words = words;
    this.announce = announce;
    this.tools = new Map();
    this.answer = null;
    this.thoughts = null;
  }

  clear() {
    this.log.replaceChildren();
    this.tools.clear();
    this.answer = null;
    this.thoughts = null;
    this.log.setAttribute("aria-busy", "false");
  }

  show(conversation) {
    this.clear();
    for (const item of conversation.items) {
      this.showItem(item);
    }
    if (conversation.was_interrupted) {
      this.note(this.words.say("was_interrupted"));
    }
    if (!conversation.items.some((item) => item.role !== "system")) {
      this.note(this.words.say("nothing"));
    }
    this.toEnd();
  }

  showItem(item) {
    if (item.role === "tool") {
      this.finishTool({
        call_id: item.tool_call_id,
        name: item.tool ?? "",
        is_error: item.is_error,
        text: item.text,
        duration_seconds: null,
      });
      return;
    }
    if (item.role === "assistant") {
      if (item.text) {
        const node = this.add("assistant", item.text);
        if (item.partial) {
          node.append(element("p", { class: "quiet" }, this.words.say("partial")));
        }
      }
      for (const call of item.tool_calls) {
        this.startTool({ call_id: call.id, name: call.name, arguments: call.arguments });
      }
    } else if (item.role === "user") {
      this.add("user", item.text);
    }
  }

  add(who, text) {
    const wordsNode = element("div", { class: "words" }, text);
    const name = this.words.say(who === "user" ? "you" : "assistant");
    const node = element(
      "article",
      { class: `said ${who}` },
      element("div", { class: "who" }, name),
      wordsNode,
    );
    this.log.append(node);
    return node;
  }

  note(text) {
    this.log.append(element("p", { class: "quiet note" }, text));
    this.toEnd();
  }

  toEnd() {
    this.log.scrollTop = this.log.scrollHeight;
  }

  // --- a turn, as it happens ----------------------------------------------------------

  begin(text) {
    this.log.querySelectorAll(".note").forEach((note) => note.remove());
    this.add("user", text);
    this.log.setAttribute("aria-busy", "true");
    this.announce(this.words.say("answering"));
    this.toEnd();
  }

  take(name, data) {
    const isLow = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 80;
    if (name === "text") {
      this.answer ??= this.add("assistant", "").querySelector(".words");
      this.answer.append(data.text);
    } else if (name === "reasoning") {
      this.think(data.text);
    } else if (name === "tool_started") {
      this.answer = null;
      this.thoughts = null;
      this.startTool(data);
    } else if (name === "tool_finished") {
      this.finishTool(data);
    } else if (name === "request") {
      this.answer = null;
    } else if (name === "usage") {
      this.showBill(data);
    }
    if (isLow) {
      this.toEnd();
    }
  }

  showBill(usage) {
    const { words } = this;
    const text = words.say("spent", {
      input: words.number(usage.input_tokens),
      cached: words.number(usage.cached_tokens),
      output: words.number(usage.output_tokens),
    });
    this.log.append(element("p", { class: "quiet spent" }, text));
  }

  end(text) {
    this.log.setAttribute("aria-busy", "false");
    this.answer = null;
    this.thoughts = null;
    this.announce(text);
    this.toEnd();
  }

  think(text) {
    if (!this.thoughts) {
      this.thoughts = element("pre");
      this.log.append(
        element(
          "details",
          { class: "tool" },
          element("summary", {}, this.words.say("thinking")),
          this.thoughts,
        ),
      );
    }
    this.thoughts.append(text);
  }

  startTool(call) {
    const { words } = this;
    const state = element("span", {}, ` · ${words.say("tool_running")}`);
    const result = element("div");
    const node = element(
      "details",
      { class: "tool" },
      element("summary", {}, words.say("calls_tool", { name: call.name }), state),
      element("p", { class: "quiet" }, words.say("arguments")),
      element("pre", {}, call.arguments),
      result,
    );
    this.log.append(node);
    this.tools.set(call.call_id, { node, state, result });
  }

  finishTool(call) {
    const { words } = this;
    if (!this.tools.has(call.call_id)) {
      this.startTool({ ...call, arguments: "" });
    }
    const { node, state, result } = this.tools.get(call.call_id);
    const seconds = call.duration_seconds;
    const word = call.is_error ? "tool_failed" : "tool_done";
    const text =
      seconds === null ? "" : ` · ${words.say(word, { seconds: seconds.toFixed(1) })}`;
    said(state, text);
    node.classList.toggle("failed", call.is_error);
    result.replaceChildren(
      element("p", { class: "quiet" }, words.say("tool_result")),
      element("pre", {}, call.text),
    );
    this.tools.delete(call.call_id);
  }
}
