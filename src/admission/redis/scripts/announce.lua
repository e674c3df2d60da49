-- announce: an edge announces itself in each of these partitions, and learns how many edges there are.
-- KEYS     the partitions' edges (sorted sets: edge → when it last announced itself)
-- ARGV     now (0: the server's clock), edge, for how many ms an announcement counts
-- Returns  for each partition: the number of edges, this one included
-- Keeps    an edge that was silent for longer is not counted, nor one whose time lies in the future

local lifeMs = whole(ARGV[3], 1, 86400000)
if #KEYS < 1 or #ARGV ~= 3 or not whole(ARGV[1], 0, 1e14) or not lifeMs or not ARGV[2]:find('^%x+$') then
  return bug('announce: wrong arguments')
end
local now, replies = nowMs(), {}
for i, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, '-inf', text(now - lifeMs))
  redis.call('ZREMRANGEBYSCORE', key, text(now + lifeMs), '+inf')
  redis.call('ZADD', key, text(now), ARGV[2])
  redis.call('PEXPIRE', key, text(lifeMs * 2))
  replies[i] = redis.call('ZCARD', key)
end
return replies
