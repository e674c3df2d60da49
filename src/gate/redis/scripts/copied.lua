-- copied: note up to which entry an outbox has been copied to a log outside.
-- KEYS     outboxes, copied (the cursors)
-- ARGV     epoch, entry, position (where the copy is, in the log's own words)
-- Returns  DONE
-- Keeps    a cursor only goes up; none is left behind for an epoch that has no outbox

if #KEYS ~= 2 or #ARGV ~= 3 or not (isNumber(ARGV[1]) and isEntryId(ARGV[2])) then return bug('copied: wrong arguments') end
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return DONE end
local cursor = redis.call('HGET', KEYS[2], ARGV[1])
if not cursor or not isUpTo(ARGV[2], cursor:match('^%d+%-%d+')) then
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
end
return DONE
