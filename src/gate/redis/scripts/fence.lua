-- fence: from now on everything under a lower epoch is stale.
-- KEYS     gate
-- ARGV     epoch
-- Returns  DONE or STALE
-- Keeps    E3: only goes up; the pages of a lower epoch that was loading are gone. Stores the server it was done on (E1).

if #KEYS ~= 1 or #ARGV ~= 1 or not isNumber(ARGV[1]) then return bug('fence: wrong arguments') end
local epoch = tonumber(ARGV[1])
local gate = readGate(KEYS[1])
if epoch < gate.seen then return STALE end
if gate.loading and gate.loading < epoch then
  if gate.loading ~= gate.epoch then unlinkBook(KEYS[1], gate.loading) end
  redis.call('HDEL', KEYS[1], 'loading', 'loadedOn', 'loadedHeld')
end
redis.call('HSET', KEYS[1], 'seen', text(epoch), 'fenced', text(epoch), 'fencedOn', identity())
return DONE
