-- hold-keep: sets for how long holds of a sale count from now on.
-- KEYS     used, holds, ends, read: as in hold.lua
-- ARGV     now (0: the server's clock), for how many ms (0: no more), only those that end within so many ms (0: all), ids
-- Returns  how many of them were counted
-- Keeps    as hold.lua; a hold that is not counted stays so

local given, forMs, withinMs = whole(ARGV[1], 0, 1e14), whole(ARGV[2], 0, 1e12), whole(ARGV[3], 0, 1e12)
if #KEYS ~= 4 or not given or not forMs or not withinMs or #ARGV > 1003 then return bug('hold-keep: wrong arguments') end
for at = 4, #ARGV do
  if not holdName(ARGV[at]) then return bug('hold-keep: wrong arguments') end
end
local now, found = given ~= 0 and given or serverMs(), 0
for at = 4, #ARGV do
  local ends = tonumber(redis.call('ZSCORE', KEYS[3], ARGV[at]) or nil)
  if ends and (withinMs == 0 or ends <= now + withinMs) then
    found = found + 1
    if forMs > 0 then redis.call('ZADD', KEYS[3], text(now + forMs), ARGV[at]) else dropHold(KEYS, ARGV[at]) end
  end
end
if found > 0 then lengthenHolds(KEYS, forMs) end
return found
