"""Makes conversations of any length, the same ones for the same seed.

A turn is a question, a tool call, its result as JSON and an answer, English and Chinese
in turn: about 60, 600 and 150 tokens of o200k_base, behind a system prompt of 300.
Words are as unevenly frequent as they are in text.
"""

from __future__ import annotations

import json
import random
from itertools import accumulate
from typing import Any

__all__ = ["conversation", "system_prompt", "turn"]

_EN_TEXT = """
the to and of a in is for on that with it at by as from this be or was are order
have not report invoice budget total customer shipment warehouse status date number
names today friday please check again before after because when they only missing
delayed reported answer question item supplier account address amount balance batch
cable carrier catalog change claim clerk client color comment company contract copy
cost counter country coupon credit currency damage deadline deal delivery department
deposit desk detail device discount dispute district document door draft driver duty
email engine entry error estimate export factory failure fee field file filter final
finance fleet floor folder form freight fuel gate goods grade group guard handle
harbor hour import income index industry input insurance interest issue journal
kitchen label ledger letter level license limit line list load loan location loss
machine manager margin market material measure meeting member memo message method
metal minute mode model module month motor network note notice office option origin
output owner package page panel paper parcel part partner payment penalty permit
person phone picture pipe plan plant plate point policy pool port power price print
process product profit program project purchase quality quarter quota quote rail
range rate reason receipt record refund region rental repair request reserve result
return review risk road role room route rule salary sale sample scale schedule seal
season seat section sector sensor series service session sheet shelf ship shop
signal size skill slot source space spare staff stage stamp standard station steel
step stock storage store strategy street supply surface survey switch system table
target tariff task tax team term test ticket tool topic track trade traffic train
transfer transport travel trend trial truck type unit update upgrade user valve
value vendor version visit volume wage wagon week weight wheel window wire worker
yard
"""
_ZH_TEXT = """
的 了 是 在 和 请 我们 需要 客户 订单 检查 状态 之前 回复 关于
仓库 缺货 发票 总额 问题 准确 数字 日期 姓名 今天 明天 周五 因为 但是 如果
已经 没有 可以 应该 报告 预算 供应商 地址 金额 余额 批次 电缆 承运人 目录 变更
索赔 合同 成本 国家 信用 货币 损坏 期限 交付 部门 押金 细节 设备 折扣 争议
文件 草稿 司机 邮件 发动机 错误 估计 出口 工厂 失败 费用 燃料 货物 等级 港口
小时 进口 收入 行业 保险 利息 标签 级别 许可证 限制 清单 贷款 位置 损失 机器
经理 市场 材料 会议 成员 消息 方法 金属 分钟 模型 月份 网络 通知 办公室 选项
产地 包裹 伙伴 付款 罚款 电话 图片 计划 政策 价格 过程 产品 利润 项目 采购
质量 季度 报价 铁路 范围 原因 收据 记录 退款 地区 维修 请求 结果 审核 风险
路线 规则 工资 销售 样品 规模 时间表 季节 传感器 服务 尺寸 库存 标准 车站 钢材
步骤 策略 街道 表格 目标 关税
"""
_EN = _EN_TEXT.split()
_ZH = _ZH_TEXT.split()


def _weights(words: list[str]) -> list[float]:
    """Return how often each word comes, summed up: the first ones most."""
    return list(accumulate(1 / (rank + 5) for rank in range(len(words))))


_EN_WEIGHTS = _weights(_EN)
_ZH_WEIGHTS = _weights(_ZH)
_ZH_WORDS_A_TOKEN = 0.82


def _words(chance: random.Random, tokens: int, *, chinese: bool) -> str:
    if chinese:
        count = int(tokens * _ZH_WORDS_A_TOKEN)
        return "".join(chance.choices(_ZH, cum_weights=_ZH_WEIGHTS, k=count))
    return " ".join(chance.choices(_EN, cum_weights=_EN_WEIGHTS, k=tokens))


def system_prompt(seed: int = 1) -> dict[str, Any]:
    """Return a system message of about 300 tokens."""
    return {
        "role": "system",
        "content": _words(random.Random(seed), 300, chinese=False),
    }


def turn(number: int, seed: int = 1) -> list[dict[str, Any]]:
    """Return the four messages of one turn, about 830 tokens."""
    chance = random.Random(f"{seed}/{number}")
    chinese = number % 2 == 1
    rows = [
        {
            "id": f"ord_{number}_{row}",
            "total": chance.randrange(10_000),
            "note": _words(chance, 21, chinese=chinese),
        }
        for row in range(14)
    ]
    call = {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": "orders", "arguments": json.dumps({"page": number})},
    }
    return [
        {"role": "user", "content": _words(chance, 60, chinese=chinese)},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": json.dumps({"rows": rows}, ensure_ascii=False),
        },
        {"role": "assistant", "content": _words(chance, 150, chinese=chinese)},
    ]


def conversation(messages: int, seed: int = 1) -> list[dict[str, Any]]:
    """Return a conversation of so many messages, the system prompt included."""
    made = [system_prompt(seed)]
    number = 0
    while len(made) < messages:
        made += turn(number, seed)
        number += 1
    return made[:messages]
