-- depth: how much waits in the outboxes of some items, over all epochs.
-- KEYS     outboxes of the first item: it says which server is asked
-- ARGV     outboxes and gate of each item (of the gate only its name is used): their slots may differ, all are on this server
-- Returns  per item: entries, units, when the oldest was written (unix ms; nothing: it is empty), by how many units the counters of
--          empty outboxes are off
-- Keeps    read in one step: what is counted was there at one moment. The counter is believed only while entries wait: an empty outbox
--          holds no units, whatever was written to its counter from outside

local reply = {}
for i = 1, #ARGV, 2 do
  local entries, units, oldest, miscounted = 0, 0, false, 0
  local waiting = redis.call('HGETALL', ARGV[i])
  for j = 1, #waiting, 2 do
    local outboxKey = keyOf(ARGV[i + 1], tonumber(waiting[j]), 'outbox')
    local length = redis.call('XLEN', outboxKey)
    local counted = tonumber(waiting[j + 1]) or 0
    if length > 0 then
      local first = redis.call('XRANGE', outboxKey, '-', '+', 'COUNT', 1)[1]
      local at = isCount(first[2][2]) and tonumber(first[2][2]) or tonumber(first[1]:match('^%d+'))
      oldest = math.min(oldest or at, at)
      units = units + math.max(0, counted)
    else
      miscounted = miscounted + math.abs(counted)
    end
    entries = entries + length
  end
  reply[#reply + 1] = { entries, units, oldest, miscounted }
end
return reply
