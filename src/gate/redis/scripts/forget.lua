-- forget: remove every key of an item whose sale is over and settled.
-- KEYS     gate, outboxes, worker
-- ARGV     none
-- Returns  1, or 0 when something waits in an outbox and nothing was removed
-- Keeps    no entry is lost

if #KEYS ~= 3 or #ARGV ~= 0 then return bug('forget: wrong arguments') end
local epochs = redis.call('HKEYS', KEYS[2])
for _, epoch in ipairs(epochs) do
  if redis.call('XLEN', keyOf(KEYS[1], tonumber(epoch), 'outbox')) > 0 then return 0 end
end
for _, epoch in ipairs(epochs) do redis.call('UNLINK', keyOf(KEYS[1], tonumber(epoch), 'outbox')) end
local gate = readGate(KEYS[1])
if gate.epoch then unlinkBook(KEYS[1], gate.epoch) end
if gate.loading then unlinkBook(KEYS[1], gate.loading) end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3], copiedKey(KEYS[1]))
return 1
