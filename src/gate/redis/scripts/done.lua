-- done: delete entries whose reservations the ledger has committed.
-- KEYS     outbox (of the entries' epoch), outboxes, gate
-- ARGV     epoch, then ids
-- Returns  how many were there
-- Keeps    the count of waiting units; an outbox that is empty and of an epoch that is not active is removed

if #KEYS ~= 3 or not isNumber(ARGV[1]) then return bug('done: wrong arguments') end
for i = 2, #ARGV do
  if not ARGV[i]:match('^%d+%-%d+$') or #ARGV[i] > 41 then return bug('done: "' .. ARGV[i] .. '" is not an entry') end
end
local deleted, units = 0, 0
for i = 2, #ARGV do
  local entry = redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1]
  if entry then
    if isNumber(entry[2][6]) then units = units + tonumber(entry[2][6]) end
    deleted = deleted + redis.call('XDEL', KEYS[1], ARGV[i])
  end
end
if deleted > 0 then
  -- Not `-units`: minus nothing is "-0" as text, which Redis does not take for a number.
  redis.call('HINCRBY', KEYS[2], ARGV[1], text(0 - units))
  local active = redis.call('HGET', KEYS[3], 'epoch')
  if active ~= ARGV[1] and redis.call('XLEN', KEYS[1]) == 0 then
    redis.call('UNLINK', KEYS[1])
    redis.call('HDEL', KEYS[2], ARGV[1])
    redis.call('HDEL', copiedKey(KEYS[3]), ARGV[1])
  end
end
return deleted
