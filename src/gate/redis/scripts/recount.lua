-- recount: compare the counters of an item's outboxes with the entries that wait there, and correct those that are off.
-- KEYS     outboxes, gate (only its name is used)
-- ARGV     entriesMax: a longer outbox is not counted, so that the server is not held up
-- Returns  by how many units the counters were off, together
-- Keeps    reserve and done change entries and counter in one step, so a difference was written from outside; no entry is touched

if #KEYS ~= 2 or not isNumber(ARGV[1]) then return bug('recount: wrong arguments') end
local entriesMax, off = tonumber(ARGV[1]), 0
local waiting = redis.call('HGETALL', KEYS[1])
for j = 1, #waiting, 2 do
  local outboxKey = keyOf(KEYS[2], tonumber(waiting[j]), 'outbox')
  if redis.call('XLEN', outboxKey) <= entriesMax then
    local units = 0
    for _, entry in ipairs(redis.call('XRANGE', outboxKey, '-', '+')) do
      if isNumber(entry[2][6]) then units = units + tonumber(entry[2][6]) end
    end
    local counted = tonumber(waiting[j + 1]) or 0
    if counted ~= units then
      redis.call('HSET', KEYS[1], waiting[j], text(units))
      off = off + math.abs(counted - units)
    end
  end
end
return off
