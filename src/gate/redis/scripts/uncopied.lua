-- uncopied: the oldest entries of an item's outbox that no relay has copied yet, for the one worker that has the lease.
-- KEYS     worker (the lease), outboxes, gate (only its name is used), copied (the cursors)
-- ARGV     worker, leaseMs, asksMax
-- Returns  as take
-- Keeps    as take; entries at or before the cursor of their epoch are left out, and stay until done

if #KEYS ~= 4 or #ARGV ~= 3 or ARGV[1] == '' or not (isNumber(ARGV[2]) and isNumber(ARGV[3])) then
  return bug('uncopied: wrong arguments')
end
return takeEntries(KEYS[1], KEYS[2], KEYS[3], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), function(epoch)
  local cursor = redis.call('HGET', KEYS[4], text(epoch))
  return cursor and '(' .. cursor:match('^%d+%-%d+') or '-'
end)
