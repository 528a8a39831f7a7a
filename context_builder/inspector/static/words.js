// What the page says, in English and Chinese; for reasons see `reasons.js`.

import { inOtherWords } from "./reasons.js";

const WORDS = {
  en: {
    window: "What the model sees",
    loading: "Loading…",
    nothing: "Nothing has been said yet.",
    of_budget: "{tokens} of {budget} tokens ({share})",
    about: "about {text}",
    compactions: "Compactions so far: {count}",
    for_model: "for {target}, {model}",
    any_model: "any model",
    classes: "The budget by class",
    class: "Class",
    tokens: "Tokens",
    share: "Share",
    of_share: "{tokens} of {share}",
    use: "Use",
    class_system: "System and tools",
    class_latest_turn: "Latest turn",
    class_tool_results: "Older tool results",
    class_history: "History and summary",
    class_background: "Background",
    free: "Free",
    what_if: "What if the budget were",
    what_if_tokens: "Budget in tokens",
    what_if_same: "This is the real budget.",
    what_if_result:
      "With {budget} tokens the request would take {tokens}; {changed} items would have another fate. Replanned in {ms} ms.",
    what_if_result_static:
      "With {budget} tokens the request would take {tokens}; {changed} items would have another fate.",
    what_if_fails: "It would not fit: {why}",
    real_budget: "Back to the real budget",
    tab_items: "Items",
    tab_requests: "Requests",
    tab_body: "Request body",
    views: "Views",
    item: "Item",
    role: "Role",
    fate: "Fate",
    before: "Whole",
    after: "Shown",
    why: "Why",
    text: "Text",
    show: "Show",
    show_all: "All items",
    show_changed: "Not whole",
    show_whole: "Whole",
    shown_count: "{shown} of {all} items",
    read_item: "Read all of {id}",
    close: "Close",
    priority: "priority {priority}",
    fate_kept: "kept",
    fate_shortened: "shortened",
    fate_referenced: "reference",
    fate_summarized: "summarized",
    fate_evicted: "left out",
    fate_deduplicated: "duplicate",
    fate_repaired: "repaired",
    role_system: "system",
    role_user: "user",
    role_assistant: "assistant",
    role_tool: "tool",
    timeline: "Timeline of requests",
    timeline_note:
      "Each bar is a request; its dark part begins as the one before did, so that a prompt cache keeps it. Choose one to see where the two part.",
    no_requests: "No request was sent yet.",
    request_label:
      "Request {number}: {tokens} tokens, {share} from the request before{compaction}",
    request_failed: "Request {number}: nothing fitted ({why})",
    with_compaction: ", after a compaction",
    billed: "billed {tokens}",
    difference: "Difference from the request before",
    first_request: "This is the first request: all of it is new.",
    extends: "It goes on from the request before: all {kept} tokens of it are kept.",
    breaks:
      "The prefix breaks at {path}: {kept} tokens kept, {lost} lost, {resent} sent anew. That costs {cost} tokens.",
    same_messages: "{count} messages are the same",
    former: "Before",
    latter: "Now",
    more: "and {count} more",
    none_here: "nothing more",
    vendor: "Vendor",
    model: "Model",
    own_model: "the session's",
    copy: "Copy",
    copied: "Copied.",
    body_note: "Exactly what the vendor's client is called with.",
    not_possible: "That cannot be said: {why}",
    tokens_short: "{tokens} tokens",
    language: "Language",
    theme: "Colours",
    theme_auto: "as the system",
    theme_light: "light",
    theme_dark: "dark",
    report_title: "What the model sees of {name}",
    replayed:
      "The timeline replays the transcript message by message, as if it had been held live.",
    // the chat
    conversations: "Conversations",
    conversation: "Conversation",
    new_conversation: "New conversation",
    untitled: "New conversation",
    delete_conversation: "Delete this conversation",
    delete_sure: "Delete it for good?",
    yes_delete: "Delete",
    cancel: "Cancel",
    message: "Your message",
    message_hint: "Enter sends, Shift and Enter begin a new line, Escape stops an answer.",
    send: "Send",
    stop: "Stop",
    you: "You",
    assistant: "Assistant",
    calls_tool: "Tool {name}",
    tool_running: "running",
    tool_done: "done in {seconds} s",
    tool_failed: "failed after {seconds} s",
    tool_result: "Result",
    arguments: "Arguments",
    answering: "The assistant is answering.",
    answered: "The answer is complete.",
    stopped: "Stopped.",
    was_interrupted: "The last answer was interrupted.",
    partial: "cut off",
    thinking: "Thoughts",
    token: "Your token",
    token_hint: "The server printed it when your user was made.",
    log_in: "Log in",
    log_out: "Log out",
    bad_token: "That token is nobody's.",
    offline_note:
      "Offline: a local scripted model answers. It is no language model; it only shows how the service works.",
    user_is: "Logged in as {user}",
    skip: "Skip to your message",
    begin: "Begin a conversation, or choose one.",
    failed: "That did not work: {why}",
    unreachable: "the server does not answer",
    stop_max_rounds: "Stopped: too many rounds of tool calls in one turn.",
    stop_output_limit: "The answer was cut at the output's limit.",
    stop_refused: "The model declined to answer.",
    stop_content_filter: "The vendor withheld the answer.",
    stop_paused: "The vendor paused the turn. Say something to go on.",
    stop_no_answer: "The model said nothing.",
    spent: "{input} tokens in, {cached} of them cached, {output} out",
  },
  zh: {
    window: "模型看到的内容",
    loading: "加载中……",
    nothing: "还没有任何消息。",
    of_budget: "{tokens} / {budget} 个 token（{share}）",
    about: "约 {text}",
    compactions: "已压缩次数：{count}",
    for_model: "目标 {target}，模型 {model}",
    any_model: "任意模型",
    classes: "各类别的预算",
    class: "类别",
    tokens: "Token",
    share: "份额",
    of_share: "{tokens} / {share}",
    use: "占用",
    class_system: "系统与工具",
    class_latest_turn: "最近一轮",
    class_tool_results: "较早的工具结果",
    class_history: "历史与摘要",
    class_background: "背景资料",
    free: "空闲",
    what_if: "如果预算是",
    what_if_tokens: "预算（token）",
    what_if_same: "这是实际预算。",
    what_if_result:
      "预算为 {budget} 个 token 时，请求占用 {tokens} 个，{changed} 个条目的处理会不同。重新规划用时 {ms} 毫秒。",
    what_if_result_static:
      "预算为 {budget} 个 token 时，请求占用 {tokens} 个，{changed} 个条目的处理会不同。",
    what_if_fails: "放不下：{why}",
    real_budget: "恢复实际预算",
    tab_items: "条目",
    tab_requests: "请求",
    tab_body: "请求正文",
    views: "视图",
    item: "条目",
    role: "角色",
    fate: "处理",
    before: "完整",
    after: "显示",
    why: "原因",
    text: "内容",
    show: "显示",
    show_all: "全部条目",
    show_changed: "不完整的",
    show_whole: "完整的",
    shown_count: "显示 {shown} / {all} 个条目",
    read_item: "阅读 {id} 全文",
    close: "关闭",
    priority: "优先级 {priority}",
    fate_kept: "保留",
    fate_shortened: "缩短",
    fate_referenced: "引用",
    fate_summarized: "摘要",
    fate_evicted: "移除",
    fate_deduplicated: "重复",
    fate_repaired: "修复",
    role_system: "系统",
    role_user: "用户",
    role_assistant: "助手",
    role_tool: "工具",
    timeline: "请求时间线",
    timeline_note:
      "每个条形是一次请求；深色部分与上一次请求的开头相同，提示缓存可以保留。选择一个查看两者从何处不同。",
    no_requests: "还没有发送过请求。",
    request_label: "请求 {number}：{tokens} 个 token，{share} 与上一次请求相同{compaction}",
    request_failed: "请求 {number}：放不下（{why}）",
    with_compaction: "，发生了压缩",
    billed: "计费 {tokens}",
    difference: "与上一次请求的差异",
    first_request: "这是第一次请求，全部内容都是新的。",
    extends: "它接着上一次请求：其全部 {kept} 个 token 都保留。",
    breaks:
      "前缀在 {path} 处断开：保留 {kept} 个 token，失去 {lost} 个，重新发送 {resent} 个，代价为 {cost} 个 token。",
    same_messages: "{count} 条消息相同",
    former: "之前",
    latter: "现在",
    more: "还有 {count} 条",
    none_here: "没有更多",
    vendor: "厂商",
    model: "模型",
    own_model: "会话的模型",
    copy: "复制",
    copied: "已复制。",
    body_note: "与调用厂商客户端时完全一致。",
    not_possible: "无法表达：{why}",
    tokens_short: "{tokens} 个 token",
    language: "语言",
    theme: "配色",
    theme_auto: "跟随系统",
    theme_light: "浅色",
    theme_dark: "深色",
    report_title: "模型看到的 {name}",
    replayed: "时间线逐条重放记录，如同实时进行的对话。",
    conversations: "会话列表",
    conversation: "对话",
    new_conversation: "新对话",
    untitled: "新对话",
    delete_conversation: "删除此对话",
    delete_sure: "永久删除吗？",
    yes_delete: "删除",
    cancel: "取消",
    message: "你的消息",
    message_hint: "按 Enter 发送，Shift+Enter 换行，Esc 停止回答。",
    send: "发送",
    stop: "停止",
    you: "你",
    assistant: "助手",
    calls_tool: "工具 {name}",
    tool_running: "运行中",
    tool_done: "完成，用时 {seconds} 秒",
    tool_failed: "失败，用时 {seconds} 秒",
    tool_result: "结果",
    arguments: "参数",
    answering: "助手正在回答。",
    answered: "回答完毕。",
    stopped: "已停止。",
    was_interrupted: "上一个回答被中断。",
    partial: "未完",
    thinking: "思考",
    token: "你的令牌",
    token_hint: "创建用户时由服务器显示。",
    log_in: "登录",
    log_out: "退出",
    bad_token: "令牌无效。",
    offline_note: "离线：由本地脚本模型回答。它不是语言模型，仅用于演示服务。",
    user_is: "已登录：{user}",
    skip: "跳到消息输入框",
    begin: "开始新对话，或选择一个对话。",
    failed: "操作失败：{why}",
    unreachable: "服务器没有响应",
    stop_max_rounds: "已停止：一轮中的工具调用次数过多。",
    stop_output_limit: "回答因输出上限被截断。",
    stop_refused: "模型拒绝回答。",
    stop_content_filter: "厂商拦截了回答。",
    stop_paused: "厂商暂停了本轮，请发送消息以继续。",
    stop_no_answer: "模型没有回答。",
    spent: "输入 {input} 个 token（其中缓存 {cached}），输出 {output}",
  },
};

function remembered(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // a page from a file may have no storage
  }
}

function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // then it is asked again next time
  }
}

export class Words {
  constructor() {
    const wanted = remembered("language") ?? navigator.language ?? "en";
    this.language = wanted.toLowerCase().startsWith("zh") ? "zh" : "en";
    this.listeners = [];
  }

  static get languages() {
    return { en: "English", zh: "中文" };
  }

  use(language) {
    this.language = language in WORDS ? language : "en";
    remember("language", this.language);
    this.apply();
  }

  // Whoever says something in words is told when they change, and at once.
  onChange(listener) {
    this.listeners.push(listener);
    listener();
  }

  apply() {
    document.documentElement.lang = this.language === "zh" ? "zh-CN" : "en";
    for (const node of document.querySelectorAll("[data-say]")) {
      node.textContent = this.say(node.dataset.say);
    }
    for (const node of document.querySelectorAll("[data-label]")) {
      node.setAttribute("aria-label", this.say(node.dataset.label));
    }
    for (const listener of this.listeners) {
      listener();
    }
  }

  say(name, values = {}) {
    const text = WORDS[this.language][name] ?? WORDS.en[name] ?? name;
    return text.replace(/\{(\w+)\}/g, (whole, key) =>
      key in values ? String(values[key]) : whole,
    );
  }

  // A word out of a closed set of the library; one that is not known stands for itself.
  name(kind, word) {
    const known = WORDS[this.language][`${kind}_${word}`];
    return known ?? word;
  }

  // Why something is as it is, as the library says it.
  because(reason) {
    return inOtherWords(reason, this.language);
  }

  number(value) {
    return Number(value).toLocaleString(this.language);
  }

  percent(share) {
    return `${Math.round(share * 100)} %`;
  }
}

export class Theme {
  constructor() {
    this.use(remembered("theme") ?? "auto");
  }

  use(theme) {
    this.theme = ["light", "dark"].includes(theme) ? theme : "auto";
    remember("theme", this.theme);
    document.documentElement.dataset.theme = this.theme;
  }
}

// Two selects for language and colours, as every page has them.
export function addChoices(parent, words, theme, element) {
  const language = element("select", { id: "language" });
  for (const [code, name] of Object.entries(Words.languages)) {
    language.append(
      element("option", { value: code, selected: code === words.language }, name),
    );
  }
  language.addEventListener("change", () => words.use(language.value));
  const colours = element("select", { id: "theme" });
  for (const name of ["auto", "light", "dark"]) {
    colours.append(
      element("option", {
        value: name,
        selected: name === theme.theme,
        "data-say": `theme_${name}`,
      }),
    );
  }
  colours.addEventListener("change", () => theme.use(colours.value));
  parent.append(
    element(
      "label",
      { class: "choice" },
      element("span", { "data-say": "language" }),
      language,
    ),
    element(
      "label",
      { class: "choice" },
      element("span", { "data-say": "theme" }),
      colours,
    ),
  );
}
