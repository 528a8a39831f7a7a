// The page: logs in, lists conversations, and joins the chat to the window.

import { Chat } from "./chat.js";
import { element, said } from "./elements.js";
import { Service } from "./service.js";
import { WindowView } from "./view.js";
import { Theme, Words, addChoices } from "./words.js";

const TOKEN = "context_builder.token";
const byId = (id) => document.getElementById(id);

class Page {
  constructor() {
    this.words = new Words();
    addChoices(byId("choices"), this.words, new Theme(), element);
    this.chat = new Chat(byId("log"), this.words, (text) => said(byId("status"), text));
    this.service = null;
    this.me = null;
    this.session = null;
    this.view = null;
    this.running = null;
    byId("login-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.logIn(byId("token").value.trim());
    });
    byId("log-out").addEventListener("click", () => this.logOut());
    byId("new").addEventListener("click", () => this.guarded(() => this.begin()));
    byId("delete").addEventListener("click", () => this.askDelete());
    byId("stop").addEventListener("click", () => this.stop());
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.guarded(() => this.send());
    });
    byId("composer").addEventListener("keydown", (event) => this.onKey(event));
    this.words.onChange(() => this.sayOwn());
    this.words.apply();
  }

  say(name, values) {
    return this.words.say(name, values);
  }

  // What this page says itself, beside what is marked in its text.
  sayOwn() {
    said(byId("user"), this.me ? this.say("user_is", { user: this.me.user }) : "");
    if (this.me) {
      this.showSessions();
      this.showTitle();
      if (this.conversation && !this.running) {
        this.chat.show(this.conversation);
      }
    }
  }

  async start() {
    const given = new URLSearchParams(location.hash.slice(1)).get("token");
    if (given) {
      history.replaceState(null, "", location.pathname); // out of sight, out of history
    }
    const token = given ?? sessionStorage.getItem(TOKEN);
    if (token) {
      await this.logIn(token);
    } else {
      this.showLogin();
    }
  }

  showLogin() {
    byId("login").hidden = false;
    byId("rooms").hidden = true;
    byId("log-out").hidden = true;
    byId("token").focus();
  }

  async logIn(token) {
    const service = new Service(token, () => this.say("unreachable"));
    this.complain("");
    try {
      this.me = await service.me();
    } catch (error) {
      sessionStorage.removeItem(TOKEN);
      this.showLogin();
      this.complain(
        error.status === 401
          ? this.say("bad_token")
          : this.say("failed", { why: error.message }),
      );
      return;
    }
    sessionStorage.setItem(TOKEN, token);
    this.service = service;
    byId("token").value = "";
    byId("login").hidden = true;
    byId("rooms").hidden = false;
    byId("log-out").hidden = false;
    byId("offline").hidden = !this.me.is_offline;
    this.sessions = [];
    this.sayOwn();
    await this.guarded(async () => {
      await this.listSessions();
      if (this.sessions.length) {
        await this.open(this.sessions[0].id);
      } else {
        this.close();
      }
      byId("message").focus();
    });
  }

  logOut() {
    this.stop();
    sessionStorage.removeItem(TOKEN);
    location.reload(); // nothing of this user stays on the page
  }

  complain(text) {
    said(byId("problem"), text);
  }

  async guarded(work) {
    try {
      this.complain("");
      await work();
    } catch (error) {
      this.complain(this.say("failed", { why: error.message }));
    }
  }

  // --- conversations ------------------------------------------------------------------

  async listSessions() {
    this.sessions = await this.service.sessions();
    this.showSessions();
  }

  showSessions() {
    const lines = this.sessions.map((session) => {
      const isOpen = session.id === this.session;
      return element(
        "li",
        {},
        element(
          "button",
          {
            type: "button",
            "data-id": session.id,
            "aria-current": isOpen ? "true" : null,
            onclick: () => this.guarded(() => this.open(session.id)),
          },
          session.title || this.say("untitled"),
        ),
      );
    });
    byId("sessions").replaceChildren(...lines);
  }

  showTitle() {
    const open = this.sessions.find((session) => session.id === this.session);
    said(byId("title"), open?.title || this.say("conversation"));
    byId("delete").hidden = !open;
  }

  close() {
    this.session = null;
    this.conversation = null;
    this.view = null;
    byId("window").replaceChildren();
    this.chat.clear();
    this.chat.note(this.say("begin"));
    this.showTitle();
  }

  async begin() {
    const session = await this.service.begin();
    this.sessions.unshift(session);
    await this.open(session.id);
    byId("message").focus();
  }

  async open(id) {
    this.stop();
    this.session = id;
    this.conversation = null;
    this.chat.clear();
    this.showSessions();
    this.showTitle();
    this.words.listeners = this.words.listeners.slice(0, 1);
    const root = element("div");
    byId("window").replaceChildren(root);
    this.view = new WindowView(
      root,
      this.service.source(id, this.me.targets),
      this.words,
    );
    const conversation = await this.service.read(id);
    if (this.session !== id) {
      return;
    }
    this.conversation = conversation;
    this.chat.show(conversation);
    await this.view.refresh();
  }

  askDelete() {
    const dialog = byId("sure");
    dialog.returnValue = "no";
    dialog.onclose = () => {
      if (dialog.returnValue === "yes") {
        this.guarded(() => this.remove());
      }
    };
    dialog.showModal();
  }

  async remove() {
    this.stop();
    await this.service.remove(this.session);
    await this.listSessions();
    if (this.sessions.length) {
      await this.open(this.sessions[0].id);
    } else {
      this.close();
    }
    byId("message").focus();
  }

  // --- a turn -------------------------------------------------------------------------

  onKey(event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      if (event.target === byId("message")) {
        event.preventDefault();
        byId("composer").requestSubmit();
      }
    } else if (event.key === "Escape") {
      this.stop();
    }
  }

  stop() {
    this.running?.abort();
  }

  async send() {
    const box = byId("message");
    const text = box.value.trim();
    if (!text || this.running) {
      return;
    }
    if (!this.session) {
      await this.begin();
    }
    const id = this.session;
    const view = this.view;
    this.running = new AbortController();
    this.setRunning(true);
    box.value = "";
    this.chat.begin(text);
    let ending = this.say("stopped");
    try {
      await this.service.say(id, text, this.running.signal, (name, data) => {
        if (this.session !== id) {
          return;
        }
        ending = this.onEvent(name, data) ?? ending;
        if (name === "request" || name === "tool_finished") {
          view.refresh();
        }
      });
    } catch (error) {
      if (error.name !== "AbortError") {
        if (error.status) {
          box.value = text; // it was not taken: nothing that was written is lost
        }
        ending = this.say("failed", { why: error.message });
        this.complain(ending);
      }
    } finally {
      this.running = null;
      this.setRunning(false);
    }
    if (this.session === id) {
      this.chat.end(ending);
      await this.settle(id, view, ending);
    }
  }

  onEvent(name, data) {
    if (name === "finished") {
      const word = `stop_${data.stop_reason}`;
      const told = this.say(word);
      if (told !== word) {
        this.chat.note(told);
      }
      return this.say("answered");
    }
    if (name === "error") {
      const told = this.say("failed", { why: data.message });
      this.complain(told);
      return told;
    }
    this.chat.take(name, data);
    return null;
  }

  // Shows what is stored by now, which is what counts.
  async settle(id, view) {
    await this.listSessions();
    this.showTitle();
    const conversation = await this.service.read(id);
    if (this.session === id && !this.running) {
      this.conversation = conversation;
      await view.refresh();
    }
  }

  setRunning(isRunning) {
    byId("stop").hidden = !isRunning;
    byId("send").disabled = isRunning;
  }
}

new Page().start();
