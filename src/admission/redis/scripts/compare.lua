-- compare: an edge says what its limits are, and learns what those of all edges are.
-- KEYS     the edges' limits (a sorted set: edge and limits, separated by a blank → when it last said so)
-- ARGV     now (0: the server's clock), edge, for how many ms it counts, limits (text)
-- Returns  limits and how many edges have just these, one after the other, this edge included
-- Keeps    as announce: an edge that was silent for longer is not counted, nor one whose time lies in the future

local lifeMs = whole(ARGV[3], 1, 86400000)
if #KEYS ~= 1 or #ARGV ~= 4 or not whole(ARGV[1], 0, 1e14) or not lifeMs or not ARGV[2]:find('^%x+$') or #ARGV[4] > 1024 then
  return bug('compare: wrong arguments')
end
local now = nowMs()
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', text(now - lifeMs))
redis.call('ZREMRANGEBYSCORE', KEYS[1], text(now + lifeMs), '+inf')
redis.call('ZADD', KEYS[1], text(now), ARGV[2] .. ' ' .. ARGV[4])
redis.call('PEXPIRE', KEYS[1], text(lifeMs * 2))
local counts, reply = {}, {}
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local limits = member:match('^%x+ (.*)$') or ''
  counts[limits] = (counts[limits] or 0) + 1
end
for limits, count in pairs(counts) do
  reply[#reply + 1] = limits
  reply[#reply + 1] = count
end
return reply
