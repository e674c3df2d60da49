-- depth: how much waits in the outboxes of some items, over all epochs.
-- KEYS     outboxes and gate of each item (of the gate only its name is used)
-- ARGV     none
-- Returns  per item: entries, units, when the oldest was written (unix ms; nothing: it is empty)
-- Keeps    read in one step: what is counted was there at one moment

local reply = {}
for i = 1, #KEYS, 2 do
  local entries, units, oldest = 0, 0, false
  local waiting = redis.call('HGETALL', KEYS[i])
  for j = 1, #waiting, 2 do
    local outboxKey = keyOf(KEYS[i + 1], tonumber(waiting[j]), 'outbox')
    local length = redis.call('XLEN', outboxKey)
    if length > 0 then
      local first = redis.call('XRANGE', outboxKey, '-', '+', 'COUNT', 1)[1]
      local at = isCount(first[2][2]) and tonumber(first[2][2]) or tonumber(first[1]:match('^%d+'))
      oldest = math.min(oldest or at, at)
    end
    entries = entries + length
    units = units + tonumber(waiting[j + 1])
  end
  reply[#reply + 1] = { entries, units, oldest }
end
return reply
