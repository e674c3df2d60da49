-- present: an edge says that it is here, in each of these lanes, and learns how many are.
-- KEYS     the lanes' edges (sorted sets: edge → when it last said so)
-- ARGV     now (0: the server's clock), edge, for how many ms a word counts
-- Returns  for each lane: how many edges there are, this one included
-- Keeps    whoever is silent for so long is not counted, nor whoever spoke at a time that is still to come

local lifeMs = whole(ARGV[3], 1, 86400000)
if #KEYS < 1 or #ARGV ~= 3 or not whole(ARGV[1], 0, 1e14) or not lifeMs or not ARGV[2]:find('^%x+$') then
  return bug('present: wrong arguments')
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
