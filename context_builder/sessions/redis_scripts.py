"""The steps of the Redis store, as scripts that the server runs whole and alone.

KEYS are the session's hash, its list of records, and the namespace's index of ids.
"""

from __future__ import annotations

import hashlib

__all__ = ["ACQUIRE", "APPEND", "DELETE", "LIST", "LOAD", "RELEASE", "RENEW", "Script"]


class Script:
    """A script, and the name under which the server remembers it."""

    __slots__ = ("name", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.name = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


NOW = """
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
"""
HELD = """
local function held(owner, token, incarnation)
  local head = redis.call('HMGET', KEYS[1], 'owner', 'token', 'incarnation')
  return head[1] == owner and head[2] == token and head[3] == incarnation
end
"""
ACQUIRE = Script(
    NOW
    + """
local head = redis.call('HMGET', KEYS[1], 'owner', 'until', 'incarnation')
local is_taken = head[1] and head[1] ~= '' and head[1] ~= ARGV[1]
if is_taken and tonumber(head[2]) > now then return false end
local incarnation = head[3]
if not incarnation then
  incarnation = ARGV[3]
  redis.call('HSET', KEYS[1], 'incarnation', incarnation, 'created', now)
end
local token = redis.call('HINCRBY', KEYS[1], 'token', 1)
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'until', now + ARGV[2])
return {token, incarnation, redis.call('LLEN', KEYS[2])}
"""
)
RENEW = Script(
    NOW
    + HELD
    + """
if not held(ARGV[1], ARGV[2], ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], 'until', now + ARGV[4])
return 1
"""
)
APPEND = Script(
    NOW
    + HELD
    + """
if not held(ARGV[1], ARGV[2], ARGV[3]) then return 'fenced' end
if redis.call('LLEN', KEYS[2]) ~= tonumber(ARGV[4]) then return 'moved' end
for first = 7, #ARGV, 1000 do
  redis.call('RPUSH', KEYS[2], unpack(ARGV, first, math.min(first + 999, #ARGV)))
end
redis.call('HSET', KEYS[1], 'updated', now)
if #ARGV > 6 and ARGV[4] == '0' then redis.call('ZADD', KEYS[3], 0, ARGV[6]) end
if ARGV[5] == '1' then redis.call('HSET', KEYS[1], 'owner', '') end
return 'done'
"""
)
RELEASE = Script(
    HELD
    + """
if not held(ARGV[1], ARGV[2], ARGV[3]) then return 0 end
if redis.call('LLEN', KEYS[2]) == 0 then
  redis.call('DEL', KEYS[1])
else
  redis.call('HSET', KEYS[1], 'owner', '')
end
return 1
"""
)
LOAD = Script(
    """
local count = redis.call('LLEN', KEYS[2])
if count == 0 then return false end
return {redis.call('HGET', KEYS[1], 'incarnation'),
        redis.call('LRANGE', KEYS[2], ARGV[1], -1)}
"""
)
DELETE = Script(
    HELD
    + """
if not held(ARGV[1], ARGV[2], ARGV[3]) then return 0 end
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[4])
return 1
"""
)
LIST = Script(
    """
local found = {}
local ids = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], '+', 'LIMIT', 0, ARGV[2])
for _, id in ipairs(ids) do
  local times = redis.call('HMGET', KEYS[2] .. id, 'created', 'updated')
  found[#found + 1] = {id, redis.call('LLEN', KEYS[3] .. id), times[1], times[2]}
end
return found
"""
)
