// What the library says of an item and of a prefix that moved, in other languages.
// Each is a pattern of the English sentence and what to say instead, `$1` for its first
// group. What is not here stands in English: a reason of somebody's own rule, say.

const IN_OTHER_WORDS = {
  zh: [
    ["over budget: the least important goes first, then the oldest", "超出预算：最不重要的先移除，同等重要时先移除最旧的"],
    ["over budget: optional background", "超出预算：可选的背景资料"],
    ["over budget: the current turn comes first", "超出预算：当前一轮优先"],
    ["over budget: too important to be left out", "超出预算：过于重要，不能移除"],
    ["over budget: an older result, replaced by a reference", "超出预算：较早的结果，以引用代替"],
    ["over budget: the longest results were cut to one length", "超出预算：最长的结果被截为同一长度"],
    ["over budget: the user's own words were cut in the middle", "超出预算：用户的话从中间截短"],
    ["over budget: there is room for the user's question only", "超出预算：只放得下用户的问题"],
    ["over budget: an older part of the current turn", "超出预算：当前一轮中较早的部分"],
    ["over budget: not even the values of this message fit", "超出预算：连这条消息的附加值也放不下"],
    ["over budget: far older than what fits", "超出预算：远早于放得下的内容"],
    ["a value of an earlier message: it goes at the first compaction", "属于较早消息的附加值：第一次压缩时移除"],
    ["recalled text goes first: it stands in the session, and can be recalled again", "召回的内容最先移除：它仍在会话中，可以再次召回"],
    ["outside of the sliding window", "在滑动窗口之外"],
    ["older than the newest results that are kept", "早于需要保留的最新结果"],
    ["older results became references", "较早的结果变为引用"],
    ["superseded by a newer item with the same key", "已被同一键的较新条目取代"],
    ["superseded by (\\S+), same key", "已被同一键的 $1 取代"],
    ["the same content as (\\S+)", "与 $1 内容相同"],
    ["the call was answered again by (\\S+)", "该调用又由 $1 作答"],
    ["the same result as (\\S+) for the same call", "与同一调用的结果 $1 相同"],
    ["summary (\\S+) tells of it", "已写入摘要 $1"],
    ["on entry: the results of its round were over round_results_max_tokens", "加入时：该轮结果超过 round_results_max_tokens"],
    ["on entry: longer than tool_result_max_chars", "加入时：长于 tool_result_max_chars"],
    ["on entry: larger than what was left", "加入时：大于剩余空间"],
    ["lowered by the rung (.+)", "由自定义步骤 $1 缩减"],
    ["left out: there is no call that it answers", "省略：没有对应的调用"],
    ["left out: nothing of it arrived", "省略：内容没有到达"],
    ["left out: its call (.+)", "省略：它的调用 $1"],
    ["received in part, and marked as cut off", "只收到一部分，已标明被截断"],
    ["reasoning left out: unpaired surrogates or NULs in it", "省略推理内容：含有不成对的代理字符或 NUL"],
    ["unpaired surrogates or NULs replaced", "已替换不成对的代理字符或 NUL"],
    ["arguments held unpaired surrogates", "参数含有不成对的代理字符"],
    ["two calls had one id", "两个调用使用了同一个 id"],
    ["empty: a stand-in keeps its place", "内容为空：以占位文字代替"],
    ["a call without a result: a stand-in holds the place", "调用没有结果：以占位文字代替"],
    ["put behind its call", "已移到它的调用之后"],
    ["came late: put behind its call", "来得较晚：已移到它的调用之后"],
    ["nobody asked for it: a call was put before it", "没有对应的调用：已在前面补上一个"],
    ["its result came", "它的结果已到达"],
    ["changed by a before_build hook", "由 before_build 钩子修改"],
    ["left out by a before_build hook", "由 before_build 钩子省略"],
    ["put in by a before_build hook", "由 before_build 钩子加入"],
    ["compaction", "压缩"],
    ["compaction that was asked for", "按要求压缩"],
    ["compaction after (\\d+) turns", "$1 轮之后压缩"],
    ["compaction of what was recalled earlier", "压缩先前召回的内容"],
    ["the sliding window moved", "滑动窗口移动"],
    ["(\\S+) was edited", "$1 被修改"],
    ["(\\S+) was superseded by (\\S+)", "$1 被 $2 取代"],
    ["(\\S+) is the latest message again", "$1 重新成为最新消息"],
    ["what was left out was taken back", "收回了已省略的内容"],
    ["a summary told of what was changed or taken out", "摘要涉及的内容已被修改或删除"],
    ["a summary told of what is shown again", "摘要涉及的内容重新显示"],
    ["summary (\\S+) was taken in", "采用了摘要 $1"],
  ].map(([said, other]) => [new RegExp(`^${said}$`), other]),
};

// Say a reason in a language; several of them are parted by semicolons.
export function inOtherWords(reason, language) {
  const known = IN_OTHER_WORDS[language];
  if (!known || !reason) {
    return reason;
  }
  const parts = reason.split("; ").map((part) => {
    const found = known.find(([said]) => said.test(part));
    return found ? part.replace(found[0], found[1]) : part;
  });
  return parts.join("；");
}
