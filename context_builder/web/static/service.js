// Talks to the service. Nothing here touches the page.

export class ServiceError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export class Service {
  constructor(token, unreachable) {
    this.token = token;
    this.unreachable = unreachable;
  }

  async answer(path, options = {}) {
    const headers = { Authorization: `Bearer ${this.token}` };
    if (options.body !== undefined) {
      headers["Content-Type"] = "application/json";
    }
    let response;
    try {
      response = await fetch(path, { ...options, headers });
    } catch (error) {
      if (error.name === "AbortError") {
        throw error;
      }
      throw new ServiceError(this.unreachable(), 0);
    }
    if (!response.ok) {
      throw new ServiceError(await reason(response), response.status);
    }
    return response;
  }

  async get(path) {
    return (await this.answer(path)).json();
  }

  me() {
    return this.get("/api/me");
  }

  async sessions() {
    return (await this.get("/api/sessions")).sessions;
  }

  async begin() {
    return (await this.answer("/api/sessions", { method: "POST" })).json();
  }

  read(id) {
    return this.get(`/api/sessions/${encodeURIComponent(id)}`);
  }

  async remove(id) {
    await this.answer(`/api/sessions/${encodeURIComponent(id)}`, { method: "DELETE" });
  }

  // Says something, and hands on each event of the turn as it comes.
  async say(id, text, signal, onEvent) {
    const response = await this.answer(
      `/api/sessions/${encodeURIComponent(id)}/messages`,
      { method: "POST", body: JSON.stringify({ text }), signal },
    );
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let waiting = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) {
        return;
      }
      const pieces = (waiting + value).split("\n\n");
      waiting = pieces.pop();
      for (const piece of pieces) {
        const event = readEvent(piece);
        if (event) {
          onEvent(event.name, event.data);
        }
      }
    }
  }

  // What the window asks of one conversation.
  source(id, targets) {
    const base = `/api/sessions/${encodeURIComponent(id)}`;
    const query = (values) => {
      const set = Object.entries(values).filter(([, value]) => value);
      return set.length ? `?${new URLSearchParams(set)}` : "";
    };
    return {
      targets,
      budgets: null,
      withModel: true,
      note: null,
      window: () => this.get(`${base}/window`),
      plan: async (budget) => {
        const response = await this.answer(`${base}/plan?max_tokens=${budget}`);
        const timing = response.headers.get("Server-Timing") ?? "";
        const ms = Number(/replan;dur=([\d.]+)/.exec(timing)?.[1] ?? 0);
        return { ...(await response.json()), ms };
      },
      timeline: () => this.get(`${base}/timeline`),
      difference: (number) => this.get(`${base}/differences/${number}`),
      body: (target, model) => this.get(`${base}/request${query({ target, model })}`),
      item: async (itemId) =>
        (await this.get(`${base}/items/${encodeURIComponent(itemId)}`)).text,
    };
  }
}

async function reason(response) {
  try {
    const { detail } = await response.json();
    return typeof detail === "string" ? detail : JSON.stringify(detail);
  } catch {
    return `HTTP ${response.status}`;
  }
}

function readEvent(piece) {
  let name = null;
  let data = null;
  for (const line of piece.split("\n")) {
    if (line.startsWith("event: ")) {
      name = line.slice(7);
    } else if (line.startsWith("data: ")) {
      data = JSON.parse(line.slice(6));
    }
  }
  return name && { name, data };
}
