-- cursors: up to where an item's outbox has been copied, of each epoch that still has entries there; and, if asked to, copy them again.
-- KEYS     outboxes, gate (only its name is used), copied (the cursors)
-- ARGV     nothing; or epoch, entry, position: this cursor is removed
-- Returns  epoch and cursor of each; or 1 when the cursor was removed, else 0
-- Keeps    only a cursor that stands where the caller saw it, and has entries at or before it, is removed: no entry is touched

if #KEYS ~= 3 or (#ARGV ~= 0 and not (#ARGV == 3 and isNumber(ARGV[1]) and isEntryId(ARGV[2]))) then
  return bug('cursors: wrong arguments')
end
local function waits(epoch, cursor)
  local first = redis.call('XRANGE', keyOf(KEYS[2], tonumber(epoch), 'outbox'), '-', '+', 'COUNT', 1)[1]
  return first and isUpTo(first[1], cursor:match('^%d+%-%d+'))
end

if #ARGV == 3 then
  local cursor = redis.call('HGET', KEYS[3], ARGV[1])
  if cursor ~= ARGV[2] .. ' ' .. ARGV[3] or not waits(ARGV[1], cursor) then return 0 end
  return redis.call('HDEL', KEYS[3], ARGV[1])
end
local reply, all = {}, redis.call('HGETALL', KEYS[3])
for i = 1, #all, 2 do
  if waits(all[i], all[i + 1]) then
    reply[#reply + 1] = all[i]
    reply[#reply + 1] = all[i + 1]
  end
end
return reply
